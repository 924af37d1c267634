"""Consent: when a proposed profile change is applied, and who may decide (B §10)."""

from collections.abc import Collection
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from mnemolog.domain.errors import ConsentRequired, NotFound, TransitionRefused

QUEUED_FOR = timedelta(days=7)
SIGNALS = 2
# B §10 requires "high confidence" of a single signal without giving a figure.
HIGH_CONFIDENCE = 0.8
# The actor of an expiry.
CLOCK = "schedule"
# The actor of the user, and the prefix of agents without an API key.
PERSON, AGENT = "user", "agent:"


class PatchStatus(StrEnum):
    """The status of a proposed change. `granted` and `corroborated` ones are applied."""

    PROPOSED = "proposed"
    GRANTED = "granted"
    REFUSED = "refused"
    EXPIRED = "expired"
    CORROBORATED = "corroborated"


APPLIED = frozenset({PatchStatus.GRANTED, PatchStatus.CORROBORATED})


def corroborated(signals: int, confidence: float) -> bool:
    """Whether the signals suffice to apply a benign change: two from different turns, or one with high confidence."""
    return signals >= SIGNALS or confidence >= HIGH_CONFIDENCE


def due(expires_at: datetime, now: datetime) -> bool:
    return now >= expires_at


def require_word_of(actor: str) -> None:
    """Refuse consent given by an agent together with its proposal; a principal needs the role."""
    if actor.startswith(AGENT):
        raise ConsentRequired(
            f"{actor!r} cannot consent to its own proposal",
            field="consent",
            fix="omit it, and let the user grant the proposal",
        )


def require_person(actor: str, *, consenting: bool, what: str = "change a sensitive field without consent") -> None:
    """Refuse a change by anyone but the user or an API key with the role `consent`."""
    if actor != PERSON and not consenting:
        raise ConsentRequired(
            f"{actor!r} cannot {what}",
            field="actor",
            fix="let the user do it, or use an API key with the role consent",
        )


def require_other(actor: str, proposed_by: Collection[str]) -> None:
    """Refuse granting one's own proposal, except by the user."""
    if actor != PERSON and _principal(actor) in map(_principal, proposed_by):
        raise ConsentRequired(f"{actor!r} proposed this itself", field="actor", fix="let the user decide")


def _principal(actor: str) -> str:
    """An API key counts as one proposer, whichever agent it acts for."""
    return actor if actor.startswith(AGENT) else actor.partition("/")[0]


def require_open(patch_id: UUID, status: PatchStatus, expires_at: datetime, now: datetime) -> None:
    """Refuse a decision on a proposal that is already decided or expired."""
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
