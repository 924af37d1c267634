"""The steps of a patrol, decided again on what is there by then (C ❶, ❹ to ❼)."""

import json
from dataclasses import replace
from functools import reduce
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from mnemolog.commands.being import MarkEntry, PutEntry
from mnemolog.commands.memories import CreateMemory, Memories
from mnemolog.commands.rollback import Rollback, touched
from mnemolog.commands.tending import TENDING, Absorb, Failed, Kept, Move, Review, Revive, Tended, TendScenes
from mnemolog.commands.undo import ROLLBACKS
from mnemolog.domain.being import Store
from mnemolog.domain.memory import Cause, Kind, Memory, Status
from mnemolog.domain.origin import Origin
from mnemolog.domain.scene import Dated, Experience, Scene
from mnemolog.domain.scene_note import marked
from mnemolog.domain.scope import Scope
from mnemolog.events import memory as events
from mnemolog.events.being import BeingEntryRead, BeingEntryRemoved, BeingEntrySet
from mnemolog.events.envelope import NewEvent
from mnemolog.events.event import Event
from mnemolog.events.generation import Generation
from mnemolog.events.patrol import Purpose, ScenesReviewed
from tests.testkit.clock import START
from tests.testkit.decider import given
from tests.testkit.events import created, new

A, B, C, NOTE = (UUID(int=number) for number in range(1, 5))
WHO: dict[str, Any] = {"user_id": "ana", "agent_id": "mia", "actor": "patrol", "run_id": "r1"}
TEXT = json.dumps({"action": "Mia won", "actors": ["Mia"], "when": ["2026-01-03"]})
READ = BeingEntryRead(entry_id=NOTE, read=True)
DYING = events.MemoryStatusChanged(memory_id=A, was=Status.ACTIVE, status=Status.DYING)
DEAD = events.MemoryStatusChanged(memory_id=A, was=Status.DYING, status=Status.DORMANT)


def tend(**fields: Any) -> TendScenes:
    return TendScenes(**WHO, step="step", at=START, **fields)


def scene(
    memory_id: UUID = A, day: str = "2026-01-01", cluster: str = "Private", **fields: Any
) -> events.MemoryCreated:
    told = Experience(Scene(f"scene {memory_id.int}", ("Mia",), (day,)), cluster=cluster)
    about = {"kind": Kind.SCENE, "scope": Scope.AGENT, "agent_id": "mia", "experience": told, **fields}
    return created(memory_id, text=f"scene {memory_id.int}").model_copy(update=about)


def note(**fields: Any) -> BeingEntrySet:
    body = {"type": "scene", "text": TEXT}
    own = {"entry_id": NOTE, "agent_id": "mia", "store": Store.NOTE, "origin": Origin.AGENT, "key": "n", "body": body}
    return BeingEntrySet.model_validate({**own, **fields})


def kept(text: str = TEXT) -> Kept:
    told = CreateMemory(**WHO, memory_id=B, text="Mia won", kind=Kind.SCENE, scope=Scope.AGENT)
    return Kept(note=MarkEntry(**WHO, entry_id=NOTE), text=text, scene=told)


def failed() -> Failed:
    body: dict[str, Any] = {"type": "scene", "text": marked(TEXT)}
    put = PutEntry(**WHO, entry_id=NOTE, key="n", store=Store.NOTE, body=body, origin=Origin.AGENT)
    return Failed(text=TEXT, note=put)


@pytest.mark.spec_part("C05")
def test_a_note_becomes_a_scene_and_is_read_in_one_append() -> None:
    [made, read] = given(TENDING, note()).when(tend(keep=(kept(),))).events()

    assert isinstance(made, events.MemoryCreated)
    assert (made.memory_id, made.text, made.origin, read) == (B, "Mia won", Origin.AGENT, READ)


@pytest.mark.spec_part("C05")
@pytest.mark.parametrize(
    "since",
    [
        [note(), READ],
        [note(), BeingEntryRemoved(entry_id=NOTE)],
        [note(body={"type": "scene", "text": "rewritten"})],
        [],
    ],
    ids=["read by another patrol", "removed", "rewritten", "unknown"],
)
def test_a_note_that_is_no_longer_as_it_was_read_is_left_to_the_next_patrol(since: list[Event]) -> None:
    given(TENDING, *since).when(tend(keep=(kept(),), failed=(failed(),))).then_nothing()


@pytest.mark.spec_part("C05")
def test_a_note_that_does_not_parse_is_marked_and_stays_unread() -> None:
    given(TENDING, note()).when(tend(failed=(failed(),))).then(note(body={"type": "scene", "text": marked(TEXT)}))


