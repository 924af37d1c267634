"""Another embedding model: what was remembered with the old one is found with the new one, and the other way."""

from pathlib import Path

import pytest

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import open_engine
from mnemolog.adapters.engine.moment import Moment
from mnemolog.events.envelope import Position, StreamId
from mnemolog.events.fields import validated
from mnemolog.projections.query import MemoryQuery

STREAM = StreamId.of_user("ana")


async def found(directory: Path, embedder: str, text: str) -> list[str]:
    """Remember a text with this model, then what it finds by meaning alone."""
    settings = load(data_dir=directory, durable=False, embedder=embedder, http_port=0)
    async with open_engine(settings) as engine:
        _, receipt = await engine.writes.create({"user_id": "ana", "text": text})
        request = validated(MemoryQuery, {"query": "kitten", "filters": {"user_id": "ana"}, "top_k": 10})
        answer = await engine.reads.query(request, Moment(after=Position(STREAM, receipt.last_seq)))
        return sorted(hit.text for hit in answer.hits if hit.similarity is not None)


@pytest.mark.spec_part("X05")
async def test_memories_survive_a_change_of_the_embedding_model(tmp_path: Path) -> None:
    assert await found(tmp_path, "lexical", "Ana has a cat") == ["Ana has a cat"]
    assert await found(tmp_path, "minilm", "Ana drinks tea") == ["Ana drinks tea", "Ana has a cat"]
    assert await found(tmp_path, "lexical", "Ben swims") == ["Ana drinks tea", "Ana has a cat", "Ben swims"]
