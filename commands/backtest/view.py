"""What readers see of a stream, and how that differs in its shadow (X06)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from mnemolog.commands.backtest.shadow import Shadow
from mnemolog.commands.backtest.threads import Stretch
from mnemolog.domain.contradiction import CONTRADICTS
from mnemolog.domain.entity import Entity
from mnemolog.domain.facts import Validity
from mnemolog.domain.link import Ends, Link
from mnemolog.domain.memory import Memory, Status
from mnemolog.domain.predicates import PredicatePolicy
from mnemolog.domain.relation import Relation, object_key
from mnemolog.domain.scope_merge import ScopedFact, overridden
from mnemolog.domain.sentence import value_text
from mnemolog.events.profile_fold import ProfileField

NOT_THERE = "not there"
# What is seen, by its kind and its id: a text, and what is said of it.
View = Mapping[tuple[str, str], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Change:
    """What readers would see otherwise: a `memory`, a `contradiction` of two, a `fact`, a field of the `profile`, a
    `proposal`, a `session` or an `episode`. `now` and `then` are what is seen of it under both policies.
    """

    kind: str
    id: str
    text: str
    now: str
    then: str


def changes(shadow: Shadow, at: datetime) -> Sequence[Change]:
    """What differs between a stream and its shadow at a time."""
    return compared(recorded_view(shadow, at), shadow_view(shadow, at))


def recorded_view(shadow: Shadow, at: datetime) -> View:
    """What readers see of the stream as it was recorded."""
    one, policy = shadow, shadow.terms.now.predicates
    found = _memories(one.memories.recorded) | _contradictions(one.links.recorded, one.memories.recorded)
    return found | _facts(one.relations.recorded, one.entities.recorded, policy, at) | _profile(one.fields.recorded)


def shadow_view(shadow: Shadow, at: datetime) -> View:
    """What readers would see of it under the other policy."""
    one, policy = shadow, shadow.terms.then.predicates
    found = _memories(one.memories.shadow) | _contradictions(one.links.shadow, one.memories.shadow)
    return found | _facts(one.relations.shadow, one.entities.shadow, policy, at) | _profile(one.fields.shadow)


def stretches(found: Sequence[Stretch], texts: Mapping[str, str]) -> View:
    """Sessions and episodes; `texts` are those of the messages."""
    return {
        (one.kind, one.id): (
            texts.get(one.first_turn_id, ""),
            f"from {one.first_turn_id}" + (f" to {one.last_turn_id}" if one.last_turn_id else ", open"),
        )
        for one in found
    }


def compared(now: View, then: View) -> Sequence[Change]:
    """What differs. Where a text differs, it is part of what is seen."""
    found: list[Change] = []
    for key in dict.fromkeys([*now, *then]):
        one, other = now.get(key), then.get(key)
        if one == other:
            continue
        both = one is not None and other is not None and one[0] != other[0]
        text, *_ = one or other or ("",)
        seen = [NOT_THERE if it is None else f"{it[1]}: {it[0]}" if both else it[1] for it in (one, other)]
        found.append(Change(*key, "" if both else text, *seen))
    return found


def _memories(known: Mapping[UUID, Memory]) -> dict[tuple[str, str], tuple[str, str]]:
    return {("memory", str(id_)): (one.content.text, _of_memory(one)) for id_, one in known.items()}


def _of_memory(one: Memory) -> str:
    merged = f" into {one.merged_into}" if one.merged_into else ""
    return f"{one.content.category}, {'merged' if merged else one.status}{merged}"


def _contradictions(
    links: Mapping[Ends, Link | None], known: Mapping[UUID, Memory]
) -> dict[tuple[str, str], tuple[str, str]]:
    against = [ends for ends, one in links.items() if one and one.relation_type == CONTRADICTS]
    texts = {ends: [one.content.text for end in ends if (one := known.get(end))] for ends in against}
    return {("contradiction", str(ends)): (" / ".join(texts[ends]), "linked") for ends in against}


def _facts(
    known: Mapping[UUID, Relation], entities: Mapping[UUID, Entity], policy: PredicatePolicy, at: datetime
) -> dict[tuple[str, str], tuple[str, str]]:
    covered = _overridden(known.values(), entities, policy, at)
    found = dict[tuple[str, str], tuple[str, str]]()
    for id_, one in known.items():
        critical = ", critical" if policy.rule(one.predicate).critical and not one.origin.external else ""
        hidden = f", overridden for {', '.join(covered[id_])}" if id_ in covered else ""
        found["fact", str(id_)] = (_sentence(one, entities), f"{_of_fact(one, at)}{critical}{hidden}")
    return found


def _overridden(
    known: Iterable[Relation], entities: Mapping[UUID, Entity], policy: PredicatePolicy, at: datetime
) -> Mapping[UUID, Sequence[str]]:
    """For which agents a fact is overridden by one in another scope (A09)."""
    scoped = defaultdict[str | None, list[ScopedFact]](list)
    for one in known:
        if one.status is Status.ACTIVE and any(period.holds_at(at) for period in one.validity.periods):
            value = root_of(entities, one.object_id) if one.object_id else object_key(one.value)
            subject = root_of(entities, one.subject_id)
            fact = ScopedFact(one.relation_id, one.scope, subject, one.predicate, value, one.origin.external)
            scoped[one.agent_id].append(fact)
    found = defaultdict[UUID, list[str]](list)
    for agent_id in sorted(filter(None, scoped)):
        places = {(one.subject_id, one.predicate) for one in scoped[agent_id]}
        beside = [one for one in scoped[None] if (one.subject_id, one.predicate) in places]
        for id_ in overridden([*scoped[agent_id], *beside], policy):
            found[id_].append(agent_id)
    return found


def root_of(entities: Mapping[UUID, Entity], id_: UUID) -> UUID:
    """An entity, or the one that it was merged into."""
    while (one := entities.get(id_)) and one.merged_into:
        id_ = one.merged_into
    return id_


def _sentence(one: Relation, entities: Mapping[UUID, Entity]) -> str:
    subject = entities.get(one.subject_id)
    value = entities.get(one.object_id) if one.object_id else None
    said = value.traits.name if value else value_text(one.value)
    return f"{subject.traits.name if subject else one.subject_id} {one.predicate} {said}"


def _of_fact(one: Relation, at: datetime) -> str:
    return _when(one.validity, at) if one.status is Status.ACTIVE else one.status.value


def _when(validity: Validity, at: datetime) -> str:
    if not validity.periods:
        return "never held"
    holding = next((one for one in validity.periods if one.holds_at(at)), None)
    one = holding or validity.periods[-1]
    since = f"{one.valid_from:%Y-%m-%d %H:%M:%S}"
    if holding or one.valid_to is None or one.valid_from > at:
        return f"holds from {since}" + (f" to {one.valid_to:%Y-%m-%d %H:%M:%S}" if one.valid_to else "")
    return f"ended {one.valid_to:%Y-%m-%d %H:%M:%S}"


def _profile(known: Mapping[str, ProfileField]) -> dict[tuple[str, str], tuple[str, str]]:
    found = {
        ("profile", place): (place, ", ".join(one.setting.values) or "not set")
        for place, one in known.items()
        if one.setting
    }
    patches = [patch for one in known.values() for patch in one.patches.values()]
    proposals = {
        ("proposal", str(one.proposed.patch_id)): (f"{one.proposed.field}: {one.proposed.value}", one.status.value)
        for one in patches
    }
    return {**found, **proposals}
