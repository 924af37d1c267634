"""When something is said to have begun or ended, resolved against the date of the message (X13)."""

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.precision import Precision, Precisions

_MONTH_NAMES = "january february march april may june july august september october november december"
_DAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
_NUMBER_NAMES = "zero one two three four five six seven eight nine ten eleven twelve"
_OLDEST, _LONGEST_MONTH = 120, 31
_MONTHS, _DAYS = _MONTH_NAMES.split(), _DAY_NAMES.split()
_NUMBERS = {word: number for number, word in enumerate(_NUMBER_NAMES.split())}
_NUMBERS |= {"a": 1, "an": 1, "a couple of": 2, "a couple": 2, "a few": 3, "several": 3}
# "Not decided" and "moved to Marazion" name no month.
MONTH = "(?:" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTHS if name != "may") + r"|may|sept)(?![^\W\d_])"
DAY = "(?:" + "|".join(_DAYS) + ")"
COUNT = rf"(?:\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_UNIT = r"(?:day|week|month|year)s?"
_UNITS = {"year": Precision.YEAR, "month": Precision.MONTH}
_PRECISIONS = {len("2026"): Precision.YEAR, len("2026-03"): Precision.MONTH}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
SEASON = "(?:" + "|".join(_SEASONS) + ")"
FEAST = r"(?:new year(?:'s(?: (?:day|eve))?)?(?! \d)|christmas(?: (?:day|eve))?|easter(?: (?:sunday|monday))?)"
_DATE = (
    rf"\d{{4}}-\d\d-\d\d|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}(?:,? \d{{4}})?"
    rf"|{MONTH}(?: the)? \d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,? \d{{4}})?|{MONTH}(?:,? \d{{4}})?|(?:19|20)\d\d"
)
DAY_AND_MONTH = (
    rf"(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}|{MONTH} \d{{1,2}}(?:st|nd|rd|th)?)(?:,? \d{{4}})?"
)
# "The 26th", which is a day where nothing follows of which it is the 26th.
_NTH = (
    r"the \d{1,2}(?:st|nd|rd|th)(?=$|[,.!;:)?]| (?:at|because|and|but|so|for|from|to|with|instead|now|not|as|if|cos|bc"
    r"|until|till|this|of (?:this|next|the) month|i|we|she|he|they)\b)"
)
_EDGE = rf"(?:start|beginning|end) of (?:{_DATE}|(?:the|this|next) (?:month|year))"
POINT = (
    rf"(?:{COUNT} {_UNIT} ago|(?:last|this|next) (?:week(?:end)?|month|year|{DAY}|{MONTH}|{SEASON}|{FEAST})"
    rf"|yesterday|today|tomorrow|last night|this (?:morning|afternoon|evening)|(?:the weekend|{FEAST})|(?:the )?{_EDGE}"
    rf"|{DAY}|{_DATE}|{_NTH})"
)
_ON = rf"(?:in|on|at|over) (?:the weekend|{FEAST}|{_DATE}|{_NTH}|{DAY}(?: (?:morning|afternoon|evening|night))?|(?:the )?{SEASON}(?: of)?(?: (?:19|20)\d\d)?|(?:the )?{_EDGE})"
_RELATIVE = lazy_compile(
    rf"\b(?:yesterday|today|tomorrow|last|this|next|ago|of the (?:month|year))\b|^in {COUNT} {_UNIT}|\b{DAY}\b",
    re.IGNORECASE,
)
# "Eating fish again, first time in 12 years" and "I haven't smoked in two years" tell of the years before.
_LOOKS_BACK = lazy_compile(
    r"\b(?:first|only|best|worst)\b(?!.*(?:\b(?:is|are|will|due|starts?|begins?)\b|'s|'ll))|\b(?:have|has|had)(?:n't| not| never)\b",
    re.IGNORECASE,
)
_OF_THE_DAY = lazy_compile(r"(?<=day) (?:morning|afternoon|evening|night)$", re.IGNORECASE)
_WEEKDAY = lazy_compile(rf"on {DAY}", re.IGNORECASE)
_IS_DAYS = lazy_compile(r"\d{4}-\d\d-\d\d|the weekend")
_PHRASE = lazy_compile(
    rf"(?P<until>\b(?:until|till|up to) (?P<end>{POINT})\b)"
    rf"|(?P<from>\b(?:ever since|since|from|as of|as from|starting|effective|beginning) (?:(?:on|in) )?"
    rf"(?P<start>{POINT})\b(?: on(?:wards?)?\b)?)"
    rf"|(?P<in>\bin {COUNT} {_UNIT}\b(?! (?:of|ago)\b))"
    rf"|(?P<for>\bfor (?:about |around |over |almost )?{COUNT} {_UNIT}(?: now)?\b)"
    rf"|(?P<at>(?<!, back )\b(?:{_ON}|{COUNT} {_UNIT} ago|(?:earlier )?(?:last|this|next) (?:week(?:end)?|month|year|{DAY}|{MONTH}|{SEASON}|{FEAST})"
    rf"|yesterday|today|tomorrow|last night|(?:earlier )?this (?:morning|afternoon|evening))\b)",
    re.IGNORECASE,
)
# Since when something holds, or for how long by now.
LASTING = lazy_compile(
    rf"\b(?:(?:ever )?since (?:(?:on|in) )?{POINT}|for (?:about |around |over |almost |nearly )?{COUNT} {_UNIT}(?! (?:a|an|per|each|every)\b))\b",
    re.IGNORECASE,
)

