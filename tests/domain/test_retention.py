"""Retention: what fades after its time, and what never does."""

from datetime import timedelta

import pytest

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.memory import Content, Kind
from mnemolog.domain.retention import Retention
from tests.testkit.clock import START


@pytest.mark.spec("B07")
@pytest.mark.parametrize(
    ("kind", "importance", "pinned", "days", "expired"),
    [
        (Kind.FACT, 0.25, False, 61, True),
        (Kind.FACT, 0.25, False, 60, False),
        (Kind.FACT, 1 / 3, False, 61, False),
        (Kind.FACT, 0.25, True, 61, False),
        (Kind.EPISODE, 0.33, False, 61, True),
        (Kind.SCENE, 0.25, False, 6100, False),
    ],
)
def test_what_is_unimportant_and_long_unused_fades(
    kind: Kind, importance: float, pinned: bool, days: int, expired: bool
) -> None:
    content = Content("tea", "note", importance, 1.0, pinned)

    assert Retention().expired(kind, content, START - timedelta(days=days), START) is expired


@pytest.mark.parametrize(
    ("fields", "field"), [({"ttl_days": 0}, "ttl_days"), ({"ttl_importance": 2}, "ttl_importance")]
)
def test_a_retention_that_cannot_be_is_refused(fields: dict[str, int], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Retention(**fields)

    assert refused.value.field == f"retention.{field}"
