"""Commands that end, retire, delete and restore a fact (X13, A19)."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from mnemolog.commands.decider import Decider, Decisions
from mnemolog.commands.facts import PRECISION, PartialDay, ToldAt, WithDates, own_first, require_told
from mnemolog.commands.graph import Graph, GraphCommand, evolve, facts_of, relation_of, relation_reads
from mnemolog.commands.retelling import told_late
from mnemolog.commands.sourced import Sourced
from mnemolog.domain import facts, memory
from mnemolog.domain.consent import require_person
from mnemolog.domain.memory import Status
from mnemolog.domain.origin import Origin
from mnemolog.domain.precision import Precision
from mnemolog.domain.relation import require_shown
from mnemolog.domain.retelling import Change, Ends, Retires
from mnemolog.events import graph as events
from mnemolog.events.event import Event
from mnemolog.events.fields import Id, Instant, Label, Uuid
from mnemolog.events.graph_tags import relation_tag


class FactCommand(GraphCommand):
    """A request about one fact."""

    relation_id: Uuid = Field(description="The fact's id.")


class ContraryCommand(FactCommand, Sourced):
    """A request that says that a fact does not hold, or should not be shown."""


class StatedChange(ContraryCommand):
    """`stated_in`: the messages that it was extracted from, by `rule`."""

    generated: ClassVar[frozenset[str]] = GraphCommand.generated | {"stated_in", "rule"}

    told_at: ToldAt = None
    stated_in: tuple[Id, ...] = ()
    rule: str = ""
    at: Instant


class EndFact(WithDates, StatedChange):
    """Ends a fact at `until`, by default when that was said (`told_at`, or `at`)."""

    until: PartialDay | None = Field(
        None, description="When it ended: a day, a month, a year, or a time with an offset. Default: when it was said."
    )
    until_precision: Precision | None = Field(None, description=PRECISION.format("until", "until"))


class RetireFact(StatedChange):
    """Retires a fact, which means that it never held."""


class ForgetFact(ContraryCommand):
    """Hides a fact; purged after 30 days unless restored."""

    reason: Label = Field("", description="The reason, stored encrypted in the history.")
    at: Instant


class RestoreFact(FactCommand):
    """Restores a deleted fact."""


class ConfirmFact(FactCommand):
    """Confirms a fact in the user's name: it is then trusted like the user's own words."""


decide = Decisions[FactCommand, Graph]()


@decide.register
def _end(command: EndFact, state: Graph) -> Sequence[Event]:
    found = relation_of(state, command.relation_id, command)
    require_shown(found, "ended")
    command.require_not_below(found.origin, "end")
    require_told(command.told_at, command.at, later="until")
    at = command.until or command.told_at or command.at
    lasts = any(period.lasts_beyond(at) for period in found.validity.periods)
    if not (command.until or command.told_at) and found.validity.periods and not lasts:
        return []
    slot = state.slot(state.place(found))
    ends = Ends(at, holding=bool(command.stated_in))
    late = told_late(state, slot, command.relation_id, ends, command.told_at, single=found.single)
    if late and late.vain and not command.stated_in:
        raise facts.not_begun(at)
    if late:
        validity, changed = late.validity, bool(late.beliefs)
    else:
        validity = own_first(command.relation_id, facts_of(slot), facts.ended(facts_of(slot), found.fact, at))
        changed = any(one.periods != state.relations[one.relation_id].validity.periods for one in validity)
    if not changed and not _is_to_keep(state, command, ends):
        return []
    return [
        events.RelationEnded(
            relation_id=command.relation_id,
            validity=validity,
            retold=late.beliefs if late else None,
            valid_to=at,
            until_precision=command.until_precision,
            stated_in=command.stated_in,
            rule=command.rule,
            told_at=command.told_at,
        )
    ]


def _is_to_keep(state: Graph, command: StatedChange, change: Change) -> bool:
    """Whether what changes nothing now may change something once more is imported that was told before it."""
    if command.told_at is None or command.stated_in:
        return False
    known = state.statements.get(command.relation_id, ())
    return all(one.change != change or one.told != command.told_at for one in known)


@decide.register
def _retire(command: RetireFact, state: Graph) -> Sequence[Event]:
    found = relation_of(state, command.relation_id, command)
    require_shown(found, "retired")
    command.require_not_below(found.origin, "retire")
    require_told(command.told_at, command.at)
    slot = state.slot(state.place(found))
    late = told_late(state, slot, command.relation_id, Retires(), command.told_at, single=found.single)
    changed = bool(late.beliefs if late else found.validity.said)
    if not changed and not _is_to_keep(state, command, Retires()):
        return []
    if late:
        validity = late.validity
    else:
        validity = own_first(command.relation_id, facts_of(slot), facts.retired(facts_of(slot), found.fact))
    return [
        events.RelationRetired(
            relation_id=command.relation_id,
            validity=validity,
            retold=late.beliefs if late else None,
            stated_in=command.stated_in,
            rule=command.rule,
            told_at=command.told_at,
        )
    ]


@decide.register
def _forget(command: ForgetFact, state: Graph) -> Sequence[Event]:
    found = relation_of(state, command.relation_id, command)
    if found.status is Status.SOFT_DELETED:
        return []
    command.require_not_below(found.origin, "delete")
    purge_at = command.at + memory.PURGE_AFTER
    return [events.RelationForgotten(relation_id=command.relation_id, purge_at=purge_at, reason=command.reason)]


@decide.register
def _restore(command: RestoreFact, state: Graph) -> Sequence[Event]:
    found = relation_of(state, command.relation_id, command)
    if found.status is Status.ACTIVE:
        return []
    return [events.RelationRestored(relation_id=command.relation_id)]


@decide.register
def _confirm(command: ConfirmFact, state: Graph) -> Sequence[Event]:
    found = relation_of(state, command.relation_id, command)
    require_shown(found, "confirmed")
    require_person(command.actor, consenting=command.consenting, what="confirm a fact in the user's name")
    if found.origin is Origin.USER:
        return []
    ends = tuple(filter(None, (found.subject_id, found.object_id)))
    return [
        events.RelationObserved(
            relation_id=command.relation_id, confidence=found.confidence, origin=Origin.USER, entity_ids=ends
        )
    ]


FACT_CHANGES: Decider[FactCommand, Graph] = Decider(
    initial=Graph(),
    subject=lambda command: relation_tag(command.relation_id),
    tags=lambda state, command: relation_reads(state, command.relation_id),
    evolve=evolve,
    decide=decide,
)
