"""How exactly a date is known: who says "since 2019" names no day (X13)."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from mnemolog.domain.lazy_regex import lazy_compile


class Precision(StrEnum):
    """The unit to which a date is known, if that is not the day."""

    YEAR = "year"
    MONTH = "month"


Precisions = Mapping[datetime, Precision]

_FORMS = {Precision.YEAR: "%Y", Precision.MONTH: "%Y-%m"}
_REDUCED = lazy_compile(r"(?P<year>\d{4})(?:-(?P<month>0[1-9]|1[0-2]))?")


def shown(at: datetime, precision: Precision | None = None) -> str:
    """A date, no more exactly than it is known.

    >>> at = datetime(2019, 3, 1)
    >>> shown(at), shown(at, Precision.MONTH), shown(at, Precision.YEAR)
    ('2019-03-01', '2019-03', '2019')
    """
    return at.strftime(_FORMS[precision] if precision else "%Y-%m-%d")


def start_of(text: str) -> tuple[str, Precision] | None:
    """The first day of a year or a month in ISO 8601; None for any other text.

    >>> start_of("2019"), start_of("2019-03"), start_of("2019-03-01")
    (('2019-01-01', <Precision.YEAR: 'year'>), ('2019-03-01', <Precision.MONTH: 'month'>), None)
    """
    if (found := _REDUCED.fullmatch(text)) is None:
        return None
    return f"{found['year']}-{found['month'] or '01'}-01", Precision.MONTH if found["month"] else Precision.YEAR
