"""Operations on summaries. Jobs write them."""

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import PagedRead, Read, viewer_of
from mnemolog.adapters.operations.results import Page, Result
from mnemolog.domain.summary import SummaryKind
from mnemolog.events.fields import Id, Instant, Uuid


class SummaryRead(Read):
    """One summary."""

    summary_id: Annotated[Uuid, Field(description="The summary's id.")]


class SummaryList(PagedRead):
    """The newest summaries first."""

    thread_id: Annotated[Id | None, Field(description="Only the summaries of this thread.")] = None
    kind: Annotated[SummaryKind | None, Field(description="Only summaries of this kind.")] = None


class SummaryView(Result):
    """A summary of an agent's messages in a thread. A spine is of all messages of the user: it names neither."""

    user_id: str
    summary_id: UUID
    kind: SummaryKind = Field(
        description="`rolling`: the latest messages; `running` and `chunk`: an open episode, and parts of it; "
        "`session`: one that ended; `final`: a closed episode; `spine`: the user."
    )
    agent_id: str
    thread_id: str
    session_id: UUID | None = Field(description="The session that ended.")
    episode_id: UUID | None = Field(description="The episode, of running, chunk and final summaries.")
    version: int = Field(description="Its number among the agent's summaries of this kind in the thread, from 1.")
    text: str
    summary_json: dict[str, Any] = Field(description="The same in fields, for kinds that have them.")
    first_turn_id: str
    last_turn_id: str
    messages: int = Field(description="How many messages it covers.")
    mechanical: bool = Field(description="Whether it was extracted from the messages without a model.")
    model: str = Field(examples=["gpt-4o-mini"])
    prompt: str = Field(description='The prompt, or "" without a model.')
    prompt_version: int
    input_tokens: int
    output_tokens: int
    created_at: Instant
    seq: int


@operation("summary list", "GET /summaries", tag="conversation")
async def list_summaries(engine: Engine, request: SummaryList) -> Page[SummaryView]:
    """List the summaries of an agent's conversations, newest first.

    Earlier versions are kept. The summaries of a thread, and the spine, are erased with any of its messages.
    """
    viewer, moment = viewer_of(engine, request), request.moment()
    rows = await engine.reads.summaries(viewer, request.thread_id, request.kind, request.limit, moment, request.cursor)
    return Page[SummaryView].of(rows)


@operation("summary get", "GET /summary", tag="conversation", arguments=("summary_id",))
async def get_summary(engine: Engine, request: SummaryRead) -> SummaryView:
    """Read one summary, of any version."""
    found = await engine.reads.summary(viewer_of(engine, request), request.summary_id, request.moment())
    return SummaryView.model_validate(found)
