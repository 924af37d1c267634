"""What a clause says that has the form of a rule: candidates."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from mnemolog.domain.entity import PERSON, THING
from mnemolog.domain.extraction import times
from mnemolog.domain.extraction.candidate import Action, Candidate
from mnemolog.domain.extraction.others import pregnant
from mnemolog.domain.extraction.rule import GIVES, WHO_IS_AGED, Make, Said, form
from mnemolog.domain.extraction.vocabulary import (
    AILMENTS,
    CARS,
    COUPLE,
    KIN_WORDS,
    MODELS,
    MORE_THAN_ITS_PREDICATE,
    ONE_OF,
    PETS,
    PLURALS,
    RELATIONS,
    RULED_OUT,
    SUPERIORS,
    TRIPS,
    VERBS,
)
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.predicates import (
    EMPLOYMENT,
    MEDICATION,
    NEXT_TRIP,
    TRIP_DATE,
    TRIP_TO,
    dose_of,
    trip_date_of,
)

LOCATION = "Location"
# Of which somebody may have several, each of its own kind.
_OF_A_KIND = (
    "interview",
    "exam",
    "surgery",
    "operation",
    "appointment",
    "deadline",
    "race",
    "party",
    "meeting",
    "concert",
)
_PLANNED_FOR = timedelta(days=3653)
_ERRAND = timedelta(days=7)
_BESIDE = lazy_compile(r"\b(?:another|second(?![- ]hand)|also|as well|too)\b", re.IGNORECASE)
# Makes of cars that make motorbikes, too.
_CYCLES = lazy_compile(r"(?:BMW|Honda|Peugeot|Suzuki)\b")
# A street is not a town: who lives in Cork may also live in Douglas Street.
_STREET = lazy_compile(r" (?:Street|St|Road|Rd|Avenue|Ave|Lane|Drive|Crescent|Terrace|Close|Boulevard|Blvd)$")
_NEXT = lazy_compile(r"\bnext\b", re.IGNORECASE)


def names(predicate: str, *, category: str = THING, single: bool = False, changes: bool = False) -> Make:
    """A fact about what is named. Where somebody only stays for a time is not a home."""

    def make(said: Said) -> Sequence[Candidate]:
        if category == LOCATION and said.for_a_time:
            return ()
        on_street = predicate == "lives_in" and _STREET.search(said.name) is not None
        return (
            Candidate(
                predicate="lives_on" if on_street else predicate,
                object=said.name,
                category=category,
                single=single or on_street,
                changes=changes or said.changes,
                since=said.clause.since,
                until=said.clause.until,
            ),
        )

    return make


def been_married(said: Said) -> Sequence[Candidate]:
    """A marriage that has lasted so many years, or since a day."""
    counted = re.match(r" \d", said.match.string[said.match.end() :]) is not None
    return [replace(one, since=None) if counted else one for one in names_other("married_to")(said)]


def values(predicate: str) -> Make:
    """A fact for each value that is enumerated."""
    return lambda said: tuple(
        Candidate(
            predicate=predicate,
            object=one,
            literal=True,
            changes=said.changes,
            since=said.clause.since,
            until=said.clause.until,
        )
        for one in said.values
    )


def had(make: Make) -> Make:
    """What happened to somebody. A heart attack without a date or a degree may be no more than a fright."""

    def happened(said: Said) -> Sequence[Candidate]:
        is_fright = said.match["value"].lower() == "heart attack" and " had " in f" {said.match[0].lower()} "
        return () if is_fright and not (said.match["degree"] or said.clause.since) else make(said)

    return happened


def jobless(make: Make) -> Make:
    """The end of a job; who has retired has no occupation either."""

    def over(said: Said) -> Sequence[Candidate]:
        made, retired = make(said), re.search(r"\bretired\b", said.match[0], re.IGNORECASE)
        return (*made, *(replace(one, predicate="job_title") for one in made if retired and one.action is Action.END))

    return over


def ailing(make: Make) -> Make:
    """A condition of which only the adjective was said: who is a type 2 diabetic has type 2 diabetes."""

    def named(said: Said) -> Sequence[Candidate]:
        adjective, sort = said.match["value"], (said.match["sort"] or "").lower()
        name = " ".join(filter(None, (sort if sort.startswith("type") else "", AILMENTS[adjective.lower()])))
        return [replace(one, object=name) if one.predicate == "condition" else one for one in make(said)]

    return named


def ends(predicate: str, *, in_short: bool = False) -> Make:
    """The end of what is named, or of whatever holds if nothing is."""

    def make(said: Said) -> Sequence[Candidate]:
        if said.by_the_clock or said.for_a_time:
            return ()
        groups: Mapping[str, Any] = said.match.groupdict()
        ended = said.name if groups.get("name") else groups.get("value")
        when = said.clause.until or said.clause.since
        end = Candidate(predicate=predicate, object=ended, action=Action.END, changes=True, until=when)
        return (replace(end, in_short=in_short),)

    return make


def lives_in(said: Said) -> Sequence[Candidate]:
    """A home, and those with whom one lives there."""
    return (*_at_home(said), *living_with(said))


def lives_on(said: Said) -> Sequence[Candidate]:
    """A home in a street, with the town if that is said."""
    town = said.named("town")
    street = names("lives_on", category=LOCATION, single=True, changes=True)(said)
    return (*(replace(one, predicate="lives_in", object=town) for one in street if town), *street)


def living_with(said: Said) -> Sequence[Candidate]:
    """Those of a household who are named, each with what they are to the author."""
    found = _HOUSEHOLD.finditer(said.match.string)
    return tuple(_tie(one["who"], one["other"]) for one in found)


_HOUSEHOLD = form(r"\b(?:with|and|&|,) (?:my|our){SORT} {ONE},? {OTHER}(?=$|[,.!;]| (?:and|&|in|at|near)\b)")
_at_home = names("lives_in", category=LOCATION)
moved_to = names("lives_in", category=LOCATION, changes=True)
works_at = names("works_at", category="Organization")
works_in = names("works_in", category=LOCATION, single=True)


def started_at(said: Said) -> Sequence[Candidate]:
    """A new job with an employer, with which one's own business ends."""
    return [replace(one, changes=True, hired=True) for one in works_at(said)]


