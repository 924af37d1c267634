"""Row MACs: what tells a row that a projector wrote from one that anybody else put into the table (X08, design §7).

The MAC covers the table's name and every stored column, tenant and user among them, as it is stored: so a row that
was changed, forged, or copied to another user does not fit, whatever else was changed along with it. It cannot tell
that a row is missing, or is an older one put back: `mnemolog verify` does.
"""

import asyncio
import hmac
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from hashlib import sha256
from operator import attrgetter, itemgetter
from time import monotonic
from typing import Any, NamedTuple

from pydantic_core import to_json
from sqlalchemy import ARRAY, BigInteger, Boolean, Column, DateTime, Double, LargeBinary, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.errors import TamperedRow

OPTION = "mnemolog_row_seal"
MAC = "mac"
KEPT = 10_000
LARGEST = 4_000
"""So many rows are kept at most, none with more characters of text than that: some 10 MB, and never above 100."""
SECONDS = 60.0
"""After so long, what was kept is forgotten: some of it may have been erased."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class JsonText(Text):
    """Callers' JSON, stored as text: jsonb would return 6.02214076e23 as an integer, and 1.0 as 1.

    In a row that a projector reads or writes, it is the value; in the table, and under the MAC, its text.
    """


def mac_column() -> Column[bytes]:
    """The column that makes a table sealed: `rows.upsert` fills it, `rows.fetch` and `rows.load` check it."""
    return Column(MAC, LargeBinary, nullable=False)


class RowSeal:
    """Seals rows with a key that is never in the database.

    Rows that were found genuine are kept: to compare one with the same row, read again, takes a fifth of the time.
    """

    seals = True

    def __init__(self, key: bytes, clock: Callable[[], float] = monotonic) -> None:
        self._keyed = hmac.new(key, digestmod=sha256)  # Copying it costs half as much as creating one.
        self._kept: dict[tuple[Table, bytes], tuple[Any, ...]] = {}
        self._clock, self._until = clock, 0.0

    def mac(self, table: Table, row: Mapping[str, Any]) -> bytes:
        """HMAC-SHA256 of the table's name and the columns as they are stored; 32 bytes."""
        shape = _shape(table)
        return self._mac(shape, shape.values(row))

    def sealed(self, table: Table, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """The row's values in the order of `sealed_columns`, the last of them its MAC."""
        shape = _shape(table)
        if shape.json:
            texts = {name: to_json(row[name]).decode() for name in shape.json if row[name] is not None}
            row = {**row, **texts}
        values = shape.values(row)
        return (*values, self._mac(shape, values))

    def fits(self, table: Table, row: Mapping[str, Any]) -> bool:
        """Whether a projector with this key wrote the row exactly as it is, in this table."""
        try:
            return hmac.compare_digest(self.mac(table, row), bytes(row[MAC]))
        except (AttributeError, TypeError, ValueError, RecursionError):  # No projector writes a value without a form.
            return False

    def keep(self, table: Table, row: Mapping[str, Any]) -> None:
        """Keep the values of a genuine row, to know it again, unless they are large."""
        values = _kept(_shape(table), row)
        if sum(len(one) for one in values if isinstance(one, str | bytes)) > LARGEST:
            return
        if len(self._kept) >= KEPT:
            self._kept.clear()
        if not self._kept:
            self._until = self._clock() + SECONDS
            with suppress(RuntimeError):  # Without a loop, the next read forgets them.
                asyncio.get_running_loop().call_later(SECONDS, self._kept.clear)
        self._kept[table, row[MAC]] = values

    def knows(self, table: Table, row: Mapping[str, Any]) -> bool:
        """Whether exactly this row was found genuine before."""
        if self._kept and self._clock() > self._until:
            self._kept.clear()
        kept = self._kept.get((table, row[MAC]))
        return kept is not None and kept == _kept(_shape(table), row)

    def _mac(self, shape: "_Shape", values: Sequence[Any]) -> bytes:
        sealing = self._keyed.copy()
        # `ascii` of a tuple is the fastest form that is different for every row: text is escaped alike in every Python,
        # unlike with `repr`, and floats have one shortest form.
        # Almost all values other than None and numbers are text already; an enum's member is not of that exact class.
        one_form = [
            value if value is None or plain is None or value.__class__ is str else plain(value)
            for plain, value in zip(shape.plain, values, strict=True)
        ]
        sealing.update(ascii((shape.name, one_form)).encode())
        return sealing.digest()


def seal_of(connection: AsyncConnection) -> RowSeal:
    """The seal of the connection's engine (`execution_options={OPTION: RowSeal(key)}`)."""
    sync_connection = connection.sync_connection
    assert sync_connection is not None, "the connection is open"
    seal: RowSeal = sync_connection.get_execution_options()[OPTION]
    return seal


def tampered(table: Table, row: Mapping[str, Any]) -> TamperedRow:
    """The error that names a row whose MAC does not match."""
    return TamperedRow(str(table.metadata.schema), table.name, key_of(table, row))


def key_of(table: Table, row: Mapping[str, Any]) -> Mapping[str, str]:
    """The primary key of a row, to identify it."""
    return {column.name: str(row[column.name]) for column in table.primary_key.columns}


def json_columns(table: Table) -> Sequence[str]:
    return _shape(table).json


def sealed_columns(table: Table) -> list[str]:
    """The keys of the columns that are written, the MAC last."""
    return [*_shape(table).columns, MAC]


def _kept(shape: "_Shape", row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Values that nobody can change any more. JSON and floats go by their text: 1 equals true, and 0.0 equals -0.0."""
    values = shape.values(row)
    if not shape.by_text:
        return values
    return (*values, *(ascii(values[place]) for place in shape.by_text))


class _Shape(NamedTuple):
    name: str
    columns: Sequence[str]
    values: Callable[[Mapping[str, Any]], tuple[Any, ...]]
    plain: Sequence[Callable[[Any], Any] | None]
    json: Sequence[str]
    by_text: Sequence[int]


@cache
def _shape(table: Table) -> _Shape:
    columns = [column for column in table.columns if column.computed is None and column.name != MAC]
    return _Shape(
        f"{table.metadata.schema}.{table.name}",
        [str(column.key) for column in columns],
        itemgetter(*(column.key for column in columns)),
        [_plain(column) for column in columns],
        [str(column.key) for column in columns if isinstance(column.type, JsonText)],
        [place for place, column in enumerate(columns) if isinstance(column.type, ARRAY | JSONB | Double)],
    )


def _plain(column: Column[Any]) -> Callable[[Any], Any] | None:
    """A function that normalises a column's values, written or read; None if there is only one form."""
    kind = column.type
    if isinstance(kind, ARRAY):
        item = _PLAIN[type(kind.item_type)]
        return list if item is None else lambda values: [item(value) for value in values]
    return _PLAIN[type(kind)]


def _instant(value: datetime) -> tuple[int, int, int]:
    since = value - _EPOCH
    return since.days, since.seconds, since.microseconds


def _json(value: Any) -> Any:
    """As jsonb stores it: unordered keys, and numbers by their digits (1e22 comes back as an integer, -0.0 as 0)."""
    if isinstance(value, dict):
        return tuple((key, _json(value[key])) for key in sorted(value))
    if isinstance(value, list | tuple):
        return [_json(one) for one in value]
    if isinstance(value, float) and value.is_integer():
        return int(Decimal(repr(value)))  # By its digits: `int` would return those of the nearest binary fraction.
    return str(value) if isinstance(value, str) else value


_PLAIN: Mapping[type, Callable[[Any], Any] | None] = {
    Text: str,  # Includes members of string enums.
    JsonText: None,
    Uuid: attrgetter("int"),
    DateTime: _instant,
    Double: float,
    BigInteger: None,
    Boolean: None,
    JSONB: _json,
    LargeBinary: bytes,
}
