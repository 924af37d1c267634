"""Days as values of facts, such as a birthday: those that cannot be are refused (X13)."""

import re
from datetime import UTC, date, datetime, time, timedelta

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.extraction.times import DAY_AND_MONTH, day_and_month
from mnemolog.domain.lazy_regex import lazy_compile

PAST = frozenset({"birthday", "died"})
# West of Greenwich a day ends up to twelve hours later.
LASTS = timedelta(days=1, hours=12)
_ISO = lazy_compile(r"(?:by )?(\d{4,}-\d{1,2}-\d{1,2})")
_SAID = lazy_compile(DAY_AND_MONTH, re.IGNORECASE)
_YEAR = lazy_compile(r"\d{4}$")


def require_possible_day(predicate: str, value: object, at: datetime, field: str) -> None:
    """Refuse a day that does not exist, and a birthday or a death that is yet to come. Other texts are left alone."""
    if not isinstance(value, str) or not (predicate in PAST or predicate.endswith("_date")):
        return
    if found := _ISO.fullmatch(value):
        day = _day(found[1])
        possible, begun = day is not None, day is None or day <= at.date()
    elif _SAID.fullmatch(value):
        said = _YEAR.search(value)
        year = int(said[0]) if said else at.year
        possible = day_and_month(value, datetime(max(year, 1), 12, 31, tzinfo=UTC)) is not None
        begun = year < at.year or day_and_month(value, at) is not None
    else:
        return
    if not possible:
        fix = "give a day that exists, such as 1990-05-03 or 3 May"
        raise InvalidInput(f"{value!r:.60} is not a day of the calendar", field=field, fix=fix)
    if predicate in PAST and not begun:
        raise InvalidInput(f"{value!r:.60} is in the future", field=field, fix="give today or an earlier day")


def end_of_planned(predicate: str, value: object) -> datetime | None:
    """When the day of a planned event is over everywhere, such as of an `exam_date`; None if it is no such day.

    The day of a wedding is asked for long afterwards.
    """
    planned = isinstance(value, str) and predicate.endswith("_date") and predicate not in (*PAST, "wedding_date")
    day = _day(found[1]) if planned and (found := _ISO.fullmatch(str(value))) else None
    return datetime.combine(day, time(), UTC) + LASTS if day else None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
