"""The extractor: the facts that a message states about its author (B13)."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from mnemolog.domain.entity import ME
from mnemolog.domain.extraction.belongings import HABIT
from mnemolog.domain.extraction.candidate import ANY_VALUE, EXTRACTOR, MOST_CANDIDATES, MOST_WRITES, Action, Candidate
from mnemolog.domain.extraction.clauses import LONGEST, Clause, beginning, clauses, is_in_small, sentences_of
from mnemolog.domain.extraction.corrections import is_last_named
from mnemolog.domain.extraction.focus import PRONOUN, named, names_in, role_of
from mnemolog.domain.extraction.forms import (
    AND_THERE,
    AND_TO,
    AT_WORK,
    BACK_ON,
    DATES,
    DUE_THEN,
    FLIES_ON,
    FLIES_TO,
    GOT_ONE,
    HAS_LEFT,
    HAS_QUIT,
    HOME_NOW,
    I_AM,
    INSTEAD,
    IT_IS,
    IT_IS_A_HOME,
    IT_IS_FOOD,
    ITS_NOW,
    MOVED_IN,
    MOVED_IT,
    MOVING_THEN,
    NAME_ALONE,
    NOW_AT,
    OFF_IT,
    ON_NOW,
    ONLY_INTOLERANT,
    REACHED_AT,
    RULES,
    SEEING,
    SO_CALLED,
    SO_IS,
    STARTS,
    SWAPPED_IT,
    TAKES_IT,
    THERE_NOW,
    TRIP_GOES,
)
from mnemolog.domain.extraction.granted import granted
from mnemolog.domain.extraction.makers import (
    another_date,
    booked,
    called,
    day_of_trip,
    drug,
    in_role,
    intolerant,
    kin_beside,
    lives_on,
    moved_to,
    over_with,
    started_at,
)
from mnemolog.domain.extraction.others import IN_PRACTICE, PREGNANCY, pregnant_until, they_started_at
from mnemolog.domain.extraction.rule import DOSE_CHANGED, DRUG, Said
from mnemolog.domain.extraction.short_names import in_plural, is_called
from mnemolog.domain.extraction.times import Dated, dated, day_of, is_nth, is_to_come, moment, precisions_of
from mnemolog.domain.extraction.validation import valid
from mnemolog.domain.extraction.vocabulary import COUPLE, HEALTH, PETS, SUPERIORS
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.predicates import (
    DIED,
    DOSE,
    MEDICATION,
    NEXT_TRIP,
    TRIP_DATE,
    TRIP_TO,
    WORKS_AT,
    dose_of,
    trip_date_of,
)
from mnemolog.domain.text import name_key


def extract(
    text: str, at: datetime, author: str = ME, before: Sequence[Sequence[Candidate]] = (), previous: str = ""
) -> Sequence[Candidate]:
    """The facts that a message states, at most five, in the order in which they are said.

    If it states more than may be recorded of it, what matters most comes first.

    `before` are those that its author stated before, message by message: "we postponed it" is about the last one, and
    "Lisbon, not Porto" about the last that names Porto. `previous` is the message before, which may say who "she" is,
    and has to name what "no, I meant Lisbon" and "I'm off it" are about; its last 2,000 characters are read.

    >>> from datetime import UTC
    >>> [one] = extract("Hi! I moved to Lisbon last week.", datetime(2026, 5, 13, tzinfo=UTC))
    >>> one.predicate, one.object, one.since.date().isoformat()
    ('lives_in', 'Lisbon', '2026-05-04')
    """
    found: list[Candidate] = []
    beside: list[Candidate] = []
    text, previous = beginning(text), previous[-LONGEST:]
    sentences_before = sentences_of(previous)
    for clause in clauses(text, {*_names(before), *names_in(sentences_before)} if is_in_small(text) else ()):
        earlier = (*before, found) if found else before
        last = earlier[-1][-1] if earlier else None
        if clause.takes_back:
            found, beside = (_not_taken_back(clause, each, at) for each in (found, beside))
            continue
        if clause.is_sentence:
            told = [*_mentioned(clause.text), *_granted(clause.text, at)]
            beside += (replace(one, subject=author) if one.subject == ME else one for one in told)
            continue
        if found and not clause.denies and (begun := _begun(clause, found[-1], at) or _due_then(clause, found[-1], at)):
            found[-1] = begun
            continue
        moved_on = _moved_on(clause, at)
        if moved_on:
            clause = replace(clause, text=moved_on[0])
        elif not _names_a_pet(clause):
            clause = replace(
                clause,
                text=_ELDER.sub(_of_elder, named(clause.text, _who_may_be_meant(clause, text, sentences_before))),
            )
        clause = _with_its_name(clause, text)
        stated = dated(clause.text, at)
        said_before = " ".join((previous, *clause.before))
        made = [
            *(
                _renamed_before(clause, stated, earlier, said_before, at)
                or _swapped_it(clause, stated, at)
                or _said_in(clause.text, stated, at)
            ),
            *_taken_over(clause, stated, at),
            *_new_job(clause, stated, at),
            *_there_now(clause, stated, text, at),
            *_home_now(clause, stated, previous, text, at),
            *_in_it(clause, stated, at),
            *_called(clause, at),
            *_renamed(clause, stated, text, at),
        ]
        made = made or [
            *_flight_changed(clause, at),
            *_reached_at(clause, stated, last, said_before, at),
            *_off_it(clause, stated, earlier, said_before, at, same_message=bool(found)),
            *_on_now(clause, stated, last, text, previous),
        ]
        if _SERVICE.search(clause.before[-1] if clause.before else ""):
            made = [one for one in made if not one.rule.startswith(f"{EXTRACTOR}/moved")]
        made = made or [*(_continued(clause, last, at, same_message=bool(found)) if last else ())]
        named_too = [] if clause.denies or clause.corrects else _mentioned(clause.text)
        for one in (*made, *(one for one in named_too if not any(_tells_of(each, one) for each in made))):
            if clause.denies:
                if one.action is not Action.STATE:
                    continue
                one = replace(one, action=Action.DENY, changes=True, since=None, until=None)
            one = _exactly(_of_somebody(one, text), clause.text, at)
            if clause.corrects and one.action is Action.STATE:
                one = replace(one, action=Action.CORRECT)
            if clause.wrong and not one.wrong and one.action in (Action.STATE, Action.CORRECT) and not one.literal:
                one = replace(one, wrong=clause.wrong)
            if one.subject == ME:
                one = replace(one, subject=author)
            if one.action is Action.END and _RESUMED.search(text) and one.predicate.endswith((MEDICATION, DOSE, HABIT)):
                continue
            over = one.action in (Action.END, Action.DENY)
            if over and one.via and one.predicate in HEALTH and _ONE_OF_SEVERAL.search(clause.text):
                continue  # Who has it may be another one.
            if one.rule.startswith(f"{EXTRACTOR}/{_TO_A_BANK}") and _SWITCHED.search(clause.text):
                one = one if _OF_BANK.search(text) else replace(one, replaces=ANY_VALUE)
            if _is_doubtful(one, text):
                continue
            if one.predicate == "wedding_date" and _ELSES_WEDDING.search(said_before):
                continue
            if one.rule.startswith(f"{EXTRACTOR}/join") and one.known and _OF_SCHOOL.search(text):
                one = replace(one, predicate="studies_at", single=True) if one.predicate == WORKS_AT else one
            if moved_on and one.predicate == WORKS_AT:
                one = replace(one, replaces=moved_on[1])
            if any(_is_over(each, one) for each in found):
                continue
            if valid(one, at) and not any(_is_said(each, one) for each in found):
                found.insert(_place_of_new_job(one, found) if moved_on else len(found), one)
    # Before what is stated: what the next message goes on with is the last of that.
    mentioned: list[Candidate] = []
    for one in (_of_somebody(one, text) for one in beside):
        if valid(one, at) and not any(_tells_of(each, one) for each in (*mentioned, *found)):
            mentioned.append(one)
    found = [*mentioned, *found]
    if len(found) > MOST_WRITES:
        at_risk = {one.subject for one in found if one.predicate in _CRITICAL}
        together = _together(found, at_risk)
        fits = sum(_must_be_known(one) or one.object in at_risk for one in together) <= MOST_WRITES
        dieters = {one.subject for one in found if one.predicate == "diet_plan" and one.known}
        found = sorted(together, key=lambda one: _place(one, author, at_risk, dieters, fits=fits))
    return found[:MOST_CANDIDATES]


def _names(before: Iterable[Sequence[Candidate]]) -> Collection[str]:
    """The names of those who are somebody to the author, as they told before."""
    told = (one for stated in before for one in stated if one.literal is False and one.action is Action.STATE)
    return {one.object for one in told if one.object and one.object != ME}


def _who_may_be_meant(clause: Clause, text: str, previous: Sequence[str]) -> Sequence[str]:
    """The sentences that may say who "she" is: not the message before, if one in small letters may have named her since."""
    told = " ".join(one for one in clause.before if not PRONOUN.match(one))
    since = is_in_small(text) and len(told.split()) > _EXCLAIMED
    return clause.before if since else (*previous, *clause.before)


_EXCLAIMED = 2


def _with_its_name(clause: Clause, text: str) -> Clause:
    """A clause with the name of the only medication before it: "What is apixaban for? I take it every day"."""
    found, named = TAKES_IT.match(clause.text), _drugs_in(_before(clause))
    if found is None or len(named) != 1 or ("taken" in found["who"] and "taken it since" not in text):
        return clause
    who = _HAVE_TAKEN.sub(" take", found["who"])
    return replace(clause, text=f"{who}{named.pop()}{clause.text[found.end() :]}")


def _mentioned(clause: str) -> list[Candidate]:
    return [replace(one, rule=f"{EXTRACTOR}/kin-beside") for one in kin_beside(clause)]


def _granted(sentence: str, at: datetime) -> list[Candidate]:
    """The facts that a sentence takes for granted, whatever else it says or asks."""
    stated = (one for said in granted(sentence) for one in _said_in(said, Dated(said), at))
    return [replace(one, rule=f"{EXTRACTOR}/granted") for one in stated]


def _tells_of(made: Candidate, one: Candidate) -> bool:
    """Whether a message says more of what a sentence only mentions, or what is over of the same person's health."""
    same_health = (made.subject, made.via, made.predicate) == (one.subject, one.via, one.predicate)
    is_over = same_health and one.predicate in HEALTH and made.action is not Action.STATE
    same_object = made.object == one.object and (same_health or one.predicate not in HEALTH)
    return is_over or same_object or made.predicate == dose_of(one.object or "")


