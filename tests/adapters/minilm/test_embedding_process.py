"""The embedder in a process of its own: real processes, killed, stopped and left alone."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import numpy as np
import psutil  # type: ignore[import-untyped]
import pytest

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import open_engine
from mnemolog.adapters.minilm import EmbeddingProcess, MiniLM, process
from mnemolog.domain.errors import InvalidInput, ModelMissing, ServerFailed
from mnemolog.projections.requests import MemoryQuery

# More than one portion, of all lengths, and none like another.
TEXTS = [f"Ana's {number}. flat: " + "a balcony over the river, " * (number % 7) + "🎉昨日" for number in range(40)]

# Embeds one text, tells the pid of what embedded it, and waits to be killed.
PARENT = """
import asyncio, psutil
from mnemolog.adapters.minilm import EmbeddingProcess, MiniLM
async def main():
    await EmbeddingProcess(MiniLM()).embed(["Ana"])
    print(*(child.pid for child in psutil.Process().children()), flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


def embedding_processes() -> list[psutil.Process]:
    """Those of this process; it may have other children."""
    return [child for child in psutil.Process().children() if "mnemolog.adapters.minilm.serve" in child.cmdline()]


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM()


@pytest.fixture
async def embedder(minilm: MiniLM) -> AsyncIterator[EmbeddingProcess]:
    async with aclosing(EmbeddingProcess(minilm)) as started:
        yield started


async def test_it_gives_the_bytes_that_this_process_would(embedder: EmbeddingProcess, minilm: MiniLM) -> None:
    rows = await embedder.embed(TEXTS)

    assert rows.shape == (len(TEXTS), minilm.dimensions)
    assert rows.dtype == np.float32
    assert rows.tobytes() == minilm.embed(TEXTS).tobytes()


async def test_no_text_needs_no_process(embedder: EmbeddingProcess) -> None:
    assert (await embedder.embed([])).shape == (0, 384)
    assert embedding_processes() == []


async def test_callers_at_the_same_time_share_one_process_and_get_their_own(
    embedder: EmbeddingProcess, minilm: MiniLM
) -> None:
    asked = [TEXTS[at:] for at in range(0, 40, 3)]

    answers = await asyncio.gather(*(embedder.embed(texts) for texts in asked))

    rows = minilm.embed(TEXTS)
    assert all(np.array_equal(answer, rows[40 - len(answer) :]) for answer in answers)
    assert len(embedding_processes()) == 1


async def test_who_gives_up_waiting_leaves_the_others_their_answers(embedder: EmbeddingProcess, minilm: MiniLM) -> None:
    await embedder.embed(["warm"])
    early, late = (asyncio.create_task(embedder.embed([text])) for text in ("long " * 200, TEXTS[1]))
    await asyncio.sleep(0)  # Both are asked, none is answered.

    early.cancel()

    assert np.array_equal(await late, minilm.embed([TEXTS[1]]))
    assert np.array_equal(await embedder.embed([TEXTS[2]]), minilm.embed([TEXTS[2]]))
    with pytest.raises(asyncio.CancelledError):
        await early


async def test_a_question_does_not_wait_for_all_the_texts_of_another_caller(embedder: EmbeddingProcess) -> None:
    await embedder.embed(["warm"])
    many = asyncio.create_task(embedder.embed(TEXTS * 10))
    await asyncio.sleep(0)

    await embedder.embed(["where does Ana live?"])

    assert not many.done()
    assert len(await many) == 400


async def test_the_call_during_which_it_dies_fails_and_the_next_one_has_another(
    embedder: EmbeddingProcess, minilm: MiniLM
) -> None:
    await embedder.embed(["warm"])
    [dying] = embedding_processes()
    waiting = [asyncio.create_task(embedder.embed(TEXTS)) for _ in range(2)]
    await asyncio.sleep(0)

    dying.kill()

    for one in waiting:
        with pytest.raises(ServerFailed, match="ended with -9"):
            await one
    assert np.array_equal(await embedder.embed(TEXTS[:1]), minilm.embed(TEXTS[:1]))
    [started] = embedding_processes()
    assert started.pid != dying.pid


async def test_a_process_that_died_while_idle_is_not_noticed(embedder: EmbeddingProcess) -> None:
    await embedder.embed(["warm"])
    embedding_processes()[0].kill()
    await asyncio.sleep(0.2)

    assert (await embedder.embed(["Ana"])).shape == (1, 384)


async def test_one_that_hangs_is_replaced(embedder: EmbeddingProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    await embedder.embed(["warm"])
    [hanging] = embedding_processes()
    hanging.suspend()
    with monkeypatch.context() as patch:
        patch.setattr(process, "ANSWER_SECONDS", 0.2)

        with pytest.raises(ServerFailed, match=r"did not answer within 0\.2 s"):
            await embedder.embed(["Ana"])

    assert (await embedder.embed(["Ana"])).shape == (1, 384)
    assert gone(hanging.pid)


async def test_a_missing_model_says_what_to_do_as_in_this_process(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing) as here:
        MiniLM(folder=tmp_path).embed(["Ana"])

    async with aclosing(EmbeddingProcess(MiniLM(folder=tmp_path))) as embedder:
        for _ in range(2):
            with pytest.raises(ModelMissing) as there:
                await embedder.embed(["Ana"])
            assert there.value.as_dict() == here.value.as_dict()


async def test_a_text_that_breaks_the_model_is_refused_and_the_process_continues(embedder: EmbeddingProcess) -> None:
    await embedder.embed(["warm"])
    before = embedding_processes()

    with pytest.raises(InvalidInput, match="cannot embed the text: ") as refused:
        await embedder.embed(["half of a pair: \ud83d"])

    assert "half" not in str(refused.value)
    assert (await embedder.embed(["Ana"])).shape == (1, 384)
    assert embedding_processes() == before


def test_it_ends_when_its_engine_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()

        _, alive = psutil.wait_procs([child], timeout=30)

    assert not alive


async def test_it_is_closed_for_good(minilm: MiniLM) -> None:
    embedder = EmbeddingProcess(minilm)
    await embedder.embed(["warm"])
    [running] = embedding_processes()
    waiting = asyncio.create_task(embedder.embed(TEXTS))
    await asyncio.sleep(0)

    await embedder.aclose()

    assert gone(running.pid)
    for failing in (waiting, embedder.embed(["Ana"])):
        with pytest.raises(ServerFailed):
            await failing


async def test_an_engine_keeps_one_and_ends_it_and_an_attached_one_has_none(tmp_path: Path) -> None:
    settings = load(data_dir=tmp_path, durable=False, http_port=0)
    question = MemoryQuery.model_validate({"query": "kitten", "filters": {"user_id": "ana"}})
    async with open_engine(settings) as engine:
        await engine.writes.create({"user_id": "ana", "text": "Ana has a cat"})
        await engine.settled()
        [kept] = embedding_processes()
        os.kill(kept.pid, signal.SIGKILL)
        await engine.writes.create({"user_id": "ana", "text": "Ana drinks tea"})
        await engine.settled()
        [started] = embedding_processes()
        async with open_engine(settings, attach=True) as attached:
            assert attached.attached
            assert (await attached.reads.query(question)).hits
            assert embedding_processes() == [started]

    assert embedding_processes() == []
