"""What time and use do to memories: fading, growing, dying, lying dormant."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from mnemolog.commands.memories import MEMORIES, ChangeStatus, ExpireMemory, ObserveUse, RestoreMemory
from mnemolog.domain.errors import TransitionRefused
from mnemolog.domain.memory import PURGE_AFTER, Cause, Status
from mnemolog.domain.retention import Retention
from mnemolog.events import memory as events
from mnemolog.events.memory import MemoryCreated, Observation
from tests.testkit.clock import START
from tests.testkit.decider import given
from tests.testkit.events import created, updated

A, B = uuid4(), uuid4()
LIGHT = created(A, importance=0.25)


def expire(seen: MemoryCreated = LIGHT, days: int = 61, **fields: Any) -> ExpireMemory:
    who = {"user_id": "ana", "memory_id": A, "retention": Retention(), "at": START}
    last = START - timedelta(days=days)
    return ExpireMemory.model_validate({**who, "seen": seen.content, "last_accessed": last, **fields})


def status(to: Status) -> ChangeStatus:
    return ChangeStatus(user_id="ana", memory_id=A, status=to)  # type: ignore[arg-type]


@pytest.mark.spec("B07")
def test_what_is_unimportant_and_unused_fades_once() -> None:
    faded = events.MemorySoftDeleted(memory_id=A, purge_at=START + PURGE_AFTER, cause=Cause.TTL)

    given(MEMORIES, LIGHT).when(expire()).then(faded)
    given(MEMORIES, LIGHT, faded).when(expire()).then_nothing()
    after = given(MEMORIES, LIGHT, faded).after(RestoreMemory(user_id="ana", memory_id=A)).state.known[A]
    assert (after.status, after.cause) == (Status.ACTIVE, None)


@pytest.mark.spec("B07")
@pytest.mark.parametrize(
    ("history", "asked"),
    [
        ([LIGHT], expire(days=60)),
        ([LIGHT, updated(A, "Ana moved", importance=0.25)], expire()),
        ([created(A, importance=0.5)], expire(created(A, importance=0.5))),
        ([created(A, importance=0.25, pinned=True)], expire(created(A, importance=0.25, pinned=True))),
    ],
    ids=["in use", "changed since it was looked at", "important", "pinned"],
)
def test_anything_else_stays(history: list[Any], asked: ExpireMemory) -> None:
    given(MEMORIES, *history).when(asked).then_nothing()


@pytest.mark.spec_part("D13")
def test_use_counts_as_an_observation() -> None:
    given(MEMORIES, created(A, confidence=0.5)).when(ObserveUse(user_id="ana", memory_id=A)).then(
        events.MemoryObserved(memory_id=A, confidence=0.65, importance=0.55, cause=Observation.USE)
    )


@pytest.mark.spec_part("C03")
def test_a_memory_dies_lies_dormant_and_lives_again() -> None:
    story = given(MEMORIES, created(A))
    for to in (Status.DYING, Status.DORMANT, Status.ACTIVE):
        story = story.after(status(to))
        assert story.state.known[A].status is to
    assert replace(story.state.known[A]) == given(MEMORIES, created(A)).state.known[A]


@pytest.mark.spec("D03")
@pytest.mark.parametrize("to", [Status.DYING, Status.DORMANT])
def test_what_is_pinned_is_never_archived(to: Status) -> None:
    given(MEMORIES, created(A, pinned=True)).when(status(to)).then_refused(TransitionRefused, "memory_id", "pinned")


def test_what_is_deleted_or_absorbed_changes_no_status() -> None:
    gone = events.MemorySoftDeleted(memory_id=A, purge_at=START)
    merged = events.MemoriesMerged.of(B, created(B).content, absorbed_ids=(A,))

    given(MEMORIES, created(A), gone).when(status(Status.ACTIVE)).then_refused(TransitionRefused, "memory_id")
    for to in (Status.ACTIVE, Status.DORMANT):
        given(MEMORIES, created(A), created(B), merged).when(status(to)).then_refused(TransitionRefused, "memory_id")


@pytest.mark.spec("D04")
def test_a_dormant_memory_does_not_take_its_key_back() -> None:
    dormant = events.MemoryStatusChanged(memory_id=A, was=Status.ACTIVE, status=Status.DORMANT)
    story = given(MEMORIES, created(A, memory_key="k"), dormant, created(B, memory_key="k"))

    story.when(status(Status.ACTIVE)).then_refused(TransitionRefused, "memory_id", str(B))