def _not_taken_back(clause: Clause, found: Sequence[Candidate], at: datetime) -> list[Candidate]:
    """What was stated, without what the sentence before says.

    "Actually no, it's eggs" says as well to what somebody is allergic.
    """
    wrong = {(one.predicate, one.object) for one in extract(clause.before[-1], at)}
    left, taken = list[Candidate](), list[Candidate]()
    for one in found:
        (taken if (one.predicate, one.object) in wrong else left).append(one)
    if right := IT_IS_FOOD.match(clause.text):
        left += [replace(one, object=right["value"].lower()) for one in taken if one.predicate == "allergy"][:1]
    return left


def _together(found: Sequence[Candidate], at_risk: Collection[str]) -> Sequence[Candidate]:
    """The facts, of those that an agent must not lack no more than may be recorded: their last values are one value.

    Of "allergic to nuts, eggs, milk and sesame" the third is "milk and sesame".
    """
    while sum(_must_be_known(one) or one.object in at_risk for one in found) > MOST_WRITES:
        alike = [[one for one in found if _differs_by_value(one, other)] for other in filter(_must_be_known, found)]
        *_, most = sorted(alike, key=len)
        if len(most) < 2:
            break
        first, second = most[-2:]
        link = ", " if " and " in (second.object or "") else " and "
        both = replace(first, object=f"{first.object}{link}{second.object}")
        found = [both if one is first else one for one in found if one is not second]
    return found


