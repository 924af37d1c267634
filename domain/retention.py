"""Retention: which memories fade, and when deleted ones are purged (B §7, B07)."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.importance import STANDARD, checked
from mnemolog.domain.memory import Content, Kind


@dataclass(frozen=True, slots=True)
class Retention:
    """A memory below `ttl_importance` that was not used for `ttl_days` is soft-deleted (D).

    Messages are erased `message_days` after they were recorded; never if None.
    """

    ttl_days: int = 60
    ttl_importance: float = STANDARD
    message_days: int | None = None

    def __post_init__(self) -> None:
        checked(self.ttl_importance, "retention.ttl_importance")
        if self.ttl_days < 1:
            raise InvalidInput(f"{self.ttl_days} is too short", field="retention.ttl_days", fix="give 1 day or more")
        if self.message_days is not None and self.message_days < 1:
            raise InvalidInput(
                f"{self.message_days} is too short",
                field="retention.message_days",
                fix="give 1 day or more, or omit it",
            )

    def unused_since(self, now: datetime) -> datetime:
        """Memories used after this time are kept."""
        return now - timedelta(days=self.ttl_days)

    def fades(self, kind: Kind, content: Content) -> bool:
        """Whether retention applies. Scenes fade by patrol cycles (C), and pinned memories never fade (D)."""
        return kind is not Kind.SCENE and not content.pinned and content.importance < self.ttl_importance

    def expired(self, kind: Kind, content: Content, last_accessed: datetime, now: datetime) -> bool:
        return self.fades(kind, content) and last_accessed < self.unused_since(now)
