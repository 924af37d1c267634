"""Operations on many changes at once: roll back a run, a batch or a thread; forget or erase all that a scope holds."""

from typing import Self
from uuid import UUID

from pydantic import Field

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure import forgetting
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import Rehearsed, command_of, request_of
from mnemolog.adapters.operations.results import Result, Undone, Written
from mnemolog.commands.rollback import Rollback
from mnemolog.commands.scopes import EraseScope, ForgetScope, OfScope
from mnemolog.domain.principal import Role
from mnemolog.projections.extent import Extent

_THREAD = OfScope.model_fields["thread_id"]
OF_THREAD = (_THREAD.rebuild_annotation(), _THREAD)


class Forgotten(Result):
    """What was forgotten, or of a dry run what would be. `receipt` and `batch` are null where nothing was written."""

    memories: list[UUID]
    facts: list[UUID]
    entities: list[UUID]
    todos: list[UUID] = Field(description="Erased only; the status `dropped` closes a todo.")
    profile: list[str] = Field(description="Erased only.")
    batch: UUID | None = Field(None, description="`rollback` takes it as `of_batch`, to bring back what was forgotten.")
    receipt: Written | None = None

    @classmethod
    def of(cls, found: Extent) -> Self:
        return cls.model_validate(found.as_dict())

    @classmethod
    def of_batch(cls, done: forgetting.Forgotten) -> Self:
        written = {"batch": done.batch, "receipt": Written.of(done.receipt)} if done.receipt else {}
        return cls.model_validate({**done.extent.as_dict(), **written})


@operation(
    "rollback",
    "POST /rollback",
    request_of(Rollback, "of_event", base=Rehearsed),
    tag="changes",
    done="Rolled back",
)
async def rollback(engine: Engine, asked: Rehearsed) -> Undone:
    """Undo everything that a run, a batch or a thread changed, in one step.

    All or nothing: a change that was changed again later is a conflict, and `skip_conflicts` leaves it as it is. Turns
    are kept.
    """
    command = command_of(Rollback, engine, asked)
    if asked.dry_run:
        return Undone.of(await engine.writes.preview_rollback(command), None)
    return Undone.of(*await engine.writes.rolled_back(command, asked.idempotency_key))


@operation(
    "forget",
    "POST /forget",
    request_of(ForgetScope, base=Rehearsed, thread_id=OF_THREAD),
    tag="changes",
    arguments=("scope",),
    done="Forgotten",
)
async def forget(engine: Engine, asked: Rehearsed) -> Forgotten:
    """Forget a session, everything that is an agent's own, or everything that agents share.

    It is hidden, and `rollback` of its batch brings it back. Sent again without an idempotency key, it forgets what
    came since.
    """
    return await _forgotten(ForgetScope, engine, asked)


@operation(
    "erase-scope",
    "POST /erase-scope",
    request_of(EraseScope, base=Rehearsed, thread_id=OF_THREAD),
    tag="erasure",
    arguments=("scope",),
    done="Erased",
    role=Role.ERASE,
    destroys=True,
)
async def erase_scope(engine: Engine, asked: Rehearsed) -> Forgotten:
    """Erase a session, everything that is an agent's own, or everything that agents share, for good.

    Also what was hidden before. Turns go with the memories that were extracted from them, the agent's todos with scope
    `agent`, the profile with scope `global`. It cannot be undone.
    """
    return await _forgotten(EraseScope, engine, asked)


async def _forgotten(kind: type[OfScope], engine: Engine, asked: Rehearsed) -> Forgotten:
    command = command_of(kind, engine, asked)
    if asked.dry_run:
        return Forgotten.of(await forgetting.extent(engine, command))
    return Forgotten.of_batch(await forgetting.forget(engine, command, asked.idempotency_key))


BATCHES = (rollback, forget, erase_scope)
