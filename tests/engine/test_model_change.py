"""Another embedding model: what was remembered with the old one is found with the new one, and the other way."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from mnemolog.adapters import minilm
from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.projecting.projections import Projections
from mnemolog.events.envelope import Position, StreamId
from mnemolog.events.fields import validated
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import MemoryQuery
from mnemolog.projections.retrieval import Hit
from mnemolog.projections.vectors.projector import VectorsProjector
from tests.engine.equality import assert_live_equals_rebuilt

STREAM = StreamId.of_user("ana")
VERSION = f"v{VectorsProjector.version}"


async def found(directory: Path, embedder: str, text: str) -> list[str]:
    """Remember a text with this model, then what it finds by meaning alone."""
    settings = load(data_dir=directory, durable=False, embedder=embedder, http_port=0)
    async with open_engine(settings) as engine:
        _, receipt = await engine.writes.create({"user_id": "ana", "text": text})
        request = validated(MemoryQuery, {"query": "kitten", "filters": {"user_id": "ana"}, "top_k": 10})
        answer = await engine.reads.query(request, Moment(after=receipt.position))
        return sorted(hit.text for hit in answer.hits if hit.similarity is not None)


@pytest.mark.spec_part("X05")
async def test_memories_survive_a_change_of_the_embedding_model(tmp_path: Path) -> None:
    assert await found(tmp_path, "lexical", "Ana has a cat") == ["Ana has a cat"]
    assert await found(tmp_path, "minilm", "Ana drinks tea") == ["Ana drinks tea", "Ana has a cat"]
    assert await found(tmp_path, "lexical", "Ben swims") == ["Ana drinks tea", "Ana has a cat", "Ben swims"]


@asynccontextmanager
async def engine_with(directory: Path, embedder: str, **given: Any) -> AsyncIterator[Engine]:
    settings = load(data_dir=directory, durable=False, embedder=embedder, http_port=0, **given)
    async with open_engine(settings) as engine:
        yield engine


async def asked(engine: Engine, question: str) -> Sequence[Hit]:
    """Hits by meaning, with all that was written before."""
    request = validated(MemoryQuery, {"query": question, "filters": {"user_id": "ana"}, "top_k": 10})
    at = Moment(after=Position(STREAM, await engine.log.head(STREAM)))
    return [hit for hit in (await engine.reads.query(request, at)).hits if hit.similarity is not None]


async def swapped(engine: Engine) -> None:
    async with asyncio.timeout(300):
        while await engine.projections.upgrading(now()):  # noqa: ASYNC110  Another task does it.
            await asyncio.sleep(0.05)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Upgrades wait for it."""
    opened, upgrade = asyncio.Event(), Projections.upgrade

    async def held(projections: Projections, *args: Any) -> Any:
        await opened.wait()
        return await upgrade(projections, *args)

    monkeypatch.setattr(Projections, "upgrade", held)
    return opened


@pytest.mark.spec("X05")
async def test_the_previous_models_vectors_are_used_until_the_new_ones_are_complete(
    tmp_path: Path, gate: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemolog.adapters.postgres.store.FAR_BEHIND", 0)
    async with engine_with(tmp_path, "minilm") as engine:
        await engine.writes.create({"user_id": "ana", "text": "Ana has a cat"})
        await engine.writes.create({"user_id": "ana", "text": "The weather is fine"})
        assert (await asked(engine, "kitten"))[0].text == "Ana has a cat"
    async with engine_with(tmp_path, "lexical") as engine:
        [upgrade] = (await engine.projections.upgrading(now())).values()
        assert (upgrade.former, upgrade.version) == (f"{VERSION} all_minilm_l6_v2_int8", f"{VERSION} lexical_384")
        assert (await engine.projections.embedder()).model == "all-MiniLM-L6-v2-int8"
        await engine.writes.create({"user_id": "ana", "text": "A tiger lives in the zoo"})
        by_meaning = [hit.text for hit in await asked(engine, "kitten")]
        assert by_meaning[0] == "Ana has a cat"
        assert "A tiger lives in the zoo" in by_meaning
        gate.set()
        await swapped(engine)
        assert (await engine.projections.embedder()).model == "lexical-384"
        assert len(await asked(engine, "kitten")) == 3
        await engine.writes.create({"user_id": "ana", "text": "Ben swims"})
        assert len(await asked(engine, "kitten")) == 4
    gate.clear()
    async with engine_with(tmp_path, "minilm") as engine:  # Its own vectors are there, and lack what came since.
        assert (await engine.projections.embedder()).model == "lexical-384"
        assert len(await asked(engine, "kitten")) == 4
        gate.set()
        await swapped(engine)
        assert (await asked(engine, "kitten"))[0].text == "Ana has a cat"
        assert len(await asked(engine, "kitten")) == 4


async def test_a_model_of_a_local_folder_takes_the_place_of_the_bundled_one_and_is_calibrated_by_its_name(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "another-model"
    shutil.copytree(Path(minilm.__file__).parent / "model", folder)
    (folder / "config.json").write_text('{"hidden_size": 384, "max_position_embeddings": 512}')
    given: dict[str, Any] = {
        "embedder_folder": folder,
        "calibrations": {"another-model": {"question_floor": 0.4, "auto": 0.97}},
    }
    async with engine_with(tmp_path / "data", "minilm") as engine:
        await engine.writes.create({"user_id": "ana", "text": "Ana has a cat"})
        await engine.writes.create({"user_id": "ana", "text": "The weather is fine"})
    async with engine_with(tmp_path / "data", "minilm", **given) as engine:
        await swapped(engine)
        embedder = await engine.projections.embedder()
        assert embedder.model.startswith("another-model-")
        assert (embedder.calibration.question_floor, embedder.calibration.bands.auto) == (0.4, 0.97)
        assert (await asked(engine, "kitten"))[0].text == "Ana has a cat"
        await assert_live_equals_rebuilt(engine)
    async with engine_with(tmp_path / "data", "minilm") as engine:
        await swapped(engine)
        assert (await asked(engine, "kitten"))[0].text == "Ana has a cat"


async def test_a_model_that_is_not_there_any_more_leaves_full_text_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    of_lexical = f"mnemolog_vectors_{VERSION}_lexical_384"
    async with engine_with(tmp_path, "lexical") as engine:
        await engine.writes.create({"user_id": "ana", "text": "Ana has a cat"})
        await engine.settled()
        async with engine.projections.live.begin() as connection:
            await connection.execute(text(f"ALTER SCHEMA {of_lexical} RENAME TO mnemolog_vectors_v1_gone"))
    async with engine_with(tmp_path, "lexical") as engine:
        assert "vectors of v1 gone cannot be read: no such model is configured" in caplog.text
        assert [hit.text for hit in await asked(engine, "cat")] == ["Ana has a cat"]