@pytest.mark.spec_part("C07")
@pytest.mark.parametrize(("importance", "after"), [(0.5, 0.55), (0.98, 1.0)])
def test_a_survivor_gains_a_little_and_keeps_the_days_of_what_it_absorbs(importance: float, after: float) -> None:
    history = (scene(importance=importance), scene(B, "2026-01-02", importance=0.9), scene(C, "2026-01-03"))

    [merged] = given(TENDING, *history).when(tend(absorb=(Absorb(survivor_id=A, absorbed_ids=(B, C)),))).events()

    assert isinstance(merged, events.MemoriesMerged)
    assert (merged.memory_id, merged.absorbed_ids) == (A, (B, C))
    assert merged.importance == pytest.approx(after)
    assert merged.experience
    assert merged.experience.scene
    when = ("2026-01-01", Dated("2026-01-02", "scene 2"), Dated("2026-01-03", "scene 3"))
    assert merged.experience.scene.when == when


@pytest.mark.spec_part("C01", "C07")
@pytest.mark.parametrize(
    "other",
    [
        scene(B, pinned=True, importance=1.0),
        scene(B, agent_id="noah"),
        scene(B, origin=Origin.TOOL),
        scene(B, kind=Kind.EPISODE, experience=None),
        None,
    ],
    ids=["pinned", "of another being", "from outside", "no scene", "unknown"],
)
def test_nothing_else_is_absorbed(other: events.MemoryCreated | None) -> None:
    history = [scene(), *([other] if other else [])]
    given(TENDING, *history).when(tend(absorb=(Absorb(survivor_id=A, absorbed_ids=(B,)),))).then_nothing()


@pytest.mark.spec_part("C07")
def test_a_dying_scene_becomes_dead_and_an_active_or_pinned_one_does_not() -> None:
    given(TENDING, scene(), DYING).when(tend(make_dead=(A,))).then(DEAD)
    given(TENDING, scene()).when(tend(make_dead=(A,))).then_nothing()
    given(TENDING, scene(pinned=True), DYING).when(tend(make_dead=(A,))).then_nothing()
    given(TENDING, scene(agent_id="noah"), DYING).when(tend(make_dead=(A,))).then_nothing()


@pytest.mark.spec_part("C08")
def test_a_dead_scene_of_which_enough_is_left_lives_again() -> None:
    revived = events.MemoryStatusChanged(memory_id=A, was=Status.DORMANT, status=Status.ACTIVE)
    gone = given(TENDING, scene(), DYING, DEAD)

    gone.when(tend(revive=(Revive(memory_id=A, session_count=0),))).then(revived)
    gone.when(tend(revive=(Revive(memory_id=A, session_count=70),))).then_nothing()


@pytest.mark.spec_part("C08")
@pytest.mark.parametrize(
    "since",
    [
        [scene(), events.MemoryStatusChanged(memory_id=A, was=Status.ACTIVE, status=Status.DORMANT, cause=Cause.ASKED)],
        [scene(), scene(B), events.MemoriesMerged.of(B, scene(B).content, absorbed_ids=(A,))],
        [scene(), DYING],
    ],
    ids=["archived", "absorbed", "dying"],
)
def test_what_was_archived_or_absorbed_is_not_revived(since: list[Event]) -> None:
    given(TENDING, *since).when(tend(revive=(Revive(memory_id=A, session_count=0),))).then_nothing()


@pytest.mark.spec_part("C04", "C09")
def test_a_scene_moves_from_where_it_was_seen_and_dead_ones_move_along() -> None:
    move = tend(move=(Move(memory_id=A, was="Private", cluster="Private/chess"),))
    moved = events.SceneMoved(memory_id=A, cluster="Private/chess")

    given(TENDING, scene()).when(move).then(moved)
    given(TENDING, scene(), DYING, DEAD).when(move).then(moved)
    given(TENDING, scene(cluster="Business")).when(move).then_nothing()
    given(TENDING, scene(agent_id="noah")).when(move).then_nothing()
    given(TENDING, scene(), events.MemorySoftDeleted(memory_id=A, purge_at=START)).when(move).then_nothing()


def test_what_a_model_was_asked_is_recorded_with_what_came_of_it() -> None:
    generation = Generation(model="m-1", prompt="patrol_split", prompt_version=1, input_tokens=3, output_tokens=4)
    review = Review(purpose=Purpose.SPLIT, memory_ids=(A,), generation=generation)
    asked = ScenesReviewed(agent_id="mia", purpose=Purpose.SPLIT, memory_ids=(A,), generation=generation)

    given(TENDING, scene()).when(tend(reviews=(review,))).then(asked)


IDS = [UUID(int=number) for number in range(1, 6)]
LABELS = ["Private", "Business", "Private/chess", "Private/opera"]
some = st.sampled_from(IDS)
moves = st.builds(Move, memory_id=some, was=st.sampled_from(LABELS), cluster=st.sampled_from(LABELS))
absorbs = st.builds(Absorb, survivor_id=some, absorbed_ids=st.lists(some, min_size=1, max_size=3).map(tuple))
revives = st.builds(Revive, memory_id=some, session_count=st.integers(0, 100))
steps = st.builds(
    lambda absorb, dead, revive, move: tend(absorb=absorb, make_dead=dead, revive=revive, move=move),
    st.lists(absorbs, max_size=2).map(tuple),
    st.lists(some, max_size=3).map(tuple),
    st.lists(revives, max_size=2).map(tuple),
    st.lists(moves, max_size=3).map(tuple),
)


