"""Consent: when a proposed change of the profile is applied, and who may say so (B §10)."""

from collections.abc import Collection
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from mnemolog.domain.errors import ConsentRequired, NotFound, TransitionRefused

QUEUED_FOR = timedelta(days=7)
SIGNALS = 2
# B §10 asks of a single signal "high confidence" and gives no figure.
HIGH_CONFIDENCE = 0.8
# What decides that nobody decided in time.
CLOCK = "schedule"
# The actor that is the person himself, and what an agent is called that no API key vouches for.
PERSON, AGENT = "user", "agent:"


class PatchStatus(StrEnum):
    """Of a proposed change. `granted` and `corroborated` ones are applied."""

    PROPOSED = "proposed"
    GRANTED = "granted"
    REFUSED = "refused"
    EXPIRED = "expired"
    CORROBORATED = "corroborated"


APPLIED = frozenset({PatchStatus.GRANTED, PatchStatus.CORROBORATED})


def corroborated(signals: int, confidence: float) -> bool:
    """Whether signals are enough to apply a benign change: two of different turns, or one of high confidence."""
    return signals >= SIGNALS or confidence >= HIGH_CONFIDENCE


def due(expires_at: datetime, now: datetime) -> bool:
    """Whether a proposal has waited too long."""
    return now >= expires_at


def require_word_of(actor: str, field: str = "consent") -> None:
    """Refuse consent in one breath with the proposal by an agent; a principal has the role for it, or not."""
    if actor.startswith(AGENT):
        raise ConsentRequired(
            f"{actor!r} cannot consent to its own proposal",
            field=field,
            fix="omit it, and let the user grant the proposal",
        )


def require_person(actor: str, *, consenting: bool) -> None:
    """Refuse a change of what is sensitive by anybody but the person himself, or an API key that consents for him."""
    if actor != PERSON and not consenting:
        raise ConsentRequired(
            f"{actor!r} cannot change a sensitive field without consent",
            field="actor",
            fix="let the user undo it, or use an API key with the role consent",
        )


def require_other(actor: str, proposed_by: Collection[str]) -> None:
    """Refuse whoever grants a proposal of his own, unless it is the person himself."""
    if actor != PERSON and _who(actor) in map(_who, proposed_by):
        raise ConsentRequired(f"{actor!r} proposed this itself", field="actor", fix="let the user decide")


def _who(actor: str) -> str:
    """An API key is one, whichever of its agents it speaks for."""
    return actor if actor.startswith(AGENT) else actor.partition("/")[0]


def require_open(patch_id: UUID, status: PatchStatus, expires_at: datetime, now: datetime) -> None:
    """Refuse a decision on what is decided, or has waited too long."""
    late = status is PatchStatus.PROPOSED and due(expires_at, now)
    if late or status is not PatchStatus.PROPOSED:
        raise TransitionRefused(
            f"proposal {patch_id} is {PatchStatus.EXPIRED if late else status} and cannot be decided",
            field="patch_id",
            fix="propose it again",
        )


def no_such_patch(user_id: str, patch_id: UUID) -> NotFound:
    return NotFound(
        f"user {user_id!r} has no proposal {patch_id}", field="patch_id", fix="look it up with `mnemolog consent list`"
    )
