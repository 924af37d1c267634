"""Methods of the Python API for the profile, consent, seeds and todos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from mnemolog.asking import After, Asking, Id, Moment
from mnemolog.deferred import Deferred

if TYPE_CHECKING:
    from mnemolog.adapters.operations import profile, todos
    from mnemolog.adapters.operations.profile import Profile, Proposal, Proposed, SeededView
    from mnemolog.adapters.operations.results import HistoryEntry, Page, Written
    from mnemolog.adapters.operations.todos import Todo, TodoAdded
else:
    profile = Deferred("mnemolog.adapters.operations.profile")
    todos = Deferred("mnemolog.adapters.operations.todos")


class ProfileVerbs(Asking):
    """A part of `Verbs`."""

    async def get_profile(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Profile:
        """Read what is known of a user, field by field.

        Example:
            memory.get_profile(user_id="ana").get("tone")
        """
        return await self._ask(profile.get_profile, locals())

    async def propose_profile(
        self,
        field: str,
        value: str,
        *,
        confidence: float | None = None,
        turn_id: str | None = None,
        source: str | None = None,
        consent: bool | None = None,
        origin: Literal["user", "agent", "document", "tool", "other_agent", "import"] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Proposed:
        """Propose a change of the profile: a sensitive one waits for consent, any other for a second signal.

        `confidence` is in [0, 1]; from 0.8 on, a field that needs no consent is set at once. `turn_id` is the recorded
        turn that it was extracted from. `consent`: the user says so themselves, here and now.

        Example:
            memory.propose_profile("tone", "brief", user_id="ana", confidence=0.9).status
        """
        return await self._ask(profile.propose_profile, locals())

    async def profile_history(
        self,
        field: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[HistoryEntry]:
        """Read the history of a field of the profile, newest first: what was proposed, decided and set.

        Example:
            [entry.meta for entry in memory.profile_history("tone", user_id="ana")]
        """
        return await self._ask(profile.profile_history, locals())

    async def list_consent(
        self,
        *,
        status: Literal["proposed", "granted", "refused", "expired", "corroborated", "all"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[Proposal]:
        """List proposed changes of the profile that wait for consent, newest first; or those of another status.

        Example:
            [proposal.field for proposal in memory.list_consent(user_id="ana")]
        """
        return await self._ask(profile.list_consent, locals())

    async def grant_consent(
        self,
        patch_id: Id,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Grant a proposed change, in the user's name. An agent cannot grant what it proposed itself.

        Example:
            [memory.grant_consent(one.patch_id, user_id="ana") for one in memory.list_consent(user_id="ana")]
        """
        return await self._ask(profile.grant_consent, locals())

    async def refuse_consent(
        self,
        patch_id: Id,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Refuse a proposed change, in the user's name; the profile stays as it is.

        Example:
            [memory.refuse_consent(one.patch_id, user_id="ana") for one in memory.list_consent(user_id="ana")]
        """
        return await self._ask(profile.refuse_consent, locals())

    async def seed(
        self,
        content: Mapping[str, Any],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> SeededView:
        """Give a user an initial profile: `profile`, `memories`, `facts`, `consent`, `seed_id`.

        Seeding the same content again writes only what is still missing.

        Example:
            memory.seed({"profile": {"tone": "brief"}, "memories": [{"text": "Ana drinks tea"}]}, user_id="ana")
        """
        return await self._ask(profile.seed, locals())

    async def add_todo(
        self,
        text: str,
        *,
        kind: Literal["commitment", "habit", "thread", "friction"] | None = None,
        due: datetime | str | None = None,
        source_turn_ids: Sequence[str] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> TodoAdded:
        """Add a todo for this agent; other agents do not see it.

        Example:
            memory.add_todo("walk tomorrow", user_id="ana", due="2026-01-04T00:00:00Z").todo_id
        """
        return await self._ask(todos.add_todo, locals())

    async def list_todos(
        self,
        *,
        status: Literal["open", "done", "dropped", "all"] | None = None,
        kind: Literal["commitment", "habit", "thread", "friction"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[Todo]:
        """List this agent's open todos, or those of another status: what is due first, then the oldest.

        Example:
            [todo.text for todo in memory.list_todos(user_id="ana")]
        """
        return await self._ask(todos.list_todos, locals())

    async def update_todo(
        self,
        todo_id: Id,
        *,
        status: Literal["open", "done", "dropped"] | None = None,
        kind: Literal["commitment", "habit", "thread", "friction"] | None = None,
        text: str | None = None,
        due: datetime | str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Update a todo; what is left out stays as it is.

        Example:
            memory.update_todo(memory.add_todo("walk", user_id="ana").todo_id, user_id="ana", status="done")
        """
        return await self._ask(todos.update_todo, locals())

    async def todo_history(
        self,
        todo_id: Id,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[HistoryEntry]:
        """Read the history of a todo, newest first.

        Example:
            memory.todo_history(memory.add_todo("walk", user_id="ana").todo_id, user_id="ana")
        """
        return await self._ask(todos.todo_history, locals())
