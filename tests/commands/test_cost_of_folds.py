"""To fold one more event costs what it changes, however much the state holds already."""

import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from itertools import islice
from pkgutil import walk_packages
from typing import Any
from uuid import UUID, uuid4

import pytest

import mnemolog.commands
from mnemolog.commands.change_history import ChangeHistory
from mnemolog.commands.decider import Decider
from mnemolog.commands.graph import Graph
from mnemolog.domain.entity import Entity
from mnemolog.domain.memory import Cause
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Meta, NewEvent
from mnemolog.events.event import Event
from mnemolog.events.graph import EntityObserved, RelationAsserted
from mnemolog.events.graph_fold import ENTITY
from mnemolog.events.message import MessageDeleted, MessagesErased
from mnemolog.events.unread import Unread
from tests.testkit.clock import START
from tests.testkit.events import created, new

FEW, MANY = 100, 1000
LOADED = [import_module(one.name) for one in walk_packages(mnemolog.commands.__path__, "mnemolog.commands.")]
FOUND = {name: one for module in LOADED for name, one in vars(module).items() if isinstance(one, Decider)}
# Of those that fold alike, one.
DECIDERS = list({one.evolve: name for name, one in FOUND.items()}.values())


def _turns() -> Iterator[Event]:
    while True:
        yield TurnRecorded.model_validate(
            {"turn_id": uuid4().hex, "thread_id": uuid4().hex, "role": "user", "text": "Hello", "speaker": "Ana"}
        )


def _memories() -> Iterator[Event]:
    while True:
        yield created(text=uuid4().hex)


def _unread() -> Iterator[Event]:
    while True:
        yield Unread(type="MemoryCreated", header_tags=frozenset({f"memory:{uuid4()}"}))


def _hidden() -> Iterator[Event]:
    while True:
        yield MessageDeleted.model_validate(
            {"turn_id": uuid4().hex, "thread_id": "main", "purge_at": START, "cause": "asked", "reason": ""}
        )


def _erased() -> Iterator[Event]:
    for turn in _turns():
        assert isinstance(turn, TurnRecorded)
        yield turn
        if turn.turn_id < "8":  # Others stay.
            yield MessagesErased(thread_id=turn.thread_id, turn_ids=(turn.turn_id,), cause=Cause.ASKED)


def _entities() -> Iterator[Event]:
    while True:
        yield EntityObserved.model_validate(
            {"entity_id": uuid4(), "name": uuid4().hex, "category": "person", "scope": "global"}
        )


def _facts() -> Iterator[Event]:
    while True:
        yield RelationAsserted.model_validate(
            {
                "relation_id": uuid4(),
                "subject_id": uuid4(),
                "predicate": "likes",
                "value": uuid4().hex,
                "valid_from": START,
                "scope": "global",
                "confidence": 1.0,
                "single": False,
                "validity": (),
            }
        )


STORIES = (_turns, _memories, _unread, _hidden, _erased, _entities, _facts)


@pytest.mark.spec_part("X03", "X07")
@pytest.mark.parametrize("name", DECIDERS)
@pytest.mark.parametrize("story", STORIES)
def test_one_more_event_copies_nothing_of_what_was_before(story: Callable[[], Iterator[Event]], name: str) -> None:
    few, many = (_allocated(FOUND[name], story(), size) for size in (FEW, MANY))

    assert many < few + 4_000


def _allocated(decider: Decider[Any, Any], story: Iterator[Event], size: int) -> int:
    """The bytes that an event takes while it is folded, at least: from time to time, a dict grows."""
    state, found = decider.initial, list[int]()
    for payload in islice(story, size):
        state = decider.evolve(state, new(payload))
    tracemalloc.start()
    try:
        for event in map(new, islice(story, 8)):
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            state = decider.evolve(state, event)
            _, peak = tracemalloc.get_traced_memory()
            found.append(peak - before)
    finally:
        tracemalloc.stop()
    return max(sorted(found)[:4])


@pytest.mark.spec_part("X03")
@pytest.mark.parametrize("times", [2000, 2001])
def test_what_was_undone_and_redone_ever_so_often_is_known(times: int) -> None:
    history: ChangeHistory[None] = ChangeHistory()
    first = last = new(created())
    history = history.with_change(first, {"memory:a": None})
    for _ in range(times):
        undo = NewEvent(uuid4(), first.payload, Meta(actor="user"), START)
        history, last = history.with_change(undo, {"memory:a": None}, last.event_id), undo

    assert history.undone(first.event_id) == bool(times % 2)
    assert not history.undone(last.event_id)


def test_an_entity_that_was_merged_ever_so_often_is_found() -> None:
    ids = [UUID(int=number) for number in range(1, 2002)]
    [one] = ENTITY.evolve({}, next(_entities())).values()
    entities: dict[UUID, Entity] = {
        id_: replace(one, entity_id=id_, merged_into=into) for id_, into in zip(ids, [*ids[1:], None], strict=True)
    }

    assert Graph(entities=entities).root(ids[0]) == ids[-1]