def _of_somebody(one: Candidate, text: str) -> Candidate:
    """What somebody must not have also if nobody knows who they are, unless any word may begin a sentence like their name."""
    must_not = one.known and one.action is Action.STATE and one.predicate in ("allergy", "intolerance")
    named_within = must_not and re.search(rf"(?<=[\w,] ){re.escape(one.subject)}\b", text)
    return replace(one, known=False) if named_within else one


def _is_said(said: Candidate, one: Candidate) -> bool:
    """Whether a clause before says the same, or already tells who somebody is."""
    same = replace(said, rule=one.rule)
    is_tie = one.literal is False and one.since is None and one.until is None
    return (replace(same, changes=one.changes, since=None) if is_tie else same) == one


def _is_over(ended: Candidate, one: Candidate) -> bool:
    """Whether a clause before says that a relationship is over: "my husband" is still told of as such."""
    same = (ended.predicate, name_key(ended.object or "")) == (one.predicate, name_key(one.object or ""))
    return same and one.predicate in COUPLE and ended.action is Action.END and one.action is Action.STATE


def _must_be_known(one: Candidate) -> bool:
    return one.predicate in _CRITICAL and one.action is Action.STATE


def _differs_by_value(one: Candidate, other: Candidate) -> bool:
    return replace(one, object=other.object) == other


def _place(one: Candidate, author: str, at_risk: Collection[str], dieters: Collection[str], *, fits: bool) -> int:
    """The place of a fact among others of its message: what an agent must not lack comes first.

    With it comes who those are that have it, or behind it, unless all of that `fits`.
    """
    own = one.subject == author and not one.via
    if one.rule.startswith(_PAST):
        return 2
    if one.predicate in _CRITICAL:
        return 0 if own else 1
    if one.object in at_risk:
        return 1 if fits else 2
    if one.predicate.startswith(_TASTES):
        return 7
    if one.action is Action.CALL:
        return 0
    if own and one.object in dieters:
        return 3  # What they eat counts only if it is known who they are.
    if one.predicate == "diet_plan" and not own:
        return 4  # Before who that is.
    if not own:
        return 8 if one.predicate == "age" else 6
    if one.predicate.endswith((DOSE, "_date")):
        return 0 if one.predicate.endswith(DOSE) else 4
    if one.replaces and one.predicate in IN_PRACTICE:
        return 4  # Before the end of what it takes the place of.
    return next((place for place, names in enumerate(_FIRST, start=3) if one.predicate in names), 5)


_PAST = f"{EXTRACTOR}/stroke"
"""What is no more than history: what is taken since comes first."""
_CRITICAL = ("allergy", "intolerance", MEDICATION, "condition")
# Where somebody belongs, and with whom they deal.
_FIRST = (
    ("lives_in", "works_at", *COUPLE, "diet_plan"),
    ("parent_of", *SUPERIORS, "colleague", "job_title", "studies", "employment"),
)
_TASTES = ("likes", "dislikes", "prefers", "favourite_")


def _said_in(clause: str, stated: Dated, at: datetime) -> Sequence[Candidate]:
    """What the first rule says that a clause matches and that makes something of it."""
    lower, whole = clause.lower(), Dated(clause)
    plain = dated(clause, at, future=True) if is_to_come(clause) else stated
    for place in sorted({place for hint, places in _PLACES.items() if hint in lower for place in places}):
        one = _IN_ORDER[place]
        read = plain if place >= len(DATES) else whole
        if (match := one.form.match(read.text)) and (made := one.make(Said(match, read, at))):
            return [replace(_counted(each), rule=f"{EXTRACTOR}/{one.name}") for each in made]
    return ()


def _counted(one: Candidate) -> Candidate:
    """An allergy by the name that it has in "allergic to nuts", also of who has "a nut allergy": they are the same."""
    states = one.action is Action.STATE and one.predicate in ("allergy", "intolerance")
    return replace(one, object=in_plural(one.object)) if states and one.object else one


# The rules by their hints, of which a clause has few. Those of dates read a clause with its phrases of time.
_IN_ORDER = (*DATES, *RULES)
_PLACES: dict[str, list[int]] = {}
for _place_in_order, _rule in enumerate(_IN_ORDER):
    for _hint in _rule.hints:
        _PLACES.setdefault(_hint, []).append(_place_in_order)


def _exactly(one: Candidate, text: str, at: datetime) -> Candidate:
    """A fact with the units of its dates that a text names neither to the day nor to the week."""
    own = {one.since, one.until} - {None}
    said = {day: unit for day, unit in precisions_of(text, at).items() if day in own} if own else {}
    return replace(one, precisions={**one.precisions, **said}) if said else one


def _begun(clause: Clause, job: Candidate, at: datetime) -> Candidate | None:
    """A job that the sentence before states, with its first day: "I got the job at Acme! I start on 1 June"."""
    if job.predicate != "works_at" or job.action is Action.END or job.since or not (said := STARTS.match(clause.text)):
        return None
    future = re.match(r"i(?:'ll| will|'m)? (?:going to )?(?:start|begin)\b", clause.text, re.IGNORECASE) is not None
    day = moment(said["when"], at, future=future)
    return _exactly(replace(job, since=day), said["when"], at) if day else None


