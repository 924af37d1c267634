"""Searches every table of the engine's schemas for ids and text of erased items (X16).

Nothing is taken for granted: a row that names an erased memory or entity counts as readable, unless its table is known
to keep the shape alone; and a phrase is looked for in every column that can hold text, of whatever table.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    LargeBinary,
    TableClause,
    Text,
    Uuid,
    and_,
    any_,
    cast,
    column,
    false,
    func,
    literal,
    literal_column,
    or_,
    select,
    table,
    text,
    true,
    tuple_,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.erasure.messages import forms, written
from mnemolog.adapters.erasure.proof import NAMED, ProofPlace
from mnemolog.adapters.erasure.target import Target
from mnemolog.adapters.postgres.sqlalchemy import is_gone
from mnemolog.domain.profile import ADDING, place_of
from mnemolog.domain.text import search_document
from mnemolog.projections.full_text import CONFIGURATION
from mnemolog.projections.owner import OWNER, owner_of

LOG, KEYS = "mnemolog", "mnemolog_keys"
# Rows identified by a profile field, which has no UUID.
PLACED = frozenset({"profile_fields", "consent"})
EMPTY = "{}"  # An empty JSON object; the column is text, or jsonb in previous versions.
DOCUMENT = "document"
# Tables of the log with ids of a user in the clear, and no texts.
OF_IDS = frozenset({"jobs", "mind_failures", "webhooks", "webhook_deliveries", "webhook_requests"})
TEXTS = frozenset({"text", "varchar", "json", "jsonb", "_text", "name"})
_COLUMNS = table(
    "columns",
    column("table_schema"),
    column("table_name"),
    column("column_name"),
    column("udt_name"),
    column("ordinal_position"),
    schema="information_schema",
)


# The columns of primary keys that tell the rows of one user apart.
_KEYS = text("""
SELECT space.nspname, class.relname, part.attname
FROM pg_index AS index
JOIN pg_class AS class ON class.oid = index.indrelid
JOIN pg_namespace AS space ON space.oid = class.relnamespace
CROSS JOIN unnest(index.indkey) WITH ORDINALITY AS key (number, place)
JOIN pg_attribute AS part ON part.attrelid = class.oid AND part.attnum = key.number
WHERE index.indisprimary AND part.attname NOT IN ('tenant', 'stream', 'stream_kind', 'user_id')
ORDER BY 1, 2, key.place
""")

# Without partitions, whose rows are those of their table.
_IDS = text("""
SELECT space.nspname, class.relname, class.oid
FROM pg_class AS class JOIN pg_namespace AS space ON space.oid = class.relnamespace
WHERE NOT class.relispartition
""")

# The origin of a row, as opposed to its subject: a fact stated elsewhere, too, outlives its first memory.
ORIGINS = frozenset({("relations", "memory_id")})


@dataclass(frozen=True, slots=True)
class Columns:
    """The names and types of a table's columns. `oid` stays when the table gets another name."""

    oid: int
    schema: str
    name: str
    types: Mapping[str, str]
    key: Sequence[str] = ()

    @property
    def of_projection(self) -> bool:
        return self.schema not in (LOG, KEYS)


async def look_through(
    connection: AsyncConnection, database: str, target: Target, phrase: str | None
) -> AsyncIterator[ProofPlace]:
    """One place per table whose rows have an owner, named after its database.

    A rebuild may drop or rename a table meanwhile: then the rest is listed again.
    """
    sought, seen = _Sought.of(target), set[int]()
    while left := [one for one in await _tables(connection) if one.oid not in seen]:
        for one in left:
            try:
                rows = table(one.name, *map(column, one.types), schema=one.schema)
                whose = _owned(one, rows, sought.target)
                shown = or_(_named(one, rows, sought), _worded(one, rows, phrase) if phrase else false())
                statement = select(func.count(), func.count().filter(shown)).select_from(rows).where(whose)
                looked_at, readable = (await connection.execute(statement)).one()
                found = await _first(connection, one, rows, and_(whose, shown), phrase) if readable else ()
                place = ProofPlace(f"{database} {one.schema}.{one.name}", looked_at, readable, found=found)
            except DBAPIError as error:
                if not is_gone(error):
                    raise
                await connection.rollback()
                break
            await connection.commit()  # A rebuild that replaces the table would wait for its lock.
            seen.add(one.oid)
            yield place