married_to = names("married_to", category=PERSON)


def arrived(said: Said) -> Sequence[Candidate]:
    """The home to which somebody planned to move; anybody else may be there on a visit."""
    return [replace(one, intended=True) for one in moved_to(said)]


def lived_in(said: Said) -> Sequence[Candidate]:
    """A home of the past, if it is said of which time."""
    since, until = said.clause.since, said.clause.until or said.clause.over
    if since is None or said.clause.counted or until is None or until.date() >= said.at.date():
        return ()
    return (Candidate(predicate="lives_in", object=said.name, category=LOCATION, since=since, until=until),)


def names_other(predicate: str) -> Make:
    """A fact about somebody."""

    def make(said: Said) -> Sequence[Candidate]:
        return (
            Candidate(
                predicate=predicate,
                object=said.named("other"),
                category=PERSON,
                single=True,
                changes=True,
                literal=False,
                since=said.clause.since,
            ),
        )

    return make


def names_partner(said: Said) -> Sequence[Candidate]:
    """A new partner, and nobody whom one only meets."""
    return () if said.on_an_occasion else names_other("partner_of")(said)


def parents(said: Said) -> Sequence[Candidate]:
    """The author's children."""
    listed = re.sub(WHO_IS_AGED, "", said.match.groupdict().get("children") or said.match["other"])
    born = re.split(r",? (?:and|&) |, ", listed)
    return tuple(Candidate(predicate="parent_of", object=one, category=PERSON, literal=False) for one in born)


def left(said: Said) -> Sequence[Candidate]:
    """The end of a job. What has no genitive may be a town, after which an employer is named."""
    return ends("works_at", in_short=re.search(r"'s?$", said.match["name"]) is not None)(said)


def gave_notice(said: Said) -> Sequence[Candidate]:
    """The end of a job after so many weeks. If they are not said, nobody knows when it ends: the notice has begun."""
    weeks = said.match["weeks"]
    until = times.shifted(said.at, f"{weeks} weeks", 1) if weeks else None
    end, name = ends("works_at", in_short=True)(said), said.name or said.match["small"] or None
    return [replace(one, object=name, until=until) for one in end] if until else ()


