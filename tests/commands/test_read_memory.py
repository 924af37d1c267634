"""A decision on what was read for an earlier one is the decision on a new read, or is not made."""

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.commands import read_memory
from mnemolog.commands.decider import Evolve, Placed
from mnemolog.commands.entities import ENTITIES
from mnemolog.commands.entity_requests import ForgetEntity
from mnemolog.commands.fact_changes import FACT_CHANGES, ForgetFact
from mnemolog.commands.facts import FACTS, Remember
from mnemolog.commands.handler import Handler
from mnemolog.commands.heard import HEARD, HearTurn
from mnemolog.commands.read_memory import ReadMemory
from mnemolog.domain.errors import Erased, IdempotencyConflict, NotFound, TransitionRefused
from mnemolog.domain.predicates import Predicate
from mnemolog.domain.turn import Role
from mnemolog.events.conversation import TurnRecorded, turn_tag
from mnemolog.events.envelope import Receipt, Recorded, StreamId
from mnemolog.events.erasure import UserErased
from mnemolog.events.event import Event
from mnemolog.events.graph import EntityObserved, RelationAsserted
from mnemolog.events.log import NOTHING_IGNORED, Append, Guard, Ignored
from tests.testkit.clock import START, Clock, ids
from tests.testkit.events import new
from tests.testkit.log import MemoryLog

STREAM = StreamId.of_user("ana")
SINGLE = ("lives_in",)
ID = re.compile("[0-9a-f]{8}-[0-9a-f-]{27}")


