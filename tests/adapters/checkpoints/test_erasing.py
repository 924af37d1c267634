"""Checkpoints are erased with their thread and their user, by whatever way, and the proof says so (X07, X16)."""

from collections.abc import Sequence
from typing import Any, Literal

import pytest
from psycopg import AsyncConnection

from mnemolog import AsyncMemory
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.commands.erasure import EraseThread
from mnemolog.domain.errors import Conflict, NotFound, NotPermitted
from mnemolog.domain.principal import Principal, Role
from mnemolog.langgraph import MnemologSaver
from tests.testkit.checkpoints import checkpoint, config, saved, values

TABLES = ("checkpoint_threads", "supervisor_checkpoints", "checkpoint_chunks", "checkpoint_writes")
SECRET = "Zanzibarquux"


async def left(engine: Engine, user: str) -> Sequence[tuple[str, int]]:
    """The rows of a user in each table that has some."""
    found = []
    async with await AsyncConnection.connect(engine.endpoints.postgres_dsn) as connection:
        for table in TABLES:
            statement = f"SELECT count(*) FROM mnemolog.{table} WHERE stream = %s"  # noqa: S608
            [rows] = await (await connection.execute(statement.encode(), [f"user:{user}"])).fetchone() or [0]
            found += [(table, rows)] if rows else []
    return found


async def planted(saver: MnemologSaver, thread_id: str = "main") -> None:
    at = await saved(saver, config(thread_id), said=[SECRET * 500], name=SECRET)
    await saver.aput_writes(at, [("said", SECRET)], "task")


@pytest.mark.spec("X07", "X16")
async def test_an_erased_thread_leaves_nothing_and_other_threads_alone(
    engine: Engine, memory: AsyncMemory, saver: MnemologSaver, user: str
) -> None:
    await memory.add(f"I live in {SECRET}", user_id=user, thread_id="main")
    await planted(saver)
    await saved(saver, config("other"), of="another thread")
    before = await memory.prove_erased(user_id=user, thread_id="main")
    assert {place.name for place in before.places if place.readable} >= {
        "log",
        *(f"postgres mnemolog.{table}" for table in TABLES),
    }

    await memory.erase_thread("main", user_id=user)

    assert await values(saver) is None
    assert (await memory.prove_erased(user_id=user, thread_id="main")).erased
    assert await left(engine, user) == [("checkpoint_threads", 1), ("supervisor_checkpoints", 1)]
    assert await values(saver, config("other")) == {"of": "another thread"}
    await saved(saver, of="who came back")
    assert await values(saver) == {"of": "who came back"}
    assert (await memory.prove_erased(user_id=user, thread_id="main")).erased, "what came later is not meant"


@pytest.mark.spec("X07", "X16")
@pytest.mark.parametrize("way", ["delete_thread", "prune", "erase_thread", "erase_user"])
async def test_a_user_with_only_checkpoints_is_erased(
    engine: Engine, memory: AsyncMemory, saver: MnemologSaver, user: str, way: str
) -> None:
    await planted(saver)
    assert not (await memory.prove_erased(user_id=user)).erased

    match way:
        case "delete_thread":
            await saver.adelete_thread("main")
        case "prune":
            await saver.aprune(["main"], strategy="delete")
        case "erase_thread":
            await memory.erase_thread("main", user_id=user)
        case _:
            await memory.erase_user(user_id=user)

    assert await left(engine, user) == []
    proof = await memory.prove_erased(user_id=user, thread_id="main", text=SECRET)
    assert [place for place in proof.places if place.readable] == []
    assert await values(saver) is None


async def test_a_key_that_is_gone_hides_the_rows_before_they_are_deleted(
    engine: Engine, saver: MnemologSaver, user: str
) -> None:
    """As after an erasure that was killed in the middle."""
    await planted(saver)
    async with await AsyncConnection.connect(engine.endpoints.postgres_dsn, autocommit=True) as connection:
        await connection.execute("DELETE FROM mnemolog_keys.data_keys WHERE stream = %s", [f"user:{user}"])
    assert await values(saver) is None
    assert [one async for one in saver.alist(None)] == []
    assert len(await left(engine, user)) == 4
    await saver.adelete_thread("main")
    assert await left(engine, user) == []