def _due_then(clause: Clause, pregnancy: Candidate, at: datetime) -> Candidate | None:
    """A pregnancy that was just told of, with when the child is due: "I'm pregnant! Due in December"."""
    is_one = pregnancy.object == PREGNANCY and pregnancy.action is Action.STATE
    if not is_one or (said := DUE_THEN.match(clause.text)) is None:
        return None
    return pregnant_until(pregnancy, Said(said, dated(f"on {said['when']}", at, future=True), at))


def _taken_over(clause: Clause, stated: Dated, at: datetime) -> Sequence[Candidate]:
    """Who has the role that was named last: "I was at the dentist. Since May it's Dr. Lang".

    Or that of somebody who left: "Keith retired, it's Donna now" names no role, so that he has to be known in one.
    """
    if (found := IT_IS.match(stated.text)) is None:
        return ()
    said = Said(found, stated, at)
    if not (role := role_of((*clause.before, clause.text))):
        gone = HAS_LEFT.match(f"{_before(clause)} {clause.text}") if said.changes else None
        former = (gone["alone"] if gone else "").replace(". ", " ")
        roles = IN_PRACTICE if former.startswith(("Dr ", "Prof ")) else SUPERIORS
        heirs = [replace(in_role(one, said), replaces=former) for one in roles if former]
        return [replace(one, rule=f"{EXTRACTOR}/in-place-of") for one in heirs]
    is_new = said.changes or stated.since or re.match(r"(?:Dr|Prof)\b", found["other"])
    return (replace(in_role(role, said), rule=f"{EXTRACTOR}/it-is"),) if is_new else ()


def _new_job(clause: Clause, stated: Dated, at: datetime) -> Sequence[Candidate]:
    """Where somebody has the new job that was just said: "Tomas got a new job, he's at Acme"."""
    if not (clause.before and _JOB.search(clause.before[-1])) or (found := AT_WORK.match(stated.text)) is None:
        return ()
    return [replace(one, rule=f"{EXTRACTOR}/at-work") for one in they_started_at(Said(found, stated, at))]


def _there_now(clause: Clause, stated: Dated, text: str, at: datetime) -> Sequence[Candidate]:
    """A home or an employer, if the message speaks of one: "I'm in Rome now" may be said by a traveller."""
    if (found := THERE_NOW.match(stated.text)) is None:
        return ()
    home = found["where"].lower() == "in"
    if found["when"].lower() == "now" and not (_OF_HOME if home else _OF_JOB).search(text):
        return ()
    make = moved_to if home else started_at
    return [replace(one, rule=f"{EXTRACTOR}/there-now") for one in make(Said(found, stated, at))]


def _home_now(clause: Clause, stated: Dated, previous: str, text: str, at: datetime) -> Sequence[Candidate]:
    """A home that is called one, if it was told that somebody is there: "Hamburg is home now", as Tom may be, too."""
    if (found := HOME_NOW.match(clause.text)) is None:
        return ()
    said = Said(found, stated, at)
    there = re.search(rf"\b(?:in|to) {re.escape(said.name)}\b", f"{previous} {text}")
    is_place = found["own"] or there or _OF_HOME.search(text)
    return [replace(one, rule=f"{EXTRACTOR}/home-now") for one in moved_to(said)] if is_place else ()


def _in_it(clause: Clause, stated: Dated, at: datetime) -> Sequence[Candidate]:
    """The home into which somebody has just moved: "We're in! It's a flat in Leith"."""
    if not _IN.match(_before(clause)) or (found := IT_IS_A_HOME.match(stated.text)) is None:
        return ()
    make = lives_on if found["street"] else moved_to
    return [replace(one, changes=True, rule=f"{EXTRACTOR}/in-it") for one in make(Said(found, stated, at))]


def _moved_on(clause: Clause, at: datetime) -> tuple[str, str] | None:
    """Whom a clause means that tells the new job of somebody who left one, and where: "Eva left Acme, she's at Globex".

    What was left may be somebody, of whom the clause then tells: it counts only as the employer that is known.
    """
    left, now = HAS_QUIT.match(_before(clause)), NOW_AT.match(clause.text)
    if left is None or now is None:
        return None
    former = Said(left, Dated(clause.text), at).name
    return f"{left['whose']} now works at {clause.text[now.start('name') :]}", former


def _place_of_new_job(job: Candidate, found: Sequence[Candidate]) -> int:
    """Before the end of the former one, which has to hold until then."""
    ends = (place for place, one in enumerate(found) if one.action is Action.END and one.predicate == WORKS_AT)
    return next(ends, len(found)) if job.predicate == WORKS_AT else len(found)


def _flight_changed(clause: Clause, at: datetime) -> Sequence[Candidate]:
    """Another date of the trip that is planned: "changed the flight, going on 2 June now", "Rome is on again, we fly
    on 2 June".
    """
    if (found := FLIES_ON.match(clause.text)) is None:
        return ()
    if back := BACK_ON.match(_before(clause)):
        day, whither = day_of_trip(found["when"], at), Said(back, dated(_before(clause), at), at).name
        dates = another_date(whither, day) if day else ()
        return [replace(one, planned=True, again=True, rule=f"{EXTRACTOR}/back-on") for one in dates]
    if not _OTHER_FLIGHT.search(f"{_before(clause)} {clause.text}"):
        return ()
    on = day_of_trip(found["when"], at)
    nth = is_nth(found["when"])
    moved = {"literal": True, "single": True, "changes": True, "planned": True, "rule": f"{EXTRACTOR}/flight-changed"}
    return (Candidate(predicate=TRIP_DATE, object=on.stamp, until=on.until or on.over, nth=nth, **moved),) if on else ()  # type: ignore[arg-type]


