"""A saver without await does what the one with await does, on connections of its own (B15)."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from mnemolog import Memory
from mnemolog.adapters.checkpoints.store import CheckpointStore
from mnemolog.adapters.engine.engine import Engine
from mnemolog.domain.errors import Conflict
from mnemolog.langgraph import MnemologSaver
from tests.testkit.checkpoints import checkpoint, config


@pytest.fixture
def memory(engine: Engine) -> Iterator[Memory]:
    with Memory(engine.settings.directory, durable=False, embedder="lexical") as opened:
        yield opened


@pytest.fixture
def saver(memory: Memory, user: str) -> MnemologSaver:
    return MnemologSaver(memory, user_id=user)


def put(saver: MnemologSaver, after: Any = None, **values: Any) -> Any:
    made = checkpoint(**values)
    return saver.put(after or config(), made, {"source": "loop", "step": 1, "parents": {}}, made["channel_versions"])


def loaded(saver: MnemologSaver) -> Any:
    found = saver.get_tuple(config())
    return found and found.checkpoint["channel_values"]


@pytest.fixture
def now(saver: MnemologSaver, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that did without the event loop, on a thread that is known."""
    put(saver, of="the first")
    done: list[str] = []

    def note(name: str) -> None:
        call = getattr(CheckpointStore, name)

        def noted(self: CheckpointStore, *of: Any) -> Any:
            if result := call(self, *of):
                done.append(name)
            return result

        monkeypatch.setattr(CheckpointStore, name, noted)

    for name in ("save_now", "save_writes_now", "load_now"):
        note(name)
    return done


@pytest.mark.spec_part("B15")
def test_what_was_saved_is_loaded_without_the_event_loop(saver: MnemologSaver, now: list[str]) -> None:
    at = put(saver, of=["b" * 50_000])
    saver.put_writes(at, [("of", "first")], "task")
    saver.put_writes(at, [("of", "again")], "task")
    found = saver.get_tuple(config())

    assert found is not None
    assert found.checkpoint["channel_values"] == {"of": ["b" * 50_000]}
    assert found.pending_writes == [("task", "of", "first")]
    assert now == ["save_now", "save_writes_now", "save_writes_now", "load_now"]


async def test_both_ways_see_what_the_other_saved(saver: MnemologSaver, now: list[str]) -> None:
    at = put(saver, state="s" * 40_000)
    other = checkpoint(state="s" * 40_000, said="more")
    await saver.aput(at, other, {"source": "loop", "step": 2, "parents": {}}, {"said": 1})
    assert loaded(saver) == {"state": "s" * 40_000, "said": "more"}
    assert now == ["save_now", "load_now"]


def test_a_dead_connection_is_replaced(engine: Engine, saver: MnemologSaver, now: list[str]) -> None:
    put(saver, of="before")
    with psycopg.connect(engine.endpoints.postgres_dsn, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE query LIKE '%mnemolog.supervisor_checkpoints%' AND pid <> pg_backend_pid() AND state = 'idle'"
        )
    put(saver, of="after")
    assert loaded(saver) == {"of": "after"}
    assert now == ["save_now", "load_now"], "the save in between went the other way"


@pytest.mark.spec_part("B15")
def test_a_run_whose_thread_was_erased_is_refused(saver: MnemologSaver, now: list[str], memory: Memory) -> None:
    at = put(saver, of="a secret")
    saver.delete_thread("main")
    assert loaded(saver) is None
    with pytest.raises(Conflict, match="were erased while a graph was running"):
        put(saver, at, of="a secret still")
    with pytest.raises(Conflict, match="were erased while a graph was running"):
        saver.put_writes(at, [("of", "a secret still")], "task")
    put(saver, of="anew")
    assert loaded(saver) == {"of": "anew"}


def test_it_works_again_after_its_memory_was_closed(saver: MnemologSaver, now: list[str], memory: Memory) -> None:
    put(saver, of="before")
    memory.close()
    assert loaded(saver) == {"of": "before"}
    put(saver, of="after")
    assert loaded(saver) == {"of": "after"}
    assert now == ["save_now", "save_now", "load_now"]
