"""What a clause says about others in its author's life: moves, jobs, deaths, separations, and who somebody is now."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from mnemolog.domain.entity import ME, PERSON
from mnemolog.domain.extraction import times
from mnemolog.domain.extraction.candidate import Action, Candidate
from mnemolog.domain.extraction.rule import Make, Said
from mnemolog.domain.extraction.vocabulary import (
    AGES,
    COUPLE,
    KIN_OF_KIN,
    KIN_WORDS,
    MORE_THAN_ITS_PREDICATE,
    ONE_OF,
    PARENTS,
    PETS,
    RELATIONS,
    TRIPS,
)
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.predicates import MEDICATION, NEXT_TRIP

ANIMAL = "Animal"
_NEWBORN = timedelta(days=62)
_BORN = ("", "son", "daughter", "parent_of", "nephew", "niece", "grandson", "granddaughter", "cousin")
_CHILD = 12
PREGNANCY = "pregnancy"
_A_PREGNANCY = timedelta(weeks=40)
_SOON_BORN = timedelta(weeks=2)
IN_PRACTICE = ("doctor", "dentist", "therapist")
AT_WORK = ("boss", "manager", "supervisor", "colleague")


@dataclass(frozen=True, slots=True)
class Who:
    """Whom a clause is about: by a name, by a relation to the author or to an `owner`, or by both."""

    predicate: str
    name: str | None
    single: bool
    category: str
    owner: str | None = None
    relation: str = ""
    kin: str = ""
    kin_of: "Who | None" = None

    @classmethod
    def of(cls, said: Said) -> "Who":
        groups = said.match.groupdict()
        word = groups.get("role") or groups.get("theirs") or groups.get("pet") or groups.get("kin") or ""
        name, owner = said.named("person") or said.named("alone") or said.named("named"), said.named("owner")
        kin_of = cls._by(groups["kin_of"], owner) if groups.get("kin_of") else None
        return replace(cls._by(word, name), owner=owner, kin_of=kin_of)

    @classmethod
    def _by(cls, word: str, name: str | None) -> "Who":
        word = word.lower()
        category = ANIMAL if re.fullmatch(PETS, word) else PERSON
        predicate, single = RELATIONS.get(word, word), re.fullmatch(ONE_OF, word) is not None
        kin = word if predicate.endswith(("_of", "_to")) else ""
        return cls(predicate, name, single, category, relation=_telling(word), kin=kin)

    def told(self, **fields: object) -> Candidate:
        """A candidate about them, who have to be known unless their relation is said as well."""
        if self.name is None:
            return Candidate(subject=ME, via=self.predicate, kin=self.kin, **fields)  # type: ignore[arg-type]
        return Candidate(subject=self.name, known=not self.predicate, **fields)  # type: ignore[arg-type]

    @property
    def tie(self) -> Sequence[Candidate]:
        """That the one with this name has this relation to the author, or to an owner who is known."""
        if not self.predicate or self.name is None:
            return ()
        told = {
            "predicate": self.predicate,
            "object": self.name,
            "category": self.category,
            "single": self.single,
            "literal": False,
            "relation": self.relation,
        }
        if self.kin_of is None:
            return (Candidate(**told, subject=self.owner or ME, known=self.owner is not None),)  # type: ignore[arg-type]
        mine = _kin_of_kin(self.kin_of, self.relation or self.predicate, self.name)
        return (*self.kin_of.tie, self.kin_of.told(**told), *mine)


def _telling(word: str) -> str:
    return word if word in MORE_THAN_ITS_PREDICATE else ""


def their_relative(said: Said) -> Sequence[Candidate]:
    """Who somebody's relative is: "Felix and his girlfriend Lena", "my sister's husband is Jonas"."""
    who, word = Who.of(said), said.match["whose"].lower()
    single = re.fullmatch(ONE_OF, word) is not None
    tie = {"predicate": RELATIONS.get(word, word), "object": said.named("other"), "literal": False, "single": single}
    category = ANIMAL if re.fullmatch(PETS, word) else PERSON
    told = who.told(category=category, changes=said.changes, relation=_telling(word), **tie)
    return (*who.tie, told, *_kin_of_kin(who, word, said.named("other") or ""))