@pytest.mark.spec("X07")
async def test_a_run_that_continues_does_not_restore_erased_data(
    memory: AsyncMemory, saver: MnemologSaver, user: str
) -> None:
    at = await saved(saver, said=[SECRET])
    await memory.erase_thread("main", user_id=user)
    for _ in range(2):
        with pytest.raises(Conflict, match="erased while a graph was running"):
            await saver.aput(at, checkpoint(2, said=[SECRET, "more"]), {"step": 2}, {"said": 2})
        with pytest.raises(Conflict, match="erased while a graph was running"):
            await saver.aput_writes(at, [("said", SECRET)], "task")
    assert await values(saver) is None


async def test_who_speaks_for_one_agent_erases_the_checkpoints_of_no_other(
    engine: Engine, memory: AsyncMemory, user: str
) -> None:
    coach, tutor = (MnemologSaver(memory, user_id=user, agent_id=name) for name in ("coach", "tutor"))
    await saved(coach, of="coach")
    bound = Principal("app", "default", frozenset({"coach"}), frozenset({"*"}), frozenset({Role.ERASE}))
    asked = EraseThread(user_id=user, agent_id="coach", thread_id="main")
    await erase(engine.by(bound), asked)
    assert await values(coach) is None

    await saved(tutor, of="tutor")
    with pytest.raises(NotPermitted, match="checkpoints of agents outside"):
        await erase(engine.by(bound), asked)
    assert await values(tutor) == {"of": "tutor"}


async def test_a_thread_that_never_was_is_still_not_found(memory: AsyncMemory, saver: MnemologSaver, user: str) -> None:
    await planted(saver)
    with pytest.raises(NotFound, match="no thread"):
        await memory.erase_thread("unknown", user_id=user)


@pytest.mark.spec_part("X16")
async def test_a_phrase_is_found_in_the_state_of_a_graph_that_quotes_it(
    memory: AsyncMemory, saver: MnemologSaver, user: str
) -> None:
    """Erasing a memory does not reach there, and the proof does not hide it."""
    added = await memory.create(f"I live in {SECRET}", user_id=user)
    await saved(saver, config("other"), said=["x" * 40_000 + SECRET.upper()])
    await memory.erase(added.memory_id, user_id=user)

    proof = await memory.prove_erased(memory_id=added.memory_id, user_id=user, text=SECRET)

    assert [(place.name, place.readable) for place in proof.places if place.readable] == [("checkpoints", 1)]
    await saver.adelete_thread("other")
    assert (await memory.prove_erased(memory_id=added.memory_id, user_id=user, text=SECRET)).erased


@pytest.mark.parametrize(("scope", "left_over"), [("agent", ["tutor"]), ("session", ["tutor", "coach in other"])])
async def test_erasing_a_scope_takes_the_checkpoints_of_its_agent(
    memory: AsyncMemory, user: str, scope: Literal["agent", "session"], left_over: list[str]
) -> None:
    coach, tutor = (MnemologSaver(memory, user_id=user, agent_id=name) for name in ("coach", "tutor"))
    await memory.add("I live in Lisbon", user_id=user, agent_id="coach", thread_id="main")
    await saved(coach, of="coach")
    await saved(coach, config("other"), of="coach in other")
    await saved(tutor, of="tutor")

    for _ in range(2):
        asked: dict[str, Any] = {"user_id": user, "agent_id": "coach", "thread_id": "main", "idempotency_key": "once"}
        await memory.erase_scope(scope, **asked)

    found = [await values(saver, config(name)) for saver, name in ((tutor, "main"), (coach, "main"), (coach, "other"))]
    assert [one["of"] for one in found if one] == left_over
