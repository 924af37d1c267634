"""Consent: when a proposal applies, who may decide, and until when."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from mnemolog.domain import consent
from mnemolog.domain.consent import QUEUED_FOR, PatchStatus
from mnemolog.domain.errors import ConsentRequired, TransitionRefused

pytestmark = pytest.mark.spec("B10")
NOW = datetime(2026, 1, 3, tzinfo=UTC)
PATCH = UUID(int=1)


@pytest.mark.parametrize(
    ("signals", "confidence", "enough"), [(1, 0.79, False), (1, 0.8, True), (2, 0.0, True), (3, 0.5, True)]
)
def test_two_signals_or_one_of_high_confidence_are_enough(signals: int, confidence: float, enough: bool) -> None:
    assert consent.corroborated(signals, confidence) is enough


def test_a_proposal_waits_for_seven_days() -> None:
    assert timedelta(days=7) == QUEUED_FOR
    assert consent.due(NOW, NOW)
    assert not consent.due(NOW, NOW - timedelta(microseconds=1))


@pytest.mark.parametrize(
    ("actor", "proposed_by", "allowed"),
    [
        ("user", ["user"], True),
        ("user", ["agent:coach"], True),
        ("agent:coach", ["agent:coach"], False),
        ("agent:coach", ["agent:planner", "agent:coach"], False),
        ("agent:coach", ["agent:planner"], True),
        ("key/ui", ["key/coach"], False),
        ("ui/default", ["key/coach"], True),
        ("agent:a/b", ["agent:a/c"], True),
    ],
)
def test_who_proposed_it_does_not_grant_it(actor: str, proposed_by: list[str], allowed: bool) -> None:
    if allowed:
        consent.require_other(actor, proposed_by)
        return
    with pytest.raises(ConsentRequired) as caught:
        consent.require_other(actor, proposed_by)
    assert caught.value.field == "actor"


def test_an_agent_does_not_consent_in_one_breath() -> None:
    for actor in ("user", "ui/default"):
        consent.require_word_of(actor)
    with pytest.raises(ConsentRequired):
        consent.require_word_of("agent:coach")


@pytest.mark.parametrize(
    "status", [PatchStatus.GRANTED, PatchStatus.REFUSED, PatchStatus.EXPIRED, PatchStatus.CORROBORATED]
)
def test_what_is_decided_is_not_decided_again(status: PatchStatus) -> None:
    with pytest.raises(TransitionRefused, match=status):
        consent.require_open(PATCH, status, NOW, NOW - QUEUED_FOR)


def test_what_is_too_old_is_not_decided_even_before_that_is_noted() -> None:
    consent.require_open(PATCH, PatchStatus.PROPOSED, NOW, NOW - timedelta(seconds=1))
    with pytest.raises(TransitionRefused, match="expired"):
        consent.require_open(PATCH, PatchStatus.PROPOSED, NOW, NOW)