def _kin_of_kin(who: Who, word: str, name: str) -> Sequence[Candidate]:
    """What the relative of a relative is to the author: "my brother's wife Eva" is a sister-in-law."""
    plain = RELATIONS.get(word, word)
    of = KIN_OF_KIN.get(who.predicate, {}).get(word if plain in COUPLE else plain)
    return (Candidate(predicate=of, object=name, category=PERSON, literal=False),) if of else ()


def renamed(said: Said) -> Sequence[Candidate]:
    """Another name of somebody who is known: "my brother Chris goes by Kit now"."""
    who, name = Who.of(said), said.named("other")
    return (*who.tie, who.told(predicate="called", object=name, literal=True, changes=True, action=Action.CALL))


def surname_changed(said: Said) -> Sequence[Candidate]:
    """ "Emma Bell is Emma Stone now": of one first name."""
    first, *_ = (said.named("alone") or "").split()
    name = (said.named("other") or "").split()
    return renamed(said)[-1:] if len(name) > 1 and name[0] == first else ()


def they_are_engaged(said: Said) -> Sequence[Candidate]:
    who, to = Who.of(said), {"object": said.named("other"), "category": PERSON, "literal": False, "single": True}
    return (*who.tie, who.told(predicate="engaged_to", since=said.clause.since, changes=True, **to))


def _states(predicate: str, category: str, *, changes: bool) -> Make:
    def make(said: Said) -> Sequence[Candidate]:
        if said.for_a_time:
            return ()
        who, clause = Who.of(said), said.clause
        stated = {"object": said.name, "category": category, "changes": changes or said.changes}
        return (*who.tie, who.told(predicate=predicate, since=clause.since, until=clause.until, **stated))

    return make


def ends_for(predicate: str) -> Make:
    """The end of what is named, or of whatever holds if nothing is."""

    def make(said: Said) -> Sequence[Candidate]:
        if said.by_the_clock or said.for_a_time:
            return ()
        who, when = Who.of(said), said.clause.until or said.clause.since
        end = {"object": said.named("name"), "action": Action.END, "changes": True, "until": when}
        return (*who.tie, who.told(predicate=predicate, **end))

    return make


def they_moved_out(said: Said) -> Sequence[Candidate]:
    """Nobody who moved out lives with the author, as flatmates do."""
    gone, who = ends_for("lives_with")(said), Who.of(said)
    if not gone or who.name is None or who.predicate not in ("", "roommate"):
        return gone
    flatmate = Candidate(predicate="roommate", object=who.name, category=PERSON, action=Action.END, changes=True)
    return (gone[-1], replace(flatmate, until=gone[-1].until))


they_live_in = _states("lives_in", "Location", changes=False)
_they_live_now_in = _states("lives_in", "Location", changes=True)
they_work_at = _states("works_at", "Organization", changes=False)
_they_go_to = _states("studies_at", "Organization", changes=False)
_they_go_now_to = _states("studies_at", "Organization", changes=True)
_they_work_now_at = _states("works_at", "Organization", changes=True)
_SCHOOL = lazy_compile(
    r"\b(?i:School|Primary|Nursery|Academy|College|Kindergarten|Preschool|Sixth Form|Uni|University|Grammar)\b|\bHigh$"
)


def they_moved_to(said: Said) -> Sequence[Candidate]:
    """Somebody's new home, or a new school."""
    return they_attend(said) if _SCHOOL.search(said.name) else _they_live_now_in(said)


def they_started_at(said: Said) -> Sequence[Candidate]:
    """Somebody's new job; who starts at a school learns there, unless it is said to be a job."""
    found = _they_work_now_at(said)
    if _SCHOOL.search(said.name) and not re.search(r"\b(?:job|work|working|teach|teaching)\b", said.match.string):
        return [replace(one, predicate="studies_at") if one.predicate == "works_at" else one for one in found]
    return found


