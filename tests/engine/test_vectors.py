"""Vectors come from where they cost least."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from uuid import uuid4

import numpy as np
import pytest
from sqlalchemy import insert, select, update

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.minilm import InThread, Lexical
from mnemolog.adapters.pgvector.tables import embeddings, vectors
from mnemolog.commands.erasure import EraseUser
from mnemolog.events.envelope import StreamId
from mnemolog.projections.vectors.embedder import Vectors
from mnemolog.projections.vectors.projector import VectorsProjector
from tests.engine.equality import assert_live_equals_rebuilt, assert_live_equals_replayed
from tests.engine.person import Person
from tests.testkit.own_engine import own_engine  # noqa: F401

MARK = np.eye(1, Lexical.dimensions, dtype=np.float32)[0]


class Marking(InThread):
    """Has a vector that tells where it comes from at hand for some texts, and keeps what it was asked to make."""

    def __init__(self, *cached: str) -> None:
        super().__init__(Lexical())
        self._at_hand, self.made = cached, list[str]()

    def cached(self, texts: Sequence[str]) -> Mapping[str, Vectors]:
        return {text: MARK for text in texts if text in self._at_hand}

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.made += texts
        return await super().embed(texts)


@pytest.mark.spec_part("X05")
async def test_cached_vectors_are_not_computed_and_kept_ones_not_requested(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tea_text, cat_text = f"{user} drinks tea", f"{user} has a cat"  # What others said in the same words is theirs.
    ana, live, later = Person(engine, user), Marking(tea_text), Marking()
    await engine.settled(60)
    [projector] = [one for one in engine.projections.projectors if isinstance(one, VectorsProjector)]
    monkeypatch.setattr(projector, "_embedder", live)
    tea, cat = await ana.creates(tea_text), await ana.creates(cat_text)
    await engine.settled(60)

    assert tea_text not in live.made
    assert cat_text in live.made
    async with engine.projections.live.connect() as connection:
        rows = await connection.execute(
            select(vectors.c.subject_id, vectors.c.embedding).where(vectors.c.user_id == user)
        )
        kept = {row.subject_id: row.embedding for row in rows}
    assert np.array_equal(kept[tea], MARK)
    assert np.allclose(kept[cat], Lexical().embed([cat_text])[0], atol=1e-3)

    monkeypatch.setattr(projector, "_embedder", later)
    await assert_live_equals_replayed(engine, StreamId.of_user(user))
    assert not {tea_text, cat_text}.intersection(later.made)
    await erase(engine, EraseUser(user_id=user))  # No rebuild by the engine's own model would find what marks them.


async def kept_of(ana: Person) -> list[bytes]:
    """The hashes of the texts whose embedding is kept beside the index."""
    async with ana.engine.projections.live.connect() as connection:
        found = await connection.execute(select(embeddings.c.content_hash).where(embeddings.c.user_id == ana.user))
        return list(found.scalars())


def hash_of(text: str) -> bytes:
    return sha256(text.encode()).digest()[:16]


@pytest.mark.spec_part("X05")
async def test_an_embedding_is_stored_once_in_the_index_or_kept(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("Ana drinks tea")
    await engine.settled(60)
    assert await kept_of(ana) == []

    await ana.updates(tea, text="Ana drinks coffee")
    await engine.settled(60)
    assert await kept_of(ana) == [hash_of("Ana drinks tea")]

    await ana.updates(tea, text="Ana drinks tea")
    await engine.settled(60)
    assert await kept_of(ana) == [hash_of("Ana drinks coffee")]

    await assert_live_equals_rebuilt(engine, "vectors")
    assert await kept_of(ana) == [hash_of("Ana drinks coffee")]


@pytest.mark.spec_part("X05", "X08")
async def test_a_rebuild_does_not_copy_a_tampered_vector(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("Ana drinks tea")
    await ana.creates("Ana has a cat")
    await engine.settled(60)
    own = vectors.c.subject_id == tea
    embedding = select(vectors.c.embedding, vectors.c.embedding_mac).where(own)
    async with engine.projections.live.begin() as connection:
        before = (await connection.execute(embedding)).one()
        await connection.execute(update(vectors).where(own).values(embedding=MARK))

    rebuilt = await engine.projections.rebuild("vectors")

    assert rebuilt.differences == {"vectors": 2, "progress": 0}
    async with engine.projections.live.connect() as connection:
        assert (await connection.execute(embedding)).one() == before


@pytest.mark.spec_part("X05")
async def test_a_rebuild_that_comes_by_an_erasure_asks_no_model_for_what_was_told_after_it(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, asked = Person(engine, user), Marking()
    await ana.creates(f"{user} drinks tea")
    await erase(engine, EraseUser(user_id=user))
    anew = f"{user} is back"
    await ana.creates(anew)
    await engine.settled(60)
    [projector] = [one for one in engine.projections.projectors if isinstance(one, VectorsProjector)]
    monkeypatch.setattr(projector, "_embedder", asked)

    await engine.projections.rebuild("vectors")

    assert anew not in asked.made
    await assert_live_equals_rebuilt(engine, "vectors")


@pytest.mark.spec("X07")
async def test_the_erasure_of_a_user_takes_the_embeddings_of_what_was_told_before_it(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates(f"{user} drinks tea")
    erasure = await erase(engine, EraseUser(user_id=user))
    await engine.settled(60)
    seq = erasure.receipt.last_seq
    kept = {"model": "any", "content_hash": b"of a text", "embedding_mac": b"", "embedding": MARK}
    async with engine.projections.live.begin() as connection:
        for number in (0, seq - 1, seq + 1):  # 0 is what older versions kept.
            place = {"tenant": ana.stream.tenant, "stream_kind": "user", "user_id": user, "subject_id": uuid4()}
            await connection.execute(insert(embeddings).values(**place, **kept, seq=number))

    await engine.projections.rebuild("vectors")

    async with engine.projections.live.connect() as connection:
        left = await connection.execute(select(embeddings.c.seq).where(embeddings.c.user_id == user))
        assert list(left.scalars()) == [seq + 1]
