"""The Python face of whole undertakings: roll back a run or an import, and forget by scope."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Literal, TypeVar
from uuid import UUID

from mnemolog.adapters.engine.forgetting import Forgetting, Forgotten, Reach, forget
from mnemolog.commands.rollback import Plan, Rollback
from mnemolog.domain.errors import InvalidInput
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import validated
from mnemolog.opening import Opening

Named = TypeVar("Named", bound=StrEnum)


def named(kind: type[Named], value: str, field: str) -> Named:
    """The one of these values; InvalidInput when it is none of them."""
    if value not in set(kind):
        raise InvalidInput(f"{value!r:.80} is none of them", field=field, fix=f"use one of {', '.join(kind)}")
    return kind(value)


class UndertakingVerbs(Opening):
    """What `AsyncMemory` does to many things as one."""

    async def rollback(
        self,
        *,
        user_id: str,
        run: str | None = None,
        undertaking: UUID | str | None = None,
        thread: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        skip_conflicts: bool = False,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Undo all that a run, an import or a stretch of a thread changed, in one step; what was said stays said.

        Example:
            memory.rollback(user_id="ana", thread="main", skip_conflicts=True)
        """
        engine = await self._engine()
        meant = _meant(run, undertaking, thread, since, until)
        command = await self._rollback(user_id, meant, skip_conflicts=skip_conflicts)
        return self._noted(await engine.writes.rollback(command, idempotency_key))

    async def rollback_plan(
        self,
        *,
        user_id: str,
        run: str | None = None,
        undertaking: UUID | str | None = None,
        thread: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> Plan:
        """What `rollback` would undo, and which later changes stand in its way; nothing is changed.

        Example:
            memory.rollback_plan(user_id="ana", run="episode-7").conflicts
        """
        command = await self._rollback(user_id, _meant(run, undertaking, thread, since, until))
        return await (await self._engine()).writes.rollback_plan(command)

    async def forget_scope(
        self,
        scope: Literal["session", "agent", "global"],
        *,
        user_id: str,
        chat_id: str | None = None,
        with_episodes: bool = False,
        hard: bool = False,
        reason: str = "",
    ) -> Forgotten:
        """Forget a session, what is this agent's own, or what all agents share; `hard` destroys it for good.

        Example:
            memory.forget_scope("session", user_id="ana", chat_id="main")
        """
        engine = await self._engine()
        reach = named(Reach, scope, "scope")
        done = await forget(engine, Forgetting(self._viewer(user_id), reach, chat_id, with_episodes, hard, reason))
        if done.receipt:
            self._noted(done.receipt)
        return done

    async def _rollback(self, user_id: str, meant: Mapping[str, object], *, skip_conflicts: bool = False) -> Rollback:
        at = (await self._engine()).writes.now()
        return validated(Rollback, {**self._who(user_id), **meant, "skip_conflicts": skip_conflicts, "at": at})


def _meant(run: object, undertaking: object, thread: object, since: object, until: object) -> Mapping[str, object]:
    return {"of_run": run, "of_undertaking": undertaking, "of_thread": thread, "since": since, "until": until}
