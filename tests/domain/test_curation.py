"""The curator: what is folded into one memory without losing anything, and what is trivial."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from mnemolog.domain.extraction.validation import Fault
from mnemolog.domain.memory import Content, Kind, Memory
from mnemolog.domain.memory_key import Identity, Source
from mnemolog.domain.minds.curation import Fold, groups, is_trivial, judge
from mnemolog.domain.scope import Scope
from tests.testkit.clock import START

pytestmark = pytest.mark.spec_part("D12")

ABOUT = ("John runs the backend at Acme", "John lives in Linz", "John does not eat meat")


def memory(text: str, ref: str = "person:john", **fields: Any) -> Memory:
    content = {"category": "note", "importance": 0.5, "confidence": 1.0, "pinned": False}
    own = {name: fields.pop(name) for name in list(fields) if name in content}
    identity = Identity(source=fields.pop("source", Source.API), key=fields.pop("key", ""), entity_refs=(ref,))
    kind = fields.pop("kind", Kind.FACT)
    return Memory(uuid4(), kind, Scope.GLOBAL, None, Content(text=text, **{**content, **own}), identity=identity)


def grouped(*memories: Memory, days: int = 8) -> list[list[str]]:
    found = groups([(one, START - timedelta(days=days)) for one in memories], START)
    return [sorted(one.content.text for one in group) for group in found]


def test_three_settled_facts_about_one_entity_are_a_group() -> None:
    john = [memory(text) for text in ABOUT]
    assert grouped(*john, memory("Marta sings", "person:marta")) == [sorted(ABOUT)]
    assert grouped(*john, days=6) == []
    assert grouped(*john[:2]) == []


@pytest.mark.parametrize(
    "other",
    [{"pinned": True}, {"category": "tasks"}, {"kind": Kind.EPISODE}, {"source": Source.CURATED_FOLD}, {"key": "k"}],
)
def test_what_is_pinned_keyed_or_a_fold_is_in_no_group(other: dict[str, Any]) -> None:
    assert grouped(memory(ABOUT[0]), memory(ABOUT[1]), memory(ABOUT[2], **other)) == []


def test_memories_that_contradict_each_other_are_not_folded() -> None:
    assert grouped(*(memory(text) for text in (*ABOUT, "John lives in Graz"))) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("John runs the backend at Acme, lives in Linz and does not eat meat.", None),
        ("John runs the backend at Acme and does not eat meat.", Fault.UNSTATED),
        ("John runs the backend at Acme, lives in Linz and eats meat.", Fault.UNSTATED),
        ("John runs the backend at Acme, lives in Linz with Eva and does not eat meat.", Fault.UNGROUNDED),
        ("He runs the backend at Acme, lives in Linz and does not eat meat.", Fault.PRONOUN),
        ("", Fault.EMPTY),
    ],
)
def test_a_fold_says_no_more_and_no_less(text: str, fault: Fault | None) -> None:
    assert judge(Fold(text), [memory(one) for one in ABOUT]) == (fault or text)


def test_only_level_0_is_trivial_and_nothing_pinned() -> None:
    contents = [
        memory("x", importance=value, pinned=pinned).content
        for value, pinned in ((0.1, False), (0.2, False), (0.1, True))
    ]
    assert [is_trivial(one) for one in contents] == [True, False, False]