def _off_it(
    clause: Clause,
    stated: Dated,
    earlier: Sequence[Sequence[Candidate]],
    said_before: str,
    at: datetime,
    *,
    same_message: bool,
) -> Sequence[Candidate]:
    """The end of the medication that was just named: "Dr Lee took me off it".

    Or of the only one that was stated, if only "the tablet" was named.
    """
    last = earlier[-1][-1] if earlier else None
    if (found := OFF_IT.match(stated.text)) is None:
        return ()
    named = _drugs_in(_before(clause))
    if found["bare"] and not named and not same_message:
        return ()
    drug = named.pop() if len(named) == 1 else _taken(last)
    if not drug or drug.lower() not in said_before.lower():
        stated_before = {taken.lower() for each in earlier for one in each if (taken := _taken(one))}
        if not _A_TABLET.search(said_before) or _drugs_in(said_before) or len(stated_before) != 1:
            return ()
        drug = stated_before.pop()
    return [replace(one, rule=f"{EXTRACTOR}/off-it") for one in over_with(Said(found, stated, at), drug)]


def _swapped_it(clause: Clause, stated: Dated, at: datetime) -> Sequence[Candidate]:
    """Another medication than the one that was just named: "Ramipril made me cough, so they changed it to losartan"."""
    named = _drugs_in(_before(clause))
    if len(named) != 1 or (found := SWAPPED_IT.match(stated.text)) is None:
        return ()
    if found["me"] and not _SPOILT.match(_before(clause)):
        return ()
    former = named.pop()
    end = Candidate(predicate=MEDICATION, object=former, action=Action.END, changes=True, until=stated.since)
    dose_too = replace(end, predicate=dose_of(former), object=None)
    swapped = (end, dose_too, *drug(Said(found, stated, at)))
    return [replace(one, rule=f"{EXTRACTOR}/swapped-it") for one in swapped]


# After what a medication did to somebody, "they switched me" means from that one.
_SPOILT = lazy_compile(
    rf"(?:(?:the|my|i was on) )*{DRUG}(?!.*\b(?:fine|good|great|ok|okay|help\w*|works|love|alongside|with)\b)",
    re.IGNORECASE,
)


def _on_now(clause: Clause, stated: Dated, last: Candidate | None, text: str, previous: str) -> Sequence[Candidate]:
    """The dose of the medication that was just raised or lowered: "They've doubled the ramipril, so I'm on 10 now".

    Also in one breath, "the ramipril went up, it's 10 now", and if only the message before names it.
    """
    in_one = ITS_NOW.match(stated.text)
    before = in_one["raised"] if in_one else _before(clause)
    found = in_one or ON_NOW.match(stated.text)
    if found is None:
        return ()
    if not DOSE_CHANGED.search(before):
        # "It's 100 now" alone is a dose right after one, if nothing else was counted there.
        is_dose = last is not None and last.predicate.endswith(DOSE) and clause.text.lower().endswith(" now")
        if not is_dose or before or len(_COUNTED.findall(previous)) != 1:
            return ()
    named = _drugs_in(before) or _drugs_in(" ".join(clause.before)) or _drugs_in(text) or _drugs_in(previous)
    if len(named) != 1:
        return ()
    told = {"literal": True, "single": True, "changes": True, "since": stated.since, "rule": f"{EXTRACTOR}/on-now"}
    return (Candidate(predicate=dose_of(named.pop()), object=found["amount"].strip(), **told),)  # type: ignore[arg-type]


def _drugs_in(text: str) -> set[str]:
    return {one[0].lower() for one in _DRUG.finditer(text)}


def _reached_at(
    clause: Clause, stated: Dated, last: Candidate | None, said_before: str, at: datetime
) -> Sequence[Candidate]:
    """Another address or number than the one that was just told: "Sorry, it's ana@acme.com"."""
    if last is None or not clause.amends or last.predicate not in REACHED_AT or last.action is Action.END:
        return ()
    form, make = REACHED_AT[last.predicate]
    if (last.object or "") not in said_before or (found := form.match(clause.text)) is None:
        return ()
    corrected = {"action": Action.CORRECT, "rule": f"{EXTRACTOR}/reached-at"}
    return [replace(one, **corrected) for one in make(Said(found, stated, at)) if one.object != last.object]  # type: ignore[arg-type]


def _taken(last: Candidate | None) -> str:
    """The medication that somebody stated to take, or the dose of which they stated."""
    if last is None or last.action is not Action.STATE:
        return ""
    if last.predicate.endswith(DOSE):
        return last.predicate.removesuffix(DOSE).replace("_", " ")
    return last.object or "" if last.predicate == MEDICATION else ""


def _called(clause: Clause, at: datetime) -> Sequence[Candidate]:
    """The name of whom the sentence before tells: "I got a cat. She's called Miso", "I'm seeing someone. He's called Al"."""
    if (found := SO_CALLED.match(clause.text)) is None:
        return ()
    told = next((one for one in reversed(clause.before) if len(one.split()) > 1), "")  # Not "Finally!" between.
    before = dated(told, at).text
    got = GOT_ONE.match(before)
    who = got["who"] if got else "partner" if SEEING.match(before) else ""
    said = Said(found, dated(clause.text, at), at)
    return (replace(in_role(who, said), since=None, rule=f"{EXTRACTOR}/called-so"),) if who else ()


def _renamed(clause: Clause, stated: Dated, text: str, at: datetime) -> Sequence[Candidate]:
    """One's own new name, if the message says why it is another: "I took my husband's name: I'm Nora Hale"."""
    if (found := I_AM.match(stated.text)) is None or not _OTHER_NAME.search(text):
        return ()
    return [replace(one, rule=f"{EXTRACTOR}/renamed-myself") for one in called(Said(found, stated, at))]


def _of_elder(found: re.Match[str]) -> str:
    """What an aunt or uncle is to the author, who calls them so: "Aunt Pat died"."""
    return "my uncle" if found["elder"].lower() == "uncle" else "my aunt"


def _names_a_pet(clause: Clause) -> bool:
    """Whether "she" is the animal of which the sentence before tells, and not its owner."""
    return bool(SO_CALLED.match(clause.text) and _GOT_A_PET.search(_before(clause)))


