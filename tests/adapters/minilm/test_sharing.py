"""One model for all programs on a data directory: the engine embeds, and a client that finds none does it itself."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np
import pytest

from mnemolog.adapters.minilm import InThread, Lexical, MiniLM, sharing
from mnemolog.adapters.minilm.caching import CachingEmbedder
from mnemolog.adapters.minilm.prefetching import PrefetchingEmbedder
from mnemolog.adapters.minilm.sharing import SharedModel, share
from mnemolog.domain.errors import (
    InvalidInput,
    MnemologError,
    ModelMissing,
    ModelOutputInvalid,
    ModelRequestRefused,
    ModelUnavailable,
    ServerFailed,
)
from mnemolog.projections.vectors.embedder import Vectors
from tests.testkit.eventually import eventually

TEXTS = ["Ana drinks tea", "昨日 🎉", "x" * 100_000]


class Engine(Lexical):
    """What an engine embeds with; it raises `fault` if there is one."""

    fault: MnemologError | None = None

    def cached(self, texts: Sequence[str]) -> Mapping[str, Vectors]:
        return {}

    async def embed(self, texts: Sequence[str]) -> Vectors:  # type: ignore[override]
        if self.fault:
            raise self.fault
        return Lexical().embed(texts)


class Own(MiniLM):
    """A model that a client loads where no engine answers."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.ones((len(texts), self.dimensions), np.float32)


def sockets_in(directory: Path) -> Mapping[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in directory.iterdir()}


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    engine = Engine()
    async with AsyncExitStack() as stack:
        await share(stack, PrefetchingEmbedder(engine), tmp_path)
        yield engine


async def test_clients_get_what_the_engine_embeds(engine: Engine, tmp_path: Path) -> None:
    asked = [SharedModel(InThread(Own()), tmp_path).embed(TEXTS) for _ in range(8)]
    for rows in await asyncio.gather(*asked):
        assert np.array_equal(rows, Lexical().embed(TEXTS))


async def test_what_a_client_is_about_to_append_is_embedded_by_the_engine(tmp_path: Path) -> None:
    remembering = CachingEmbedder(Engine())
    client = SharedModel(InThread(Own()), tmp_path)
    client.expect(["nobody listens"])
    async with AsyncExitStack() as stack:
        await share(stack, PrefetchingEmbedder(remembering), tmp_path)
        client.expect(["x" * 1_000_000])  # More than a datagram holds.
        client.expect([])
        client.expect(TEXTS[:2])

        async def embedded() -> bool:
            return len(remembering.cached(TEXTS)) == 2

        await eventually(embedded)


FAULTS = [
    ModelMissing("gone", fix="install it"),
    InvalidInput("is odd", field="text"),
    ModelUnavailable("is away", field="model_url"),
    ModelRequestRefused("refused", field="model_api_key"),
    ModelOutputInvalid("gave no vectors"),
]


@pytest.mark.parametrize("fault", FAULTS)
async def test_an_error_of_the_model_is_the_clients(engine: Engine, tmp_path: Path, fault: MnemologError) -> None:
    engine.fault = fault
    with pytest.raises(type(fault)) as told:
        await SharedModel(InThread(Own()), tmp_path).embed(TEXTS)
    assert told.value.as_dict() == fault.as_dict()


async def test_where_the_engine_cannot_embed_the_client_does(engine: Engine, tmp_path: Path) -> None:
    engine.fault = ServerFailed("the embedding process ended", fix="try again")
    assert (await SharedModel(InThread(Own()), tmp_path).embed(TEXTS) == 1).all()


async def test_where_no_engine_answers_the_client_embeds(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await SharedModel(InThread(Own()), tmp_path / "elsewhere").embed(TEXTS) == 1).all()
    monkeypatch.setattr(sharing, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(engine, "embed", lambda texts: asyncio.sleep(60))
    assert (await SharedModel(InThread(Own()), tmp_path).embed(TEXTS) == 1).all()


async def test_an_engine_takes_the_socket_of_one_that_was_killed_and_leaves_none(tmp_path: Path) -> None:
    for name in (sharing.NAME, sharing.EXPECTED):
        (tmp_path / name).touch()
    async with AsyncExitStack() as stack:
        await share(stack, PrefetchingEmbedder(Engine()), tmp_path)
        assert sockets_in(tmp_path) == {"embed.sock": 0o600, "embed.soon": 0o600}
        assert np.array_equal(await SharedModel(InThread(Own()), tmp_path).embed(TEXTS), Lexical().embed(TEXTS))
    assert sockets_in(tmp_path) == {}
    async with AsyncExitStack() as stack:
        await share(stack, PrefetchingEmbedder(Engine()), tmp_path / ("x" * sharing.LONGEST))
