"""Random lives with erasures in them, and erasures beside other writers: no word is left, and rebuilt equals live."""

import asyncio
from contextlib import suppress
from itertools import count
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.commands.erasure import Erase, EraseMemory, EraseThread, EraseUser
from mnemolog.domain.errors import (
    ConcurrencyConflict,
    Conflict,
    Erased,
    InvalidInput,
    NotFound,
    TransitionRefused,
    UndoConflict,
)
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.testkit.examples import examples
from tests.testkit.own_engine import own_engine  # noqa: F401

_people = count(1)
REFUSED = (Conflict, Erased, InvalidInput, NotFound, TransitionRefused, UndoConflict)

places = st.integers(0, 5)
steps = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(["main", "other"]), places),
    st.tuples(st.sampled_from(["create", "update", "delete", "restore", "undo"]), places, places),
    st.tuples(st.sampled_from(["merge", "rewrite", "link"]), places, places),
    st.tuples(st.just("erase"), places, places),
    st.tuples(st.just("erase thread"), st.sampled_from(["main", "other"]), places),
    st.tuples(st.just("erase user"), places, places),
)


class Life:
    """Plays steps; each text holds a word of its own, and the words of what is erased are remembered."""

    def __init__(self, engine: Engine) -> None:
        self.ana = Person(engine, f"life-{next(_people)}")
        self.memories: list[UUID] = []

    async def play(self, what: str, one: int | str, other: int) -> None:
        with suppress(*REFUSED):  # A step that the state does not allow.
            await self._play(what, one, other)

    async def _play(self, what: str, one: int | str, other: int) -> None:
        ana, number = self.ana, len(self.memories)
        match what:
            case "say":
                turn = {"thread_id": one, "turn_id": f"t{number}"}
                self.memories.append(await ana.remembers(f"sentence {number}", **turn))
            case "create":
                self.memories.append(await ana.creates(f"fact {number}"))
            case "update":
                await ana.updates(self.at(one), text=f"changed {other}")
            case "delete":
                await ana.deletes(self.at(one), reason=f"because {other}")
            case "restore":
                await ana.restores(self.at(one))
            case "undo":
                await ana.undoes(self.at(one))
            case "merge" | "rewrite":
                await ana.merges(self.at(one), self.at(other), text=f"both {other}" if what == "rewrite" else None)
            case "link":
                await ana.links(self.at(one), self.at(other))
            case _:
                await self._erase(what, one)

    async def _erase(self, what: str, one: int | str) -> None:
        command: Erase | EraseUser
        if what == "erase user":
            command, subject = EraseUser(user_id=self.ana.user), ProofSubject(self.ana.stream)
        elif isinstance(one, str):
            command = EraseThread(user_id=self.ana.user, thread_id=one, with_survivors=True)
            subject = ProofSubject(self.ana.stream, thread_id=one)
        else:
            command = EraseMemory(user_id=self.ana.user, memory_id=self.at(one), with_survivors=True)
            subject = ProofSubject(self.ana.stream, memory_id=self.at(one))
        await erase(self.ana.engine, command)
        proof = await prove(self.ana.engine, subject)
        assert proof.holds, [place for place in proof.places if place.readable]

    def at(self, place: int | str) -> UUID:
        if not self.memories:
            raise NotFound("nothing yet", field="memory_id")
        return self.memories[int(place) % len(self.memories)]


@pytest.mark.spec("X07", "X16")
@pytest.mark.spec_part("X05")
@settings(max_examples=examples(6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(steps, min_size=4, max_size=14))
async def test_after_any_life_each_erasure_is_proven_and_rebuilt_equals_live(
    engine: Engine, played: list[tuple[str, int | str, int]]
) -> None:
    life = Life(engine)
    await life.play("say", "main", 0)
    for step in played:
        await life.play(*step)

    await assert_live_equals_replayed(engine, life.ana.stream)


@pytest.mark.spec("X07")
@settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations(["update", "merge", "link", "say", "delete", "erase", "erase thread", "erase user"]))
async def test_what_is_written_beside_an_erasure_comes_before_it_or_is_refused(
    engine: Engine, order: list[str]
) -> None:
    """All at once: afterwards nothing of an erased memory is readable, whoever came first."""
    life = Life(engine)
    for _ in range(3):
        await life.play("say", "main", 0)
    first = life.memories[0]

    outcomes = await asyncio.gather(
        *(life._play(what, "main" if what in ("say", "erase thread") else 0, 1) for what in order),
        return_exceptions=True,
    )

    unexpected = [one for one in outcomes if isinstance(one, BaseException) and not isinstance(one, REFUSED)]
    assert [one for one in unexpected if not isinstance(one, ConcurrencyConflict)] == []
    events = await engine.log.read(life.ana.stream, tags=[f"memory:{first}"])
    assert all(event.erased for event in events if event.payload.personal_fields())
    await assert_live_equals_replayed(engine, life.ana.stream)