def they_attend(said: Said) -> Sequence[Candidate]:
    """The school of somebody: one that is called so, or where they are in a form or a grade."""
    before = said.match.string[: said.match.start("name")]
    formed = re.search(r"\b(?:year|form|grade|class|primary|reception|kindergarten|standard)\b", before, re.I)
    if not (_SCHOOL.search(said.name) or formed) or _NO_PUPIL.search(said.match.string):
        return ()
    if _GROWN_UP.match(said.match["role"] or "") and not formed and " at " in said.match[0]:
        return ()
    found = _they_go_now_to(said) if said.changes or _MOVED_SCHOOL.search(said.match[0]) else _they_go_to(said)
    return [replace(one, single=True) if one.predicate == "studies_at" else one for one in found]


# Who comes for a lesson or is ill, and who may work at a school.
_NO_PUPIL = lazy_compile(rf"\b(?:Hospital|(?:on|every|each) (?:{times.DAY})s?|as an? \w+)\b", re.IGNORECASE)
_GROWN_UP = lazy_compile(
    rf"(?:{PARENTS}|mother|father|wife|husband|partner|aunt|uncle|grand(?:mother|father))$", re.IGNORECASE
)
_MOVED_SCHOOL = lazy_compile(r"\b(?:start|mov|switch|transferr)\w*\b", re.IGNORECASE)


def they_work_as(said: Said) -> Sequence[Candidate]:
    """The occupation of somebody, and the employer or the place."""
    if said.for_a_time:
        return ()
    who, told = Who.of(said), {"since": said.clause.since, "changes": said.changes}
    found = [who.told(predicate="job_title", object=said.match["value"].lower(), literal=True, **told)]
    if said.match["name"]:
        inside = said.match["link"].lower() == "in"
        predicate, category = ("works_in", "Location") if inside else ("works_at", "Organization")
        found.append(who.told(predicate=predicate, object=said.name, category=category, single=True, **told))
    return (*who.tie, *found)


def they_live_with_me(said: Said) -> Sequence[Candidate]:
    who = Who.of(said)
    together = {"object": ME, "category": PERSON, "literal": False, "single": True, "changes": said.changes}
    return (*who.tie, who.told(predicate="lives_with", since=said.clause.since, **together))


def they_moved_in_with_me(said: Said) -> Sequence[Candidate]:
    return (*ends_for("lives_in")(said), *they_live_with_me(said)[-1:]) if not said.for_a_time else ()


def they_move_in_with_me(said: Said) -> Sequence[Candidate]:
    """From a day that is to come; without one it is no more than an intention."""
    to_come = said.clause.since is not None and said.clause.since > said.at
    return they_moved_in_with_me(said) if to_come else ()


def they_move(said: Said) -> Sequence[Candidate]:
    """The home of one or two people from a day that is to come; without one it is a plan. They may just have married."""
    who, other = Who.of(said), said.named("other")
    movers = [who.told, replace(who, predicate="", name=other).told] if other else [who.told]
    since = said.clause.since
    if since and since > said.at:
        to = {"predicate": "lives_in", "object": said.name, "category": "Location", "changes": True, "since": since}
    else:
        to = {"predicate": "plans", "object": f"to move to {said.name}", "literal": True}
    wed = they_married(said) if said.match.groupdict().get("wed") and other else who.tie
    return (*(replace(one, since=None) for one in wed), *(told(**to) for told in movers))


def they_have(predicate: str) -> Make:
    """A fact about somebody else for each value that is enumerated."""

    def make(said: Said) -> Sequence[Candidate]:
        who = Who.of(said)
        told = {"predicate": predicate, "literal": True, "until": said.course if predicate == MEDICATION else None}
        told["since"] = said.clause.since if said.match.groupdict().get("degree") is not None else None
        return (*who.tie, *(who.told(object=one, **told) for one in said.values))

    return make


def they_reacted(said: Said) -> Sequence[Candidate]:
    who, drug = Who.of(said), said.match["value"] or said.match["drug"]
    predicate = "allergy" if said.match["allergic"] else "intolerance"
    return (*who.tie, who.told(predicate=predicate, object=drug.lower(), literal=True))