async def _first(
    connection: AsyncConnection, one: Columns, rows: TableClause, shown: ColumnElement[bool], phrase: str | None
) -> tuple[str, ...]:
    """The first rows, by their keys or physical position, each with the columns that contain the phrase."""
    place: Mapping[str, ColumnElement[Any]] = {name: rows.c[name] for name in one.key}
    if not place:
        place = {"ctid": cast(literal_column("ctid"), Text)}
    worded = [_holds(rows.c[name], name, kind, phrase) for name, kind in one.types.items()] if phrase else []
    statement = select(*place.values(), *worded).select_from(rows).where(shown).order_by(*place.values()).limit(NAMED)
    found = []
    for row in await connection.execute(statement):
        key = " ".join(f"{name}={value}" for name, value in zip(place, row, strict=False))
        holding = [name for name, held in zip(one.types, row[len(place) :], strict=False) if held]
        found.append(f"row {key}" + (f", {', '.join(holding)}" if holding else ""))
    return tuple(found)


async def _tables(connection: AsyncConnection) -> Sequence[Columns]:
    columns = _COLUMNS.c
    schema = columns.table_schema
    statement = (
        select(schema, columns.table_name, columns.column_name, columns.udt_name)
        .where(or_(schema == LOG, schema.startswith("mnemolog_", autoescape=True)))
        .order_by(schema, columns.table_name, columns.ordinal_position)
    )
    found: dict[tuple[str, str], dict[str, str]] = {}
    for schema_name, name, one, kind in await connection.execute(statement):
        found.setdefault((schema_name, name), {})[one] = kind
    keys: dict[tuple[str, str], list[str]] = {}
    for schema_name, name, one in await connection.execute(_KEYS):
        keys.setdefault((schema_name, name), []).append(one)
    ids = {(schema_name, name): oid for schema_name, name, oid in await connection.execute(_IDS)}
    return [Columns(ids[place], *place, types, keys.get(place, ())) for place, types in found.items() if place in ids]


def _owned(one: Columns, rows: TableClause, target: Target) -> ColumnElement[bool]:
    """The rows of the user; all rows if the table has no owner."""
    stream = target.subject.stream
    if one.types.keys() >= set(OWNER):
        return tuple_(*(rows.c[name] for name in OWNER)) == tuple_(*owner_of(stream))
    if one.types.keys() >= {"tenant", "user_id"}:  # From a version in which all owners were users.
        return and_(rows.c.tenant == stream.tenant, rows.c.user_id == stream.owner)
    if one.types.keys() >= {"tenant", "stream"}:
        return and_(rows.c.tenant == stream.tenant, rows.c.stream == stream.name)
    return true()


@dataclass(frozen=True, slots=True)
class _Sought:
    """A target, with its ids written once for all tables: one parameter, however many memories a user had."""

    target: Target
    ids: ColumnElement[Any] | None
    key_ids: ColumnElement[Any]

    @classmethod
    def of(cls, target: Target) -> Self:
        ids = ",".join(map(str, target.ids))
        key_ids = ",".join(rf'"\\x{one.hex()}"' for one in target.key_ids)
        return cls(
            target,
            cast(literal(f"{{{ids}}}", Text), ARRAY(Uuid)) if ids else None,
            cast(literal(f"{{{key_ids}}}", Text), ARRAY(LargeBinary)),
        )


