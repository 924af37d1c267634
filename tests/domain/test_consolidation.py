"""What is compared and merged: nothing across a negation, a number, a date or a name."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.bands import Bands
from mnemolog.domain.extraction.validation import Fault
from mnemolog.domain.memory import Content, Kind, Memory
from mnemolog.domain.minds.consolidation import LEAST_BATCH, MOST_BATCH, Candidates, Kept, batches, candidates
from mnemolog.domain.minds.insight import Insight, Insights, judge
from mnemolog.domain.origin import Origin
from mnemolog.domain.scope import Scope
from tests.testkit.clock import START

BANDS = Bands(auto=0.95, check_low=0.8, fallback_low=0.6)


def kept(text: str, days: int = 0, **fields: Any) -> Kept:
    content = {"category": "note", "importance": 0.5, "confidence": 1.0, "pinned": False}
    own = {name: fields.pop(name) for name in list(fields) if name in content}
    memory = Memory(uuid4(), Kind.FACT, Scope.GLOBAL, None, Content(text=text, **{**content, **own}))
    return Kept(replace(memory, **fields), START - timedelta(days=days))


def pair(one: Kept, other: Kept, similarity: float) -> Candidates | None:
    return candidates(one, other, similarity, BANDS, START)


@pytest.mark.spec_part("B04")
@pytest.mark.parametrize(
    ("older", "newer", "similarity", "same"),
    [
        ("Ana likes tea", "ana likes tea!", 0.7, True),
        ("Ana is a nurse", "Ana is a nurse, in the clinic", 0.85, None),
        ("Ana works as a nurse in the clinic", "Ana has a job as a nurse", 0.7, False),
        ("Ana weighs 80 kg", "Ana weighs 81 kg", 0.97, False),
        ("Ana works as a nurse in the clinic", "Ana has a job as a nurse", 0.85, None),
        ("Ana loves jazz music", "Bob plays golf on lawns", 0.7, None),
        ("Ana likes tea", "Ana does not like tea", 0.7, None),
        ("Ana works as a nurse in the clinic", "Ana has a job as a nurse", 0.5, None),
    ],
)
def test_rules_or_a_model_decide_on_a_pair_or_nobody(
    older: str, newer: str, similarity: float, same: bool | None
) -> None:
    found = pair(kept(older, days=1), kept(newer), similarity)
    assert (found.same if found else None) is same
    if found:
        assert found.newer.content.text == newer


@pytest.mark.spec_part("B04")
@pytest.mark.parametrize(
    "other",
    [
        {"category": "tasks"},
        {"kind": Kind.EPISODE},
        {"scope": Scope.AGENT, "agent_id": "coach"},
        {"origin": Origin.TOOL},
        {"days": 91},
    ],
)
def test_memories_of_different_owners_kinds_origins_and_old_ones_are_not_compared(other: dict[str, Any]) -> None:
    assert pair(kept("Ana likes tea", **other), kept("Ana likes tea"), 0.99) is None


@pytest.mark.spec_part("B04")
def test_a_pinned_memory_survives_and_two_are_not_compared() -> None:
    pinned = kept("Ana likes tea", days=1, pinned=True)
    found = pair(pinned, kept("Ana likes tea"), 0.99)
    assert found is not None
    assert found.survivor[0] == pinned.memory
    assert pair(pinned, kept("Ana likes tea", pinned=True), 0.99) is None


@pytest.mark.spec_part("B04")
@given(st.integers(0, 60))
def test_requests_have_five_to_ten_pairs(count: int) -> None:
    one = Candidates(kept("a").memory, kept("b").memory, 0.7, same=False)
    found = batches([one] * count)
    assert sum(map(len, found)) == count
    assert all(len(batch) <= MOST_BATCH for batch in found)
    assert all(len(batch) >= LEAST_BATCH for batch in found) or count < LEAST_BATCH


@pytest.mark.spec_part("B03")
def test_an_insight_is_a_grounded_sentence_of_low_importance() -> None:
    heard = ["I was wrong about Marta"]
    trust = Insight("User shows increased trust when admitting mistakes.", ("trust",), 5)
    others = (Insight("He trusts Marta."), Insight("User is annoyed with Bob."), Insight("User is calm."))
    kept_ones, faults = judge(Insights((trust, *others)), heard)
    assert kept_ones == [replace(trust, importance=2)]
    assert faults == [Fault.PRONOUN, Fault.UNGROUNDED, Fault.OVER_LIMIT]
