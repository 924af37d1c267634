"""How the cost of a search grows with what a user has: users of 300 to 100,000 memories, 1,000,000 in all if wanted.

python -m tests.bench.scale [--sizes 300 3000 30000] [--total 40000] [--questions 40] [--directory DIR]

With `--sizes 300 3000 30000 100000 --total 1000000` it takes an hour or more. There is one user of each size, and users
of 3,000 until there are `--total` memories. They are written as events and projected from the log, as in a rebuild; a
directory that is kept is written once. A memory is made of three of 400 clauses, so most words are frequent. Its
vector is the normalized sum of the clauses' MiniLM vectors with some noise, and no model runs while anything is
measured: all times are without the embedding call, for one caller.

`ann_recall` is the part of the 50 nearest memories that the index finds, `word_recall` the part of the 50 best by BM25
that a search by the kept words finds. `context` asks for a category of which it has what a search finds, not all. mem0
(`infer=False`) is measured beside it up to `--peer-most` memories, if it is installed.
"""

import asyncio
import json
import random
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import accumulate, islice
from os import getloadavg
from pathlib import Path
from typing import Any
from unittest.mock import PropertyMock, patch

import numpy as np
import psycopg
from rich.console import Console
from rich.table import Table
from sqlalchemy import Select, select

from mnemolog.adapters.config import load
from mnemolog.adapters.engine import wiring
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.minilm.embedder import MiniLM
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.identity import uuid7
from mnemolog.domain.memory import Kind
from mnemolog.domain.scope import Scope
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_TENANT, Meta, NewEvent, StreamId
from mnemolog.events.log import Append
from mnemolog.events.memory import MemoryCreated
from mnemolog.projections import full_text
from mnemolog.projections.asking import ask
from mnemolog.projections.memories.filters import Candidates
from mnemolog.projections.requests import ContextRequest, MemoryQuery
from mnemolog.projections.vectors.embedder import Vectors
from tests.bench.mem0_peer import mem0

BEGAN = datetime(2025, 1, 1, tzinfo=UTC)
OTHERS = 3000
GROUP = 250
APPENDS = 8
BEST = 50
RECALLED = 10
WARM = 10
SEARCHED = "activity"
"""A category of which a context has what a search finds."""
CLAUSES = 400
ONSETS = ("b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "w", "br", "cl", "st")
WHO = ("Ana", "Boris", "my sister", "the neighbour", "our manager", "Chen", "the dentist", "my old friend Dara", "Emil")
DID = (
    "painted", "repaired", "bought", "sold", "borrowed", "photographed", "lost", "found", "cleaned", "ordered",
    "returned", "inherited", "admired", "measured", "insured", "rented", "dropped", "described", "gave away",
)  # fmt: skip
WHAT = (
    "a violin", "the bicycle", "a cabin", "the telescope", "a garden chair", "a kayak", "the camera", "a carpet",
    "the stove", "an atlas", "a raincoat", "the piano", "a ring", "the boiler", "a sailing boat", "the mortgage",
    "a tent", "the passport", "some coffee", "the medication", "a puppy", "the vaccination card", "a train ticket",
)  # fmt: skip
WHERE = (
    "in Lisbon", "in Riga", "at the office", "on the island", "near the station", "in the hospital", "at school",
    "in Kyoto", "by the lake", "at the airport", "in the attic", "behind the theatre", "in Porto", "at the market",
)  # fmt: skip


class Mixed:
    """An embedder for memories of this benchmark: the sum of their clauses' vectors, with noise from their text."""

    def __init__(self) -> None:
        self._minilm = MiniLM()
        self.model, self.calibration = self._minilm.model, self._minilm.calibration
        self._known: dict[str, Vectors] = {}

    def learn(self, clauses: Sequence[str]) -> None:
        self._known |= zip(clauses, self._minilm.embed(clauses), strict=True)

    def cached(self, texts: Sequence[str]) -> Mapping[str, Vectors]:
        return {text: self._of(text) for text in texts}

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._of(text) for text in texts])

    def _of(self, text: str) -> Vectors:
        parts = [self._known[one] for one in text.split("; ") if one in self._known]
        if not parts:
            self.learn([text])
            return self._known[text]
        seed = int.from_bytes(sha256(text.encode()).digest()[:8])
        noise = np.random.default_rng(seed).standard_normal(len(parts[0]), np.float32)
        total: Vectors = np.sum(parts, axis=0) + np.float32(0.02) * noise
        total /= np.linalg.norm(total)
        return total


class OfPeer:
    """The same embedder, by mem0's interface."""

    def __init__(self, embedder: Mixed) -> None:
        self.config: Any = None
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        vector: list[float] = self._embedder.cached([text])[text].tolist()
        return vector

    def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:
        return [self.embed(one) for one in texts]


