"""Memories that say the same are shown once."""

from datetime import UTC, datetime
from typing import Any

import pytest

from mnemolog.domain.memory import Kind
from mnemolog.projections.retrieval import told_once


def said(id_: str, text: str, *, kind: Kind = Kind.FACT, day: int = 3) -> dict[str, Any]:
    return {"memory_id": id_, "text": text, "kind": kind, "occurred_at": datetime(2026, 5, day, tzinfo=UTC)}


@pytest.mark.spec_part("E07")
def test_the_first_of_the_memories_that_say_the_same_is_shown() -> None:
    tea = [said("a", "Ana drinks tea"), said("b", "ana drinks  tea.", day=10), said("c", "Ana drank tea")]
    assert told_once((row, True) for row in tea) == {"a", "c"}


@pytest.mark.spec_part("E07")
def test_what_held_twice_or_happened_twice_is_not_the_same() -> None:
    home = [(said("a", "Ana lives in Porto", day=20), True), (said("b", "Ana lives in Porto"), False)]
    swims = [said(str(day), "Ana swam in the lake", kind=Kind.EPISODE, day=day) for day in (3, 10)]

    assert told_once(home) == {"a", "b"}
    assert told_once([home[0], (said("c", "Ana lives in Porto", kind=Kind.INSIGHT), True)]) == {"a", "c"}
    assert told_once((row, True) for row in swims) == {"3", "10"}
