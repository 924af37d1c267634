"""Reads the entities that a question may be about: those active in its session, and those that are named (A §6.1)."""

from collections.abc import Collection, Sequence
from itertools import chain
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.anaphora import Candidate
from mnemolog.domain.memory import VISIBLE
from mnemolog.domain.mention import phrases
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.graph import reader
from mnemolog.projections.graph.entities import names


async def candidates(
    connection: AsyncConnection, viewer: Viewer, texts: Sequence[str], active: Collection[UUID]
) -> Sequence[Candidate]:
    """Each once, a merged one as its survivor. `texts` are the question and the turns of the session."""
    named = await reader.named_in_each(connection, [(viewer, phrases(text)) for text in texts])
    wanted = {*active, *chain.from_iterable(named)}
    found = await reader.survivors(connection, viewer, await reader.by_ids(connection, viewer, wanted))
    ids: dict[UUID, set[str]] = {}
    for id_, row in found.items():
        ids.setdefault(row["entity_id"], {str(row["entity_id"])}).add(str(id_))
    return [
        Candidate(id_, row["name"], row["category"], frozenset(names(row)), frozenset(ids[id_]), row["attributes"])
        for id_, row in {row["entity_id"]: row for row in found.values()}.items()
        if row["status"] in VISIBLE and row["name"]
    ]
