"""The registry of what can be known: whatever lacks an entry is named where it is imported."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest

from mnemolog.commands.undo import UNDOABLE
from mnemolog.events import subjects
from mnemolog.events.erasure import UserErased
from mnemolog.events.event import Event
from mnemolog.events.graph import RelationEvent
from mnemolog.events.graph_fold import RELATION
from mnemolog.events.memory import MemoryCreated
from mnemolog.events.profile import TodoErased, TodoEvent
from mnemolog.events.profile_fold import TODO
from mnemolog.events.registry import REGISTRY
from mnemolog.events.subject import Subject
from mnemolog.events.subjects import OF_NO_SUBJECT, SUBJECTS, WITH_HISTORY, of_each, of_each_event, subject_of
from mnemolog.projections.history.entries import ENTRIES
from mnemolog.projections.shown import SHOWN

IDS: Mapping[str, Any] = {"link": f"{UUID(int=1)}:{UUID(int=2)}", "profile": "goals"}
EACH = pytest.mark.parametrize("kind", SUBJECTS.values(), ids=SUBJECTS.keys())


class TodoShared(TodoEvent):
    """A type that nobody has folded yet."""


@EACH
def test_a_tag_gives_its_kind_and_id_back(kind: Subject[Any, Any]) -> None:
    tag = f"{kind.name}:{IDS.get(kind.name, UUID(int=1))}"
    assert subject_of(tag) is kind
    assert kind.tag(kind.id_of(tag)) == tag
    assert [one for one in SUBJECTS.values() if one.has(tag)] == [kind]


@EACH
def test_what_destroys_the_words_of_a_kind_is_an_event_of_it_that_shreds_its_key(kind: Subject[Any, Any]) -> None:
    id_ = kind.read_id(IDS.get(kind.name, str(UUID(int=1))))
    if kind.erase is not None:
        assert list(kind.touched(kind.erase(id_))) == [id_]
        assert kind.erase(id_).shreds() == {kind.tag(id_)}


@EACH
def test_only_the_first_event_of_an_unknown_subject_has_an_effect(kind: Subject[Any, Any]) -> None:
    later = [event_type for event_type in kind.folds if event_type not in kind.begins]
    assert kind.begins <= kind.folds.keys()
    if TodoErased in later:
        assert kind.evolve({}, TodoErased(todo_id=UUID(int=1))) == {}
    assert kind.evolve({}, UserErased()) == {}


def test_every_registered_type_is_folded_or_is_of_no_subject() -> None:
    folded = {event_type for one in SUBJECTS.values() for event_type in one.folds}
    assert set(REGISTRY.types.values()) == OF_NO_SUBJECT | folded
    assert OF_NO_SUBJECT.isdisjoint(folded)


def test_a_type_of_event_that_no_kind_folds_is_named() -> None:
    with pytest.raises(ValueError, match=r"no kind of subject folds TodoShared: add it to the folds of its kind"):
        subjects._require_folded([TodoShared])


def test_a_kind_without_an_entry_is_reported_with_the_table_that_lacks_it() -> None:
    without = {name: one for name, one in SHOWN.items() if name != "todo"}
    with pytest.raises(ValueError, match=r"SHOWN in projections/shown\.py has no entry for the kind of subject todo"):
        of_each("SHOWN in projections/shown.py", without)


def test_an_entry_for_no_kind_is_named() -> None:
    with pytest.raises(ValueError, match="has an entry for the kind of subject goal, which is not registered"):
        of_each("SHOWN", {**SHOWN, "goal": None})


def test_a_type_of_event_without_an_entry_is_named() -> None:
    without = {event_type: one for event_type, one in ENTRIES.items() if event_type is not MemoryCreated}
    with pytest.raises(ValueError, match="ENTRIES has no entry for the type of event MemoryCreated"):
        of_each_event("ENTRIES", without)


def test_a_new_kind_is_asked_for_by_every_table(monkeypatch: pytest.MonkeyPatch) -> None:
    goals = replace(TODO, name="goal", folds={TodoShared: lambda todo, event: todo})
    monkeypatch.setattr(subjects, "SUBJECTS", MappingProxyType({**SUBJECTS, goals.name: goals}))
    entries: Mapping[type[Event], Any] = {**ENTRIES}
    with pytest.raises(ValueError, match="kind of subject goal"):
        of_each("SHOWN", SHOWN)
    with pytest.raises(ValueError, match="kind of subject goal"):
        of_each("UNDOABLE", {kind.name: one for one in UNDOABLE.values() for kind in one.kinds})
    with pytest.raises(ValueError, match="type of event TodoShared"):
        of_each_event("ENTRIES", entries, [goals, *WITH_HISTORY])


def test_a_merge_changes_when_the_relations_of_its_entities_hold() -> None:
    assert {one for one in RELATION.folds if not issubclass(one, RelationEvent)} == {
        REGISTRY.types["EntitiesMerged"],
        REGISTRY.types["EntityReverted"],
    }