def _before(clause: Clause) -> str:
    """The sentence before a clause, or what its own says before it."""
    return next(filter(None, reversed(clause.before)), "")


def _is_doubtful(one: Candidate, text: str) -> bool:
    """Whether the rest of the message says, or does not say, what makes it so.

    Somebody lost may be found again, a dog is given to somebody until one is back, and who joins a club has no job there.
    """
    if one.rule.startswith(f"{EXTRACTOR}/lost") and one.predicate == DIED:
        return _FOUND.search(text) is not None
    if one.predicate == "condition" and one.action is Action.STATE and _MISDIAGNOSED.search(text):
        return True
    if one.action is Action.END and one.predicate in ("dog", "cat") and _FOR_A_WHILE.search(text):
        return True
    if one.rule.startswith(f"{EXTRACTOR}/let-me-go") and _HELD.search(text):
        return True
    if one.rule.startswith(f"{EXTRACTOR}/{_TO_A_BANK}") and one.replaces != ANY_VALUE:
        return _OF_BANK.search(text) is None
    joined = one.rule.startswith(f"{EXTRACTOR}/join") and _CLUB.search(one.object or "")
    return bool(joined) and _AT_WORK.search(text) is None


_OF_SCHOOL = lazy_compile(
    r"\b(?:(?:back|off|going|goes|starts?|started)(?: at| to)? (?:big |primary |secondary |high )?school|school uniform"
    r"|first day (?:at|of) (?:\w+ )?school|homework|half[- ]term|years? (?:7|seven)|reception class)\b(?!.*\b(?:teach\w*|job|works?)\b)",
    re.IGNORECASE | re.DOTALL,
)
_ELDER = lazy_compile(r"^(?P<elder>uncle|aunt(?:ie|y)?)(?= (?-i:[A-Z]))", re.IGNORECASE)
# What one has from a company to which one may move.
_SERVICE = lazy_compile(
    r"\b(?:broadband|tariff|(?:energy|gas|electricity) (?:supplier|bill)|supplier|insurer|(?:current|bank) account|overdraft"
    r"|(?:my|our|the) (?:bank|branch)|phone contract|no signal)\b[^.!?]*$",
    re.IGNORECASE,
)
_TO_A_BANK = "nationwide"
_OF_BANK = lazy_compile(r"\b(?:banks?|banking|branch|accounts?|overdraft|savings|direct debits?)\b", re.IGNORECASE)
# Who works for a bank may move to another one, and hardly switch.
_SWITCHED = lazy_compile(
    r"\b(?:switched|moved (?:everything|it all|all (?:my|our) (?:money|accounts)))\b(?!.*\bjobs?\b)", re.IGNORECASE
)
_FOR_A_WHILE = lazy_compile(
    r"\b(?:while (?:we|i)\b|whilst\b|until\b|till (?:we|i|monday|sunday)\b|for (?:the|a few|two|three) (?:week|weekend|days?|night|weeks)\b"
    r"|look(?:ing)? after\b|overnight\b|(?:dog|cat|pet)[- ]?sit\w*|our holidays?\b|back (?:on|next|in) )",
    re.IGNORECASE,
)
_MISDIAGNOSED = lazy_compile(
    r"\b(?:misdiagnos\w+|false (?:alarm|positive)|(?:but|though|actually|except|then) (?:[\w']+ ){0,3}?(?:(?:it )?(?:turned|turns) out (?:(?:not )?to be|it was)"
    r"|(?:it|that) (?:was wrong|wasn't|was a mistake)|(?:they|it) (?:were|was) wrong|ruled (?:it )?out))\b",
    re.IGNORECASE,
)
_FOUND = lazy_compile(
    r"\b(?:found|finding|find|spotted) (?:him|her|them|each other)\b|\blost (?:him|her|them) again\b"
    r"|\b(?:posters?|missing|ran off|run off|escaped|(?:look|search)ing for)\b"
    r"|\b(?:in|at) the (?:shop|supermarket|crowd|mall|park|store|car park|airport|museum|woods|market)\b",
    re.IGNORECASE,
)
# Who is let go by somebody who held them.
_HELD = lazy_compile(
    r"\b(?:police|cops?|officers?|guards?|security|customs|border|arrest\w*|stopped (?:me|us)|detained|held|custody|hospital|doctors?|nurses?)\b",
    re.IGNORECASE,
)
# Who has members or customers rather than staff, unless the message speaks of work.
_CLUB = lazy_compile(
    r"\b(?:Costco|Sam's Club|BJ's|Makro|Weight ?Watchers|WW|Slimming|Noom|Rotary|Scouts|Guides|Brownies|Mensa|WI|Labour|Greens|Tories"
    r"|Lib Dems|Conservatives|Democrats|Republicans|Unison|Unite|Church|Choir|Orchestra|Band|Society|Association|Club|Circle|Union"
    r"|Party|League|Library|Harriers|Runners|Ramblers|Athletic|Rovers|FC|RFC|AFC|AA|NA|Freemasons|Mumsnet|Strava|Duolingo|Peloton"
    r"|Hinge|Bumble|Grindr|Prime|Patreon|Parkrun|ClassPass|Goodreads|Letterboxd|Meetup|Nextdoor|[\w ]*(?:[Gg]ym|Fitness|Cross ?[Ff]it|Yoga|Pilates)\w*)\b"
)
_AT_WORK = lazy_compile(
    r"\b(?:jobs?|shifts?|hired|boss|manager|colleagues?|coworkers?|salary|wages?|an hour|role|as an?|as (?:head|chief|lead)|notice|induction|warehouse|office|\d ?[ap]m (?:to|till|until|-)"
    r"|(?:full|part)[- ]time)\b",
    re.IGNORECASE,
)
_ELSES_WEDDING = lazy_compile(
    r"\b(?i:(?:my|our) (?!partner|fianc|boyfriend|girlfriend)[\w-]+(?: (?-i:[A-Z])[\w-]+)?|he|she|they)"
    r"(?:'s|'re| is| are| has| have| and [A-Z][\w-]+ are)?(?: just| finally| now)*"
    r" (?:(?:getting|got|gonna get|going to get) (?:married|engaged)|engaged\b|marrying\b|tying the knot|proposed\b(?! to me))"
)
# "My youngest" alone is one by that name.
_ONE_OF_SEVERAL = lazy_compile(
    r"\b(?:my|our) (?:older|younger|elder|eldest|oldest|youngest|middle|second|third|other) "
    r"(?:(?:grand|step)?(?:daughter|son|child|sister|brother)|girl|boy|lad|kid|one|cousin|niece|nephew|twin)\b",
    re.IGNORECASE,
)
# Who stopped something and takes it again, or only while something else lasted.
_RESUMED = lazy_compile(
    r"\b(?:restart|resum)\w*|\bback on\b(?! (?:the )?(?:tablets|pills|feet|my feet|track)\b)|\b(?:started|starting|taking|take)(?: (?:it|them|that|smoking))? again\b"
    r"|\b(?:while|whilst|as long as) (?:i|we)(?:'m| am|'re| are| was| were|'ve| have| had)\b",
    re.IGNORECASE,
)
_HAVE_TAKEN = lazy_compile(r"(?:'ve| have) taken\b", re.IGNORECASE)
_DRUG = lazy_compile(DRUG, re.IGNORECASE)
_A_TABLET = lazy_compile(
    r"\b(?:the|my|those|that|these) (?:tablet|pill|capsule|medication|medicine|med)s?\b", re.IGNORECASE
)
_COUNTED = lazy_compile(r"\d+(?:\.\d+)?")
_GOT_A_PET = lazy_compile(rf"\b(?:an?|another)(?: [a-z-]+){{0,2}} (?:{PETS})\W*$", re.IGNORECASE)
_OTHER_FLIGHT = lazy_compile(
    r"\b(?:chang|mov|rebook|switch|alter|reschedul)\w*(?: (?:my|our|the))? (?:flight|train|ferry|ticket|booking)s?\b"
    r"|\b(?:flight|train|ferry)s?(?:'s| has| have| is| are| was| were| got)(?: been)? (?:chang|mov|reschedul|alter|rebook)\w*",
    re.IGNORECASE,
)
_OTHER_NAME = lazy_compile(
    r"\b(?:took|taken|taking|take|use|using|have) (?:(?:my (?:husband|wife|spouse|partner)|(?-i:[A-Z])[\w-]+)'s|his|her|their|back my)(?: (?:last|maiden|family|old|own))? (?:sur)?name\b"
    r"|\bchang(?:ed|ing) (?:my|our) (?:(?:last|first|family|legal|full) )?(?:sur)?names?\b|\bno longer (?-i:[A-Z])[\w-]+ (?-i:[A-Z])|, not (?-i:[A-Z])[\w-]+ (?-i:[A-Z])"
    r"|\b(?:new|married|maiden|legal) (?:sur)?name\b|\b(?:since|after) (?:the|my|our) (?:wedding|divorce|marriage|transition|adoption)\b"
    r"|\b(?:update|change|correct) my (?:sur)?name\b|\bdeed poll\b|\bas (?:of|from) (?:today|this|yesterday|last)\b|\b(?:got|just) married\b",
    re.IGNORECASE,
)
_IN = lazy_compile(
    r"\W*(?:(?:so|well|right|ok(?:ay)?|and|yay),? )?(?:(?:i|we)(?:'ve| have)? )?(?:just |finally )?(?:moved(?: in| house| home)?|(?:we|i)(?:'re| are|'m| am)(?: (?:all|finally|now|officially))* in)"
    r"(?: at last| finally)?[.!]*$",
    re.IGNORECASE,
)
_OF_HOME = lazy_compile(
    r"\b(?:mov(?:ed?|ing)|liv(?:ed?|ing)|relocat\w+|settled|new (?:flat|house|home|place|apartment|city|town))\b",
    re.IGNORECASE,
)
_OF_JOB = lazy_compile(r"\b(?:jobs?|worked|hired|employers?|resigned|fired|(?:quit|left) (?-i:[A-Z]))", re.IGNORECASE)
_JOB = lazy_compile(
    r"\b(?:got|has|found|landed|started|starts|took|accepted) (?:an?|his|her|their)(?: new)? (?:job|position|role)\b",
    re.I,
)