def _due(said: Said) -> datetime:
    """When a pregnancy is over: when the child is said to be due, or else 40 weeks after it began."""
    day, groups = said.clause.until or said.clause.since, said.match.groupdict()
    if day and re.search(r"\bdue\b", said.match.string, re.IGNORECASE):
        day = day if day > said.at else times.moved(day, 1, "year")
        return times.moved(day, 1, "month") if day.day == 1 else day  # "In April" may be its last day.
    begun = times.shifted(said.at, f"{groups['count']} {groups['unit']}s", -1) if groups.get("count") else None
    return max((begun or said.at) + _A_PREGNANCY, said.at + _SOON_BORN)


def pregnant(said: Said) -> Sequence[Candidate]:
    """A condition that does not outlast its time, even if nobody tells of a birth."""
    return (Candidate(predicate="condition", object=PREGNANCY, literal=True, changes=True, until=_due(said)),)


def pregnant_until(pregnancy: Candidate, said: Said) -> Candidate:
    """A pregnancy with when it is over, which was said behind it."""
    return replace(pregnancy, until=_due(said), since=None)


def no_longer_pregnant(said: Said) -> Sequence[Candidate]:
    over = Candidate(predicate="condition", object=PREGNANCY, literal=True, action=Action.END, changes=True)
    return (replace(over, until=said.clause.since),)


def they_are_pregnant(said: Said) -> Sequence[Candidate]:
    who, condition = Who.of(said), {"predicate": "condition", "object": PREGNANCY, "literal": True}
    return (*who.tie, who.told(**condition, changes=True, until=_due(said)))


def they_are_no_longer_pregnant(said: Said) -> Sequence[Candidate]:
    who, condition = Who.of(said), {"predicate": "condition", "object": PREGNANCY, "literal": True}
    return (*who.tie, who.told(**condition, action=Action.END, changes=True, until=said.clause.since))


def they_eat(said: Said) -> Sequence[Candidate]:
    who, clause = Who.of(said), said.clause
    diet = {"object": said.match["value"].lower(), "literal": True, "single": True, "changes": True}
    return (*who.tie, who.told(predicate="diet_plan", since=clause.since, until=clause.until, **diet))


def they_outgrew(said: Said) -> Sequence[Candidate]:
    who, groups = Who.of(said), said.match.groupdict()
    food = groups.get("former") or groups.get("other_food")
    end = {"predicate": "allergy", "object": food, "literal": True, "action": Action.END, "changes": True}
    over = who.told(in_short=True, **end)
    return (*who.tie, over)


def they_no_longer_have(predicate: str) -> Make:
    """The end of what is named, unless it is only for some days."""

    def make(said: Said) -> Sequence[Candidate]:
        if said.clause.brief or said.clause.until or said.for_a_time:
            return ()
        who, over = Who.of(said), {"literal": True, "action": Action.END, "changes": True}
        return (*who.tie, who.told(predicate=predicate, object=said.match["value"], until=said.clause.since, **over))

    return make


def they_take_instead(said: Said) -> Sequence[Candidate]:
    """The end of a medication of somebody, if it is named, and what they take in its place."""
    who, now, former = Who.of(said), they_have(MEDICATION)(said), said.match["former"]
    if not former:
        return now
    over = {"literal": True, "action": Action.END, "changes": True}
    ended = who.told(predicate=MEDICATION, object=former, until=said.clause.since, **over)
    return (*who.tie, ended, *now[len(who.tie) :])


def left_the_company(said: Said) -> Sequence[Candidate]:
    """Who no longer is a boss or a colleague; of anybody else, nothing is known."""
    left = Candidate(predicate="", object=said.named("alone"), action=Action.END, changes=True, literal=False)
    return tuple(replace(left, predicate=one, until=said.clause.since) for one in AT_WORK)


def left_the_practice(said: Said) -> Sequence[Candidate]:
    """Who no longer is a doctor, a dentist or a therapist of the author."""
    left = Candidate(predicate="", object=said.named("alone"), action=Action.END, changes=True, literal=False)
    return tuple(replace(left, predicate=one, until=said.clause.since) for one in IN_PRACTICE)


