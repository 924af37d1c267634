"""Reads entities: all, by name in any script, or by id. Merged entities resolve to the survivor."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any
from uuid import UUID

from psycopg.sql import SQL, Identifier
from pydantic_core import to_json
from sqlalchemy import ARRAY, Select, Text, Uuid, any_, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.entity import erased_entity, no_such_entity
from mnemolog.domain.memory import VISIBLE
from mnemolog.domain.mention import longest
from mnemolog.domain.scope import Scope
from mnemolog.domain.text import name_key, normalize_name
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import StreamId
from mnemolog.projections.asking import ask, fetch_asked, given
from mnemolog.projections.graph.entities import names
from mnemolog.projections.graph.tables import aliases, entities
from mnemolog.projections.owner import owner_of
from mnemolog.projections.paging import Slice, page_of, sliced
from mnemolog.projections.raw_sql import names as columns_of
from mnemolog.projections.raw_sql import schema_of
from mnemolog.projections.rows import Row, fetch, fetch_raw, stored
from mnemolog.projections.visibility import owned, shared


async def known(
    connection: AsyncConnection, viewer: Viewer, limit: int | None = None, cursor: str | None = None
) -> Slice:
    """The entities of a user that an agent may see, last seen first; at most `limit`, starting at the cursor."""
    statement = visible(viewer).where(entities.c.status.in_(sorted(VISIBLE)), entities.c.name != "")
    rows = await fetch(connection, entities, page_of(statement, entities, LAST_SEEN, limit, cursor))
    return sliced([shown(row) for row in rows], LAST_SEEN, limit)


async def find(connection: AsyncConnection, viewer: Viewer, name: str) -> Sequence[Row]:
    """The entities with this name or alias, in any case, accents, separators and script; last seen first (A §4.1).

    The alias only leads to rows, and each row confirms that it has the name, so a forged alias shows no entity.
    """
    wanted, mine = name_key(name), owner_of(StreamId.of_user(viewer.user_id, viewer.tenant))
    # Tables of versions before 5 have a name as it is written.
    values = (*mine, viewer.agent_id, *mine, sorted({wanted, normalize_name(name)}))
    rows = await fetch_raw(connection, entities, _finding(schema_of(connection, entities)), values)
    found = await survivors(connection, viewer, [row for row in rows if wanted in names(row)])
    left = {row["entity_id"]: row for row in found.values() if row["status"] in VISIBLE}
    return [shown(row) for row in sorted(left.values(), key=_last_seen_first)]


Asked = tuple[Viewer, Collection[str]]
"""A viewer, and names in the form in which they are compared."""


async def named_in(connection: AsyncConnection, viewer: Viewer, phrases: Collection[str]) -> Sequence[UUID]:
    """The entities with one of these names; none where a name is part of a longer one, or has several bearers."""
    [found] = await named_in_each(connection, [(viewer, phrases)])
    return found


async def named_in_each(connection: AsyncConnection, asked: Sequence[Asked]) -> Sequence[Sequence[UUID]]:
    """Like `named_in`, for viewers of one tenant at once."""
    borne = await _borne(connection, asked)
    return [sorted({by[name][0]["entity_id"] for name in longest(by) if len(by[name]) == 1}) for by in borne]


async def bearers(connection: AsyncConnection, viewer: Viewer, keys: Collection[str]) -> Mapping[str, Sequence[Row]]:
    """The entities with these names, by the form in which names are compared."""
    [borne] = await _borne(connection, [(viewer, keys)])
    return borne


async def bearers_in_part(
    connection: AsyncConnection, viewer: Viewer, parts: Collection[str]
) -> Mapping[str, Sequence[Row]]:
    """The entities of whose names these are parts, such as a first name, by part: for names that nobody else bears."""
    words = sorted({word for part in parts for word in part.split()})
    rows = await fetch_asked(connection, entities, viewer, _with_words, words=words) if words else []
    found = await survivors(connection, viewer, rows)
    borne: dict[str, dict[UUID, Row]] = {}
    for row in rows:
        survivor = found[row["entity_id"]]
        for part in parts:
            if survivor["status"] in VISIBLE and any(f" {part} " in f" {name} " for name in names(row)):
                borne.setdefault(part, {})[survivor["entity_id"]] = survivor
    return {part: list(by_id.values()) for part, by_id in borne.items()}


def _with_words(viewer: Viewer) -> Select[Any]:
    """One of whose names has one of these words."""
    said = func.string_to_array(aliases.c.alias_normalized, " ").op("&&")(given("words", ARRAY(Text())))
    called = select(aliases.c.entity_id).where(owned(aliases, viewer), said)
    return visible(viewer).where(entities.c.entity_id.in_(called))


async def _borne(connection: AsyncConnection, asked: Sequence[Asked]) -> Sequence[Mapping[str, Sequence[Row]]]:
    """For viewers of one tenant, the entities with their names, by name: in one statement, and one per merge."""
    tenant, wanted = asked[0][0].tenant, dict[str, set[str]]()
    for viewer, keys in asked:
        wanted.setdefault(viewer.user_id, set()).update(keys)
    rows = [{"user_id": user_id, "names": sorted(keys)} for user_id, keys in wanted.items() if keys]
    if not rows:
        return [{} for _ in asked]
    values = (to_json(rows).decode(), tenant, tenant)
    of_user: dict[str, list[Row]] = {}
    for row in await fetch_raw(connection, entities, _naming(schema_of(connection, entities)), values):
        of_user.setdefault(row["user_id"], []).append(row)
    return [await _borne_by(connection, viewer, keys, of_user.get(viewer.user_id, ())) for viewer, keys in asked]


async def _borne_by(
    connection: AsyncConnection, viewer: Viewer, keys: Collection[str], of_user: Sequence[Row]
) -> Mapping[str, Sequence[Row]]:
    called = {row["entity_id"]: names(row).keys() & set(keys) for row in of_user}
    shown = [row for row in of_user if row["scope"] == Scope.GLOBAL or row["agent_id"] == viewer.agent_id]
    found = await survivors(connection, viewer, [row for row in shown if called[row["entity_id"]]])
    borne: dict[str, dict[UUID, Row]] = {}
    for entity_id, survivor in found.items():
        if survivor["status"] in VISIBLE:
            for name in called[entity_id]:
                borne.setdefault(name, {})[survivor["entity_id"]] = survivor
    return {name: list(by_id.values()) for name, by_id in borne.items()}


@cache
def _naming(schema: str) -> bytes:
    """Sent through psycopg directly, because it is asked before each turn; by the indexes, whatever the estimates."""
    statement = SQL(
        "SELECT found.* FROM json_to_recordset(%s::json) AS wanted (user_id text, names text[])"
        " CROSS JOIN LATERAL (SELECT DISTINCT entity_id FROM {aliases} WHERE tenant = %s AND stream_kind = 'user'"
        " AND user_id = wanted.user_id AND alias_normalized = ANY(wanted.names)) AS named"
        " CROSS JOIN LATERAL (SELECT {columns} FROM {entities} WHERE tenant = %s AND stream_kind = 'user'"
        " AND user_id = wanted.user_id AND entity_id = named.entity_id OFFSET 0) AS found"
    )
    places = {"entities": Identifier(schema, entities.name), "aliases": Identifier(schema, aliases.name)}
    return statement.format(columns=columns_of(stored(entities)), **places).as_bytes()


@cache
def _finding(schema: str) -> bytes:
    """Sent through psycopg directly, because every mention of an entity is looked up."""
    statement = SQL(
        "SELECT {} FROM {} WHERE tenant = %s AND stream_kind = %s AND user_id = %s"
        " AND (scope = 'global' OR agent_id = %s) AND entity_id IN (SELECT entity_id FROM {}"
        " WHERE tenant = %s AND stream_kind = %s AND user_id = %s AND alias_normalized = ANY(%s))"
    )
    places = (Identifier(schema, table.name) for table in (entities, aliases))
    return statement.format(columns_of(stored(entities)), *places).as_bytes()


async def one(connection: AsyncConnection, viewer: Viewer, entity_id: UUID) -> Row:
    """One entity, hidden or not, or its survivor after a merge; NotFound if the agent may not see any with this id."""
    return shown(await survivor(connection, viewer, entity_id))


async def survivor(connection: AsyncConnection, viewer: Viewer, entity_id: UUID) -> Row:
    """The row that an id leads to. Erased if its name was destroyed."""
    found = await survivors(connection, viewer, await by_ids(connection, viewer, {entity_id}))
    if entity_id not in found:
        raise no_such_entity(viewer.user_id, entity_id)
    if not found[entity_id]["name"]:
        raise erased_entity(entity_id)
    return found[entity_id]


async def by_ids(connection: AsyncConnection, viewer: Viewer, entity_ids: Collection[UUID]) -> Sequence[Row]:
    """The rows of these ids that the agent may see, without following merges."""
    if not entity_ids:
        return []
    return await fetch_asked(connection, entities, viewer, _identified, ids=list(entity_ids))


def _identified(viewer: Viewer) -> Select[Any]:
    return visible(viewer).where(entities.c.entity_id == any_(given("ids", ARRAY(Uuid()))))


async def survivors(connection: AsyncConnection, viewer: Viewer, rows: Sequence[Row]) -> Mapping[UUID, Row]:
    """The survivor of each row by its id, over any number of merges; the row itself if it was not merged."""
    met = {row["entity_id"]: row for row in rows}
    while further := {row["merged_into"] for row in met.values() if row["merged_into"]} - met.keys():
        came = await by_ids(connection, viewer, further)
        if not came:
            break
        met |= {row["entity_id"]: row for row in came}
    return {row["entity_id"]: _end(met, row) for row in rows}


async def kin(connection: AsyncConnection, viewer: Viewer, entity_ids: Collection[UUID]) -> frozenset[UUID]:
    """These entities and all that were merged into them, over any number of merges."""
    rows = await ask(connection, viewer, _absorbed, ids=list(entity_ids))
    return frozenset(entity_ids).union(id_ for (id_,) in rows)


def _absorbed(viewer: Viewer) -> Select[Any]:
    mine, into = owned(entities, viewer), entities.c.merged_into
    first = select(entities.c.entity_id).where(mine, into == any_(given("ids", ARRAY(Uuid()))))
    absorbed = first.cte("absorbed", recursive=True)
    further = select(entities.c.entity_id).where(mine, into == absorbed.c.entity_id)
    return select(absorbed.union(further).c.entity_id)


def shown(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "tenant"}


LAST_SEEN = ("-last_seen", "entity_id")


def _last_seen_first(row: Row) -> tuple[float, UUID]:
    return -row["last_seen"].timestamp(), row["entity_id"]


def visible(viewer: Viewer) -> Select[Any]:
    return select(*stored(entities)).where(owned(entities, viewer), shared(entities, viewer))


def _end(met: Mapping[UUID, Row], row: Row) -> Row:
    while row["merged_into"] in met:
        row = met[row["merged_into"]]
    return row
