"""Vectors come from where they cost least, and are the same from everywhere."""

import numpy as np
import pytest
from sqlalchemy import select

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.minilm import InThread, Lexical
from mnemolog.adapters.minilm.recent import Recent
from mnemolog.projections.vectors.projector import VectorsProjector
from mnemolog.projections.vectors.tables import vectors
from tests.engine.equality import assert_live_equals_rebuilt
from tests.engine.person import Person


@pytest.mark.spec("X02")
async def test_a_vector_at_hand_is_kept_like_one_that_is_made(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, texts = Person(engine, user), ("Ana drinks tea", "Ana has a cat")
    [projector] = [one for one in engine.projections.projectors if isinstance(one, VectorsProjector)]
    monkeypatch.setattr(projector, "_embedder", await remembering(texts[0]))
    ids = [await ana.creates(text) for text in texts]
    await engine.settled(60)

    async with engine.projections.live.connect() as connection:
        rows = await connection.execute(
            select(vectors.c.memory_id, vectors.c.embedding).where(vectors.c.user_id == user)
        )
        kept = {row.memory_id: row.embedding for row in rows}
    assert np.allclose([kept[one] for one in ids], Lexical().embed(texts))

    # The rebuild takes the one from memory again, and the other from where the live one kept it.
    monkeypatch.setattr(projector, "_embedder", await remembering(texts[0]))
    await assert_live_equals_rebuilt(engine, "vectors")


async def remembering(text: str) -> Recent:
    recent = Recent(InThread(Lexical()))
    await recent.embed([text])
    return recent