def clauses(numbers: random.Random) -> list[str]:
    """Different clauses, each with a made-up word; a few of these are frequent and most are rare."""
    words = [numbers.choice(ONSETS) + numbers.choice("aeiou") + numbers.choice(ONSETS) + "el" for _ in range(600)]
    weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    found: dict[str, None] = {}
    while len(found) < CLAUSES:
        who, did, what, where = (numbers.choice(one) for one in (WHO, DID, WHAT, WHERE))
        [word] = numbers.choices(words, cum_weights=weights)
        found[f"{who} {did} {what} {where} with {word}"] = None
    return list(found)


def memories(user: str, count: int, said: Sequence[str], numbers: random.Random) -> Iterator[Append]:
    stream, at = StreamId.of_user(user), BEGAN
    meta = Meta(user)
    while count > 0:
        events = []
        for _ in range(min(count, GROUP)):
            at += timedelta(minutes=5)
            text = "; ".join(numbers.choices(said, k=3))
            payload = MemoryCreated(
                memory_id=uuid7(at, numbers.randbytes(10)),
                text=text,
                category=SEARCHED,
                importance=0.5,
                confidence=0.8,
                pinned=False,
                kind=Kind.FACT,
                scope=Scope.GLOBAL,
            )
            events.append(NewEvent(uuid7(at, numbers.randbytes(10)), payload, meta, at))
        count -= len(events)
        yield Append(stream, tuple(events))


def question(numbers: random.Random, said: Sequence[str]) -> str:
    """A question about one clause: rephrased, so that its vector is not that of a memory."""
    who, rest = numbers.choice(said).split(" with ")
    about = who.removeprefix("my ")
    return f"What about {about}, and {rest}?" if numbers.random() < 0.5 else f"When was it that {who}?"


@asynccontextmanager
async def opened(directory: Path, embedder: Mixed) -> AsyncIterator[Engine]:
    """An engine that does nothing by itself, with this embedder."""

    async def own(*_: object, **__: object) -> Mixed:
        return embedder

    with patch.object(wiring, "embedder_of", own):
        async with open_engine(load(data_dir=directory, http_port=0), passive=True) as engine:
            yield engine


async def write(engine: Engine, appends: Iterator[Append]) -> None:
    while group := list(islice(appends, APPENDS)):
        refused = [one for one in await engine.log.append(group) if isinstance(one, MnemologError)]
        if refused:
            raise refused[0]
    working = engine.projections.working.name
    await engine.projections.fill([store for name, store in engine.projections.stores.items() if name != working])
    async with await psycopg.AsyncConnection.connect(engine.endpoints.postgres_dsn, autocommit=True) as connection:
        await connection.execute("VACUUM ANALYZE")


async def timed(ask: Callable[[str], Awaitable[object]], questions: Sequence[str]) -> list[float]:
    """The milliseconds of each call, sorted, after a few calls that fill caches."""
    for one in questions[:WARM]:
        await ask(one)
    taken = []
    for one in questions:
        began = time.perf_counter()
        await ask(one)
        taken.append(1000 * (time.perf_counter() - began))
    return sorted(taken)


async def rate(ask: Callable[[str], Awaitable[object]], questions: Sequence[str], at_once: int) -> float:
    """Calls a second, with so many at once."""
    waiting = iter(questions)

    async def caller() -> None:
        for one in waiting:
            await ask(one)

    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(at_once)))
    return len(questions) / (time.perf_counter() - began)


