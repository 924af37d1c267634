"""An engine that embeds over an API: a change of the model, a rebuild, attached clients, a server that is away."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from sqlalchemy import text

from mnemolog.adapters.config import Settings
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.minilm import MiniLM
from mnemolog.domain.errors import EngineSettingDiffers, ModelUnavailable, ReadTimeout
from mnemolog.events.envelope import Position
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import ContextRequest
from mnemolog.projections.vectors.projector import NAME as VECTORS
from tests.bullets import bullets_of, undated
from tests.engine.person import Person
from tests.engine.test_model_change import swapped
from tests.testkit.eventually import eventually
from tests.testkit.model_server import ModelServer, Reply, error, model_server, narrower
from tests.testkit.settings import settings_in

MODEL = "text-embedding-3-small"


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with model_server() as opened:
        yield opened


def settings_of(directory: Path, server: ModelServer, **given: Any) -> Settings:
    return settings_in(directory, model_url=server.url, model_api_key="sk-1", embedding_model=MODEL, **given)


async def schemas(engine: Engine) -> set[str]:
    async with engine.projections.live.connect() as connection:
        found = await connection.execute(text("SELECT nspname FROM pg_namespace WHERE nspname LIKE '%vectors%'"))
        return {row[0] for row in found}


async def test_another_model_embeds_the_log_once_and_a_rebuild_asks_it_for_nothing(
    tmp_path: Path, server: ModelServer
) -> None:
    async with open_engine(settings_in(tmp_path)) as engine:
        await Person(engine, "ana").creates("Ana has a cat")
        await engine.settled(60)
    async with open_engine(settings_of(tmp_path, server)) as engine:
        await swapped(engine)
        ana = Person(engine, "ana")
        await ana.creates("Ana drinks tea")
        await engine.settled(60)
        assert (await engine.projections.embedder()).model == MODEL
        assert any("text_embedding_3_small" in name for name in await schemas(engine))
        found = (await ana.asks("Ana has a cat")).hits[0]
        assert found.text == "Ana has a cat"
        assert found.similarity == pytest.approx(1.0, abs=0.001)
        texts = [one for asked in server.requests for one in asked.json["input"]]
        assert sorted(texts) == ["Ana drinks tea", "Ana has a cat"]  # The question was embedded as a memory before.
        before = server.asked
        await engine.projections.rebuild(VECTORS)
        assert server.asked == before
        assert all(asked.headers["authorization"] == "Bearer sk-1" for asked in server.requests)


async def test_an_attached_client_embeds_through_its_engine_and_needs_no_key(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_engine(settings_of(tmp_path, server)) as engine:
        await Person(engine, "ana").creates("Ana moved to Lisbon")
        await engine.settled(60)
        monkeypatch.setattr(MiniLM, "embed", lambda self, texts: pytest.fail("the bundled model is loaded"))
        async with open_engine(settings_in(tmp_path), attach=True) as client:
            assert client.settings.embedding_model == MODEL
            assert client.settings.model_api_key is None
            before = server.asked
            assert await Person(client, "ana").finds("moved to Lisbon, Ana") == ["Ana moved to Lisbon"]
            assert server.asked == before + 1
        with pytest.raises(EngineSettingDiffers) as differs:
            async with open_engine(settings_in(tmp_path, embedding_model="another"), attach=True):
                pass
        assert differs.value.field == "embedding_model"


async def test_while_the_server_is_away_memories_are_written_and_embedded_when_it_returns(
    tmp_path: Path, server: ModelServer
) -> None:
    async with open_engine(settings_of(tmp_path, server, model_retries=0)) as engine:
        ana = Person(engine, "ana")
        server.replies.extend([error(503)] * 2 + [error(401), Reply(b"{broken")])
        await ana.creates("Ana has a cat")
        assert await engine.projections.stopped() == {}
        await eventually(lambda: embedded(engine), seconds=90)
        assert await ana.finds("Ana has a cat") == ["Ana has a cat"]
        server.replies.extend([error(503)] * 9)
        found = await ana.asks("a cat, another question")
        assert [(hit.text, hit.similarity) for hit in found.hits] == [("Ana has a cat", None)]
        assert [*found.skipped] == ["similarity: the embedding model gives no vector (model_unavailable)"]
        told = await engine.reads.context(ana.viewer, ContextRequest(query="yet another cat"))
        assert ([undated(one) for one in bullets_of(told)], told.skipped) == (["[note] Ana has a cat"], found.skipped)
        with pytest.raises(ModelUnavailable) as unavailable:
            await ana.asks("how similar is a cat", threshold=0.5)
        assert unavailable.value.field == "model_url"


async def test_what_was_written_while_the_server_is_away_is_found_by_its_words(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_engine(settings_of(tmp_path, server, model_retries=0)) as engine:
        ana = Person(engine, "ana")
        monkeypatch.setattr(server, "good", lambda request: error(401))
        await ana.creates("Ana has a cat")
        found = await ana.asks("Who has a cat?")
        assert [hit.text for hit in found.hits] == ["Ana has a cat"]
        assert [*found.skipped] == ["similarity: the embedding model gives no vector (model_not_accessible)"]
        told = await engine.reads.context(ana.viewer, ContextRequest(query="a cat"))
        assert ([undated(one) for one in bullets_of(told)], told.skipped) == (["[note] Ana has a cat"], found.skipped)


@pytest.mark.spec("X10")
async def test_a_read_without_vectors_waits_no_longer_than_its_deadline(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_engine(settings_of(tmp_path, server, model_retries=0)) as engine:
        ana = Person(engine, "ana")
        monkeypatch.setattr(server, "good", lambda request: replace(error(401), delay=2.0))
        never = Moment(after=Position(ana.stream, 99), deadline=2.4)
        began = monotonic()
        with pytest.raises(ReadTimeout):
            await ana.asks("Who has a cat?", never)

        assert 2.3 <= monotonic() - began < 4.2


async def test_another_model_under_the_same_name_is_noticed_and_nothing_is_lost(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_engine(settings_of(tmp_path, server, model_retries=0)) as engine:
        await Person(engine, "ana").creates("Ana has a cat")
        await engine.settled(60)
    async with open_engine(settings_of(tmp_path, server, model_retries=0)) as engine:
        ana = Person(engine, "ana")
        with monkeypatch.context() as narrow:
            narrow.setattr(server, "good", narrower(server, 300))
            found = await ana.asks("Ana and a cat in the old harbour")
            assert [(hit.text, hit.similarity) for hit in found.hits] == [("Ana has a cat", None)]
            assert [*found.skipped] == ["similarity: the embedding model gives no vector (model_output_invalid)"]
            await ana.creates("Ana drinks tea in the old harbour")
            assert await engine.projections.stopped() == {}
        await eventually(lambda: embedded(engine), seconds=90)
        assert "Ana drinks tea in the old harbour" in await ana.finds("tea in the harbour")


async def embedded(engine: Engine) -> bool:
    return await engine.projections.running[VECTORS].lag() == 0