def _continued(clause: Clause, last: Candidate, at: datetime, *, same_message: bool) -> Sequence[Candidate]:
    """Another date of what was planned last, one more trip, or another name for what was stated last."""
    there = AND_THERE if same_message else AND_TO
    if last.trip and last.action is Action.STATE and (more := there.match(clause.text)):
        beside = booked(Said(more, dated(clause.text, at), at))
        return [replace(one, rule=f"{EXTRACTOR}/one-more-trip") for one in beside]
    if last.predicate.endswith("_date") and (moved := MOVED_IT.match(clause.text)):
        day = day_of(moved["when"], at)
        if day is None or day < at:
            return ()
        on = day_of_trip(moved["when"], at) if last.trip else None
        date, nth = replace(last, object=day.date().isoformat(), changes=True), is_nth(moved["when"])
        dates = another_date(last.trip, on) if on else (date,)
        return [replace(one, nth=nth, rule=f"{EXTRACTOR}/moved-it") for one in dates]
    if last.predicate == NEXT_TRIP and (found := INSTEAD.match(clause.text)):
        one_more = {"predicate": TRIP_TO, "changes": False} if last.action is Action.END else {"single": True}
        on = day_of_trip(re.sub(r"^(?:in|on|for) ", "", found["when"]), at) if found["when"] else None
        until = (on.until or on.over) if on else None
        trip = replace(last, object=found["name"], action=Action.STATE, until=until, rule=f"{EXTRACTOR}/instead")
        return (replace(trip, **one_more),)
    plain = dated(clause.text, at, future=True)
    to_come = plain.since is not None and plain.since > at and MOVING_THEN.match(plain.text)
    if (home := _home_to_be(last, at)) and (to_come or MOVED_IN.match((plain := dated(clause.text, at)).text)):
        begun = replace(last, predicate="lives_in", object=home, literal=None, category="Location", changes=True)
        return (replace(begun, since=plain.since, rule=f"{EXTRACTOR}/moved-in"),)
    if last.action is Action.END and last.predicate in _PLANNED and (found := SO_IS.match(clause.text)):
        return (replace(last, predicate=NEXT_TRIP, object=found["name"], rule=f"{EXTRACTOR}/so-is"),)
    if due := _due_then(clause, last, at):
        born = replace(due, rule=f"{EXTRACTOR}/due-then")
        return (replace(born, action=Action.END), born)  # It may last longer or less long than was taken for granted.
    if last.predicate == "allergy" and last.action is not Action.END and ONLY_INTOLERANT.match(clause.text):
        return [replace(one, rule=f"{EXTRACTOR}/only-intolerant") for one in intolerant(last)]
    return ()


