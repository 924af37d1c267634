"""Closing a cycle: which scenes begin to die, which are active again, and what is left alone."""

from typing import Any
from uuid import uuid4

import pytest

from mnemolog.commands.patrol import PATROL, CloseCycle
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.memory import Kind, Status
from mnemolog.domain.scope import Scope
from mnemolog.events import memory as events
from mnemolog.events.event import Event
from mnemolog.events.patrol import CycleClosed
from tests.testkit.clock import START
from tests.testkit.decider import given
from tests.testkit.events import created

A, B = uuid4(), uuid4()
CLOSED = CycleClosed(agent_id="mia")
DYING = events.MemoryStatusChanged(memory_id=A, was=Status.ACTIVE, status=Status.DYING)
REVIVED = events.MemoryStatusChanged(memory_id=A, was=Status.DYING, status=Status.ACTIVE)


def scene(memory_id: Any = A, **fields: Any) -> events.MemoryCreated:
    about = {"kind": Kind.SCENE, "scope": Scope.AGENT, "agent_id": "mia", "importance": 0.5, **fields}
    return created(memory_id).model_copy(update=about)


def close(**counts: int) -> CloseCycle:
    ids = {"a": A, "b": B}
    found = tuple(ids[name] for name in counts)
    return CloseCycle(user_id="ana", agent_id="mia", memory_ids=found, session_counts=tuple(counts.values()))


@pytest.mark.spec_part("C03", "C06")
def test_a_scene_of_which_too_little_is_left_begins_to_die() -> None:
    given(PATROL, scene(), scene(B)).when(close(a=69, b=68)).then(CLOSED, DYING)


@pytest.mark.spec_part("C03", "C08")
def test_a_dying_scene_that_was_recalled_is_active_again() -> None:
    given(PATROL, scene(), DYING).when(close(a=0)).then(CLOSED, REVIVED)
    given(PATROL, scene(), DYING).when(close(a=70)).then(CLOSED)


@pytest.mark.spec_part("C08")
def test_a_dying_scene_that_became_important_is_active_again() -> None:
    heavier = events.MemoryUpdated.of(A, scene(importance=1.0).content, changed=("importance",))

    given(PATROL, scene(), DYING, heavier).when(close(a=70)).then(CLOSED, REVIVED)


@pytest.mark.spec_part("C01", "C06")
@pytest.mark.parametrize(
    "history",
    [
        [scene(pinned=True)],
        [scene(agent_id="noah")],
        [scene(kind=Kind.EPISODE)],
        [scene(scope=Scope.GLOBAL, agent_id=None)],
        [scene(), DYING],
        [scene(), events.MemorySoftDeleted(memory_id=A, purge_at=START)],
        [],
    ],
    ids=["pinned", "of another being", "no scene", "for all agents", "dying already", "forgotten", "unknown"],
)
def test_anything_else_stays_as_it_is(history: list[Event]) -> None:
    given(PATROL, *history).when(close(a=1000)).then(CLOSED)


@pytest.mark.spec_part("C03")
def test_a_cycle_names_no_scene_however_many_it_counts() -> None:
    given(PATROL, scene(), scene(B)).when(close()).then(CLOSED)
    assert CLOSED.tags() == {"cycle:mia"}


def test_a_retry_is_the_same_request_whatever_was_due_by_then() -> None:
    assert close(a=69).fingerprint() == close().fingerprint()


def test_every_scene_has_its_count() -> None:
    with pytest.raises(InvalidInput) as refused:
        CloseCycle(user_id="ana", memory_ids=(A,))
    assert refused.value.field == "session_counts"
