"""What was believed at a time, of facts that may have been told in any order (X13).

A row of `periods` has the end that was known when it was written. History that was told late, but said early, is
believed from before what ended it was said. So the periods as known at a time are computed from when each value was
said to begin. Only what was recorded as told late, with what that changes of earlier beliefs, is taken as it is.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from mnemolog.projections.rows import Row


@dataclass(frozen=True, slots=True)
class _Start:
    """When a value begins, with the rows that were one after the other believed of it."""

    rows: Sequence[Row]

    @property
    def learned(self) -> datetime:
        first: datetime = min(row["known_from"] for row in self.rows)
        return first

    def known_at(self, time: datetime) -> bool:
        until = self.rows[-1]["known_to"]
        return self.learned <= time and (until is None or time < until)

    def at(self, time: datetime) -> Row:
        """The last row that was believed by then."""
        return next(row for row in reversed(self.rows) if row["known_from"] <= time)

    def told_end(self, time: datetime, untold: Container[datetime]) -> datetime | None:
        """The end that had been told by then, which is not the start of a value that had not been told."""
        ends = (row["valid_to"] for row in reversed(self.rows) if row["known_from"] <= time)
        return next((end for end in ends if end is None or end not in untold), None)


def believed(slot: Iterable[Row], time: datetime, *, single: bool) -> list[Row]:
    """The periods of one subject and predicate as known at a time: of all rows ever written, those believed.

    `single`: each value ends those before it. What had turned out wrong by then is left out.
    """
    if single:
        return _believed(slot, time)
    ordered = sorted(slot, key=_RELATION)
    return [row for _, rows in groupby(ordered, key=_RELATION) for row in _believed(rows, time)]


def _believed(rows: Iterable[Row], time: datetime) -> list[Row]:
    starts = [start for of_one in _by_start(rows) for start in of_one]
    begun = {one.rows[0]["valid_from"] for one in starts}
    untold = begun.difference(one.rows[0]["valid_from"] for one in starts if one.learned <= time)
    found: list[Row] = []
    for one in sorted(
        (one for one in starts if one.known_at(time)), key=lambda one: _order(one.at(time)), reverse=True
    ):
        row, after = one.at(time), found[-1] if found else None
        ends = [one.told_end(time, untold), after["valid_from"] if after else None]
        end = min((end for end in ends if end is not None), default=None)
        if end == row["valid_from"]:
            continue  # Another value was told to begin at the same time.
        if after and after["relation_id"] == row["relation_id"] and after["valid_from"] == end:
            end = found.pop()["valid_to"]  # The same value, which goes on.
        found.append({**row, "valid_to": end})
    return found[::-1]


def wrong(slot: Iterable[Row], time: datetime) -> list[Row]:
    """The last belief of each start that had turned out wrong by then."""
    starts = (rows[-1] for rows in _by_start(slot))
    return [one.rows[-1] for one in starts if one.learned <= time and not one.known_at(time)]


def held(slot: Iterable[Row], time: datetime) -> list[Row]:
    """What was believed at a time, of rows with exactly what was, and the last belief of each start that was not."""
    known = sorted((row for row in slot if row["known_from"] <= time), key=itemgetter("known_from", "known_from_seq"))
    last = {(row["relation_id"], row["valid_from"]): row for row in known}
    return list(last.values())


def _by_start(slot: Iterable[Row]) -> Iterable[Sequence[_Start]]:
    """Of each start of each value, the beliefs without a break: it may be retired or hidden, and be back later."""
    ordered = sorted(slot, key=itemgetter("relation_id", "valid_from", "known_from_seq"))
    for _, rows in groupby(ordered, key=itemgetter("relation_id", "valid_from")):
        unbroken: list[list[Row]] = []
        for row in rows:
            if unbroken and unbroken[-1][-1]["known_to_seq"] == row["known_from_seq"]:
                unbroken[-1].append(row)
            else:
                unbroken.append([row])
        yield [_Start(one) for one in unbroken]


_RELATION = itemgetter("relation_id")


def _order(row: Row) -> tuple[Any, ...]:
    return row["valid_from"], row["known_from"], row["known_from_seq"]