def joined(said: Said) -> Sequence[Candidate]:
    """A new job with an employer, also if the day follows in short: "joined Acme Monday"."""
    name, _, last = said.name.rpartition(" ")
    when = said.match["when"] or (last if re.fullmatch(times.DAY, last, re.IGNORECASE) else "")
    day = times.point(when, said.at) if when else None
    named = name if when and when == last else said.name
    return [replace(one, object=named, since=day or one.since) for one in started_at(said)]


def switched(said: Said) -> Sequence[Candidate]:
    """A new employer in place of the one that is named first, if that is known to be one."""
    return [replace(one, replaces=said.named("former") or "") for one in started_at(said)]


def moved_from(said: Said) -> Sequence[Candidate]:
    """A new home in place of the one that is named first, or a new employer: one of them is known."""
    return (*(replace(one, replaces=said.named("former") or "") for one in moved_to(said)), *switched(said))


def last_day(said: Said) -> Sequence[Candidate]:
    """The end of a job, on a day that may be to come."""
    day = times.point(said.match["when"], said.at, future=" was " not in said.match[0])
    end = Candidate(predicate="works_at", object=said.name, action=Action.END, changes=True, until=day, in_short=True)
    return (end,) if day else ()


def address(said: Said) -> Sequence[Candidate]:
    place = said.match["value"].strip(" .")
    since = said.clause.since
    street = Candidate(predicate="address", object=place, literal=True, single=True, changes=True, since=since)
    in_town = said.name and not re.search(r"\d", said.name)
    return (*(moved_to(said) if in_town else ()), street)


def drug(said: Said) -> Sequence[Candidate]:
    """A medication, its dose, and the one that it is taken instead of."""
    groups = said.match.groupdict()
    former = groups.get("former") or groups.get("spoilt")
    over = Candidate(predicate=MEDICATION, object=former, literal=True, action=Action.END, changes=True)
    taken = (*values(MEDICATION)(said), *dose(said))
    if course := said.course:
        return [replace(one, since=None, until=course) for one in taken]
    return (*((replace(over, until=said.clause.since),) if former else ()), *taken)


def drug_instead(said: Said) -> Sequence[Candidate]:
    """A medication in place of one that somebody is known to take."""
    return [replace(one, replaces=said.match["former"]) if one.action is Action.STATE else one for one in drug(said)]


def drug_over(said: Said) -> Sequence[Candidate]:
    return over_with(said, said.match["value"])


def over_with(said: Said, drug: str) -> Sequence[Candidate]:
    """The end of a medication, and of its dose; who stops for some days, or until a day, goes on with it.

    "I stopped it over the weekend" may mean either.
    """
    paused = said.clause.brief or said.clause.until or said.for_a_time or _UNMEANT.search(said.match.string)
    if paused or said.by_the_clock or _may_be_paused(said):
        return ()
    end = Candidate(predicate=MEDICATION, object=drug, action=Action.END, changes=True, until=said.clause.since)
    return (end, replace(end, predicate=dose_of(drug), object=None))


def _may_be_paused(said: Said) -> bool:
    """Whether the days that are named may be all: those over which somebody stopped, or in which they were off it."""
    span, clause = said.clause.span, said.match.string
    return (span.startswith("over ") or (span != "" and _IS_OFF.match(clause) is not None)) and not _ALL.search(clause)


_IS_OFF = lazy_compile(r"(?:i|we)(?:'ve| have|'m| am| was)(?: (?:been|also|now))* off\b", re.IGNORECASE)
_ALL = lazy_compile(r"\b(?:for good|altogether|completely|entirely|permanently|for ever|forever)\b", re.IGNORECASE)
_UNMEANT = lazy_compile(r"\bby (?:mistake|accident)\b", re.IGNORECASE)


def dose(said: Said) -> Sequence[Candidate]:
    groups = said.match.groupdict()
    amount = (groups.get("dose") or groups.get("amount") or "").strip() if len(said.values) == 1 else ""
    dosed = Candidate(predicate=dose_of(said.match["value"]), object=amount, literal=True, single=True, changes=True)
    return (replace(dosed, since=said.clause.since),) if amount else ()


