"""Reads the entities that a question may be about: those active in its session, and those that are named (A §6.1)."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Select, Text, Uuid, any_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.anaphora import TIES, Candidate, ties_of
from mnemolog.domain.memory import VISIBLE
from mnemolog.domain.mention import phrases
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.asking import fetch_asked, given
from mnemolog.projections.graph import reader
from mnemolog.projections.graph.entities import names
from mnemolog.projections.graph.tables import relations
from mnemolog.projections.rows import Row, stored
from mnemolog.projections.visibility import owned, shared


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
    shown = {row["entity_id"]: row for row in found.values() if row["status"] in VISIBLE and row["name"]}
    ties = await _ties(connection, viewer, shown)
    return [
        Candidate(
            id_,
            row["name"],
            row["category"],
            frozenset(names(row)),
            frozenset(ids[id_]),
            row["attributes"],
            frozenset(ties[id_]),
        )
        for id_, row in shown.items()
    ]


async def _ties(
    connection: AsyncConnection, viewer: Viewer, shown: Mapping[UUID, Row]
) -> Mapping[UUID, Collection[str]]:
    """What each of these entities is to others by what ever held of it, such as `brother`."""
    found, called = defaultdict[UUID, set[str]](set), defaultdict[str, list[UUID]](list)
    if not shown:
        return found
    for id_, row in shown.items():
        for name in names(row):
            called[name].append(id_)
    kin = await reader.kin(connection, viewer, shown)
    rows = await fetch_asked(connection, relations, viewer, _leading_to, ids=sorted(kin), names=sorted(called))
    ends = {row["object_id"] for row in rows if row["object_id"]}
    survivor = await reader.survivors(connection, viewer, await reader.by_ids(connection, viewer, ends - shown.keys()))
    for row in rows:
        if row["periods"] and (ties := ties_of(row["predicate"], row["metadata"])):
            end = row["object_id"]
            for id_ in [survivor[end]["entity_id"] if end in survivor else end] if end else called[row["named"]]:
                found[id_] |= ties
    return found


def _leading_to(viewer: Viewer) -> Select[Any]:
    """The relations that lead to an entity, or to its name, and may tell its gender."""
    to = relations.c.object_id == any_(given("ids", ARRAY(Uuid())))
    named = relations.c.named == any_(given("names", ARRAY(Text())))
    shown = relations.c.predicate.in_(sorted(TIES)) & relations.c.status.in_(sorted(VISIBLE))
    return select(*stored(relations)).where(owned(relations, viewer), shared(relations, viewer), shown, to | named)
