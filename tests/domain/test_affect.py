"""Affect fades by the three rules of A §8, and by nothing else."""

import json
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.affect import EXPIRED, FLUSHED, LIFETIME, NEUTRAL, Affect, moment_text

REFERENCE = Path(__file__).parent / "pulse_and_decay.mjs"
AT = datetime(2026, 1, 3, 1, 1, 50, tzinfo=UTC)
LONG = "I really do not know any more"
CASES = 400


def stressed(confidence: float = 0.85, **fields: Any) -> Affect:
    return Affect("stressed", confidence, AT + LIFETIME, AT, ("rapid-fire messages",), "reflective", **fields)


def shown(affect: Affect) -> dict[str, Any]:
    return affect.as_dict("123", "deanna", "family", ["8f4ccf3b-0d86-4c07-a6f6-2f0ea2f7c6a1"])


def test_the_object_has_exactly_the_fields_of_the_specification() -> None:
    assert shown(stressed().maintained(AT, 3, LONG)) == {
        "slot_contract_version": "1.0",
        "user_id": "123",
        "agent_id": "deanna",
        "authority": "non-factual",
        "stability": "volatile",
        "ts": "2026-01-03T01:01:50.000000Z",
        "affect": {
            "label": "stressed",
            "confidence": 0.85 * 0.95,
            "markers": ["rapid-fire messages"],
            "decay_at": "2026-01-03T01:31:50.000000Z",
            "pulse": {"every_n_messages": 3, "last_pulse_at": "2026-01-03T01:01:50.000000Z", "still_valid": True},
        },
        "interaction_mode": "reflective",
        "topic_focus": "family",
        "active_entity_ids": ["8f4ccf3b-0d86-4c07-a6f6-2f0ea2f7c6a1"],
    }


def test_what_was_written_reads_as_it_was() -> None:
    pulsed = stressed().maintained(AT, 3, "ok")

    assert Affect.from_dict(shown(pulsed)) == pulsed
    assert Affect.from_dict(shown(stressed())) == stressed()


def test_a_time_of_the_first_millennium_has_a_year_of_four_digits() -> None:
    assert moment_text(datetime(284, 11, 12, 15, 9, tzinfo=UTC)) == "0284-11-12T15:09:00.000000Z"


def test_after_its_time_nothing_is_left() -> None:
    late = AT + LIFETIME + timedelta(microseconds=1)

    assert stressed().maintained(AT + LIFETIME, 1, LONG) == stressed()
    expired = stressed().maintained(late, 1, LONG)
    assert (expired.label, expired.confidence, expired.markers) == (NEUTRAL, 0.0, (EXPIRED, FLUSHED))


@pytest.mark.parametrize(
    ("message", "factor"),
    [(LONG, 0.95), ("ok", 0.7 * 0.95), ("  thanks \u3000", 0.7 * 0.95), ("0123456789", 0.95), ("😀😀😀😀😀", 0.95)],
)
def test_every_third_message_it_fades_and_more_after_a_short_one(message: str, factor: float) -> None:
    assert stressed().maintained(AT, 2, message) == stressed()
    assert stressed().maintained(AT, 0, message) == stressed()

    assert stressed().maintained(AT, 3, message).confidence == pytest.approx(0.85 * factor)
    assert stressed(every_n_messages=5).maintained(AT, 5, message).last_pulse_at == AT


def test_what_is_hardly_sure_is_dropped() -> None:
    assert stressed(0.3).maintained(AT, 1, LONG).label == "stressed"

    flushed = stressed(0.31).maintained(AT, 3, LONG)

    assert (flushed.label, flushed.confidence) == (NEUTRAL, 0.0)
    assert flushed.markers == ("rapid-fire messages", FLUSHED)


@given(
    st.floats(0, 1),
    st.integers(0, 12),
    st.integers(1, 5),
    st.text(max_size=14),
    st.timedeltas(-LIFETIME, 2 * LIFETIME),
)
def test_decay_never_boosts(confidence: float, count: int, every: int, message: str, later: timedelta) -> None:
    before = stressed(confidence, every_n_messages=every)

    after = before.maintained(AT + later, count, message)

    assert after.confidence <= confidence
    assert after.label in (before.label, NEUTRAL)


@pytest.mark.spec("A06")
def test_it_fades_as_the_function_of_the_specification_does() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    random = Random(6)
    cases = [_case(random) for _ in range(CASES)]
    asked = [
        {
            "redis_affect": shown(one),
            "session": {"msg_count": count},
            "last_message": message,
            "now": now.isoformat(timespec="milliseconds"),
        }
        for one, now, count, message in cases
    ]

    answer = subprocess.run([node, str(REFERENCE)], input=json.dumps(asked), capture_output=True, text=True, check=True)

    for (one, now, count, message), left in zip(cases, json.loads(answer.stdout), strict=True):
        after = shown(one.maintained(now, count, message))["affect"]
        assert {name: after[name] for name in ("label", "confidence", "markers")} == {
            name: left[name] for name in ("label", "confidence", "markers")
        }, (one, now, count, message)
        assert after["pulse"]["every_n_messages"] == left["pulse"]["every_n_messages"]


def _case(random: Random) -> tuple[Affect, datetime, int, str]:
    one = stressed(random.choice([0.0, 0.3, 0.31, 0.5, 1.0, random.random()]), every_n_messages=random.randint(1, 4))
    now = AT + timedelta(milliseconds=random.choice([0, 1, random.randint(0, 3_600_000)]))
    message = "".join(random.choices("ab \t\n\u00a0\u200b\ufeff\x1c😀é", k=random.randint(0, 14)))
    return one, now, random.randint(0, 9), message
