"""The verbs of the Python face for what a user said of himself: profile, consent, todos, seed."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, TypeVar
from uuid import UUID

from mnemolog.adapters.engine.profile_writes import Proposed
from mnemolog.adapters.engine.seeding import Seeded, seed
from mnemolog.commands.profile import SIGNAL
from mnemolog.domain.consent import Status
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.identity import parse_uuid
from mnemolog.domain.todo import Kind
from mnemolog.domain.todo import Status as TodoStatus
from mnemolog.events.envelope import Receipt
from mnemolog.opening import Opening

Named = TypeVar("Named", bound=StrEnum)


def named(kind: type[Named], value: str, field: str) -> Named:
    """The one of these values; InvalidInput when it is none of them."""
    if value not in set(kind):
        raise InvalidInput(f"{value!r:.80} is none of them", field=field, fix=f"use one of {', '.join(kind)}")
    return kind(value)


class ProfileVerbs(Opening):
    """A part of `AsyncMemory`. Todos are those of its `agent_id`."""

    async def profile(self, *, user_id: str, as_of: datetime | str | int | None = None) -> Mapping[str, Any]:
        """What is set, by field: a text, or a list of texts where values are added.

        Example:
            memory.profile(user_id="ana").get("tone")
        """
        engine, stream = await self._engine(), self._stream(user_id)
        rows = await engine.reads.profile(self._viewer(user_id), await self._moment(stream, as_of))
        return {row["field"]: row["value"] for row in rows}

    async def propose(
        self,
        field: str,
        value: str,
        *,
        user_id: str,
        confidence: float = SIGNAL,
        turn_id: str | None = None,
        consented: bool = False,
    ) -> Proposed:
        """Propose a change of the profile: a sensitive one waits for consent, a benign one for a second signal.

        `confidence` lies in [0, 1]; from 0.8 on a benign change applies at once. `turn_id` is the recorded turn that it
        was drawn from. `consented`: the user himself says so, here and now.

        Example:
            memory.propose("tone", "brief", user_id="ana", confidence=0.9).status
        """
        fields = {"field": field, "value": value, "confidence": confidence, "turn_id": turn_id}
        engine = await self._engine()
        found = await engine.writes.propose({**self._who(user_id), **fields}, consented=consented)
        self._noted(found.receipt)
        return found

    async def consent(self, *, user_id: str, status: str | None = "proposed") -> Sequence[Mapping[str, Any]]:
        """What waits for consent, newest first; `status` None for whatever became of it.

        Example:
            [row["field"] for row in memory.consent(user_id="ana")]
        """
        engine, stream = await self._engine(), self._stream(user_id)
        wanted = None if status is None else named(Status, status, "status")
        return await engine.reads.consent(self._viewer(user_id), wanted, moment=await self._moment(stream, None))

    async def grant(self, patch_id: UUID | str, *, user_id: str) -> Receipt:
        """Let a proposal apply, in the user's name. An agent cannot grant what it proposed itself.

        Example:
            [memory.grant(row["patch_id"], user_id="ana") for row in memory.consent(user_id="ana")]
        """
        return await self._decide(patch_id, user_id, Status.GRANTED)

    async def refuse(self, patch_id: UUID | str, *, user_id: str) -> Receipt:
        """Leave the profile as it is.

        Example:
            [memory.refuse(row["patch_id"], user_id="ana") for row in memory.consent(user_id="ana")]
        """
        return await self._decide(patch_id, user_id, Status.REFUSED)

    async def todos(
        self, *, user_id: str, status: str | None = "open", kind: str | None = None
    ) -> Sequence[Mapping[str, Any]]:
        """This agent's todos: what is due first, then the oldest; `status` None for all.

        Example:
            [row["text"] for row in memory.todos(user_id="ana")]
        """
        engine, stream = await self._engine(), self._stream(user_id)
        state = None if status is None else named(TodoStatus, status, "status")
        wanted = None if kind is None else named(Kind, kind, "kind")
        return await engine.reads.todos(self._viewer(user_id), state, wanted, await self._moment(stream, None))

    async def profile_history(
        self, field: str, *, user_id: str, limit: int = 100, as_of: datetime | str | int | None = None
    ) -> Sequence[Mapping[str, Any]]:
        """What was proposed for a field of the profile, decided and set, newest first.

        Example:
            [row["meta"] for row in memory.profile_history("tone", user_id="ana")]
        """
        engine, stream = await self._engine(), self._stream(user_id)
        moment = await self._moment(stream, as_of)
        return await engine.reads.field_history(self._viewer(user_id), field, limit, moment)

    async def todo_history(
        self, todo_id: UUID | str, *, user_id: str, limit: int = 100, as_of: datetime | str | int | None = None
    ) -> Sequence[Mapping[str, Any]]:
        """How one of this agent's todos was opened and changed, newest first.

        Example:
            memory.todo_history(memory.add_todo("walk", user_id="ana"), user_id="ana")
        """
        engine, stream = await self._engine(), self._stream(user_id)
        moment, wanted = await self._moment(stream, as_of), parse_uuid(todo_id, "todo_id")
        return await engine.reads.todo_history(self._viewer(user_id), wanted, limit, moment)

    async def add_todo(
        self,
        text: str,
        *,
        user_id: str,
        kind: Literal["commitment", "habit", "thread", "friction"] = "commitment",
        due: datetime | str | None = None,
        source_turn_ids: Sequence[str] = (),
    ) -> UUID:
        """Note a todo for this agent; its id.

        Example:
            memory.add_todo("walk tomorrow", user_id="ana")
        """
        fields = {"text": text, "kind": kind, "due": due, "source_turn_ids": tuple(source_turn_ids)}
        todo_id, receipt = await (await self._engine()).writes.open_todo({**self._who(user_id), **fields})
        self._noted(receipt)
        return todo_id

    async def change_todo(
        self,
        todo_id: UUID | str,
        *,
        user_id: str,
        status: Literal["open", "done", "dropped"] | None = None,
        text: str | None = None,
        due: datetime | str | None = None,
    ) -> Receipt:
        """Change what is given and leave the rest.

        Example:
            memory.change_todo(memory.add_todo("walk", user_id="ana"), user_id="ana", status="done")
        """
        fields = {"todo_id": todo_id, "status": status, "text": text, "due": due}
        return self._noted(await (await self._engine()).writes.change_todo({**self._who(user_id), **fields}))

    async def seed(self, content: Mapping[str, Any], *, user_id: str) -> Seeded:
        """Give a user an initial profile: `profile`, `memories`, `facts`, `consent`, `seed_id`. Once for each content.

        Example:
            memory.seed({"profile": {"tone": "brief"}, "memories": [{"text": "Ana drinks tea"}]}, user_id="ana")
        """
        found = await seed((await self._engine()).writes, self._who(user_id), content)
        self._noted(found.receipt)
        return found

    async def _decide(
        self, patch_id: UUID | str, user_id: str, decision: Literal[Status.GRANTED, Status.REFUSED]
    ) -> Receipt:
        fields = {"patch_id": parse_uuid(patch_id, "patch_id"), "decision": decision}
        return self._noted(await (await self._engine()).writes.decide_patch({**self._who(user_id), **fields}))
