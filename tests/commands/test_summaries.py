"""Summaries as they are decided: each once, numbered, never of what was erased, each spine on the one before."""

from typing import Any
from uuid import UUID

from mnemolog.commands.summaries import SUMMARIES, WriteSummary
from mnemolog.domain.errors import NotFound
from mnemolog.domain.memory import Cause
from mnemolog.domain.summary import SummaryKind
from mnemolog.domain.turn import Role
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.erasure import MemoryErased, SourceTurn, ThreadErased, UserErased
from mnemolog.events.generation import Generation
from mnemolog.events.message import MessagesErased
from mnemolog.events.summaries import SummaryWritten
from tests.testkit.decider import given

EPISODE = UUID("01942b6e-7c00-7000-8000-0000000000e1")


def said(turn_id: str) -> TurnRecorded:
    return TurnRecorded(turn_id=turn_id, thread_id="main", role=Role.USER, text="Hello")


TALK = [said("t1"), said("t2"), said("t3")]


def write(*turn_ids: str, kind: SummaryKind = SummaryKind.FINAL, **fields: Any) -> WriteSummary:
    about = {"user_id": "ana", "agent_id": "coach", "mechanical": False, "generation": Generation(model="m-1")}
    return WriteSummary(**{**about, "kind": kind, "turn_ids": turn_ids, "text": "Ana said hello.", **fields})


def written(*turn_ids: str, number: int = 1, kind: SummaryKind = SummaryKind.FINAL, **fields: Any) -> SummaryWritten:
    spine = kind is SummaryKind.SPINE
    return SummaryWritten(
        **{
            "kind": kind,
            "agent_id": "" if spine else "coach",
            "thread_id": "" if spine else "main",
            "number": number,
            "first_turn_id": turn_ids[0],
            "last_turn_id": turn_ids[-1],
            "messages": len(turn_ids),
            "mechanical": False,
            "generation": Generation(model="m-1"),
            "text": "Ana said hello.",
            **fields,
        }
    )


def test_a_summary_of_the_same_messages_is_written_once() -> None:
    story = given(SUMMARIES, *TALK).when(write("t1", "t2", episode_id=EPISODE))
    story.then(written("t1", "t2", episode_id=EPISODE))

    before = (*TALK, written("t1", "t2"), written("t2", "t3", number=2))
    given(SUMMARIES, *before).when(write("t1", "t2")).then_nothing()
    given(SUMMARIES, *before).when(write("t1", "t2", "t3")).then(written("t1", "t2", "t3", number=3))
    given(SUMMARIES, *before).when(write("t1", "t2", kind=SummaryKind.SESSION)).then(
        written("t1", "t2", kind=SummaryKind.SESSION)
    )


def test_an_erased_summary_is_written_again_with_the_next_number() -> None:
    given(SUMMARIES, *TALK, written("t1", "t2", text="")).when(write("t1", "t2")).then(written("t1", "t2", number=2))


def test_no_summary_is_written_of_a_message_that_was_erased_meanwhile() -> None:
    gone = MessagesErased(thread_id="main", turn_ids=("t2",), cause=Cause.ASKED)
    given(SUMMARIES, *TALK, gone).when(write("t1", "t2")).then_refused(NotFound, "turn_ids")
    given(SUMMARIES, *TALK, UserErased()).when(write("t1")).then_refused(NotFound, "turn_ids")


def test_a_spine_continues_the_latest_or_is_not_written() -> None:
    def spine(*turn_ids: str, builds_on: int) -> WriteSummary:
        return write(*turn_ids, kind=SummaryKind.SPINE, builds_on=builds_on)

    first = written("t1", kind=SummaryKind.SPINE)
    given(SUMMARIES, *TALK).when(spine("t1", builds_on=0)).then(first)
    given(SUMMARIES, *TALK, first).when(spine("t2", builds_on=1)).then(written("t2", kind=SummaryKind.SPINE, number=2))
    given(SUMMARIES, *TALK, first).when(spine("t2", builds_on=0)).then_nothing()
    erased = written("t1", kind=SummaryKind.SPINE, text="")
    given(SUMMARIES, *TALK, erased).when(spine("t2", builds_on=1)).then_nothing()


def test_a_spine_meets_every_erasure_of_messages() -> None:
    """So one that comes between its reading and its append is a conflict: the spine has the words of all threads."""
    tags = SUMMARIES.tags(SUMMARIES.initial, write("t1", kind=SummaryKind.SPINE))
    turns = (SourceTurn(thread_id="other", turn_id="t9"),)
    for erasure in (
        MessagesErased(thread_id="other", turn_ids=("t9",), cause=Cause.TTL),
        MemoryErased(memory_id=EPISODE, turns=turns),
        ThreadErased(thread_id="other"),
        UserErased(),
        written("t1", kind=SummaryKind.SPINE),
    ):
        assert not tags.isdisjoint(erasure.tags())
