"""Operations on what was put into prompts (X18)."""

from collections.abc import Sequence
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import Field, model_validator

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import PagedRead, Read, Request, command_of, viewer_of
from mnemolog.adapters.operations.results import Page, Result
from mnemolog.commands.serving import RecordServed
from mnemolog.domain.authority import Slot
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.gate import Signal
from mnemolog.events.fields import Flag, Id, Instant
from mnemolog.events.serving import Purpose, ServedItem


class RecordableRead(Read):
    """A read of what a prompt is made of. What it returned can be recorded."""

    record: Annotated[Flag, Field(description="Record what was returned, for `served`.")] = False
    message_id: Annotated[
        Id | None,
        Field(
            description="With `record`: the message that this is for, or its answer. `served` finds the record by it."
        ),
    ] = None

    @model_validator(mode="after")
    def _recorded_for_a_message(self) -> Self:
        if self.message_id is not None and not self.record:
            raise InvalidInput(
                "has no effect without record", field="message_id", fix="give record=true, or omit message_id"
            )
        return self


class ServedRead(PagedRead):
    """All that was served, or what was for a message or an answer."""

    message_id: Annotated[
        Id | None, Field(description="The message that was answered, or the answer. Default: any.")
    ] = None


class ItemView(Result):
    """Something that was shown. Read it by its id, as of `seq` to see that version."""

    kind: str = Field(description="`fact`, `passage`, `message`, or the kind of memory.")
    id: str
    seq: int | None = Field(description="The last event that it was made of; null for a turn of the session.")
    slot: Slot | None
    overruled: bool = Field(description="It was marked as contradicted.")


class Serving(Result):
    """What an agent was given at one time."""

    event_id: UUID
    purpose: Purpose
    agent_id: str
    thread_id: str
    question_id: str | None
    answer_id: str | None
    items: list[ItemView]
    tokens: int
    searched: bool | None = Field(description="Whether the gate let episodes and knowledge be searched.")
    signals: list[Signal] = Field(description="What opened the gate.")
    policy_version: str
    at: Instant
    seq: int


@operation("served", "GET /served", tag="recall", arguments=("message_id",))
async def served(engine: Engine, request: ServedRead) -> Page[Serving]:
    """Read what the agent knew when it answered a message, or when it wrote an answer; or everything it was given.

    Searches, contexts and envelopes are recorded on request (`record`), and always by `respond` and for MCP clients.
    """
    from mnemolog.projections.paging import slice_of

    rows = await engine.reads.served(viewer_of(engine, request), request.message_id, request.moment())
    return Page[Serving].of(slice_of(rows, "event_id", request.limit, request.cursor))


async def recorded(
    engine: Engine, request: Request, purpose: Purpose, items: Sequence[ServedItem], tokens: int, **more: Any
) -> UUID:
    """Record what was served; returns the event's id."""
    given = command_of(RecordServed, engine, request, purpose=purpose, items=tuple(items), tokens=tokens, **more)
    return (await engine.writes.handle(given)).event_ids[0]
