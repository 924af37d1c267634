"""What something costs or pays each month and the like, and the numbers under which somebody is reached."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from mnemolog.domain.extraction import times
from mnemolog.domain.extraction.candidate import Action, Candidate
from mnemolog.domain.extraction.rule import Said
from mnemolog.domain.lazy_regex import lazy_compile

COST = (
    r"(?:rent|mortgage|salary|wages?|pension|day rate|daily rate|hourly rate|service charge|council tax|pocket money"
    r"|(?:(?:car|home|house|health|life|pet|dental) )?insurance|(?:gas|electric|electricity|heating|water|energy|power|phone"
    r"|internet|broadband|mobile) bill|(?:gym|club) (?:membership|fee)|(?:nursery|school|tuition|childcare) fees?"
    r"|subscription|deductible|tuition)"
)
PER = r"(?:(?:an?|per|each|every) ?(?:hour|hr|day|night|week|fortnight|month|year)|/ ?(?:h|hr|hour|day|week|month|mo|year)|pcm|pw|p/?m|monthly|weekly)"
_NUMBER = r"\d++(?:,\d{3})*+(?:\.\d++)?+"
CURRENCY = (
    r"(?:pounds|quid|dollars|euros?|bucks|eur|usd|gbp|chf|francs|kron(?:or|er)|sek|nok|dkk|z[łl]oty(?:s|ch)?|pln|czk|rupees|yen"
    r"|pesos|rand|[£$€¥₹])"
)
SUM = (
    rf"(?P<value>[£$€¥₹]? ?{_NUMBER}k?(?: ?{CURRENCY})?"
    rf"(?: ?{PER}| each)?)"
)
MONEY = SUM + (
    r"(?=$|[,.](?!\d)|[!;:(]| (?:now|again|and|but|which|because|since|from|starting|as of|in|this|next|already|at the moment|with"
    r"|after|btw|before|net|gross|plus|including|so|tbh)\b)"
)
RATE = rf"(?P<value>[£$€¥₹]? ?{_NUMBER}(?: ?{CURRENCY})? (?:an?|per) (?P<unit>day|hour|hr)\b)"
PHONE = r"(?P<value>\+?\(?\d[\d ()/-]{5,18}\d)(?=$|[,.!;]| (?:now|if|from|in|btw|just|so|for|and)\b)"
EMAIL = r"(?P<value>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"

_CHANGED = lazy_compile(
    r"\b(?:now|up|down|new|changed|increased|risen|rose|dropped|fell|fallen|goes|raised|lowered|cut)\b", re.I
)


def cost(said: Said) -> Sequence[Candidate]:
    """What something of the author's costs, or pays, since a day that is said behind it."""
    what = "_".join(said.match["what"].lower().split())
    return (replace(_figure(said, what), since=_since(said)),)


def cost_over(said: Said) -> Sequence[Candidate]:
    """The end of what somebody paid; who quits the gym goes there on no day."""
    if said.by_the_clock or said.for_a_time or said.clause.brief:
        return ()
    what = "_".join(said.match["what"].lower().split())
    ended = ("gym_membership", "gym_day") if what == "gym" else (what,)
    over = Candidate(predicate=what, object=None, action=Action.END, changes=True, until=said.clause.since)
    return [replace(over, predicate=one) for one in ended]


def raised(said: Said) -> Sequence[Candidate]:
    """What the author is paid since a raise."""
    return [replace(one, changes=True) for one in earned(said)]


def earned(said: Said) -> Sequence[Candidate]:
    return (_figure(said, "hourly_rate" if _HOURLY.search(said.match["value"]) else "salary"),)


_HOURLY = lazy_compile(r"\b(?:hour|hr)$")


def rate(said: Said) -> Sequence[Candidate]:
    """What the author takes for a day or an hour."""
    what = "day_rate" if said.match["unit"] == "day" else "hourly_rate"
    return (replace(_figure(said, what), since=_since(said)),)


def phone(said: Said) -> Sequence[Candidate]:
    digits = sum(map(str.isdigit, said.match["value"]))
    return (replace(_figure(said, "phone_number"), changes=True),) if digits > _FEWEST_DIGITS else ()


def email(said: Said) -> Sequence[Candidate]:
    return (replace(_figure(said, "email"), changes=True),)


_FEWEST_DIGITS = 6
# What else is said of time is not since when: "fixed for five years".
_FROM = lazy_compile(
    rf",?(?: now| again)? (?:(?:starting|from|since|as of)(?: on| in)? |in )?{times.POINT}(?!\w)", re.IGNORECASE
)


def _figure(said: Said, predicate: str) -> Candidate:
    value = said.match["value"].strip(" .")
    changes = _CHANGED.search(said.match.string) is not None
    return Candidate(predicate=predicate, object=value, literal=True, single=True, changes=changes)


def _since(said: Said) -> datetime | None:
    """The day behind it that is nearest: who hears of a new rent from June on may hear of it in May."""
    told = _FROM.match(said.match.string, said.match.end())
    if told is None:
        return None
    days = (times.dated(told[0], said.at, future=future).since for future in (False, True))
    return min((day for day in days if day), key=lambda day: abs(day - said.at), default=None)