def _renamed_before(
    clause: Clause, stated: Dated, earlier: Sequence[Sequence[Candidate]], said_before: str, at: datetime
) -> Sequence[Candidate]:
    """What was stated before, of another name or thing: "I meant Graz", "cocoa, not tea", "Sorry, the trip goes to Porto"."""
    if clause.corrects and (named := NAME_ALONE.match(clause.text)):
        name = named["name"] or Said(named, dated(clause.text, at), at).named("other") or ""
        last = _name_in(earlier[-1][-1] if earlier else None)
        return _under(name, clause.wrong or (last if is_last_named(last, said_before) else ""), earlier)
    if clause.corrects and clause.wrong and (same := _last_stated(earlier, lambda one: _is_thing(one, clause.wrong))):
        rule, right = f"{EXTRACTOR}/thing-alone", clause.text
        return [replace(one, object=right, wrong=one.object or "", action=Action.CORRECT, rule=rule) for one in same]
    if not clause.amends:
        return ()
    if found := TRIP_GOES.match(stated.text):
        said = Said(found, stated, at)
        wrong = said.named("former") or next(filter(None, map(_trip_in, reversed(earlier))), "")
        trip = Candidate(predicate=NEXT_TRIP, object=said.name, category="Location", single=True, changes=True)
        alone = replace(trip, action=Action.CORRECT, rule=f"{EXTRACTOR}/trip-goes")
        return _under(said.name, wrong, earlier) or ((alone,) if _IS_TRIP.match(clause.text) and not wrong else ())
    if stated.since is None and earlier and (found := FLIES_TO.match(stated.text)):
        return _under(Said(found, stated, at).name, _trip_in(earlier[-1]), earlier)
    return ()


def _under(name: str, wrong: str, earlier: Sequence[Sequence[Candidate]]) -> Sequence[Candidate]:
    """What the last message that names what is wrong said of it, with the right name."""
    if not wrong or name_key(name) == name_key(wrong):
        return ()
    found = _last_stated(earlier, lambda one: is_called(wrong, _name_in(one)))
    return [replace(each, rule=f"{EXTRACTOR}/name-alone") for one in found for each in _of_name(one, name)]


def _last_stated(earlier: Sequence[Sequence[Candidate]], wanted: Callable[[Candidate], bool]) -> Sequence[Candidate]:
    """What is wanted of what the last message with any of it stated."""
    return next(filter(None, ([*filter(wanted, stated)] for stated in reversed(earlier))), ())


def _is_thing(one: Candidate, name: str) -> bool:
    stated = one.action in (Action.STATE, Action.CORRECT)
    return stated and bool(one.literal) and name_key(one.object or "") == name_key(name)


def _of_name(one: Candidate, name: str) -> Sequence[Candidate]:
    right = replace(one, action=Action.CORRECT, replaces="", planned=False)
    if one.trip:
        denied = replace(one, action=Action.DENY, changes=True, since=None, until=None)
        return (replace(right, predicate=trip_date_of(name), trip=name), denied)
    return (replace(right, object=(one.object or "").replace(_name_in(one), name), wrong=one.object or ""),)


def _name_in(one: Candidate | None) -> str:
    """The name in what was stated: of whom or what, of a place to which somebody plans to move, or of a trip."""
    if one is None or one.action not in (Action.STATE, Action.CORRECT):
        return ""
    planned = _TO_A_NAME.fullmatch(one.object or "") if one.predicate == "plans" else None
    return planned[1] if planned else one.trip or ("" if one.literal else one.object or "")


def _trip_in(stated: Sequence[Candidate]) -> str:
    """The place to which a trip goes that a message stated."""
    return next((_name_in(one) for one in reversed(stated) if one.trip or one.predicate in (NEXT_TRIP, TRIP_TO)), "")


def _home_to_be(last: Candidate, at: datetime) -> str | None:
    """Where somebody plans to move, or will live from a day that is to come."""
    if last.predicate == "plans" and last.object and last.object.startswith(_TO_MOVE):
        return last.object.removeprefix(_TO_MOVE)
    to_come = last.predicate == "lives_in" and last.since is not None and last.since > at
    return last.object if to_come and last.action is Action.STATE else None


_TO_A_NAME = lazy_compile(r"to (?:move to|work at) (.+)")
_IS_TRIP = lazy_compile(r"(?:the|our|my)(?: next)? (?:trip|holiday|vacation|journey)\b", re.IGNORECASE)
_TO_MOVE = "to move to "
_PLANNED = ("wedding_date", "trip_date", "holiday_date", "vacation_date", NEXT_TRIP)
