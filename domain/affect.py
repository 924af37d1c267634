"""Affect: the mood of a conversation. It fades by itself, colours the tone alone, and is never a fact (A §3.2, §8)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Self

SLOT_CONTRACT_VERSION = "1.0"
LIFETIME = timedelta(minutes=30)
PULSE_EVERY = 3  # messages
SHORT = 10  # UTF-16 code units, as the specification's own function counts them
SHORT_DECAY, PULSE_DECAY = 0.7, 0.95
FLUSHED_UNDER = 0.3
NEUTRAL = "neutral"
DEFAULT_MODE = "default"
EXPIRED, FLUSHED = "expired_decay", "forced_flush_low_conf"
# What String.prototype.trim removes (ECMA-262, white space and line terminators).
_SPACES = "\t\n\v\f\r \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"


@dataclass(frozen=True, slots=True)
class Affect:
    """A mood: `confidence` 0 to 1, `markers` are what it was read from, `decay_at` is when it is over.

    It is checked every `every_n_messages` messages of its chat, last at `last_pulse_at`.
    """

    label: str
    confidence: float
    decay_at: datetime
    ts: datetime
    markers: tuple[str, ...] = ()
    interaction_mode: str = DEFAULT_MODE
    every_n_messages: int = PULSE_EVERY
    last_pulse_at: datetime | None = None

    @classmethod
    def neutral(cls, now: datetime) -> Self:
        """What is assumed where no affect is known."""
        return cls(NEUTRAL, 0.0, now + LIFETIME, now)

    @property
    def is_neutral(self) -> bool:
        return self.label == NEUTRAL and self.confidence == 0.0

    @property
    def still_valid(self) -> bool:
        return self.confidence >= FLUSHED_UNDER

    def maintained(self, now: datetime, message_count: int, last_message: str | None) -> "Affect":
        """The affect after the three rules of A §8, in their order. They never raise the confidence.

        `message_count` is the session's count of messages, `last_message` included; None is never a short one.
        """
        return self.expired(now)._pulsed(now, message_count, last_message)._flushed()

    def expired(self, now: datetime) -> "Affect":
        """Rule 1: after `decay_at` nothing is left of it."""
        if self.decay_at >= now:
            return self
        return replace(self, label=NEUTRAL, confidence=0.0, markers=(EXPIRED,))

    def _pulsed(self, now: datetime, message_count: int, last_message: str | None) -> "Affect":
        """Rule 2: every few messages it fades a little, and more after a short, functional message."""
        if message_count <= 0 or message_count % self.every_n_messages:
            return self
        short = last_message is not None and _length(last_message.strip(_SPACES)) < SHORT
        confidence = self.confidence * SHORT_DECAY if short else self.confidence
        return replace(self, confidence=confidence * PULSE_DECAY, last_pulse_at=now)

    def _flushed(self) -> "Affect":
        """Rule 3: what is hardly sure any more is dropped."""
        if self.still_valid:
            return self
        return replace(self, label=NEUTRAL, confidence=0.0, markers=(*self.markers, FLUSHED))

    def as_dict(
        self, user_id: str, agent_id: str, topic_focus: str, active_entity_ids: Sequence[str]
    ) -> dict[str, Any]:
        """The object of A §3.2, field by field."""
        pulse = {
            "every_n_messages": self.every_n_messages,
            "last_pulse_at": moment_text(self.last_pulse_at) if self.last_pulse_at else None,
            "still_valid": self.still_valid,
        }
        return {
            "slot_contract_version": SLOT_CONTRACT_VERSION,
            "user_id": user_id,
            "agent_id": agent_id,
            "authority": "non-factual",
            "stability": "volatile",
            "ts": moment_text(self.ts),
            "affect": {
                "label": self.label,
                "confidence": self.confidence,
                "markers": list(self.markers),
                "decay_at": moment_text(self.decay_at),
                "pulse": pulse,
            },
            "interaction_mode": self.interaction_mode,
            "topic_focus": topic_focus,
            "active_entity_ids": list(active_entity_ids),
        }

    @classmethod
    def from_dict(cls, blob: Mapping[str, Any]) -> Self:
        """What `as_dict` wrote."""
        affect, pulse = blob["affect"], blob["affect"]["pulse"]
        last = pulse["last_pulse_at"]
        return cls(
            affect["label"],
            affect["confidence"],
            datetime.fromisoformat(affect["decay_at"]),
            datetime.fromisoformat(blob["ts"]),
            tuple(affect["markers"]),
            blob["interaction_mode"],
            pulse["every_n_messages"],
            datetime.fromisoformat(last) if last else None,
        )


def _length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def moment_text(at: datetime) -> str:
    """A time as in the slots of A §3: in UTC, with microseconds and a Z."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