def _named(one: Columns, rows: TableClause, sought: _Sought) -> ColumnElement[bool]:
    """Whether a row names what was erased, and shows more than its structure."""
    if one.schema in (LOG, KEYS) and "key_id" in one.types:  # Keys, and checkpoints, which name theirs.
        return rows.c.key_id == any_(sought.key_ids)
    # Ids only: they reveal nothing, unless the user is erased.
    if one.schema == LOG and one.name in OF_IDS:
        return true() if sought.target.subject.everything else false()
    if one.of_projection and one.name in PLACED:
        return and_(_of_place(rows, sought.target), _more_than_shape(one, rows))
    uuids = [name for name, kind in one.types.items() if kind == "uuid" and (one.name, name) not in ORIGINS]
    if sought.ids is None or not (uuids and (one.of_projection or one.name == "embeddings")):
        return false()
    return and_(or_(*(rows.c[name] == any_(sought.ids) for name in uuids)), _more_than_shape(one, rows))


def _of_place(rows: TableClause, target: Target) -> ColumnElement[bool]:
    """Rows of a profile field, except for what came after the erasure."""
    tags = [tag for tag in (*target.known, *target.rewritten) if tag.startswith("profile:")]
    places = [place_of(tag.removeprefix("profile:")) for tag in tags]
    names = [name for place in places for name in (place, f"{place}{ADDING}")]
    return and_(rows.c.field.in_(names), rows.c.seq <= max(target.seqs, default=0))


def _more_than_shape(one: Columns, rows: TableClause) -> ColumnElement[bool]:
    match one.name:
        case "memories":
            experienced = rows.c.experience.is_not(None) if "experience" in one.types else false()
            # Tables of earlier versions have no such columns.
            texts = [rows.c[name] != "" for name in ("memory_key", "entity_label") if name in one.types]
            lists = [func.cardinality(rows.c[name]) > 0 for name in ("entity_refs", "topics") if name in one.types]
            return or_(rows.c.text != "", rows.c.document != "", or_(false(), *texts, *lists), experienced)
        case "messages":
            return or_(rows.c.text != "", rows.c.speaker != "", rows.c.document != "")
        case "history":
            return func.coalesce(rows.c.meta.op("->>")("reason"), "") != ""
        case "change_log" | "periods":
            return false()
        case "entities":
            named = or_(rows.c.name != "", rows.c.forget_reason != "", func.cardinality(rows.c.aliases) > 0)
            return or_(named, cast(rows.c.attributes, Text) != EMPTY)
        case "relations":
            return or_(rows.c.value.is_not(None), cast(rows.c.metadata, Text) != EMPTY)
        case "profile_fields":
            return func.cardinality(rows.c.held) > 0
        case "consent":
            return rows.c.value != ""
        case "artifacts":
            return or_(*(rows.c[name] != "" for name in ("name", "mime", "sha256", "url")))
        case "documents":
            return or_(*(rows.c[name] != "" for name in ("source", "title", "domain", "mime", "sha256")))
        case "entries":
            return or_(rows.c.key != "", cast(rows.c.body, Text) != EMPTY)
        case "todos" | "summaries":
            return rows.c.text != ""
        case _:
            return true()


def _worded(one: Columns, rows: TableClause, phrase: str) -> ColumnElement[bool]:
    return or_(false(), *(_holds(rows.c[name], name, kind, phrase) for name, kind in one.types.items()))


def _holds(one: ColumnElement[Any], name: str, kind: str, phrase: str) -> ColumnElement[bool]:
    """Whether a column contains the phrase, plain or as JSON writes it, ignoring case.

    Search columns only have terms. A single term of a longer phrase is not proof: any text may contain that word.
    """
    terms = search_document(phrase).split()
    document = " ".join(terms) if len(terms) > 1 or len(phrase.split()) == 1 else ""
    if name == DOCUMENT and kind in TEXTS:
        return func.strpos(func.concat(" ", one, " "), f" {document} ") > 0 if document else false()
    if kind in TEXTS:
        held = cast(one, Text)
        exact = [func.strpos(held, form) > 0 for form in sorted(written(phrase))]
        return or_(*exact, *(func.strpos(func.lower(held), form) > 0 for form in sorted(forms(phrase))))
    if kind == "bytea":
        digits = func.encode(one, "hex")
        return or_(*(func.strpos(digits, form.encode().hex()) > 0 for form in sorted(written(phrase))))
    if kind == "tsvector" and document:
        return one.op("@@")(func.phraseto_tsquery(CONFIGURATION, literal(document)))
    return false()