def died(said: Said) -> Sequence[Candidate]:
    """A death, with its date as exactly as it was said."""
    who, clause = Who.of(said), said.clause
    if clause.since and clause.since > said.at:
        return ()
    value = clause.stamp or f"by {said.at.date().isoformat()}"
    death = who.told(predicate="died", object=value, literal=True, single=True, changes=True, since=clause.since)
    kin = who.predicate in KIN_WORDS.split()
    return (*(who.tie if kin else ()), death if kin else replace(death, known=not death.via))


def lost(said: Said) -> Sequence[Candidate]:
    """A death told softly: "we lost Dad last night". Whom one lost for some days was found again."""
    if said.clause.brief or said.for_a_time:
        return ()
    groups = said.match.groupdict()
    if not groups["dear"]:
        return died(said)
    word = (groups["elder"] or groups["dear"]).lower()
    word = "aunt" if word.startswith("aunt") else word
    name = said.named("named")
    who = Who(RELATIONS.get(word, word), name, re.fullmatch(ONE_OF, word) is not None, PERSON)
    value = said.clause.stamp or f"by {said.at.date().isoformat()}"
    death = {"object": value, "literal": True, "single": True, "changes": True, "since": said.clause.since}
    return (*who.tie, who.told(predicate="died", **death))


def given_away(said: Said) -> Sequence[Candidate]:
    """The end of an animal's being one's own: "we had to give Rex up", "I rehomed the cat"."""
    if said.for_a_time or said.clause.brief:
        return ()
    kind = (said.match["pet"] or "").lower()
    name = said.named("called") or said.named("animal")
    kinds = (RELATIONS.get(kind, kind),) if kind else ("dog", "cat")
    end = Candidate(predicate="", object=name, action=Action.END, changes=True, literal=False)
    return tuple(replace(end, predicate=one, until=said.clause.since) for one in kinds)


def they_are_aged(said: Said) -> Sequence[Candidate]:
    """The age of somebody else, from the day on which they turned it."""
    who, value = Who.of(said), said.match["value"].lower()
    told = {"object": str(AGES.get(value, value)), "literal": True, "single": True, "changes": True}
    return (*who.tie, who.told(predicate="age", since=said.clause.since, **told))


def they_turned(said: Said) -> Sequence[Candidate]:
    """The age that somebody reached on a day of the last year: "she was 75 in February"."""
    since = said.clause.since
    recent = since is not None and timedelta() <= said.at - since <= _YEAR and not said.clause.counted
    return they_are_aged(said) if recent else ()


_YEAR = timedelta(days=366)


def child_aged(said: Said) -> Sequence[Candidate]:
    """A child of the author's, called a boy or a girl: "my boy Max is four". An older girl may be a girlfriend."""
    value, name = said.match["value"].lower(), said.named("other")
    years = str(AGES.get(value, value))
    if int(years) > _CHILD:
        return ()
    word = "son" if said.match["child"].lower() == "boy" else "daughter"
    who = Who(word, name, single=False, category=PERSON)
    told = {"object": years, "literal": True, "single": True, "changes": True, "since": said.clause.since}
    return (*who.tie, who.told(predicate="age", **told))


def newborn(said: Said) -> Sequence[Candidate]:
    """The birthday of somebody who was born in the weeks before, and so need not be known."""
    who, day = Who.of(said), times.point(said.match["value"], said.at)
    if who.name is None or day is None or not timedelta() <= said.at - day <= _NEWBORN:
        return ()
    if who.predicate not in _BORN and who.category != ANIMAL:
        return they_were_born(said)  # In another year.
    on = f"{day.day} {day:%B %Y}"
    return (*who.tie, Candidate(subject=who.name, predicate="birthday", object=on, literal=True))


def they_were_born(said: Said) -> Sequence[Candidate]:
    """The birthday of somebody else."""
    who, day = Who.of(said), times.day_and_month(said.match["value"], said.at)
    return (*who.tie, who.told(predicate="birthday", object=day, literal=True)) if day else ()


def parted(said: Said) -> Sequence[Candidate]:
    """The end of a relationship: with whom is said by a name, by a word such as `husband`, or not at all."""
    who = Who.of(said)
    name = who.name or said.named("other")
    if who.predicate and who.predicate not in COUPLE:
        return ()
    over = (who.predicate,) if who.predicate in ("married_to", "engaged_to") else COUPLE
    when = said.clause.since
    return tuple(
        Candidate(predicate=one, object=name, action=Action.END, changes=True, until=when, literal=False)
        for one in over
    )


