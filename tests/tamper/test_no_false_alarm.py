"""Verification of a log that nobody tampered with finds nothing, whatever happened to it (X08)."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.verify import rows_check
from mnemolog.adapters.verify.row_comparison import RowComparison
from mnemolog.adapters.verify.rows_check import RowsCheck
from mnemolog.commands.erasure import EraseMemory, EraseThread, EraseUser
from mnemolog.domain.errors import Conflict, InvalidInput
from tests.conftest import _users
from tests.engine.person import Person
from tests.engine.story import told
from tests.testkit.examples import examples
from tests.testkit.payloads import texts, units

pytestmark = pytest.mark.spec("X08")


async def assert_clean(engine: Engine, person: Person) -> None:
    await engine.settled(60)
    report = await engine.verifier.verify(person.stream)
    assert report.damages == []
    assert report.events == await engine.log.head(person.stream)


async def test_nothing_is_found_after_any_step_of_a_story(victim: Engine, user: str) -> None:
    ana = Person(victim, user)
    async for _ in told(ana):
        await assert_clean(victim, ana)


async def test_nothing_is_found_while_others_write(victim: Engine, ana: Person) -> None:
    for number in range(5):
        await ana.says(f"Sentence {number}")
        assert (await victim.verifier.verify(ana.stream)).damages == []


@pytest.mark.spec("X07")
async def test_nothing_is_found_after_erasures(victim: Engine, ana: Person) -> None:
    [first, *_] = await ana.memory_ids()
    await erase(victim, EraseMemory(user_id=ana.user, memory_id=first))
    await assert_clean(victim, ana)

    await erase(victim, EraseThread(user_id=ana.user, thread_id=ana.thread))
    await assert_clean(victim, ana)

    await erase(victim, EraseUser(user_id=ana.user))
    await assert_clean(victim, ana)

    await ana.says("I am back")
    await assert_clean(victim, ana)


async def test_nothing_is_found_after_rebuilds(victim: Engine, ana: Person) -> None:
    await victim.projections.rebuild_all()

    await assert_clean(victim, ana)


steps = st.lists(
    st.tuples(st.sampled_from(["create", "update", "merge", "delete", "restore", "undo", "link", "say"]), texts, units),
    min_size=1,
    max_size=8,
)


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps)
async def test_nothing_is_found_after_random_writes(victim: Engine, steps: Sequence[tuple[str, str, float]]) -> None:
    ana = Person(victim, f"random-{next(_users)}")
    known: list[UUID] = []
    for verb, text, unit in steps:
        try:
            await write(ana, known, verb, text, unit)
        except (InvalidInput, ValidationError, Conflict):
            continue
    await assert_clean(victim, ana)


async def write(ana: Person, known: list[UUID], verb: str, text: str, unit: float) -> None:
    if verb == "create" or not known:
        known.append(await ana.creates(text, importance=unit))
        return
    last = known[-1]
    match verb:
        case "update":
            await ana.updates(last, text=text, importance=unit)
        case "merge":
            await ana.merges(known[0], last, text=text)
        case "delete":
            await ana.deletes(last)
        case "restore":
            await ana.restores(last)
        case "undo":
            await ana.undoes(last)
        case "link":
            await ana.links(known[0], last, strength=unit)
        case _:
            await ana.says(text)


async def test_a_replay_looks_up_rows_by_key_however_many_there_are_and_the_comparison_joins_tables(
    victim: Engine, ana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_check, "BATCH", 2)
    seen, apply, compare = list[tuple[str, bool]](), RowsCheck._apply, RowComparison.compare

    async def look(connection: AsyncConnection) -> tuple[str, bool]:
        history = "reltuples > 0 FROM pg_class WHERE oid = 'pg_temp.history'::regclass"
        [row] = await connection.execute(sql(f"SELECT current_setting('enable_seqscan'), {history}"))
        return row[0], row[1]

    async def looking(self: RowsCheck, connection: AsyncConnection, *given: Any) -> None:
        await apply(self, connection, *given)
        seen.append(await look(connection))

    async def comparing(self: RowComparison, connection: AsyncConnection, *given: Any) -> None:
        assert await look(connection) == ("on", True)
        await compare(self, connection, *given)

    monkeypatch.setattr(RowsCheck, "_apply", looking)
    monkeypatch.setattr(RowComparison, "compare", comparing)

    assert (await victim.verifier.verify(ana.stream)).damages == []
    assert [by_key for by_key, _ in seen] == ["off"] * len(seen)
    assert [known for _, known in seen] == [False] * 2 + [True] * (len(seen) - 2)