def car_instead(said: Said) -> Sequence[Candidate]:
    """A new car in place of the one that is named first, if that is known to be one."""
    driven = names("drives", single=True, changes=True)(said)
    of_known_make = re.match(rf"(?:{CARS}|{MODELS})\b", said.name) and not _CYCLES.match(said.name)
    return driven if of_known_make else [replace(one, replaces=said.named("former") or "") for one in driven]


def car(said: Said) -> Sequence[Candidate]:
    """A car of a known make; one that is only for a time, for somebody else or beside another takes no place."""
    if said.for_a_time or _BESIDE.search(said.match.string):
        return ()
    named = said.match["car"]
    make = " ".join(one.upper() if len(one) < 4 and one != "kia" else one.capitalize() for one in named.split())
    name = make if named.islower() else named
    since = said.clause.since
    return (Candidate(predicate="drives", object=name, single=True, changes=said.changes, since=since),)


def car_bought(said: Said) -> Sequence[Candidate]:
    return [replace(one, changes=True) for one in car(said)]


def appointment(said: Said) -> Sequence[Candidate]:
    """The date of an appointment with a dentist and the like."""
    on = times.day_of(said.match["when"], said.at)
    if on is None or not _is_planned_for(on, said.at):
        return ()
    date = _date_of(f"{said.match['noun'].lower()}_appointment_date", on.date().isoformat())
    return (replace(date, nth=_MOVED.search(said.match[0]) is not None and times.is_nth(said.match["when"])),)


_MOVED = lazy_compile(r"\b(?:mov|postpon|reschedul|push|chang|delay)", re.IGNORECASE)


def weekly(said: Said) -> Sequence[Candidate]:
    """The days of the week on which somebody does something, or has it."""
    what = "_".join(said.match["what"].lower().split())
    days = [day.capitalize() for day in re.findall(times.DAY, said.match["days"], re.IGNORECASE)]
    listed = " and ".join((", ".join(days[:-1]), days[-1]) if days[1:] else days)
    return (Candidate(predicate=f"{what}_day", object=listed, literal=True, single=True, changes=said.changes),)


def weekly_now(said: Said) -> Sequence[Candidate]:
    """Other days than before."""
    return [replace(one, changes=True) for one in weekly(said)]


def weekly_over(said: Said) -> Sequence[Candidate]:
    """The end of what was done on some days of the week; of anything else, nothing is known."""
    what = "_".join(said.match["what"].lower().split())
    return (Candidate(predicate=f"{what}_day", object=None, action=Action.END, changes=True, until=said.clause.since),)


def joins(said: Said) -> Sequence[Candidate]:
    """A job that is to begin."""
    if said.clause.since and said.clause.since > said.at:
        return started_at(said)
    return (Candidate(predicate="plans", object=f"to work at {said.name}", literal=True),)


def starts_as(said: Said) -> Sequence[Candidate]:
    """A new job, and what as if that is said."""
    return (*started_at(said), *(titled(said) if said.match["value"] else ()))


def starts_at(said: Said) -> Sequence[Candidate]:
    """ "I start at Acme on 1 June"; without a day it may be a habit, such as the time of a shift."""
    return starts_as(said) if said.clause.since else ()


def works_from(said: Said) -> Sequence[Candidate]:
    """ "From September I'll teach at Acme School"; on a single day one may only be there."""
    to_come = said.clause.since is not None and said.clause.since > said.at
    return started_at(said) if to_come and said.clause.onward else ()


def titled(said: Said) -> Sequence[Candidate]:
    title = said.match["value"].lower()
    return (Candidate(predicate="job_title", object=title, literal=True, since=said.clause.since, changes=True),)


def freelance(said: Said) -> Sequence[Candidate]:
    """One's own employer: a job with another ends. One's own firm may be named."""
    when = said.clause.since
    end = Candidate(predicate="works_at", object=None, action=Action.END, changes=True, until=when)
    own = Candidate(predicate=EMPLOYMENT, object="self-employed", literal=True, single=True, since=when)
    named = said.match.groupdict().get("name")
    return (*([replace(one, changes=True) for one in works_at(said)] if named else [end]), own)


def freelance_as(said: Said) -> Sequence[Candidate]:
    """What somebody does in a business of their own."""
    return (*freelance(said), Candidate(predicate="job_title", object=said.match["value"].lower(), literal=True))