def they_parted(said: Said) -> Sequence[Candidate]:
    """The end of a relationship of two others, whichever of them it was told of."""
    who, other = Who.of(said), said.named("other")
    end = {"action": Action.END, "changes": True, "until": said.clause.since, "literal": False}
    theirs = [who.told(predicate=one, object=other, **end) for one in COUPLE]
    if other is None or who.name is None:
        return (*who.tie, *theirs)
    return (
        *who.tie,
        *(each for one in theirs for each in (one, replace(one, subject=other, known=True, object=who.name))),
    )


def they_are_seeing(said: Said) -> Sequence[Candidate]:
    """A new partner of somebody, whoever was it before, and nobody whom they only meet."""
    if said.on_an_occasion:
        return ()
    who = Who.of(said)
    partner = {"object": said.named("other"), "category": PERSON, "literal": False, "changes": True}
    return (*who.tie, who.told(predicate="partner_of", since=said.clause.since, **partner))


def they_married(said: Said) -> Sequence[Candidate]:
    who = Who.of(said)
    wedding = {"object": said.named("other"), "category": PERSON, "literal": False, "changes": True}
    return (*who.tie, who.told(predicate="married_to", since=said.clause.since, **wedding))


def no_longer_is(said: Said) -> Sequence[Candidate]:
    """Who no longer has a relation to the author, and who has it now, if that is said."""
    word = said.match["role"].lower()
    predicate, single = RELATIONS.get(word, word), re.fullmatch(ONE_OF, word) is not None
    who = Candidate(
        predicate=predicate,
        object=said.named("alone"),
        changes=True,
        single=single,
        literal=False,
        relation=_telling(word),
    )
    over = replace(who, action=Action.END, until=said.clause.since)
    if (now := said.named("other")) is None:
        return (over,)
    return (over, replace(who, object=now, category=PERSON, since=said.clause.since))


def cancelled(said: Said) -> Sequence[Candidate]:
    """The end of a date that was planned, and of the trip."""
    noun = "_".join(said.match["noun"].lower().split())
    off = Candidate(predicate=f"{noun}_date", object=None, action=Action.END, changes=True, single=True)
    trip = replace(off, predicate=NEXT_TRIP, object=said.named("place") or said.named("name"))
    if noun not in TRIPS:
        return (off,)
    return (trip,) if trip.object else (off, trip)


def wed(said: Said) -> Sequence[Candidate]:
    """The date of a wedding, and to whom one is married since, if that is said."""
    clause, name = said.clause, said.named("other")
    if clause.since is None:
        return ()
    date = {"predicate": "wedding_date", "object": clause.stamp, "literal": True, "single": True, "changes": True}
    married = Candidate(predicate="married_to", object=name, category=PERSON, changes=True, since=clause.since)
    return (*((married,) if name and clause.since <= said.at else _to_partner(said)), Candidate(**date))  # type: ignore[arg-type]


def wed_to_partner(said: Said) -> Sequence[Candidate]:
    """A wedding of which only is said that it was: "We tied the knot!"."""
    return wed(said) if said.clause.since else _to_partner(said)


def engaged_to_partner(said: Said) -> Sequence[Candidate]:
    """An engagement of which nobody is named: "We got engaged at Christmas!"."""
    return [replace(one, predicate="engaged_to") for one in _to_partner(said)]


def _to_partner(said: Said) -> Sequence[Candidate]:
    """A marriage to the fiancé or the partner, which is not over."""
    since = said.clause.since
    if (since and since > said.at) or said.clause.until or _OVER.search(said.match.string):
        return ()
    married = {"predicate": "married_to", "object": None, "category": PERSON, "single": True, "changes": True}
    return (Candidate(with_partner=True, since=since, **married),)  # type: ignore[arg-type]


_OVER = lazy_compile(r"\b(?:getting|divorc\w*|separat\w*|split|annul\w*|widow\w*|ex)\b", re.IGNORECASE)
