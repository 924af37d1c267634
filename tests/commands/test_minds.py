"""Recording what a mind proposes: once, by the guards of memories, and never again what was undone."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from mnemolog.commands.memories import ChangeStatus, CreateMemory
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
