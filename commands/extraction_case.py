"""A case: one candidate of a message, the fact that it would record, and what is known when it is decided on.

What somebody recorded outranks what was extracted: only a later sentence that tells of a change or a correction
supersedes or ends it.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any, Self

from mnemolog.commands.extraction_requests import ExtractTurn
from mnemolog.commands.extraction_state import Extraction
from mnemolog.commands.fact_changes import EndFact, RetireFact
from mnemolog.commands.fact_changes import decide as change_fact
from mnemolog.commands.facts import FACTS, Remember, subject_of
from mnemolog.commands.naming import bearers
from mnemolog.domain.calendar_day import end_of_planned
from mnemolog.domain.entity import ME, PERSON
from mnemolog.domain.extraction.candidate import Action, Candidate
from mnemolog.domain.extraction.short_names import is_called, is_short_for
from mnemolog.domain.extraction.times import nearest_nth
from mnemolog.domain.extraction.vocabulary import COUPLE, HEALTH, KIN_TOGETHER, KIN_WORDS, ONLY_ONE
from mnemolog.domain.memory import Status
from mnemolog.domain.predicates import NEXT_TRIP, TRIP_DATE, TRIP_TO, Predicate, trip_date_of
from mnemolog.domain.relation import Relation
from mnemolog.events.event import Event

LIVING = ("Person", "Animal")
_A_DAY = timedelta(days=1)
_AN_ENGAGEMENT = timedelta(days=365)
"""How long before it was told an engagement may have begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    state: Extraction
    command: ExtractTurn
    candidate: Candidate
    fact: Remember

    @property
    def is_end(self) -> bool:
        return self.candidate.action is Action.END

    def after(self, news: Sequence[Event]) -> Self:
        return replace(self, state=self.state.after(news))

    def beginning(self, since: datetime | None, instead: Iterable[Relation]) -> Self:
        """The case of the fact from then on, as exactly as this fact tells, or one in whose place it is."""
        told = [self.fact.said.precisions, *(one.precisions for one in instead)]
        precision = next((known[since] for known in told if since in known), None) if since else None
        return self.of(since=since, since_precision=precision)

    def of(self, **changed: Any) -> Self:
        """The case of a fact that differs in these fields."""
        return replace(self, fact=self.fact.model_copy(update=changed))

    def relation(self) -> Remember:
        """In place of a fact about `my brother`: who that is."""
        rule = Predicate(self.candidate.via, subject=PERSON)
        who = {"predicate": self.candidate.via, "object": "*", "literal": True, "rule": rule}
        return self.fact.model_copy(update=who)

    def resolved(self) -> Self | None:
        """With its subject: the only one who has the relation to the author, or who has the name and is known.

        If that is nobody, or several, some facts are about `ana's daughter`; else None.
        """
        graph, fact = self.state.graph, self.fact
        if self.candidate.with_partner:
            partner = self._partner()
            return self.of(object=partner, literal=False) if partner else None
        if self.candidate.via:
            held = [one for one in self.state.about(self.relation(), self.candidate.via) if holds(one, fact.said.since)]
            ends = {graph.root(one.object_id) for one in held if one.object_id}
            named = self.of(subject=str(ends.pop())) if len(ends) == 1 else None
            nameless = self.nameless_ones()
            ended = next((one for one in nameless if one._has_it()), None) if self.is_end else None
            return ended or named or next(iter(nameless), None)
        if self.moves_planned:
            moved = self._of_longer_name()
            return moved._in_its_month() if moved and self.candidate.nth else moved
        if self.candidate.nth:
            return self._in_its_month()
        if not self.candidate.known:
            return self
        subject = subject_of(graph, fact)
        return self if subject and subject.traits.category in LIVING else None

    def nameless(self) -> Self | None:
        """Of a relative by what they are to the author: `ana's daughter`, who is not taken for one with a name."""
        fact, via = self.fact, self.candidate.via
        is_kin = via in (*KIN_WORDS.split(), *COUPLE, *KIN_TOGETHER.split("|")) or via.endswith("_in_law")
        if via not in ONLY_ONE and not (is_kin and fact.predicate in HEALTH):
            return None
        author = self.command.user_id if fact.subject == ME else fact.subject
        name = f"{author}'s {self.candidate.kin or via.replace('_', '-')}"
        return self.of(subject=name, rule=replace(fact.rule, subject=PERSON))

    def nameless_ones(self) -> Sequence[Self]:
        """The same, of each entity that is called so, the newest first: an undo may leave several."""
        if (case := self.nameless()) is None:
            return []
        found = bearers(self.state.graph, case.fact, case.fact.subject, case.fact.scope, PERSON)
        return [case.of(subject=str(one.entity_id)) for one in reversed(found)] or [case]

    def parent(self) -> Self | None:
        """Of the mother or the father who may have been told of without the name that this says."""
        told = replace(self, candidate=replace(self.candidate, via=self.fact.predicate))
        return told.nameless() if self.fact.predicate in ONLY_ONE else None

    def _has_it(self) -> bool:
        """Whether what an end names is known of its subject."""
        return bool(self.holding(self.state.same_as(self.fact)) or self.in_short(str(self.fact.object)))

    def _partner(self) -> str | None:
        """The id or the name of the only fiancé, or else the only partner, of somebody of whom no marriage is known.

        A wedding before the engagement was to somebody else.
        """
        graph, fact, since = self.state.graph, self.fact, self.candidate.since
        if self.holding(self.state.about(fact, fact.predicate)):
            return None
        for predicate in ("engaged_to", "partner_of"):
            held = [one for one in self.holding(self.state.about(fact, predicate)) if not self.is_told_later(one)]
            ends = {str(graph.root(one.object_id)) if one.object_id else one.name for one in held}
            if held and predicate == "engaged_to" and since:
                began = min(period.valid_from for one in held for period in one.validity.periods)
                if since < began - _AN_ENGAGEMENT:
                    return None
            if ends:
                return ends.pop() if len(ends) == 1 else None
        return None

    @property
    def moves_planned(self) -> bool:
        """Whether it is another date of something that is planned and may be known by a longer name."""
        return self.candidate.planned and not self.candidate.trip

    def _of_longer_name(self) -> Self | None:
        """Of the exam that is planned, if there is one: its name may be longer, as `stats_exam_date` is.

        None if it is a trip of which no place is said and none or several are planned.
        """
        fact, name = self.fact, self.fact.predicate
        if self.holding(self.state.about(fact, name)):
            return self
        known = {one.predicate for one in self.state.graph.relations.values() if one.predicate.endswith(f"_{name}")}
        held = {one.predicate for one in self.holding(self.state.about(fact, *sorted(known)))}
        if len(held) != 1:
            return None if name == TRIP_DATE else self
        longer = held.pop()
        return self.of(predicate=longer, rule=replace(fact.rule, name=longer))

    def _in_its_month(self) -> Self:
        """With the day nearest to the date that it takes the place of: "the flight was moved to the 14th"."""
        fact, until = self.fact, self.candidate.until
        is_trip = fact.predicate in (NEXT_TRIP, TRIP_TO)
        predicate = trip_date_of(str(fact.object)) if is_trip else fact.predicate
        for one in self.holding(self.state.about(fact, predicate)):
            with suppress(ValueError):  # Somebody may have recorded another text than a date.
                former = date.fromisoformat(self.state.value_of(one))
                said = (until - _A_DAY).date() if is_trip and until else date.fromisoformat(str(fact.object))
                if day := nearest_nth(said.day, former, self.command.said_at.date()):
                    over = end_of_planned(predicate, day.isoformat())
                    return self.of(until=over) if is_trip else self.of(object=day.isoformat(), until=over)
        return self

    def holding(self, known: Iterable[Relation]) -> list[Relation]:
        """Those facts that hold when the message is said, or will hold."""
        return [one for one in known if holds(one, self.command.said_at)]

    def in_short(self, name: str) -> Relation | None:
        """The only present value that this name is short for."""
        slot = self.state.about(self.fact, self.fact.predicate)
        found = [one for one in self.holding(slot) if is_short_for(name, self.state.value_of(one))]
        return found[0] if len(found) == 1 else None

    def wrong(self) -> list[Relation]:
        """The values that the message says were wrong."""
        said, slot = self.candidate.wrong, self.state.about(self.fact, self.fact.predicate)
        known = [one for one in slot if said and one.status is Status.ACTIVE]
        return [one for one in known if is_called(said, self.state.value_of(one))]

    def is_recorded(self, one: Relation) -> bool:
        """Whether somebody other than an extractor told a fact."""
        return one.relation_id in self.state.recorded

    def outranks(self, one: Relation) -> bool:
        """Whether the message may supersede or end a fact: one that was extracted, or that was recorded before a change
        or a correction.
        """
        recorded = self.state.recorded.get(one.relation_id)
        tells = self.candidate.changes or self.candidate.action is Action.CORRECT
        return recorded is None or (tells and recorded < self.command.said_at)

    def is_told_later(self, one: Relation) -> bool:
        """Whether a fact is what a later message says, which was read first: that wins."""
        said_at = self.command.said_at
        if self.is_recorded(one):
            return False
        again = any(period.valid_from > said_at for period in one.validity.said)
        return again or self.state.told.get(one.relation_id, said_at) > said_at

    def record(self) -> Sequence[Event]:
        return FACTS.decide(self.state.graph, self.fact)

    def retire(self, one: Relation) -> Sequence[Event]:
        return change_fact(self.state.graph, RetireFact(**self._stated_by(), relation_id=one.relation_id))

    def end(self, one: Relation, until: datetime) -> Sequence[Event]:
        """The end of a fact; of which was only heard after it had ended, when the end was heard of."""
        begun = any(period.valid_from < until for period in one.validity.periods)
        until = until if begun else self.command.said_at
        precision = self.candidate.precisions.get(until)
        ended: dict[str, Any] = {"relation_id": one.relation_id, "until": until, "until_precision": precision}
        end = EndFact(**self._stated_by(), **ended)
        return change_fact(self.state.graph, end)

    def end_all(self, known: Iterable[Relation]) -> Sequence[Event]:
        """The ends of those facts that hold and that the message may end, when the candidate begins."""
        ends: list[Event] = []
        for one in self.holding(known):
            if self.outranks(one):
                ends += self.after(ends).end(one, self.candidate.since or self.command.said_at)
        return ends

    def _stated_by(self) -> dict[str, Any]:
        who = self.command.model_dump(include={"tenant", "user_id", "agent_id", "thread_id", "actor"})
        told_at = self.command.said_at if self.command.said_at < self.command.at else None
        stated = {"stated_in": (self.command.turn_id,), "rule": self.candidate.rule, "told_at": told_at}
        return {**who, **stated, "at": self.command.at}


def holds(one: Relation, at: datetime) -> bool:
    return any(period.lasts_beyond(at) for period in one.validity.periods)
