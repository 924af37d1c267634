"""Statements that are compiled once for all viewers, and asked of the driver, several in one round trip.

For what every search asks: to build and compile an expression costs more than the statement itself.
"""

from abc import ABC, abstractmethod
from asyncio import gather
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from secrets import token_hex
from typing import Any
from uuid import UUID

from sqlalchemy import BindParameter, Table, bindparam
from sqlalchemy.dialects.postgresql import psycopg as psycopg_dialect
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import TypeEngine

from mnemolog.domain.viewer import Viewer
from mnemolog.projections.raw_sql import Numbered, fetch_all, options_of
from mnemolog.projections.rows import Row, genuine, stored

# Stand for the viewer's names in a compiled statement. No caller's text contains them, because they are random.
_STANDING = {f"{name}-{token_hex(16)}": name for name in ("tenant", "user_id", "agent_id")}
_TENANT, _USER, _AGENT = _STANDING
_DIALECT = psycopg_dialect.dialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]


class Varying(ABC):
    """An argument that is compiled once for all of its values."""

    __slots__ = ()

    @abstractmethod
    def shaped(self) -> tuple[Hashable, Mapping[str, str]]:
        """The argument with texts that stand for its values, and the values of these texts in a statement."""


def given(name: str, kind: TypeEngine[Any]) -> BindParameter[Any]:
    """A parameter whose value `ask` is given by its name."""
    return bindparam(name, None, type_=kind)


async def ask(
    connection: AsyncConnection,
    viewer: Viewer,
    build: Callable[..., ClauseElement],
    *args: Hashable,
    **values: Any,
) -> list[tuple[Any, ...]]:
    """The rows of `build(viewer, *args)`, with these values of its named parameters.

    `build` uses the viewer's names only as values in conditions: what it returns is kept for other viewers with the
    same categories. Statements that are asked concurrently share a round trip.
    """
    shaped = [one.shaped() if isinstance(one, Varying) else (one, {}) for one in args]
    standing = {text: value for _, values in shaped for text, value in values.items()}
    schemas = options_of(connection).get("schema_translate_map", {})
    shape = replace(viewer, tenant=_TENANT, user_id=_USER, agent_id=_AGENT)
    alike = tuple(one for one, _ in shaped)
    statement, places, fixed, named = _compiled(build, alike, shape, tuple(schemas.items()))
    if standing:
        fixed = {place: standing.get(one, one) if isinstance(one, str) else one for place, one in fixed.items()}
    told = {name: _array(value) if isinstance(value, list) else value for name, value in values.items()}
    given = {**fixed, **{place: getattr(viewer, name) for place, name in named.items()}, **told}
    return await fetch_all(connection, statement, [given[place] for place in places])


async def fetch_asked(
    connection: AsyncConnection,
    table: Table,
    viewer: Viewer,
    build: Callable[..., ClauseElement],
    *args: Hashable,
    **values: Any,
) -> list[Row]:
    """Like `rows.fetch`, for what `build(viewer, *args)` selects: the `stored` columns, in their order."""
    return genuine(connection, table, await ask(connection, viewer, build, *args, **values))


async def fetch_joined(
    connection: AsyncConnection,
    tables: Sequence[Table],
    viewer: Viewer,
    build: Callable[..., ClauseElement],
    *args: Hashable,
    **values: Any,
) -> list[tuple[Row, ...]]:
    """Like `fetch_asked`, for the `stored` columns of several tables side by side: a row of each."""
    found = await ask(connection, viewer, build, *args, **values)
    ends = list(accumulate(len(stored(table)) for table in tables))
    places = zip(tables, [0, *ends], ends, strict=False)
    parts = [genuine(connection, table, [one[begin:end] for one in found]) for table, begin, end in places]
    return list(zip(*parts, strict=True))


async def together(*asked: Awaitable[Any]) -> list[Any]:
    """The results of questions that are asked concurrently. None is left running after an error."""
    results = await gather(*asked, return_exceptions=True)
    for one in results:
        if isinstance(one, BaseException):
            raise one
    return results


def _array(values: Iterable[Any]) -> str:
    """An array as Postgres parses it: the driver takes longer for one than for all other parameters."""
    return f"{{{','.join([one.hex if isinstance(one, UUID) else _quoted(str(one)) for one in values])}}}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@lru_cache(maxsize=512)
def _compiled(
    build: Callable[..., ClauseElement], args: tuple[Hashable, ...], shape: Viewer, schemas: tuple[tuple[str, str], ...]
) -> tuple[Numbered, Sequence[str], Mapping[str, Any], Mapping[str, str]]:
    """The statement, its parameters in order, the values of those that are always the same, and the viewer's names."""
    compiled = build(shape, *args).compile(
        dialect=_DIALECT,
        schema_translate_map=dict(schemas),
        render_schema_translate=True,
        compile_kwargs={"render_postcompile": True},
    )
    assert isinstance(compiled, SQLCompiler), "it is a statement"
    fixed = {place: _array(one) if isinstance(one, list) else one for place, one in compiled.params.items()}
    named = {place: _STANDING[one] for place, one in fixed.items() if isinstance(one, str) and one in _STANDING}
    return Numbered(compiled.string.encode()), compiled.positiontup or (), fixed, named
