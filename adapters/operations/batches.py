"""Operations on many items at once: roll back a run, batch or thread; forget or erase a scope."""

from typing import TYPE_CHECKING, Self
from uuid import UUID

from pydantic import Field

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import Rehearsed, command_of, request_of
from mnemolog.adapters.operations.results import Result, Undone, Written
from mnemolog.commands.rollback import Rollback
from mnemolog.commands.scopes import EraseScope, ForgetScope, OfScope

if TYPE_CHECKING:
    from mnemolog.adapters.erasure import forgetting
    from mnemolog.projections.extent import Extent

_THREAD = OfScope.model_fields["thread_id"]
OF_THREAD = (_THREAD.rebuild_annotation(), _THREAD)


class Forgotten(Result):
    """What was forgotten or erased, or for a dry run what would be. `receipt` and `batch` are null if nothing was
    written.
    """

    memories: list[UUID]
    messages: list[str]
    facts: list[UUID]
    entities: list[UUID]
    artifacts: list[UUID]
    todos: list[UUID] = Field(description="Set by `erase_scope` only.")
    entries: list[UUID] = Field(description="Entries of the being. Set by `erase_scope` only.")
    profile: list[str] = Field(description="Set by `erase_scope` only.")
    batch: UUID | None = Field(None, description="Pass it to `rollback` as `of_batch` to restore what was forgotten.")
    receipt: Written | None = None

    @classmethod
    def of(cls, found: "Extent") -> Self:
        return cls.model_validate(found.as_dict())

    @classmethod
    def of_batch(cls, done: "forgetting.Forgotten") -> Self:
        written = {"batch": done.batch, "receipt": Written.of(done.receipt)} if done.receipt else {}
        return cls.model_validate({**done.extent.as_dict(), **written})


@operation(
    "rollback",
    "POST /rollback",
    request_of(Rollback, "of_event", base=Rehearsed),
    tag="changes",
    done="Rolled back",
    lasting=True,
)
async def rollback(engine: Engine, request: Rehearsed) -> Undone:
    """Undo everything that a run, a batch or a thread changed, in one step.

    All or nothing: an item that was changed again later is a conflict; `skip_conflicts` leaves it as it is.
    """
    from mnemolog.adapters.erasure.following import followed

    command = command_of(Rollback, engine, request)
    if request.dry_run:
        return Undone.of(await engine.writes.preview_rollback(command), None)
    async with followed(engine, command.stream()):
        return Undone.of(*await engine.writes.rolled_back(command, request.idempotency_key))


@operation(
    "forget",
    "POST /forget",
    request_of(ForgetScope, base=Rehearsed, thread_id=OF_THREAD),
    tag="changes",
    arguments=("scope",),
    done="Forgotten",
    lasting=True,
)
async def forget(engine: Engine, request: Rehearsed) -> Forgotten:
    """Forget a session, everything owned by an agent, or everything the agents share.

    The items are hidden; `rollback` of the batch restores them. Without an idempotency key, a second call also forgets
    what was written since.
    """
    return await _forgotten(ForgetScope, engine, request)


@operation(
    "erase-scope",
    "POST /erase-scope",
    request_of(EraseScope, base=Rehearsed, thread_id=OF_THREAD),
    tag="erasure",
    arguments=("scope",),
    done="Erased",
    destroys=True,
)
async def erase_scope(engine: Engine, request: Rehearsed) -> Forgotten:
    """Erase a session, everything owned by an agent, or everything the agents share, permanently.

    Includes hidden items and the turns that the memories were extracted from; scope `agent` includes the agent's todos
    and entries, and scope `global` the profile. Other turns stay: they belong to the user, and `erase_thread` destroys
    them. This cannot be undone.
    """
    return await _forgotten(EraseScope, engine, request)


async def _forgotten(kind: type[OfScope], engine: Engine, request: Rehearsed) -> Forgotten:
    from mnemolog.adapters.erasure import forgetting
    from mnemolog.adapters.erasure.following import followed

    command = command_of(kind, engine, request)
    if request.dry_run:
        return Forgotten.of(await forgetting.extent(engine, command))
    async with followed(engine, command.stream()):
        return Forgotten.of_batch(await forgetting.forget(engine, command, request.idempotency_key))