def p(share: int, taken: Sequence[float]) -> float:
    return round(taken[min(len(taken) - 1, len(taken) * share // 100)], 1)


async def recalls(engine: Engine, embedder: Mixed, viewer: Viewer, questions: Sequence[str]) -> tuple[float, float]:
    """By meaning and by words: the part of the best 50, found one by one, that a search finds."""
    by_meaning, by_words = list[float](), list[float]()
    index, among = engine.projections.index, Candidates()
    for text in questions:
        [vector] = await embedder.embed([text])
        async with engine.projections.live.connect() as connection:
            found = await index.search(connection, viewer, among, embedder.model, vector, BEST)
            every = await ask(connection, viewer, _ids, among)
            only = [row[0] for row in every]
            exact = await index.search(connection, viewer, among, embedder.model, vector, BEST, only)
            by_meaning.append(len(found.keys() & exact.keys()) / len(exact))
            worded = (await full_text.search(connection, among, viewer, text, BEST)).scores
            with patch.object(Candidates, "words", PropertyMock(return_value=())):
                counted = (await full_text.search(connection, among, viewer, text, BEST)).scores
            # Of equal scores, any may be found.
            least = min(counted.values()) - 1e-6
            by_words.append(sum(score >= least for id_, score in worded.items() if id_ in counted) / len(counted))
    return round(sum(by_meaning) / len(by_meaning), 4), round(sum(by_words) / len(by_words), 4)


def _ids(viewer: Viewer, among: Candidates) -> Select[Any]:
    return select(among.documents(viewer).subquery().c.id)


async def of_user(
    engine: Engine, embedder: Mixed, user: str, said: Sequence[str], options: Namespace
) -> dict[str, Any]:
    questions = [question(random.Random(number), said) for number in range(options.questions)]
    viewer = Viewer(DEFAULT_TENANT, user, DEFAULT_AGENT)

    async def search(text: str) -> object:
        return await engine.reads.query(MemoryQuery(user_id=user, query=text))

    async def context(text: str) -> object:
        return await engine.reads.context(viewer, ContextRequest(query=text, categories=(SEARCHED,)))

    searches = await timed(search, questions)
    contexts = await timed(context, questions)
    ann, words = await recalls(engine, embedder, viewer, questions[:RECALLED])
    return {
        "query_p50_ms": p(50, searches),
        "query_p95_ms": p(95, searches),
        "context_p95_ms": p(95, contexts),
        "searches_per_s": round(await rate(search, questions * 2, options.at_once), 1),
        "ann_recall": ann,
        "word_recall": words,
        "load": round(getloadavg()[0], 1),
    }


async def of_peer(peer: Any, embedder: Mixed, size: int, said: Sequence[str], options: Namespace) -> float:
    """The 95th percentile of a search of mem0 among so many of the same memories."""
    user = f"user-{size}"
    for one in memories(user, size, said, random.Random(size)):
        for event in one.events:
            assert isinstance(event.payload, MemoryCreated)
            peer.add(event.payload.text, user_id=user, infer=False)

    async def search(text: str) -> object:
        return peer.search(text, filters={"user_id": user}, top_k=5)

    return p(95, await timed(search, [question(random.Random(number), said) for number in range(options.questions)]))


async def measure(options: Namespace, directory: Path) -> dict[str, Any]:
    said = clauses(random.Random(7))
    embedder = Mixed()
    embedder.learn(said)
    users = {f"user-{size}": size for size in sorted(options.sizes)}
    left = max(0, options.total - sum(users.values()))
    others = {f"other-{n}": min(OTHERS, left - n * OTHERS) for n in range(-(-left // OTHERS))}
    told: dict[str, Any] = {}
    async with opened(directory / "mnemolog", embedder) as engine:
        began = time.perf_counter()
        if not any((await engine.log.counts()).values()):
            every = {**users, **others}.items()
            await write(
                engine, (one for user, size in every for one in memories(user, size, said, random.Random(size)))
            )
            told["filled_per_s"] = round(sum({**users, **others}.values()) / (time.perf_counter() - began))
        began = time.perf_counter()
        if indexed := await engine.projections.index_vectors():
            told["indexed"] = {"users": indexed, "seconds": round(time.perf_counter() - began, 1)}
        told["users"] = {size: await of_user(engine, embedder, user, said, options) for user, size in users.items()}
    with mem0(directory / "mem0") as peer:
        if peer is not None:
            peer.embedding_model = OfPeer(embedder)
            sizes = [size for size in users.values() if size <= options.peer_most]
            told["mem0_query_p95_ms"] = {size: await of_peer(peer, embedder, size, said, options) for size in sizes}
    return told


def figures(told: dict[str, Any]) -> dict[str, Any]:
    users = told.pop("users")
    first, last = users[min(users)], users[max(users)]
    return {
        "query_p95_ms": {size: one["query_p95_ms"] for size, one in users.items()},
        "ratio_large_small": round(last["query_p50_ms"] / first["query_p50_ms"], 2),
        "ann_recall": min(one["ann_recall"] for one in users.values()),
        "word_recall": min(one["word_recall"] for one in users.values()),
        "context_p95_ms": {size: one["context_p95_ms"] for size, one in users.items()},
        "searches_per_s": {size: one["searches_per_s"] for size, one in users.items()},
        **told,
        "aims": {"query_p95_ms": 25, "ratio_large_small": 2, "ann_recall": 0.98, "context_p95_ms": 40},
    }


def main() -> None:
    parser = ArgumentParser(prog="tests.bench.scale", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[300, 3000, 30_000], help="memories of the users asked")
    parser.add_argument("--total", type=int, default=40_000, help="memories of all users (default: %(default)s)")
    parser.add_argument("--questions", type=int, default=40, help="of each user (default: %(default)s)")
    parser.add_argument("--at-once", type=int, default=32, help="callers for the rate (default: %(default)s)")
    parser.add_argument("--peer-most", type=int, default=3000, help="memories for mem0 at most (default: %(default)s)")
    parser.add_argument("--directory", type=Path, help="where the data is written and kept, or was")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mnemolog-scale-") as temporary:
        told = asyncio.run(measure(options, (options.directory or Path(temporary)).resolve()))
    columns = list(next(iter(told["users"].values())))
    shown = Table("memories", *columns, box=None)
    for size, one in told["users"].items():
        shown.add_row(f"{size:,}", *(str(one[name]) for name in columns))
    console = Console()
    console.print(shown)
    if "mem0_query_p95_ms" not in told:
        console.print("mem0 is not installed: nothing is measured beside it.")
    console.print(json.dumps(figures(told)), soft_wrap=True, highlight=False)


if __name__ == "__main__":
    main()