# "From 3 to 17 August".
_RANGE = lazy_compile(
    rf"\b(?:from |between )?(?:the )?(?P<first>\d{{1,2}})(?:st|nd|rd|th)? ?(?:to|until|till|and|-) ?(?:the )?"
    rf"(?P<last>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{MONTH}(?:,? \d{{4}})?)\b",
    re.IGNORECASE,
)
# "From 30 December to 2 January".
RANGE_OF_DAYS = lazy_compile(
    rf"(?<!moved )(?<!changed )(?<!postponed )(?:from |between )?\b(?P<start>{DAY_AND_MONTH}) ?(?:to|until|till|and|-) ?(?P<end>{DAY_AND_MONTH})(?!\w)",
    re.IGNORECASE,
)
_SPAN = lazy_compile(r"over |(?:earlier )?(?:this|last) (?:week(?:end)?|month)\b", re.IGNORECASE)
_STARTING = lazy_compile(r"(?:starting|as from)\b", re.IGNORECASE)
# "She is my boss from June": who speaks of the past says "since".
_FROM_MONTH = lazy_compile(rf"from {MONTH}\b", re.IGNORECASE)
# "As of April I work at Acme" tells of this April or of the next one.
_AS_OF = lazy_compile(r"(?:as of|from)\b", re.IGNORECASE)
_DOES = lazy_compile(r"\b(?:i|we)(?: (?:now|then|will))* (?:work|teach|live|study)\b", re.IGNORECASE)
# "I switched to law from September" tells of the next one, unless the last was just now.
_CHANGED = lazy_compile(r"\b(?:i|we)(?:'ve| have)?(?: (?:now|just))* (?:switched|changed|transferred)\b", re.IGNORECASE)
_JUST_NOW = timedelta(days=62)
_PRESENT = lazy_compile(r"(?:\b(?:is|are|am|will)|'s|'re|'m|'ll)\b", re.IGNORECASE)
_TO_COME = lazy_compile(
    r", moving(?: in)? (?:on|in) |(?:'m|am|'re|are|'s|is)(?: \w+){0,2} (?:starting|joining|moving|relocating|leaving|taking over|going|getting|changing|switching|(?:flying|travell?ing|driving|heading|off) to)\b"
    r"|\b(?:i (?:start|begin|join)|(?:i|we) (?:go|fly|travel|drive|set off|move|relocate) to)\b|(?:'ll|\bwill|\bshall)\b|\btakes? over\b|\bnext (?:trip|holiday|vacation|journey)\b|\bplanning\b|\bnew [\w '-]{2,40}? from\b|(?:'m|am|'re|are|is) to (?:fly|go|travel|start|leave)\b"
    r"|(?:'s|\bis) (?:\d{1,2}|[a-z]{3,9}teen|ten|eleven|twelve|one|two|three|four|five|six|seven|eight|nine) (?:(?:on|in) (?!the\b(?! \d))|(?:next|this) (?!year\b))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Dated:
    """A clause without its phrases of time, and what these say. `since` may lie in the future.

    `brief`: it says for how many days or weeks, as in "for a week". `span`: the days that it names, if something may have
    lasted for just these, as "over the weekend" or "this week". `onward`: it says from when on, or names a month or a
    year. `counted`: it says only for how long, so that `since` is right for what still lasts. `stamp` is `since` as exactly
    as it was said: `2026-03-01`, `2026-03`, `2026`, `the summer of 2025`. `precisions`: the units of the dates that are
    said neither to the day nor to the week; "two years ago" is to the year.
    """

    text: str
    since: datetime | None = None
    until: datetime | None = None
    stamp: str = ""
    brief: bool = False
    span: str = ""
    precisions: Precisions = field(default_factory=dict, repr=False)
    onward: bool = field(default=False, repr=False)
    counted: bool = field(default=False, repr=False)

    @property
    def over(self) -> datetime | None:
        """When the day, week, season, month or year that was said has passed; None if that is after the year 9999."""
        if self.since is None or not self.stamp:
            return None
        try:
            return moved(self.since, *self._length)
        except (ValueError, OverflowError):
            return None

    @property
    def _length(self) -> tuple[int, str]:
        if "weekend" in self.stamp:
            return 2, "day"
        if "week" in self.stamp:
            return 1, "week"
        if self.stamp.startswith("the"):
            return 3, "month"
        return 1, _PRECISIONS.get(len(self.stamp), "day")


def _from_until(found: re.Match[str]) -> str:
    if int(found["first"]) > int(found["last"]):  # "From 30 to 2 January" begins in another month.
        return found[0]
    return f"from {found['first']} {found['month']} until {found['last']} {found['month']}"


def dated(clause: str, at: datetime, *, future: bool = False) -> Dated:
    """Take the phrases of time out of a clause; with `future` it is about what is to come.

    >>> dated("I live in Porto since March", datetime(2026, 5, 10, tzinfo=UTC))
    Dated(text='I live in Porto', since=datetime.datetime(2026, 3, 1, 0, 0, tzinfo=datetime.timezone.utc), until=None, stamp='2026-03', brief=False, span='')
    """
    clause = RANGE_OF_DAYS.sub(r"from \g<start> until \g<end>", _RANGE.sub(_from_until, clause))
    since = until = None
    stamp, brief, span, onward, counted_back = "", False, "", False, False
    units: dict[datetime | None, Precision | None] = {}
    for found in _PHRASE.finditer(clause):
        phrase = found[0]
        if found["until"]:
            until = until or point(found["end"], at, future=True)
            if until:
                units.setdefault(until, _unit(_stamp(found["end"].lower(), until)))
        elif found["from"]:
            to_come = _STARTING.match(phrase) or (_FROM_MONTH.match(phrase) and _PRESENT.search(clause))
            since = since or point(found["start"], at, future=future or bool(to_come))
            if since and _AS_OF.match(phrase) and _DOES.search(clause):
                since = _nearest(found["start"], since, at)
            elif since and _AS_OF.match(phrase) and _CHANGED.search(clause) and at - since > _JUST_NOW:
                since = point(found["start"], at, future=True)
            onward = since is not None
        elif found["in"] and _LOOKS_BACK.search(clause, 0, found.start()):
            continue
        elif found["in"]:
            since = since or shifted(at, phrase.split(maxsplit=1)[1], 1)
        elif found["for"]:
            counted = re.sub(r"^for (?:about |around |over |almost )?| now$", "", phrase, flags=re.IGNORECASE)
            counted_back = since is None
            since = since or shifted(at, counted, -1)
            units.setdefault(since, _UNITS.get(counted.split()[-1].lower().rstrip("s")))
            brief = brief or re.search(r"(?:day|week)s?$", phrase, re.IGNORECASE) is not None
        else:
            named = _OF_THE_DAY.sub("", re.sub(r"^(?:in|on|at|over|earlier) ", "", phrase, flags=re.IGNORECASE))
            since = since or point(named, at, future=future)
            span = span or (phrase.lower() if _SPAN.match(phrase) else "")
        if since and not stamp and not found["for"]:
            stamp = _stamp(phrase.lower(), since)
            onward = onward or len(stamp) in _PRECISIONS
            units.setdefault(since, _unit(stamp))
    text = " ".join(_PHRASE.sub(" ", clause).split())
    text = re.sub(r"\s+([,.!;:])", r"\1", text).strip(" ,")
    precisions = {day: unit for day, unit in units.items() if day and unit}
    return Dated(text, since, until, stamp, brief, span, precisions, onward, counted_back)


def _nearest(phrase: str, since: datetime, at: datetime) -> datetime:
    """Of the last and the next day or month that a phrase names, the one that is nearer to the message."""
    coming = point(phrase, at, future=True)
    return coming if coming and abs(coming - at) < abs(since - at) else since


def absolute(text: str, at: datetime, *, once: bool = False) -> str:
    """A text with a date in place of each phrase of time that depends on the date of its message.

    `once`: it is about something that happened once, so that "on Friday" is a date, too.

    >>> absolute("The user moved last week and starts work tomorrow.", datetime(2026, 5, 13, tzinfo=UTC))
    'The user moved in the week of 2026-05-04 and starts work on 2026-05-14.'
    """

    def resolved(found: re.Match[str]) -> str:
        weekday = _WEEKDAY.fullmatch(found[0]) is not None
        if found["for"] or not (once if weekday else _RELATIVE.search(found[0])):
            return found[0]
        said = dated(found[0], at)
        if found["until"]:
            return f"until {said.until.date().isoformat()}" if said.until else found[0]
        if not said.stamp:
            return found[0]
        # A stamp of a day is a date; that of a week, a season, a month or a year is a period.
        return f"{'since' if found['from'] else 'on' if _IS_DAYS.match(said.stamp) else 'in'} {said.stamp}"

    return _PHRASE.sub(resolved, text)


def moment(phrase: str, at: datetime, *, future: bool = False) -> datetime | None:
    """When a phrase such as `last week`, `since March` or `2026-03-01` says that something began or ended."""
    said = dated(phrase, at, future=future)
    return said.since or said.until or point(phrase.strip().rstrip("."), at, future=future)


def precisions_of(text: str, at: datetime) -> Precisions:
    """The unit to which a text names the dates in it that it names neither to the day nor to the week.

    >>> precisions_of("from 2012 until May 2015", datetime(2026, 5, 13, tzinfo=UTC)).values()
    dict_values([<Precision.YEAR: 'year'>, <Precision.MONTH: 'month'>])
    """
    phrase = f"since {text}" if re.fullmatch(POINT, text, re.IGNORECASE) else text
    return {**dated(phrase, at, future=True).precisions, **dated(phrase, at).precisions}


def is_to_come(clause: str) -> bool:
    """Whether a clause tells of what is to come, so that a month in it is the next one.

    >>> is_to_come("I'm moving to Oslo in March"), is_to_come("I moved to Oslo in March")
    (True, False)
    """
    return _TO_COME.search(clause) is not None


def is_time(text: str) -> bool:
    """Whether a text is a phrase of time and nothing else."""
    return _PHRASE.fullmatch(text) is not None


def point(phrase: str, at: datetime, *, future: bool = False) -> datetime | None:
    """The start of the day, month or year that a phrase names; None for a date that does not exist.

    A month or day without a year is the last one before the message; with `future`, or after "next", the next one. The
    month of the message itself is this one, if it does not follow "next" or "last".
    """
    said = phrase.lower().removeprefix("the ")
    today = _day(at)
    for pattern, resolve in _RESOLVERS:
        if found := re.fullmatch(pattern, said):
            try:
                return resolve(found, today, future)
            except (ValueError, OverflowError):
                return None
    return None


def day_and_month(text: str, at: datetime) -> str | None:
    """A birthday such as `3 May 1990` in one form; None if there is no such day, or not yet.

    >>> day_and_month("May 3rd, 1990", datetime(2026, 5, 13, tzinfo=UTC))
    '3 May 1990'
    """
    found = re.search(rf"(\d{{1,2}}).*?({MONTH})", text, re.IGNORECASE) or re.search(
        rf"(?P<month>{MONTH}) (?:the )?(?P<day>\d{{1,2}})", text, re.IGNORECASE
    )
    if found is None:
        return None
    day, month = sorted(found.groups(), key=lambda one: not one.isdigit())
    year = re.search(r"\b\d{4}$", text.strip())
    try:
        born = datetime(int(year[0]) if year else 2000, _month(month.lower()), int(day), tzinfo=UTC)
    except ValueError:
        return None
    if year and not at.year - _OLDEST <= born.year <= at.year:
        return None
    return f"{born.day} {born:%B}{f' {born.year}' if year else ''}" if not year or born <= at else None


def is_nth(phrase: str) -> bool:
    """Whether a phrase is a day of a month that it does not name: `the 14th`."""
    return re.fullmatch(_NTH, phrase, re.IGNORECASE) is not None


def nearest_nth(day: int, former: date, after: date) -> date | None:
    """The day of a month that is nearest to a former date, of those after another; None if there is none.

    >>> nearest_nth(2, date(2026, 11, 30), after=date(2026, 11, 12))
    datetime.date(2026, 12, 2)
    """
    months = [former.replace(day=1) + timedelta(days=days) for days in (-1, 0, _LONGEST_MONTH)]
    days = [one.replace(day=day) for one in months if day <= monthrange(one.year, one.month)[1]]
    return min((one for one in days if one > after), key=lambda one: abs(one - former), default=None)


def day_of(phrase: str, at: datetime) -> datetime | None:
    """The next day with this date, as of an event that is planned; None without a day."""
    said = phrase.lower().removeprefix("the ")
    return point(said, at, future=True) if re.search(rf"\d|{DAY}|tomorrow|today", said) else None


def _stamp(phrase: str, start: datetime) -> str:
    if re.search(rf"\b{FEAST}", phrase):
        return start.date().isoformat()
    if "weekend" in phrase:
        return f"the weekend of {start.date().isoformat()}"
    if "week" in phrase:
        return f"the week of {start.date().isoformat()}"
    if season := re.search(SEASON, phrase):
        return f"the {season[0]} of {start.year}"
    if re.search(rf"(?<!\d)\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}|{MONTH}(?: the)? \d{{1,2}}(?!\d)|\d-\d\d", phrase):
        return start.date().isoformat()
    if re.search(rf"month|\b{MONTH}\b", phrase):
        return f"{start:%Y-%m}"
    return f"{start:%Y}" if re.search(r"year|\b(?:19|20)\d\d$", phrase) else start.date().isoformat()


def _unit(stamp: str) -> Precision | None:
    return Precision.YEAR if re.search(SEASON, stamp) else _PRECISIONS.get(len(stamp))


def shifted(at: datetime, counted: str, sign: int) -> datetime | None:
    """The day that is so many days, weeks, months or years after another one; before it with a `sign` of -1."""
    count, unit = counted.lower().rsplit(maxsplit=1)
    number = int(count) if count.isdigit() else _NUMBERS[count]
    try:
        return moved(_day(at), number * sign, unit.rstrip("s"))
    except (ValueError, OverflowError):
        return None


def _day(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def moved(day: datetime, count: int, unit: str) -> datetime:
    if unit in ("day", "week"):
        return day + timedelta(days=count * (7 if unit == "week" else 1))
    months = day.year * 12 + day.month - 1 + count * (12 if unit == "year" else 1)
    year, month = divmod(months, 12)
    last = (datetime(year + (month == 11), (month + 1) % 12 + 1, 1, tzinfo=UTC) - timedelta(days=1)).day
    return day.replace(year=year, month=month + 1, day=min(day.day, last))


def _began(unit: str, day: datetime, sign: int) -> datetime:
    """The start of the week, month or year before or after that of a day."""
    if unit == "week":
        return day + timedelta(days=7 * sign - day.weekday())
    return (
        moved(day.replace(day=1), sign, unit) if unit == "month" else day.replace(year=day.year + sign, month=1, day=1)
    )


def _weekday(name: str, day: datetime, *, future: bool) -> datetime:
    ahead = (_DAYS.index(name) - day.weekday()) % 7
    return day + timedelta(days=ahead or 7) if future else day + timedelta(days=ahead - 7 if ahead else 0)


def _nth(number: int, day: datetime, *, future: bool) -> datetime:
    """The nearest day of a month with this number, of the months that have it."""
    if not 0 < number <= _LONGEST_MONTH:
        raise ValueError(number)
    months = (moved(day.replace(day=1), n if future else -n, "month") for n in range(4))
    days = (one + timedelta(days=number - 1) for one in months if (one + timedelta(days=number - 1)).month == one.month)
    return next(one for one in days if (one >= day if future else one <= day))


def _month(name: str) -> int:
    return next(n for n, one in enumerate(_MONTHS, 1) if one.startswith(name[:3]))


def _calendar(day: datetime, year: str | None, month: int, number: int, *, future: bool) -> datetime:
    if year:
        return day.replace(year=int(year), month=month, day=number)
    here = day.replace(month=month, day=number)
    if future:
        return here if here >= day else here.replace(year=day.year + 1)
    return here if here <= day else here.replace(year=day.year - 1)


def _named(found: re.Match[str], day: datetime, future: bool) -> datetime:
    which, unit = found[1], found[2]
    sign = {"last": -1, "this": 0, "next": 1}[which]
    if unit in ("week", "month", "year"):
        return _began(unit, day, sign)
    if unit == "weekend":
        return _weekend(day, sign)
    if re.fullmatch(FEAST, unit):
        return _feast(unit, day, future=sign > 0 or (sign == 0 and future))
    if unit in _DAYS:
        nearest = _weekday(unit, day, future=sign > 0 or (sign == 0 and future))
        return nearest - timedelta(days=7) if sign < 0 and nearest == day else nearest
    if unit in _SEASONS:
        return _season(unit, day, sign=sign)
    if sign < 0 and _month(unit) == day.month:
        return day.replace(year=day.year - 1, day=1)
    if sign > 0:
        return _calendar(day, None, _month(unit), 1, future=True)
    return _in_month(day, None, _month(unit), future=future and sign == 0)


def _in_month(day: datetime, year: str | None, month: int, *, future: bool) -> datetime:
    """The start of a month; who says in May what they will do in May means that one."""
    return _calendar(day, year, month, 1, future=future and month != day.month)


def _weekend(day: datetime, sign: int) -> datetime:
    """The Saturday of the weekend before, of or after the week of a day."""
    return day - timedelta(days=day.weekday()) + timedelta(days=7 * sign + 5)


def _feast(name: str, day: datetime, *, future: bool) -> datetime:
    """The last Christmas, Easter or New Year before a day, or the next one from that day on."""
    years = range(day.year, day.year + 2) if future else range(day.year, day.year - 2, -1)
    days = [_day_of_feast(name, day, year) for year in years]
    return next(one for one in days if (one >= day if future else one <= day))


def _day_of_feast(name: str, day: datetime, year: int) -> datetime:
    if "easter" in name:
        return _easter(day, year) + timedelta(days="monday" in name)
    if "christmas" in name:
        return day.replace(year=year, month=12, day=24 if "eve" in name else 25)
    return day.replace(year=year, month=12 if "eve" in name else 1, day=31 if "eve" in name else 1)


def _easter(day: datetime, year: int) -> datetime:
    """Easter Sunday, by the anonymous Gregorian algorithm."""
    golden, century = year % 19, year // 100
    epact = (century - century // 4 - (8 * century + 13) // 25 + 19 * golden + 15) % 30
    moon = epact - (epact // 28) * (1 - (29 // (epact + 1)) * ((21 - golden) // 11))
    weekday = (year + year // 4 + moon + 2 - century + century // 4) % 7
    since_march = moon - weekday
    return day.replace(year=year, month=3, day=1) + timedelta(days=since_march + 27)


def _season(name: str, day: datetime, *, sign: int, year: str | None = None) -> datetime:
    """The start of a season: the last one that is over, this year's, or the next."""
    month = _SEASONS[name]
    here = day.replace(year=int(year) if year else day.year, month=month, day=1)
    if year or sign == 0:
        return here
    if sign > 0:
        return here if here > day else here.replace(year=day.year + 1)
    return here if moved(here, 3, "month") <= day else here.replace(year=day.year - 1)


def _edge_of_unit(found: re.Match[str], day: datetime, future: bool) -> datetime:
    """The first or last day of this or the next month or year; of "the" month, the one before or after a day."""
    edge, which, unit = found.groups()
    start = _began(unit, day, which == "next")
    here = _edge_from(edge, start, unit)
    if which == "the" and here != day and (here > day) != future:
        return _edge_from(edge, moved(start, 1 if future else -1, unit), unit)
    return here


def _edge_from(edge: str, start: datetime, unit: str) -> datetime:
    return moved(start, 1, unit) - timedelta(days=1) if edge == "end" else start


def _edge(found: re.Match[str], day: datetime, future: bool) -> datetime:
    start = point(found[2], day, future=future)
    if start is None:
        raise ValueError(found[2])
    return _edge_from(found[1], start, "year" if found[2].isdigit() else "month")


def _begun(season: str, day: datetime) -> datetime:
    """The start of the last season of this name that has begun."""
    here = _season(season, day, sign=0)
    return here if here <= day else here.replace(year=day.year - 1)


_Resolver = Callable[[re.Match[str], datetime, bool], datetime]
_RESOLVERS: tuple[tuple[str, _Resolver], ...] = (
    (r"today|this (?:morning|afternoon|evening)", lambda it, day, future: day),
    (r"yesterday|last night", lambda it, day, future: day - timedelta(days=1)),
    (r"tomorrow", lambda it, day, future: day + timedelta(days=1)),
    (
        rf"({COUNT}) ({_UNIT}) ago",
        lambda it, day, future: moved(day, -(int(it[1]) if it[1].isdigit() else _NUMBERS[it[1]]), it[2].rstrip("s")),
    ),
    (rf"(last|this|next) (week(?:end)?|month|year|{DAY}|{MONTH}|{SEASON}|{FEAST})", _named),
    (r"weekend", lambda it, day, future: _weekend(day, 0 if future or day.weekday() > 4 else -1)),
    (rf"({FEAST})", lambda it, day, future: _feast(it[1], day, future=future)),
    (
        rf"({SEASON})(?: of)?(?: (\d{{4}}))?",
        lambda it, day, future: (
            _season(it[1], day, sign=1 if future else 0, year=it[2]) if it[2] or future else _begun(it[1], day)
        ),
    ),
    (rf"(start|beginning|end) of ({_DATE})", _edge),
    (r"(start|beginning|end) of (the|this|next) (month|year)", _edge_of_unit),
    (rf"({DAY})", lambda it, day, future: _weekday(it[1], day, future=future)),
    (r"(\d{1,2})(?:st|nd|rd|th)", lambda it, day, future: _nth(int(it[1]), day, future=future)),
    (
        r"(\d{4})-(\d\d)-(\d\d)",
        lambda it, day, future: day.replace(year=int(it[1]), month=int(it[2]), day=int(it[3])),
    ),
    (
        rf"(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({MONTH})(?:,? (\d{{4}}))?",
        lambda it, day, future: _calendar(day, it[3], _month(it[2]), int(it[1]), future=future),
    ),
    (
        rf"({MONTH})(?: the)? (\d{{1,2}})(?:st|nd|rd|th)?(?:,? (\d{{4}}))?",
        lambda it, day, future: _calendar(day, it[3], _month(it[1]), int(it[2]), future=future),
    ),
    (
        rf"({MONTH})(?:,? (\d{{4}}))?",
        lambda it, day, future: _in_month(day, it[2], _month(it[1]), future=future),
    ),
    (r"((?:19|20)\d\d)", lambda it, day, future: day.replace(year=int(it[1]), month=1, day=1)),
)
