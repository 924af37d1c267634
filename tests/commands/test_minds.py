"""Recording what a mind proposes: once, by the guards of memories, and never again what was undone."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from mnemolog.commands.memories import ChangeStatus, CreateMemory, MergeMemories
from mnemolog.commands.minds import MINDS, Change, RunMind
from mnemolog.domain.contradiction import CONTRADICTS
from mnemolog.domain.errors import NotFound
from mnemolog.domain.extraction.validation import Fault
from mnemolog.domain.memory import Cause, Kind, Status
from mnemolog.domain.minds.mind import Mind
from mnemolog.domain.origin import Origin
from mnemolog.domain.turn import Role
from mnemolog.events import memory as events
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_THREAD
from mnemolog.events.event import Event
from mnemolog.events.generation import Generation
from mnemolog.events.message import MessageDeleted
from mnemolog.events.minds import MindRan, Pair
from tests.testkit.clock import START
from tests.testkit.decider import given
from tests.testkit.events import created

pytestmark = pytest.mark.spec_part("A17")

OLD, NEW, REFLECTION = uuid4(), uuid4(), uuid4()
MODEL = Generation(model="m-1", prompt="reflection", prompt_version=1)
SAID = TurnRecorded(turn_id="m-1", thread_id="main", role=Role.USER, text="I quit", speaker="")


def runs(*changes: Change, **fields: Any) -> RunMind:
    about: dict[str, Any] = {"mind": Mind.REFLECTION, "generation": MODEL, "at": START, "changes": changes, **fields}
    return RunMind(user_id="ana", actor="reflection", **about)


def ran(**fields: Any) -> MindRan:
    about: dict[str, Any] = {
        "mind": Mind.REFLECTION,
        "agent_id": DEFAULT_AGENT,
        "thread_id": DEFAULT_THREAD,
        "generation": MODEL,
        **fields,
    }
    return MindRan(**about)


def reflection() -> Change:
    memory: dict[str, Any] = {"memory_id": REFLECTION, "text": "Observation: The user quit.", "kind": Kind.EPISODE}
    return Change(commands=(CreateMemory(user_id="ana", actor="reflection", source_turn_ids=("m-1",), **memory),))


def outdated(unsure: float = 0.5) -> Change:
    command: dict[str, Any] = {"memory_id": OLD, "status": Status.DORMANT, "cause": Cause.OUTDATED}
    pair = Pair(id_a=OLD, id_b=NEW, score=0.9)
    return Change(commands=(ChangeStatus(user_id="ana", actor="reflection", **command),), pair=pair, unsure=unsure)


def memory(id_: UUID, confidence: float, **fields: Any) -> events.MemoryCreated:
    return created(id_).model_copy(update={"confidence": confidence, **fields})


LINKED = events.MemoriesLinked(memory_id=NEW, to_id=OLD, relation_type=CONTRADICTS, strength=0.9)
ARCHIVED = events.MemoryStatusChanged(memory_id=OLD, was=Status.ACTIVE, status=Status.DORMANT, cause=Cause.OUTDATED)
PAIR = Pair(id_a=OLD, id_b=NEW, score=0.9, changed=True)


def test_a_reflection_is_recorded_with_what_was_read_and_once() -> None:
    story = given(MINDS, SAID)
    command = runs(reflection(), turn_ids=("m-1",))
    [first, second] = story.when(command).events()
    assert first == ran(turn_ids=("m-1",), proposals=1)
    assert isinstance(second, events.MemoryCreated)
    story.and_then(first, second).when(command).then_nothing()


def test_a_message_that_was_hidden_meanwhile_is_not_reflected_on() -> None:
    hidden = MessageDeleted(turn_id="m-1", thread_id="main", purge_at=START, cause=Cause.ASKED)
    given(MINDS, SAID, hidden).when(runs(reflection(), turn_ids=("m-1",))).then_refused(NotFound, "turn_ids")


def test_an_unsure_memory_that_a_surer_one_contradicts_is_archived() -> None:
    story = given(MINDS, memory(OLD, 0.3), memory(NEW, 0.9), LINKED)
    story.when(runs(outdated())).then(ran(pairs=(PAIR,), proposals=1), ARCHIVED)


@pytest.mark.parametrize(
    "history",
    [
        [memory(OLD, 0.3), memory(NEW, 0.9)],
        [memory(OLD, 0.6), memory(NEW, 0.9), LINKED],
        [memory(OLD, 0.3), memory(NEW, 0.2), LINKED],
        [memory(OLD, 0.3, pinned=True, importance=1.0), memory(NEW, 0.9), LINKED],
        [memory(OLD, 0.3), memory(NEW, 0.9, origin=Origin.TOOL), LINKED],
        [memory(OLD, 0.3), LINKED],
    ],
    ids=["no conflict", "sure", "surer", "pinned", "from outside", "gone"],
)
def test_what_is_pinned_surer_or_in_no_conflict_stays(history: list[Event]) -> None:
    [only] = given(MINDS, *history).when(runs(outdated())).events()
    assert isinstance(only, MindRan)
    assert only.faults == (Fault.REFUSED,)


def test_what_was_undone_is_not_archived_again() -> None:
    story = given(MINDS, memory(OLD, 0.3), memory(NEW, 0.9), LINKED, ran(pairs=(PAIR,)))
    story.when(runs(outdated())).then_nothing()


@pytest.mark.spec_part("B04")
@pytest.mark.parametrize(
    ("kept", "dropped", "merged"),
    [
        ("Ana has a job as a nurse", "Ana works as a nurse", True),
        ("Ana has a job as a nurse", "Ana works as a nurse at Acme", False),
        ("Ana has a dog", "Ana has 2 dogs", False),
        ("Ana drinks milk", "Ana does not drink milk", False),
        ("Ana plays on Monday", "Ana plays on Friday", False),
        ("Ana met Bob", "Ana met Tom", False),
        ("Ana was born on 3 May", "Ana was born on 5 May", False),
        ("Ana likes tea", "Ana dislikes tea", False),
    ],
)
def test_nothing_merges_across_a_difference_whatever_a_model_says(kept: str, dropped: str, merged: bool) -> None:
    merge = MergeMemories(user_id="ana", actor="consolidation", memory_id=NEW, absorbed_ids=(OLD,))
    change = Change(commands=(merge,), pair=Pair(id_a=OLD, id_b=NEW, score=0.7))
    story = given(MINDS, memory(OLD, 1.0, text=dropped), memory(NEW, 1.0, text=kept))
    ran, *news = story.when(runs(change, mind=Mind.CONSOLIDATION)).events()
    assert isinstance(ran, MindRan)
    assert ([one.type_name() for one in news], ran.pairs[0].changed) == (["MemoriesMerged"] * merged, merged)


@pytest.mark.spec_part("B03")
def test_insights_are_recorded_once_in_24_hours() -> None:
    made = Change(commands=(CreateMemory(user_id="ana", actor="insights", memory_id=NEW, text="User is calm."),))
    story = given(MINDS, ran(mind=Mind.INSIGHTS))
    story.when(runs(made, mind=Mind.INSIGHTS, at=START + timedelta(hours=23))).then_nothing()
    assert len(story.when(runs(made, mind=Mind.INSIGHTS, at=START + timedelta(hours=25))).events()) == 2