class CountingLog(MemoryLog):
    """Counts the reads of decisions."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    async def read(
        self,
        stream: StreamId,
        *,
        after: int = 0,
        until: int | None = None,
        tags: Collection[str] = (),
        unread: bool = False,
        known: Collection[int] = (),
        ignored: Ignored = NOTHING_IGNORED,
    ) -> Sequence[Recorded]:
        self.reads += 1
        return await super().read(
            stream, after=after, until=until, tags=tags, unread=unread, known=known, ignored=ignored
        )


@dataclass
class Talk:
    """What is said to one log, by handlers that remember and handlers that do not."""

    log: CountingLog = field(default_factory=CountingLog)
    new_id: Any = field(default_factory=ids)

    def handler(self) -> Handler:
        return Handler(self.log, Clock(), self.new_id)

    def turn(self, turn_id: str, speaker: str = "Ana", **fields: Any) -> HearTurn:
        plain = {"user_id": "ana", "turn_id": turn_id, "text": f"text of {turn_id}", "occurred_at": START}
        return HearTurn.model_validate({**plain, "entity_id": self.new_id(), "speaker": speaker, **fields})

    async def says(self, run: Handler, turn_id: str, speaker: str = "Ana", **fields: Any) -> Receipt:
        return await run.handle(HEARD, self.turn(turn_id, speaker, **fields), occurred_at=START)

    async def tells(self, run: Handler, predicate: str, value: str, **fields: Any) -> Receipt:
        plain = {"user_id": "ana", "subject": "me", "predicate": predicate, "object": value, "literal": True}
        ids_ = {name: self.new_id() for name in ("relation_id", "subject_id", "object_id")}
        rule = Predicate(predicate, single=predicate in SINGLE)
        command = Remember.model_validate({**plain, **ids_, "at": START, "rule": rule, **fields})
        return await run.handle(FACTS, command, occurred_at=START)

    async def forgets_fact(self, run: Handler, relation_id: UUID) -> None:
        command = ForgetFact(user_id="ana", relation_id=relation_id, at=START, reason="")
        await run.handle(FACT_CHANGES, command, occurred_at=START)

    async def forgets(self, run: Handler, entity_id: UUID) -> None:
        command = ForgetEntity(user_id="ana", entity_id=entity_id, at=START, reason="")
        await run.handle(ENTITIES, command, occurred_at=START)

    def payloads(self) -> list[Any]:
        return [self.log.codec.decode(event).payload for event in self.log.streams.get(STREAM, [])]

    def speakers(self) -> list[UUID | None]:
        return [one.speaker_entity_id for one in self.payloads() if isinstance(one, TurnRecorded)]


async def test_the_turns_of_a_known_speaker_are_recorded_without_a_read() -> None:
    talk = Talk()
    run = talk.handler()
    await talk.says(run, "msg-1")
    await talk.says(run, "msg-2")
    before = talk.log.reads

    receipts = [await talk.says(run, f"msg-{number}") for number in range(3, 6)]

    assert talk.log.reads == before
    assert [one.already for one in receipts] == [False] * 3
    assert len(set(talk.speakers())) == 1
    assert sum(isinstance(one, EntityObserved) for one in talk.payloads()) == 1


async def test_a_turn_without_a_speaker_needs_no_read_at_all() -> None:
    talk = Talk()

    await talk.says(talk.handler(), "msg-1", speaker="")

    assert talk.log.reads == 0


async def test_what_another_process_changed_is_read_again() -> None:
    talk = Talk()
    run, other = talk.handler(), talk.handler()
    for number in range(3):
        await talk.says(run, f"msg-{number}")
    known = talk.speakers()[-1]
    assert known

    await talk.forgets(other, known)
    await talk.says(run, "msg-3")

    assert talk.speakers()[-1] not in (None, known), "a forgotten person is not the speaker: Ana is a new one"


async def test_a_new_speaker_of_another_process_is_not_met_twice() -> None:
    talk = Talk()
    run, other = talk.handler(), talk.handler()
    for number in range(3):
        await talk.says(run, f"msg-{number}")

    await talk.says(other, "msg-3", speaker="Bob")
    await talk.says(run, "msg-4", speaker="Bob")

    assert sum(isinstance(one, EntityObserved) for one in talk.payloads()) == 2
    assert talk.speakers()[-1] == talk.speakers()[-2]


@pytest.mark.spec_part("X14")
async def test_a_turn_that_another_process_recorded_is_not_recorded_again() -> None:
    talk = Talk()
    run, other = talk.handler(), talk.handler()
    for number in range(3):
        await talk.says(run, f"msg-{number}")
    first = await talk.says(other, "msg-3")

    again = await talk.says(run, "msg-3")

    assert (again.already, again.event_ids) == (True, first.event_ids)
    with pytest.raises(IdempotencyConflict):
        await talk.says(run, "msg-3", text="something else")


async def test_many_turns_at_once_are_recorded_once_each() -> None:
    talk = Talk()
    run = talk.handler()
    await talk.says(run, "msg-0")
    await talk.says(run, "msg-1")

    await asyncio.gather(*(talk.says(run, f"msg-{number % 10}") for number in range(30)))

    said = [one.turn_id for one in talk.payloads() if isinstance(one, TurnRecorded)]
    assert sorted(said) == [f"msg-{number}" for number in range(10)]


async def test_turns_that_wait_for_each_other_are_recorded_without_a_read() -> None:
    talk = Talk()
    run = talk.handler()
    for number in range(3):
        await talk.says(run, f"msg-{number}")
    before = talk.log.reads

    async with run._turns.of(STREAM):
        waiting = [asyncio.create_task(talk.says(run, f"msg-{number}")) for number in range(3, 9)]
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)

    assert talk.log.reads == before


async def test_the_facts_of_a_known_subject_and_predicate_are_recorded_without_a_read() -> None:
    talk = Talk()
    run = talk.handler()
    await talk.tells(run, "counted_to", "1")
    await talk.tells(run, "counted_to", "2")
    before = talk.log.reads

    for number in range(3, 100):
        await talk.tells(run, "counted_to", str(number))

    assert talk.log.reads == before
    assert sum(isinstance(one, RelationAsserted) for one in talk.payloads()) == 99


async def test_a_fact_with_another_predicate_of_a_known_subject_takes_one_read() -> None:
    talk = Talk()
    run = talk.handler()
    await talk.tells(run, "counted_to", "1")
    await talk.tells(run, "counted_to", "2")
    before = talk.log.reads

    await talk.tells(run, "lives_in", "Riga")
    await talk.tells(run, "drinks", "tea")

    assert talk.log.reads == before + 2


async def test_what_other_commands_write_in_between_is_not_read_again() -> None:
    talk = Talk()
    run = talk.handler()
    await talk.tells(run, "counted_to", "1")
    await talk.tells(run, "counted_to", "2")
    await talk.says(run, "msg-1", speaker="")
    before = talk.log.reads

    await talk.tells(run, "counted_to", "3")
    await talk.says(run, "msg-2", speaker="")

    assert talk.log.reads == before


async def test_a_single_value_that_another_process_changed_is_replaced_by_the_next() -> None:
    talk = Talk()
    run, other = talk.handler(), talk.handler()
    for place in ("Riga", "Oslo", "Turin"):
        await talk.tells(run, "lives_in", place)

    await talk.tells(other, "lives_in", "Lisbon")
    await talk.tells(run, "lives_in", "Kyoto")

    told = [one for one in talk.payloads() if isinstance(one, RelationAsserted)]
    assert [one.relation_id for one in told[-1].validity] == [told[-1].relation_id, told[-2].relation_id]


async def test_events_that_were_appended_fold_like_those_that_were_read() -> None:
    talk = Talk()
    appended = list[Event]()
    run = Handler(talk.log, Clock(), talk.new_id, decided=lambda events: appended.extend(one.payload for one in events))
    await talk.says(run, "msg-1")
    await talk.tells(
        run, "lives_in", "Riga", metadata={"a": [1, 2.0, None, {"b": "ü"}]}, since="2026-01-10T10:00+02:00"
    )
    await talk.tells(run, "lives_in", "Oslo")

    assert talk.payloads() == appended


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("here", "elsewhere")),
            st.sampled_from(("tell", "tell", "tell", "tell", "say", "forget", "forget fact", "erase")),
            st.sampled_from(("counted_to", "lives_in", "knows")),
            st.integers(0, 3),
        ),
        max_size=16,
    )
)
def test_whatever_happens_elsewhere_facts_are_decided_as_on_a_new_read(steps: list[Any]) -> None:
    async def log_of(*, remembering: bool) -> list[Any]:
        talk = Talk()
        here, elsewhere = talk.handler(), talk.handler()
        for where, what, predicate, number in steps:
            run = {"here": here, "elsewhere": elsewhere}[where] if remembering else talk.handler()
            people = [one.entity_id for one in talk.payloads() if isinstance(one, EntityObserved)]
            facts = [one.relation_id for one in talk.payloads() if isinstance(one, RelationAsserted)]
            with suppress(Erased, NotFound, TransitionRefused):
                if what == "tell":
                    await talk.tells(run, predicate, f"Number{number}", literal=predicate != "knows")
                elif what == "say":
                    await talk.says(run, f"msg-{number}", f"Number{number}")
                elif what == "forget" and people:
                    await talk.forgets(run, people[number % len(people)])
                elif what == "forget fact" and facts:
                    await talk.forgets_fact(run, facts[number % len(facts)])
                elif what == "erase":
                    await talk.log.append([Append(STREAM, (new(UserErased()),))])
        return [numbered(one.model_dump_json()) for one in talk.payloads()]

    def numbered(text: str) -> str:
        return ID.sub(lambda found: str(seen.setdefault(found[0], len(seen))), text)

    seen: dict[str, int] = {}
    remembered = asyncio.run(log_of(remembering=True))
    seen = {}
    assert asyncio.run(log_of(remembering=False)) == remembered


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("here", "elsewhere")),
            st.sampled_from(("say", "say", "say", "forget", "erase")),
            st.sampled_from(("Ana", "Bob", "")),
            st.integers(0, 6),
        ),
        max_size=20,
    )
)
def test_whatever_happens_elsewhere_the_decisions_are_those_of_a_new_read(steps: list[Any]) -> None:
    async def log_of(*, remembering: bool) -> list[Any]:
        talk = Talk()
        here, elsewhere = talk.handler(), talk.handler()
        for where, what, speaker, number in steps:
            known = {"here": here, "elsewhere": elsewhere}[where]
            run = known if remembering else talk.handler()
            seen = [one.entity_id for one in talk.payloads() if isinstance(one, EntityObserved)]
            if what == "say":
                await talk.says(run, f"msg-{number}", speaker)
            elif what == "forget" and seen:
                with suppress(Erased, TransitionRefused):
                    await talk.forgets(run, seen[number % len(seen)])
            elif what == "erase":
                await talk.log.append([Append(STREAM, (new(UserErased()),))])
        return talk.payloads()

    async def both() -> tuple[list[Any], list[Any]]:
        return await log_of(remembering=True), await log_of(remembering=False)

    remembered, read = asyncio.run(both())
    order = {id_: place for place, id_ in enumerate(dict.fromkeys(_ids(remembered)))}
    expected = {id_: place for place, id_ in enumerate(dict.fromkeys(_ids(read)))}
    assert [_shape(one, order) for one in remembered] == [_shape(one, expected) for one in read]


def _ids(payloads: Sequence[Any]) -> list[UUID]:
    return [one.entity_id for one in payloads if isinstance(one, EntityObserved)]


def _shape(payload: Any, order: dict[UUID, int]) -> Any:
    """With the number of each entity in place of its id, which is drawn at random."""
    fields = payload.model_dump(exclude={"entity_id", "speaker_entity_id"})
    subject = getattr(payload, "entity_id", None) or getattr(payload, "speaker_entity_id", None)
    return type(payload), fields, None if subject is None else order[subject]


# What is remembered


@dataclass
class Drafted:
    """A draft as far as it is remembered."""

    guard: Guard
    history: Sequence[Placed] = ()
    events: Sequence[Any] = (new(TurnRecorded(turn_id="msg-1", thread_id="main", role=Role.USER)),)
    states: Mapping[Evolve, Any] = field(default_factory=dict)
    whole: bool = True


def at(seq: int, stream: StreamId = STREAM) -> Receipt:
    return Receipt(stream, (), seq, seq)


FRESH = frozenset({turn_tag("msg-1")})


def remembered(memory: ReadMemory, stream: StreamId = STREAM) -> bool:
    return bool(memory.find(stream).tags)


def test_a_read_is_forgotten_after_a_minute() -> None:
    clock = Clock()
    memory = ReadMemory(lambda: clock.at.timestamp())
    memory.keep(STREAM, Drafted(Guard(frozenset({"user"}), 0, FRESH)), FRESH, at(3))
    assert (memory.find(STREAM).tags, memory.find(STREAM).seq) == (frozenset({"user"}), 3)

    clock.move(timedelta(seconds=read_memory.SECONDS))

    assert not remembered(memory)


def test_the_oldest_read_makes_room() -> None:
    memory = ReadMemory()
    with patch.object(read_memory, "STREAMS", 2):
        for user in ("ana", "bob", "cleo"):
            memory.keep(StreamId.of_user(user), Drafted(Guard(frozenset({"user"}), 0, FRESH)), FRESH, at(1))

    assert [remembered(memory, StreamId.of_user(user)) for user in ("ana", "bob", "cleo")] == [False, True, True]


def test_nothing_stays_of_a_user_who_is_erased() -> None:
    memory = ReadMemory()
    memory.keep(STREAM, Drafted(Guard(frozenset({"user"}), 0, FRESH)), FRESH, at(3))

    erased = new(UserErased())
    memory.keep(STREAM, Drafted(Guard(frozenset({"user"}), 3), events=[erased]), frozenset(), at(4))

    assert not remembered(memory)
