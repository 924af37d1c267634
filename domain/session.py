"""Working memory: the session object of one user, agent and chat (A §3.1, A04)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

SLOT_CONTRACT_VERSION = "1.0"
KEPT_TURNS = 20
LIFETIME = timedelta(hours=24)
SAID = "said"


@dataclass(frozen=True, slots=True)
class Session:
    """What was just said. `turns` holds the last twenty, oldest first, each `{"role": ..., "text": ...}`.

    `scratch["said"]` names each of them and who spoke, `[turn_id, entity_id]`, so that one can be taken out again.
    """

    user_id: str
    agent_id: str
    chat_id: str
    msg_count: int = 0
    summary: str = ""
    turns: Sequence[dict[str, str]] = ()
    scratch: dict[str, Any] = field(default_factory=dict)
    active_entity_ids: Sequence[str] = ()
    updated_at: str = ""

    def heard(self, role: str, text: str, turn_id: str, entity_id: str | None, at: datetime) -> "Session":
        """The session after one more turn; the entity that spoke is the most recent active one."""
        entities = self.active_entity_ids
        if entity_id:
            entities = [entity_id, *(other for other in entities if other != entity_id)][:10]
        return replace(
            self,
            msg_count=self.msg_count + 1,
            turns=[*self.turns, {"role": role, "text": text}][-KEPT_TURNS:],
            scratch={**self.scratch, SAID: [*self._said(), [turn_id, entity_id]][-KEPT_TURNS:]},
            active_entity_ids=entities,
            updated_at=at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        )

    def without(self, turn_ids: Collection[str]) -> "Session":
        """The session without these turns, and without who spoke in no other of those it holds; counts stay (X07).

        Turns of before they were named could be any, so they go too.
        """
        said = self._said()
        known = self.turns[len(self.turns) - len(said) :]
        gone = [one for one in said if one[0] in turn_ids]
        if not gone and len(known) == len(self.turns):
            return self
        left = [(turn, one) for turn, one in zip(known, said, strict=True) if one not in gone]
        silent = {speaker for _, speaker in gone} - {speaker for _, (_, speaker) in left}
        return replace(
            self,
            turns=[turn for turn, _ in left],
            scratch={**self.scratch, SAID: [one for _, one in left]},
            active_entity_ids=[one for one in self.active_entity_ids if one not in silent],
        )

    def forgetting(self, entity_id: str) -> "Session":
        """The session without an entity among those that are active; itself if it was not."""
        if entity_id not in self.active_entity_ids:
            return self
        return replace(self, active_entity_ids=[one for one in self.active_entity_ids if one != entity_id])

    def _said(self) -> Sequence[list[str | None]]:
        said: Sequence[list[str | None]] = self.scratch.get(SAID, [])
        return said

    @property
    def ends_at(self) -> datetime:
        return datetime.fromisoformat(self.updated_at) + LIFETIME

    def expired(self, now: datetime) -> bool:
        """Whether nothing was said for longer than a session lives."""
        return bool(self.updated_at) and now - datetime.fromisoformat(self.updated_at) > LIFETIME

    def as_dict(self) -> dict[str, Any]:
        """The object of A §3.1, field by field."""
        return {
            "slot_contract_version": SLOT_CONTRACT_VERSION,
            "user_id": self.user_id,
            "agent_id": self.agent_id,
            "chat_id": self.chat_id,
            "msg_count": self.msg_count,
            "summary": self.summary,
            "turns": list(self.turns),
            "scratch": self.scratch,
            "active_entity_ids": list(self.active_entity_ids),
            "updated_at": self.updated_at,
        }

    @classmethod
    def from_dict(cls, blob: dict[str, Any]) -> "Session":
        return cls(**{name: value for name, value in blob.items() if name != "slot_contract_version"})


def key(kind: str, tenant: str, user_id: str, agent_id: str, chat_id: str) -> str:
    """The Redis key `sess:{user}:{agent}:{chat}` of A §2.1.

    A colon inside a user or agent id is escaped, so that no two ids share a key; a chat id, which stands last, may
    hold colons. A tenant other than the default one gets a prefix.
    """
    prefix = "" if tenant == "default" else f"tenant:{_escaped(tenant)}:"
    return f"{prefix}{kind}:{_escaped(user_id)}:{_escaped(agent_id)}:{chat_id}"


def unescaped(part: str) -> str:
    """An id as it was before it became part of a key."""
    return part.replace("%3A", ":").replace("%25", "%")


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace(":", "%3A")
