"""Vectors that are made before they are asked for: once, the same, and never waited for in vain."""

import asyncio
from collections.abc import Sequence
from functools import partial
from uuid import uuid4

import numpy as np
import pytest

from mnemolog.adapters.engine.wiring import expect_texts
from mnemolog.adapters.minilm import InThread, Lexical, prefetching
from mnemolog.adapters.minilm.caching import CachingEmbedder
from mnemolog.adapters.minilm.prefetching import PREFETCHED, PrefetchingEmbedder
from mnemolog.adapters.minilm.process import PORTION
from mnemolog.commands.handler import Handler
from mnemolog.commands.turns import TURNS, RecordTurn
from mnemolog.domain.errors import ServerFailed
from mnemolog.projections.vectors.embedder import Vectors
from tests.testkit.clock import START, Clock, ids
from tests.testkit.log import MemoryLog


class Slow(InThread):
    """Answers when it is told to, and remembers what it was asked; fails once, or as long as it is `down`."""

    def __init__(self) -> None:
        super().__init__(Lexical())
        self.asked: list[list[str]] = []
        self.may = asyncio.Event()
        self.down = False
        self.fails_once: Exception | None = None

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.append(list(texts))
        await self.may.wait()
        if self.fails_once:
            error, self.fails_once = self.fails_once, None
            raise error
        if self.down:
            raise ServerFailed("the model is away", fix="try again")
        return await super().embed(texts)


async def begun() -> None:
    """Let what waits begin."""
    for _ in range(3):
        await asyncio.sleep(0)


async def test_what_was_expected_is_made_once_and_reads_the_same() -> None:
    slow = Slow()
    ahead = PrefetchingEmbedder(CachingEmbedder(slow))
    ahead.expect(["tea"])
    await begun()
    ahead.expect(["rain", "cake"])
    assert slow.asked == [["tea"]]

    slow.may.set()
    made = await ahead.embed(["rain", "tea", "snow"])

    assert slow.asked == [["tea"], ["rain", "cake"], ["snow"]]
    assert np.array_equal(made, await InThread(Lexical()).embed(["rain", "tea", "snow"]))


async def test_a_turn_is_embedded_while_it_is_appended() -> None:
    slow = Slow()
    slow.may.set()
    ahead = PrefetchingEmbedder(CachingEmbedder(slow))
    handler = Handler(MemoryLog(), Clock(), ids(), decided=partial(expect_texts, ahead))
    turn = {
        "user_id": "ana",
        "turn_id": "1",
        "text": "tea",
        "speaker": "Bob",
        "occurred_at": START,
        "entity_id": uuid4(),
    }

    await handler.handle(TURNS, RecordTurn.model_validate(turn))
    await begun()

    [text] = slow.asked[0]
    assert "tea" in text
    await ahead.embed([text])
    assert len(slow.asked) == 1


async def test_what_was_taken_at_hand_makes_room_for_what_is_expected_next() -> None:
    slow = Slow()
    slow.may.set()
    ahead = PrefetchingEmbedder(CachingEmbedder(slow))
    for number in range(2 * PREFETCHED):
        text = str(number)
        ahead.expect([text])
        assert ahead.cached([text]) == {}
        await ahead._working  # type: ignore[misc]
        assert ahead.cached([text]).keys() == {text}

    assert [text for texts in slow.asked for text in texts] == [str(number) for number in range(2 * PREFETCHED)]


async def test_a_failed_prefetch_is_repeated_by_the_caller_that_needs_it() -> None:
    slow = Slow()
    slow.may.set()
    slow.down = True
    ahead = PrefetchingEmbedder(CachingEmbedder(slow))
    ahead.expect(["tea"])
    await begun()

    with pytest.raises(ServerFailed):
        await ahead.embed(["tea"])
    slow.down = False

    assert len(await ahead.embed(["tea"])) == 1


async def test_whatever_a_model_fails_with_ahead_nobody_waits_for_it_for_ever() -> None:
    slow = Slow()
    slow.may.set()
    slow.fails_once = OSError("no more processes")
    ahead = PrefetchingEmbedder(CachingEmbedder(slow))
    texts = [str(number) for number in range(2 * PORTION)]
    ahead.expect(texts)

    async with asyncio.timeout(60):
        assert len(await ahead.embed(texts)) == len(texts)


async def test_a_model_that_fails_late_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefetching, "AGAIN_SECONDS", 0.0)
    slow = Slow()
    slow.down = True
    ahead = PrefetchingEmbedder(CachingEmbedder(slow))
    texts = [str(number) for number in range(2 * PORTION)]
    ahead.expect(texts)
    ahead.expect(["tea"])
    asked = [asyncio.create_task(ahead.embed([text])) for text in (texts[0], texts[-1])]
    await begun()

    slow.may.set()
    await asyncio.wait(asked)

    assert [type(task.exception()) for task in asked] == [ServerFailed, ServerFailed]
    assert slow.asked == [texts[:PORTION]]
    slow.down = False
    assert len(await ahead.embed(["tea"])) == 1, "nobody waited for it then"


async def test_only_the_first_of_many_unrequested_texts_are_prefetched() -> None:
    slow = Slow()
    slow.may.set()
    ahead = PrefetchingEmbedder(CachingEmbedder(slow))

    for number in range(3 * PREFETCHED):
        ahead.expect([str(number)])
        await asyncio.sleep(0)
    await ahead.embed([str(PREFETCHED - 1)])

    made = [text for texts in slow.asked for text in texts]
    assert sorted(made, key=int) == [str(number) for number in range(PREFETCHED)]


async def test_who_gives_up_waiting_leaves_the_vector_for_others() -> None:
    slow = Slow()
    ahead = PrefetchingEmbedder(CachingEmbedder(slow))
    ahead.expect(["tea"])
    await begun()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await ahead.embed(["tea"])
    slow.may.set()

    assert len(await ahead.embed(["tea"])) == 1