def turned(memory: Memory, status: Status) -> Event:
    return events.MemoryStatusChanged(memory_id=memory.memory_id, was=memory.status, status=status)


def written(memory: Memory, what: str) -> Event | None:
    """What a user or a cycle does to a scene, as its decider allows it."""
    pin = memory.content.pinned
    match what:
        case "fades" if memory.status is Status.ACTIVE and not pin:
            return turned(memory, Status.DYING)
        case "pin" | "unpin" if memory.visible:
            content = replace(memory.content, pinned=what == "pin").weighed()
            return events.MemoryUpdated.of(memory.memory_id, content, changed=("pinned",))
        case "archive" if memory.visible and not pin:
            asked = Cause.ASKED
            return turned(memory, Status.DORMANT).model_copy(update={"cause": asked})
        case "restore" if not memory.visible:
            return events.MemoryRestored(memory_id=memory.memory_id)
    return None


writes = st.tuples(some, st.sampled_from(["fades", "pin", "unpin", "archive", "restore"]))


def run(state: Tended, news: list[Event]) -> Tended:
    return reduce(TENDING.evolve, (new(event) for event in news), state)


@pytest.mark.spec_part("C04", "C06", "C07")
@examples(st.lists(steps | writes, max_size=8), st.lists(st.floats(0, 1), min_size=5, max_size=5))
def test_any_order_of_steps_and_writes_keeps_pinned_scenes_and_bounds(
    orders: list[TendScenes | tuple[UUID, str]], weights: list[float]
) -> None:
    state = run(TENDING.initial, [scene(id_, importance=one) for id_, one in zip(IDS, weights, strict=True)])
    for order in orders:
        before = state.memories.known
        if isinstance(order, TendScenes):
            news = list(TENDING.decide(state, order))
            state = run(state, news)
            for id_, one in before.items():
                assert not one.content.pinned or state.memories.known[id_].status is one.status
                left = state.memories.known[id_].status
                assert left is one.status or Cause.ASKED is not one.cause, "a patrol brings back what was archived"
        elif (did := written(before[order[0]], order[1])) is not None:
            state = run(state, [did])
        for one in state.memories.known.values():
            assert 0 <= one.content.importance <= 1
            assert one.content.experience
            assert one.content.experience.cluster in LABELS
            assert not (one.content.pinned and one.status in (Status.DYING, Status.DORMANT))


@pytest.mark.spec_part("C04", "C07", "C09", "X15")
@examples(st.lists(steps, max_size=6), st.lists(st.booleans(), min_size=5, max_size=5))
def test_a_rollback_of_a_run_restores_scenes_and_clusters(orders: list[TendScenes], dying: list[bool]) -> None:
    begun: list[Event] = [scene(id_, cluster=label) for id_, label in zip(IDS, [*LABELS, "Private"], strict=True)]
    fading = [id_ for id_, fades in zip(IDS, dying, strict=True) if fades]
    begun += [events.MemoryStatusChanged(memory_id=id_, was=Status.ACTIVE, status=Status.DYING) for id_ in fading]
    state, did = run(TENDING.initial, begun), list[NewEvent]()
    before = state.memories.known
    for order in orders:
        news = [new(event) for event in TENDING.decide(state, order)]
        state, did = reduce(TENDING.evolve, news, state), did + news

    if not did:
        return
    story = given(ROLLBACKS.decider, *begun, *did).after(rollback_of(did))

    memories = story.state.of["memories"]
    assert isinstance(memories, Memories)
    assert memories.known == before


@pytest.mark.spec_part("C05", "X15")
def test_a_rollback_takes_the_scene_of_a_note_back_and_the_note_is_unread() -> None:
    did = [new(event) for event in given(TENDING, note()).when(tend(keep=(kept(),))).events()]

    [unread, gone] = given(ROLLBACKS.decider, note(), *did).when(rollback_of(did)).events()

    assert isinstance(unread, BeingEntryRead)
    assert (unread.entry_id, unread.read) == (NOTE, False)
    assert isinstance(gone, events.MemoryReverted)
    assert (gone.memory_id, gone.status, gone.cause) == (B, Status.SOFT_DELETED, Cause.UNDONE)


def rollback_of(did: list[NewEvent]) -> Rollback:
    fields = {"event_ids": [one.event_id for one in did], "touched": touched(did), "of_run": "r1", "at": START}
    return Rollback.model_validate({"user_id": "ana", "agent_id": "mia", **fields})
