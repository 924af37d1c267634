"""Methods of the Python API on many items: roll back, forget or erase a scope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from mnemolog.asking import Asking, Id, Moment
from mnemolog.deferred import Deferred

if TYPE_CHECKING:
    from mnemolog.adapters.operations import batches
    from mnemolog.adapters.operations.batches import Forgotten
    from mnemolog.adapters.operations.results import Undone
else:
    batches = Deferred("mnemolog.adapters.operations.batches")


class BatchVerbs(Asking):
    """A part of `Verbs`."""

    async def rollback(
        self,
        *,
        of_run: str | None = None,
        of_batch: Id | None = None,
        of_thread: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        skip_conflicts: bool | None = None,
        dry_run: bool | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Undone:
        """Undo everything that a run, a batch or a thread changed, in one step; its messages are hidden.

        All or nothing: a change that was changed again later is a conflict, which `skip_conflicts` leaves as it is.
        With `dry_run`, nothing is written: `changes` and `conflicts` say what would be.

        Example:
            memory.rollback(user_id="ana", of_thread="main", skip_conflicts=True)
        """
        return await self._ask(batches.rollback, locals())

    async def forget(
        self,
        scope: Literal["session", "agent", "global"],
        *,
        with_episodes: bool | None = None,
        reason: str | None = None,
        dry_run: bool | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Forgotten:
        """Forget a session, everything private to this agent, or everything that agents share.

        The session is that of this agent in `thread_id`. `rollback(of_batch=...)` restores what was hidden.

        Example:
            memory.forget("session", user_id="ana", thread_id="main")
        """
        return await self._ask(batches.forget, locals())

    async def erase_scope(
        self,
        scope: Literal["session", "agent", "global"],
        *,
        with_episodes: bool | None = None,
        dry_run: bool | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Forgotten:
        """Permanently erase a session, everything private to this agent, or everything that agents share.

        This includes what was hidden before, and cannot be undone.

        Example:
            memory.erase_scope("agent", user_id="ana", dry_run=True).memories
        """
        return await self._ask(batches.erase_scope, locals())