def studies_instead(said: Said) -> Sequence[Candidate]:
    """Another subject than before."""
    return [replace(one, single=True, changes=True) for one in values("studies")(said)]


def studied(said: Said) -> Sequence[Candidate]:
    subjects = values("studies")(said)
    at = names("studies_at", category="Organization", single=True)
    return (*subjects, *at(said)) if said.match["name"] else subjects


def ends_study(said: Said) -> Sequence[Candidate]:
    when = said.clause.since
    end = Candidate(predicate="studies", object=None, action=Action.END, changes=True, until=when)
    return (end, replace(end, predicate="studies_at"))


def favourite(said: Said) -> Sequence[Candidate]:
    what, value = "_".join(said.match["what"].lower().split()), said.match["value"].strip(" .'")
    return (Candidate(predicate=f"favourite_{what}", object=value, literal=True, single=True, changes=said.changes),)


def allergic(said: Said) -> Sequence[Candidate]:
    """What somebody is allergic to, and what not."""
    return (*_no_allergy(said), *values("allergy")(said))


def reacted(said: Said) -> Sequence[Candidate]:
    """What somebody's body did not take: an allergic reaction is one of an allergy."""
    predicate, drug = (
        ("allergy" if said.match["allergic"] else "intolerance"),
        said.match["value"] or said.match["drug"],
    )
    return (Candidate(predicate=predicate, object=drug.lower(), literal=True),)


def brings_hives(said: Said) -> Sequence[Candidate]:
    return [replace(one, object=str(one.object).lower()) for one in values("allergy")(said)]


def not_allergic(said: Said) -> Sequence[Candidate]:
    """What somebody is not allergic to, and to what instead."""
    return (*_no_allergy(said), *(values("allergy")(said) if said.match["value"] else ()))


def outgrown(said: Said) -> Sequence[Candidate]:
    return (_over(said.match["former"] or said.match["other"]),)


def only_intolerant(said: Said) -> Sequence[Candidate]:
    food = said.match["former"] or said.match["other"]
    return intolerant(Candidate(predicate="allergy", object=food, literal=True))


def intolerant(allergy: Candidate) -> Sequence[Candidate]:
    """An allergy that turned out to be an intolerance."""
    ended = replace(allergy, action=Action.END, changes=True, since=None, until=None)
    return (ended, replace(ended, predicate="intolerance", action=Action.STATE))


def _no_allergy(said: Said) -> Sequence[Candidate]:
    former = said.match["former"]
    return (_over(former),) if former else ()


def _over(food: str) -> Candidate:
    return Candidate(predicate="allergy", object=food, literal=True, action=Action.END, changes=True, in_short=True)


def moving(said: Said) -> Sequence[Candidate]:
    """A move that is to come holds from its date; without one it is a plan."""
    when = said.match.groupdict().get("when")
    if when and (day := times.day_of(when, said.at)):
        return [replace(one, since=day) for one in moved_to(said)]
    if said.clause.since and said.clause.since > said.at:
        return moved_to(said)
    return (_to_move(said),)


def not_moving(said: Said) -> Sequence[Candidate]:
    """The end of a plan to move, and of the home from the day of the move on."""
    home = Candidate(predicate="lives_in", object=said.name, action=Action.END, changes=True)
    return (replace(_to_move(said), action=Action.END, changes=True), home)


def _to_move(said: Said) -> Candidate:
    return Candidate(predicate="plans", object=f"to move to {said.name}", literal=True)


def occupied(said: Said) -> Sequence[Candidate]:
    if said.for_a_time:
        return ()
    groups = said.match.groupdict()
    title = (groups["value"] or groups["title"]).lower()
    since, changes = said.clause.since, said.changes
    job = Candidate(predicate="job_title", object=title, literal=True, since=since, changes=changes)
    if not groups["name"]:
        return (job,)
    return (job, *(works_in if groups.get("link") == "in" else works_at)(said))


def newly_occupied(said: Said) -> Sequence[Candidate]:
    """A job that is new, and no business of one's own."""
    hired = re.search(r"\b(?:freelance|self-employed|own)", said.match.string, re.IGNORECASE) is None
    return tuple(replace(one, changes=True, hired=hired) for one in occupied(said))


