"""The timeline: what was known as of any moment, and what changed between two."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

from starlette.responses import Response

from mnemolog.adapters.http.console.listing import every, part_of
from mnemolog.adapters.http.console.visit import Visit
from mnemolog.adapters.operations.entities import list_entities
from mnemolog.adapters.operations.facts import list_facts
from mnemolog.adapters.operations.memories import list_ as list_memories
from mnemolog.adapters.operations.operation import Operation
from mnemolog.adapters.operations.stats import stats
from mnemolog.domain.errors import InvalidInput, NotPermitted
from mnemolog.projections.operations.counted import Over, Period

PAGE, CHANGES = 10, 25
BARS, STEPS = 100, 1000
FEW_DAYS = timedelta(days=4)
# What is compared, by its name: the operation that lists it, its id, and what of it people see.
KINDS: Mapping[str, tuple[Operation[Any, Any], str, tuple[str, ...]]] = {
    "memory": (list_memories, "memory_id", ("text", "category", "pinned", "status")),
    "fact": (list_facts, "relation_id", ("subject", "predicate", "object", "value", "valid_from", "valid_to")),
    "entity": (list_entities, "entity_id", ("name", "category", "aliases", "status")),
}


@dataclass(frozen=True, slots=True)
class Life:
    """From the first recorded operation to now, which is `width` bars wide. `bars` are in [0, 1]: how much happened."""

    first: datetime
    last: datetime
    bars: Sequence[float]
    width: float

    @property
    def step(self) -> int:
        """Of the slider, in seconds."""
        return max(1, round((self.last - self.first).total_seconds() / STEPS))


@dataclass(frozen=True, slots=True)
class Difference:
    """`old` is None for what is new, and `new` for what is gone."""

    kind: str
    id: str
    old: Any
    new: Any
    changes: Sequence[tuple[str, Any, Any]]


async def timeline(visit: Visit) -> Response:
    """The slider, and what was known at its moment."""
    last = visit.engine.writes.now()
    counted, shortest = await _counted(visit, Period.DAY), timedelta(days=1)
    first = min(counted, default=last - timedelta(hours=1))
    if last - first < FEW_DAYS:
        counted, shortest = await _counted(visit, Period.HOUR), timedelta(hours=1)
        first = min(counted, default=first)
    length = max((last - first) / BARS, shortest)
    width = max((last - first) / length, 0.01)
    bars = Counter[int]()
    for period, count in counted.items():
        bars[min(BARS - 1, int((period - first) / length))] += count
    most = max(bars.values(), default=1)
    life = Life(first, last, [bars[place] / most for place in range(ceil(width))], width)
    at = moment_of(visit.query, "at")
    shown = await _known(visit, at)
    return visit.page("timeline.html", life=life, at=at, chosen=at or life.last, **shown)


async def moment(visit: Visit) -> Response:
    """What was known at a moment, as a part of the page."""
    at = moment_of(visit.query, "at")
    return visit.page("moment.html", at=at, **await _known(visit, at))


async def changes(visit: Visit) -> Response:
    """What changed between two moments."""
    since, until = moment_of(visit.query, "from"), moment_of(visit.query, "to")
    if since is None:
        raise InvalidInput("is missing", field="from", fix="choose the earlier of two moments")
    if until and since > until:
        raise InvalidInput("is after the second moment", field="from", fix="choose an earlier one")
    found = [one for kind in KINDS for one in await _differences(visit, kind, since, until)]
    counts = Counter("new" if one.old is None else "gone" if one.new is None else "changed" for one in found)
    page = part_of(found, visit.query, CHANGES)
    return visit.page("changes.html", since=since, until=until, page=page, counts=counts)


def moment_of(query: Mapping[str, str], name: str) -> datetime | None:
    """A time as a form sends it, in UTC unless it says otherwise; None for now."""
    text = query.get(name, "").strip()
    if not text:
        return None
    try:
        given = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput("is not a time", field=name, fix="give one such as 2026-01-31T09:30") from error
    return given if given.tzinfo else given.replace(tzinfo=UTC)


async def _known(visit: Visit, at: datetime | None) -> Mapping[str, Any]:
    cursors = {kind: visit.query.get(f"{kind}_cursor") for kind in KINDS}
    pages = {
        kind: await visit.ask(operation, limit=PAGE, as_of=at, cursor=cursors[kind])
        for kind, (operation, _, _) in KINDS.items()
    }
    return {"pages": pages, "cursors": cursors}


async def _counted(visit: Visit, by: Period) -> Mapping[datetime, int]:
    """How many operations there were, by period: those of all agents, or only of this one where the key is bound."""
    try:
        found = await every(visit, stats, over=Over.USER, by=by)
    except NotPermitted:
        found = await every(visit, stats, by=by)
    counted = Counter[datetime]()
    for one in found:
        counted[one.period] += one.count
    return counted


async def _differences(visit: Visit, kind: str, since: datetime, until: datetime | None) -> Sequence[Difference]:
    operation, name, fields = KINDS[kind]
    before = {getattr(one, name): one for one in await every(visit, operation, as_of=since)}
    after = {getattr(one, name): one for one in await every(visit, operation, as_of=until)}
    found = []
    for id_ in [*after, *(one for one in before if one not in after)]:
        old, new = before.get(id_), after.get(id_)
        changed = [
            (field, getattr(old, field, None), getattr(new, field, None))
            for field in fields
            if getattr(old, field, None) != getattr(new, field, None)
        ]
        if changed:
            found.append(Difference(kind, str(id_), old, new, changed if old and new else ()))
    return found
