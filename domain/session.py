"""Working memory: the session object of one user, agent and chat (A §3.1, A04)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

SLOT_CONTRACT_VERSION = "1.0"
KEPT_TURNS = 20
LIFETIME = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Session:
    """What was just said. `turns` holds the last twenty, oldest first, each `{"role": ..., "text": ...}`."""

    user_id: str
    agent_id: str
    chat_id: str
    msg_count: int = 0
    summary: str = ""
    turns: Sequence[dict[str, str]] = ()
    scratch: dict[str, Any] = field(default_factory=dict)
    active_entity_ids: Sequence[str] = ()
    updated_at: str = ""

    def heard(self, role: str, text: str, entity_id: str | None, at: datetime) -> "Session":
        """The session after one more turn; the entity that spoke is the most recent active one."""
        entities = self.active_entity_ids
        if entity_id:
            entities = [entity_id, *(other for other in entities if other != entity_id)][:10]
        return replace(
            self,
            msg_count=self.msg_count + 1,
            turns=[*self.turns, {"role": role, "text": text}][-KEPT_TURNS:],
            active_entity_ids=entities,
            updated_at=at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        )

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


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace(":", "%3A")