def diet(said: Said) -> Sequence[Candidate]:
    """How somebody eats, unless it is for a month or so: that is over when nobody says it."""
    if said.for_a_time:
        return ()
    value = said.match["value"].lower()
    since, until = said.clause.since, said.clause.until
    return (Candidate(predicate="diet_plan", object=value, literal=True, changes=True, since=since, until=until),)


def eats(said: Said) -> Sequence[Candidate]:
    """The ends of the diets that do not allow what somebody eats again; who eats everything follows none."""
    foods = re.findall("meat|fish", said.match[0].lower())
    over = dict.fromkeys(diet for food in foods for diet in RULED_OUT[food])
    end = Candidate(predicate="diet_plan", object=None, action=Action.END, changes=True, until=said.clause.since)
    return tuple(replace(end, object=one, literal=True) for one in over) or (end,)


def petless(said: Said) -> Sequence[Candidate]:
    """The end of every animal of a kind."""
    kind = said.match["who"].lower()
    return (
        Candidate(
            predicate=RELATIONS.get(kind, kind), object=None, action=Action.END, changes=True, until=said.clause.since
        ),
    )


def related(said: Said) -> Sequence[Candidate]:
    """Somebody and their name. A date is that of the tie only if the clause says nothing else."""
    since = said.clause.since if said.match.end() == len(said.match.string) else None
    tie = replace(_tie(said.match["who"], said.named("other") or ""), changes=said.changes, since=since)
    firm = said.match.groupdict().get("firm")
    if firm and tie.predicate in SUPERIORS:
        return (Candidate(predicate="works_at", object=firm, category="Organization"), tie)
    return (tie,)


def several(said: Said) -> Sequence[Candidate]:
    """Those of one kind who are named together, with or without their age."""
    predicate = PLURALS[said.match["several"].lower()]
    category = "Animal" if re.fullmatch(PETS, predicate) else PERSON
    each = re.split(r",? (?:and|&) |, ", re.sub(r", \d{1,2}(?!\d)", "", said.match["all"]))
    return tuple(Candidate(predicate=predicate, object=one, category=category, literal=False) for one in each)


def kin_beside(clause: str) -> Sequence[Candidate]:
    """Whom a clause names beside what it says, of relatives, partners, friends and pets: "back with my brother Luis"."""
    found = _KIN_BESIDE.finditer(clause)
    told = (one for one in found if not (one[0].startswith("and") and GIVES.search(clause[: one.start()])))
    ties = (_tie(one["who"], one["other"]) for one in told)
    return [one for one in ties if one.category == "Animal" or one.predicate in _CLOSE]


_CLOSE = frozenset([*KIN_WORDS.split(), *COUPLE, "friend_of"])
# Behind a comma, a name that more follow may be somebody else's: "with my sister, Sophia and Tom".
_KIN_BESIDE = form(
    r"(?:\b(?:with|from|to|than|and|for|of|about|by|at|visit(?:ing|ed)?|see|saw|seen|seeing|call|called|calling|rang|met|meet|meeting"
    r"|help(?:ing|ed)?|bring(?:ing)?|brought|take|taking|took) |(?P<acts>^|(?<=[,;:] )|\b(?:but|so|that|because|when|while|since|after|before) ))(?:my|our){SORT} {ONE}(?P<comma>,)? {OTHER}"
    r"(?(comma)(?=$|[.!?;)]|, (?!and\b|or\b|&)(?-i:[a-z]))"
    rf"|(?(acts)(?='s\b(?! (?-i:[A-Z]))| from (?-i:[a-z])| (?:has|had|is|was|will|can|just|also|always|{VERBS})\b)|(?=$|[,.!?;)]|'s\b(?! (?-i:[A-Z]))| (?-i:[a-z]))))"
)


def in_role(word: str, said: Said) -> Candidate:
    """Who has a role now."""
    return replace(_tie(word, said.named("other") or ""), changes=True, since=said.clause.since)


def takes_over(said: Said) -> Sequence[Candidate]:
    """Who has a role now, or from a day that is to come."""
    return (in_role(said.match["role"].lower(), said),)


def succeeds(said: Said) -> Sequence[Candidate]:
    """Who has the job of one's boss, if one had that name: of anybody else's job, nothing is known."""
    return [replace(in_role(one, said), replaces=said.named("former") or "") for one in SUPERIORS]


def _tie(word: str, name: str) -> Candidate:
    word = word.lower()
    return Candidate(
        predicate=RELATIONS.get(word, word),
        object=name,
        category="Animal" if re.fullmatch(PETS, word) else PERSON,
        single=re.fullmatch(ONE_OF, word) is not None,
        literal=False,
        relation=word if word in MORE_THAN_ITS_PREDICATE else "",
    )


def trip(said: Said) -> Sequence[Candidate]:
    """The next trip, or one of several. Its date is not that since which it is planned; afterwards it is over."""
    until = said.clause.until or said.clause.over
    until = until if until and until > said.at else None
    date = (_date_of_trip(said.name, said.clause.stamp, until),) if until and said.clause.since else ()
    if _NEXT.search(said.match.string):
        return (replace(_next_trip(said.name), until=until), *date)
    return date or (_trip_to(said.name, until),)


def travels(said: Said) -> Sequence[Candidate]:
    """A trip on a day that is to come: who goes to a place this week may only run an errand."""
    since, flies = said.clause.since, re.search(r"\bfl(?:y|ying)\b", said.match[0], re.IGNORECASE)
    soon = timedelta() if flies else _ERRAND
    if since is None or not soon < since - said.at <= _PLANNED_FOR or said.name.endswith("'s"):
        return ()
    return (_date_of_trip(said.name, said.clause.stamp, said.clause.until or said.clause.over),)


def booked(said: Said) -> Sequence[Candidate]:
    """A trip for which something is booked, such as a flight, or of which only the day is said."""
    rest = said.match.string[said.match.start("when") :]
    period = times.RANGE_OF_DAYS.match(rest)
    on = day_of_trip(period[0] if period else said.match["when"], said.at)
    return (_date_of_trip(said.name, on.stamp, on.until or on.over),) if on else ()


def trip_instead(said: Said) -> Sequence[Candidate]:
    """A trip in place of one to another place, if that is planned."""
    former = said.named("former") or ""
    there = (replace(one, replaces=former) for one in (_next_trip(said.name), _trip_to(said.name, None)))
    return (*there, replace(_next_trip(former), action=Action.END))


def trip_moved(said: Said) -> Sequence[Candidate]:
    """Another date of a trip, if one to this place is planned."""
    on, nth = day_of_trip(said.match["when"], said.at), times.is_nth(said.match["when"])
    whither = said.name.removesuffix("'s")
    return [replace(one, planned=True, nth=nth) for one in another_date(whither, on)] if on else ()


def trip_again(said: Said) -> Sequence[Candidate]:
    """The date of a trip that was called off and is planned again."""
    return [replace(one, again=True) for one in trip_moved(said)]


def another_date(place: str, on: times.Dated) -> Sequence[Candidate]:
    """The new date of a trip, until which it is planned."""
    until = on.until or on.over
    lasting = (replace(one, until=until, replaces=place) for one in (_next_trip(place), _trip_to(place, None)))
    return (*lasting, _date_of_trip(place, on.stamp, until))


def day_of_trip(when: str, at: datetime) -> times.Dated | None:
    """When a trip is planned for; None if that is not in the future."""
    on = times.dated(f"on {when}", at, future=True)
    return on if on.since and _is_planned_for(on.since, at) else None


def _is_planned_for(day: datetime, at: datetime) -> bool:
    """Whether a day is one to come for which something may be planned."""
    return timedelta() <= day.date() - at.date() <= _PLANNED_FOR


def _next_trip(place: str | None) -> Candidate:
    return Candidate(predicate=NEXT_TRIP, object=place, category=LOCATION, single=True, changes=True)


def _trip_to(place: str, until: datetime | None) -> Candidate:
    return Candidate(predicate=TRIP_TO, object=place, category=LOCATION, until=until)


def _date_of_trip(place: str, day: str, until: datetime | None) -> Candidate:
    return replace(_date_of(trip_date_of(place), day), until=until, trip=place)


def _date_of(predicate: str, day: str) -> Candidate:
    return Candidate(predicate=predicate, object=day, literal=True, single=True, changes=True)


def trip_over(said: Said) -> Sequence[Candidate]:
    """The end of a trip that was planned and is cancelled or over; of anything else with this name, nothing is known."""
    groups = said.match.groupdict()
    place = said.named("name") or groups.get("value") or groups.get("other")
    return (replace(_next_trip(place), action=Action.END, single=False),)


def planned(said: Said) -> Sequence[Candidate]:
    return (Candidate(predicate="plans", object=f"to {said.match['value'].strip(' .')}", literal=True),)


def likes(said: Said) -> Sequence[Candidate]:
    """What somebody likes, which ends that he disliked it, and the other way round."""
    verb, value = said.match["verb"].lower(), said.match["value"].strip(" .")
    if verb == "prefer":
        return (Candidate(predicate="prefers", object=value, literal=True),)
    liked = verb in ("like", "love", "enjoy", "adore") and not said.match["not"]
    if said.match["not"] and verb not in ("like", "love", "enjoy"):
        return ()
    now, before = ("likes", "dislikes") if liked else ("dislikes", "likes")
    end = Candidate(predicate=before, object=value, literal=True, action=Action.END, changes=True)
    return (Candidate(predicate=now, object=value, literal=True), end)


def no_longer(said: Said) -> Sequence[Candidate]:
    value = said.match["value"].strip(" .")
    return (Candidate(predicate="likes", object=value, literal=True, action=Action.END, changes=True),)


def called(said: Said) -> Sequence[Candidate]:
    return (Candidate(predicate="preferred_name", object=said.name, action=Action.PROPOSE),)


def named_so(said: Said) -> Sequence[Candidate]:
    """What the author is called, by which questions may name them."""
    return (Candidate(predicate="called", object=said.named("other"), literal=True, action=Action.CALL),)


def born(said: Said) -> Sequence[Candidate]:
    day = times.day_and_month(said.match["value"], said.at)
    return (Candidate(predicate="birthday", object=day, literal=True),) if day else ()


def age(said: Said) -> Sequence[Candidate]:
    return (Candidate(predicate="age", object=said.match["value"], literal=True, changes=True),)


def due(said: Said) -> Sequence[Candidate]:
    """The day on which a child is to be born."""
    day = times.day_of(said.match["when"], said.at)
    if day is None or not _is_planned_for(day, said.at):
        return ()
    pregnancy = replace(pregnant(said)[0], until=day)
    return (_date_of("due_date", day.date().isoformat()), *([pregnancy] if "pregnant" in said.match[0].lower() else []))


def event_moved(said: Said) -> Sequence[Candidate]:
    """Another date of something that is planned, by this name or by a longer one: `the exam` may be the stats exam.

    With the flight moves the trip, if only one is planned.
    """
    nth = times.is_nth(said.match["when"])
    moved = [replace(one, planned=True, nth=nth) for one in event(said)]
    on = day_of_trip(said.match["when"], said.at)
    if on and len(moved) == 1 and said.match["noun"].lower() == "flight":
        until = on.until or on.over
        return (replace(moved[0], predicate=TRIP_DATE, object=on.stamp, until=until), *moved)
    return moved


def event(said: Said) -> Sequence[Candidate]:
    """The date of something that is planned, such as a wedding or a trip to a place."""
    day = times.day_of(said.match["when"], said.at)
    if day and day.year == said.at.year and said.match.string[said.match.end() :].startswith(" next year"):
        day = times.moved(day, 1, "year")
    if day is None or not _is_planned_for(day, said.at):
        return ()
    kind = said.match.groupdict().get("kind") if said.match["noun"].lower() in _OF_A_KIND else None
    noun = "_".join([*([kind.lower()] if kind else []), *said.match["noun"].lower().split()])
    place = said.named("place") or said.named("name")
    if place and noun in TRIPS and (on := day_of_trip(said.match["when"], said.at)):
        return another_date(place, on)
    if place and noun == "flight" and (on := day_of_trip(said.match["when"], said.at)):
        flight = _date_of("flight_date", day.date().isoformat())
        return (*(replace(one, planned=True) for one in another_date(place, on)), flight)
    return (_date_of(noun if noun.endswith("_date") else f"{noun}_date", day.date().isoformat()),)
