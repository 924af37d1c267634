"""Record a fact: its subject, its object, and its effect on other facts (A08, X13)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import BaseModel, Field, JsonValue, WithJsonSchema, model_validator

from mnemolog.commands.decider import Decider, Placed
from mnemolog.commands.graph import Graph, GraphCommand, SlotKey, entity_reads, evolve, facts_of, slot_reads
from mnemolog.commands.naming import Name, Seen, bearers, checked_name, is_same_name, meant, name_of, name_reads
from mnemolog.commands.retelling import Late, told_late
from mnemolog.commands.scoped import Scoped
from mnemolog.commands.sourced import Sourced
from mnemolog.domain import corroboration, facts, identity
from mnemolog.domain.calendar_day import require_possible_day
from mnemolog.domain.entity import MAX_NAME, ME, PERSON, Entity, id_in
from mnemolog.domain.errors import InvalidInput, MnemologError
from mnemolog.domain.facts import Fact, Said, Validity
from mnemolog.domain.json_value import checked_json
from mnemolog.domain.memory import Status
from mnemolog.domain.origin import Origin, require_inside, restated
from mnemolog.domain.precision import Precision, start_of
from mnemolog.domain.predicates import MAX_PREDICATE, ObjectKind, Predicate, predicate_name
from mnemolog.domain.relation import Relation, object_key
from mnemolog.domain.retelling import Asserts, Beliefs
from mnemolog.domain.scope import Scope
from mnemolog.domain.text import clean, name_key
from mnemolog.events import graph as events
from mnemolog.events.event import Event, sources_of
from mnemolog.events.fields import AtMost, Flag, Id, Instant, Unit, Uuid, checked_by
from mnemolog.events.graph_tags import entity_tag, relation_tag
from mnemolog.events.shapes import DAY, PARTIAL_DAY, text_shape

MAX_SOURCES = 100


def _object(value: Any, field: str) -> Any:
    if value is None:
        raise InvalidInput("is empty", field=field, fix="send a name or a value")
    return clean(value, field) if isinstance(value, str) else checked_json(value, field)


# Any JSON except null: a name or a value.
_ANYTHING = {"anyOf": [text_shape(), *({"type": kind} for kind in ("number", "boolean", "array", "object"))]}
Day = Annotated[datetime, checked_by(identity.day_or_instant), WithJsonSchema(DAY)]
PartialDay = Annotated[datetime, checked_by(identity.day_or_instant), WithJsonSchema(PARTIAL_DAY)]
ToldAt = Annotated[
    Day | None,
    Field(
        description="When it was said, for imported history: a day, or a time with an offset. Default: now.",
        examples=["2024-05-01"],
    ),
]
PRECISION = "How precisely `{}` is known, if not to the day. Default: as precisely as `{}` is given."
Predicated = Annotated[str, checked_by(predicate_name), WithJsonSchema(text_shape(MAX_PREDICATE))]
FactObject = Annotated[JsonValue, checked_by(_object), WithJsonSchema(_ANYTHING)]
Sources = Annotated[tuple[Id, ...], AtMost(MAX_SOURCES)]


class WithDates(BaseModel):
    """A request whose `since` and `until` may be a year or a month: from its start, known no more exactly than so."""

    @model_validator(mode="before")
    @classmethod
    def _started(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        for name in ("since", "until"):
            if isinstance(given.get(name), str) and (start := start_of(given[name])):
                given = {**given, name: start[0], f"{name}_precision": start[1]}
            if given.get(f"{name}_precision") is not None and given.get(name) is None:
                message = f"it says how exactly `{name}` is known, which is not set"
                raise InvalidInput(message, field=f"{name}_precision", fix=f"set {name}, or omit it")
        return given


class Remember(WithDates, GraphCommand, Scoped, Sourced):
    """Entities are given by name or id; `me` is the user.

    `since`: when it became true, by default when it was said (`told_at`, or `at`). `literal`: whether the object is a
    value, if the predicate does not say. `rule` is the predicate's configuration and `seen` what distinguishes entities
    with the same name; both are looked up for the request.
    """

    generated: ClassVar[frozenset[str]] = frozenset({"at", "rule", "seen", "relation_id", "subject_id", "object_id"})

    subject: Name = Field(description="The subject: a name, an alias or an id; `me` is the user.")
    predicate: Predicated = Field(description="The predicate, such as lives_in or allergy.", examples=["lives_in"])
    object: FactObject = Field(description="The object: a name, an alias, an id, or a value.")
    literal: Flag | None = Field(
        None, description="Whether the object is a value rather than a name, if the predicate does not say."
    )
    since: PartialDay | None = Field(
        None,
        description="When it became true: a day, a month, a year, or a time with an offset. Default: now.",
        examples=["2026-01-10"],
    )
    until: PartialDay | None = Field(
        None, description="When it ended: a day, a month, a year, or a time with an offset."
    )
    since_precision: Precision | None = Field(None, description=PRECISION.format("since", "since"))
    until_precision: Precision | None = Field(None, description=PRECISION.format("until", "until"))
    confidence: Unit = Field(1.0, description="The confidence, 0 to 1.")
    metadata: Annotated[dict[str, JsonValue], checked_by(checked_json)] = Field(
        {}, description="Metadata of the fact, as a JSON object."
    )
    told_at: ToldAt = None
    source_turn_ids: Sources = Field((), description="The source turns.")
    memory_id: Uuid | None = Field(None, description="The source memory.")
    at: Instant
    rule: Predicate
    seen: tuple[Seen, ...] = ()
    relation_id: Uuid
    subject_id: Uuid
    object_id: Uuid

    @property
    def owner(self) -> str | None:
        return self.agent_id if self.scope is Scope.AGENT else None

    @property
    def said(self) -> Said:
        earlier = self.told_at is not None and self.told_at < self.at
        exactly = ((self.since, self.since_precision), (self.until, self.until_precision))
        precisions = {at: precision for at, precision in exactly if at and precision}
        stated = self.since is not None or earlier
        return Said(self.since or self.told_at or self.at, self.until, stated, precisions)

    @property
    def kind(self) -> ObjectKind | None:
        """The type of the object according to the caller or the configuration; None if neither says.

        A text that is too long for a name is a value, unless one of them says that it is an entity.
        """
        if self.literal is not None:
            return ObjectKind.LITERAL if self.literal else ObjectKind.ENTITY
        if not isinstance(self.object, str) or (self.rule.object is None and len(self.object) > MAX_NAME):
            return ObjectKind.LITERAL
        return self.rule.object


@dataclass(frozen=True, slots=True)
class Object:
    """The object of a fact: a known entity, a new entity, or a value; `literal`: one that names nothing."""

    entity_id: UUID | None = None
    new: bool = False
    literal: bool = False

    def is_of(self, state: Graph, relation: Relation, value: Any) -> bool:
        """Whether a relation has this object; a text that names an entity is that entity, whichever was told first."""
        if relation.status is Status.PURGED:
            return False  # An erased value cannot be compared.
        if relation.object_id is not None:
            return state.root(relation.object_id) == self.entity_id
        if relation.name is None or self.literal:
            return self.entity_id is None and object_key(relation.value) == object_key(value)
        entity = state.entities.get(self.entity_id) if self.entity_id else None
        return entity.called(relation.name) if entity else name_key(relation.name) == name_key(value)


def decide(state: Graph, command: Remember) -> Sequence[Event]:
    """The fact, preceded by new entities; no events if these turns already stated it."""
    require_told(command.told_at, command.at, later="since")
    if command.rule.critical:
        require_inside(command.trust, "be a critical fact", "predicate")
    require_possible_day(command.predicate, command.object, command.at, "object")
    said = command.said
    subject = subject_of(state, command)
    subject_id = subject.entity_id if subject else command.subject_id
    found = object_of(state, command, subject_id)
    told = _told(state, command, said, (command.scope, command.owner, subject_id, command.predicate), found)
    news = [] if subject else [first_seen(command, subject_id, command.subject, command.rule.subject)]
    if found.new and found.entity_id:
        news.append(first_seen(command, found.entity_id, str(command.object), command.rule.category))
    return [*news, *told]


def require_told(told_at: datetime | None, at: datetime, *, later: str = "") -> None:
    """Nothing is told in the future. `later`: the field for what is to come, if there is one."""
    if told_at is not None and told_at > at:
        but = f"; `{later}` may be later" if later else ""
        message = f"{told_at.isoformat()} is in the future"
        raise InvalidInput(message, field="told_at", fix=f"give the time when it was said{but}")


def subject_of(state: Graph, command: Remember) -> Entity | None:
    rule = command.rule
    return meant(state, command, command.subject, command.scope, command.seen, path="subject", category=rule.subject)


def object_of(state: Graph, command: Remember, subject_id: UUID) -> Object:
    if command.kind is ObjectKind.LITERAL:
        return Object(literal=True)
    if not isinstance(command.object, str):
        raise InvalidInput("is not a name", field="object", fix="give an entity, or set `literal`")
    name, rule = command.object, command.rule
    if command.kind is ObjectKind.ENTITY:
        try:
            checked_name(name, "object")
        except InvalidInput as error:
            raise InvalidInput(error.message, field=error.field, fix=f"{error.fix}, or set `literal`") from error
    if command.kind is None and not id_in(name) and not bearers(state, command, name, command.scope, rule.category):
        return Object()
    if is_same_name(command, name, command.subject):
        return Object(subject_id)
    found = meant(state, command, name, command.scope, command.seen, path="object", category=rule.category)
    return Object(found.entity_id) if found else Object(command.object_id, new=True)


def first_seen(command: Remember, entity_id: UUID, name: str, category: str) -> Event:
    """The user is one entity for all agents, whoever tells of them first: else facts of two scopes would not meet."""
    of_user = is_same_name(command, name, ME)
    return events.EntityObserved(
        entity_id=entity_id,
        category=PERSON if of_user else category,
        scope=Scope.GLOBAL if of_user else command.scope,
        agent_id=None if of_user else command.owner,
        name=name_of(command, name),
        source_turn_ids=command.source_turn_ids,
    )


def _told(state: Graph, command: Remember, said: Said, place: SlotKey, found: Object) -> Sequence[Event]:
    slot = state.slot(place)
    same = [one for one in slot if found.is_of(state, one, command.object)]
    known = next((one for one in same if one.status is Status.ACTIVE), next(iter(same), None))
    if late := _late(state, command, said, slot, known):
        if known and _told_before(known, command) and (late.repeated or not known.validity.said):
            return []
        if known and late.repeated:
            return [_observed(known, command, said, late=True)]
        _require_replacing(command, slot, late.changed - {known.relation_id if known else command.relation_id})
        return [_assertion(command, said, place, found, known, late.validity, late.beliefs)]
    if known is None:
        return _instead(command, said, place, found, slot, None)
    if _repeats(known, said, command):
        return [] if _told_before(known, command) else [_observed(known, command, said)]
    return _instead(command, said, place, found, slot, known)


def _late(state: Graph, command: Remember, said: Said, slot: Sequence[Relation], known: Relation | None) -> Late | None:
    """What it changes if it was told before others of its slot. A deleted fact is recorded again."""
    if known is not None and known.status is not Status.ACTIVE:
        return None
    rule, relation_id = command.rule, known.relation_id if known else command.relation_id
    change = Asserts(said, rule.single)
    return told_late(
        state, slot, relation_id, change, command.told_at, single=rule.single, timeless=rule.timeless and rule.single
    )


def _instead(
    command: Remember, said: Said, place: SlotKey, found: Object, slot: Sequence[Relation], known: Relation | None
) -> Sequence[Event]:
    """The fact. Another value of what is timeless never held, unless it was told later; this one held in its place."""
    before = facts_of(slot)
    kept = {one.relation_id for one in slot if one.status is not Status.ACTIVE or one is known}
    wrong = facts.wrong(before, said, kept) if command.rule.timeless and command.rule.single else ()
    retired: list[Event] = []
    precisions = {one.relation_id: one.precisions for one in slot}
    for one in wrong:
        after = facts.retired(before, one)
        retired.append(
            events.RelationRetired(
                relation_id=one.relation_id,
                validity=own_first(one.relation_id, before, after),
                stated_in=command.source_turn_ids,
                rule=str(command.metadata.get("rule", "")),
                told_at=command.told_at,
            )
        )
        before = after
        since = min(said.since, one.validity.said[0].valid_from)
        said = replace(said, since=since, precisions={**precisions[one.relation_id], **said.precisions})
    asserted = _asserted(command, said, place, found, before, known)
    changed = {one.relation_id for event in (*retired, asserted) for one in events.validity_of(event)}
    _require_replacing(command, slot, changed)
    return [*retired, asserted]


def _require_replacing(command: Remember, slot: Sequence[Relation], changed: Collection[UUID]) -> None:
    for other in slot:
        if other.relation_id in changed and other.status is Status.ACTIVE and other.validity.said:
            command.require_not_below(other.origin, "replace")


def _repeats(known: Relation, said: Said, command: Remember) -> bool:
    """A retired fact is not asserted again by the same turn."""
    if not known.validity.said and _told_before(known, command):
        return True
    return known.status is Status.ACTIVE and facts.repeats(known.fact, said)


def _told_before(known: Relation, command: Remember) -> bool:
    """A repeated turn is not an observation; otherwise retries would increase the confidence."""
    return bool(command.source_turn_ids) and known.sources.issuperset(command.source_turn_ids)


def _observed(known: Relation, command: Remember, said: Said, *, late: bool = False) -> Event:
    """From outside, it strengthens nothing that did not come from there. The user's own word raises what did."""
    trust = command.trust
    outside = trust.external and not known.origin.external
    raised = known.origin.external and trust is Origin.USER
    return events.RelationObserved(
        relation_id=known.relation_id,
        confidence=known.confidence if outside else corroboration.confidence(known.confidence, command.confidence),
        origin=trust if raised else None,
        source_turn_ids=command.source_turn_ids,
        memory_id=command.memory_id,
        entity_ids=tuple(filter(None, (known.subject_id, known.object_id))),
        valid_from=said.since,
        stated=said.stated,
        late=late,
        told_at=command.told_at,
        metadata={} if outside else command.metadata,
    )


def _asserted(
    command: Remember, said: Said, place: SlotKey, found: Object, slot: facts.Slot, known: Relation | None = None
) -> Event:
    relation_id = known.relation_id if known else command.relation_id
    active = known if known and known.status is Status.ACTIVE else None
    fact = active.fact if active else Fact.new(relation_id, single=command.rule.single)
    after = facts.asserted(slot, replace(fact, single=command.rule.single), said)
    return _assertion(command, said, place, found, known, own_first(relation_id, slot, after))


def _assertion(
    command: Remember,
    said: Said,
    place: SlotKey,
    found: Object,
    known: Relation | None,
    validity: tuple[Validity, ...],
    retold: tuple[Beliefs, ...] | None = None,
) -> Event:
    scope, agent_id, subject_id, predicate = place
    object_id = known.object_id if known else found.entity_id
    active = known if known and known.status is Status.ACTIVE else None
    return events.RelationAsserted(
        relation_id=known.relation_id if known else command.relation_id,
        validity=validity,
        retold=retold,
        scope=scope,
        agent_id=agent_id,
        subject_id=known.subject_id if known else subject_id,
        predicate=predicate,
        object_id=object_id,
        confidence=corroboration.confidence(active.confidence, command.confidence) if active else command.confidence,
        valid_from=said.since,
        valid_to=said.until,
        since_precision=said.precisions.get(said.since),
        until_precision=said.precisions.get(said.until) if said.until else None,
        single=command.rule.single,
        origin=restated(active.origin, command.trust) if active else command.trust,
        source_turn_ids=command.source_turn_ids,
        memory_id=command.memory_id,
        told_at=command.told_at,
        literal=known.literal if known else found.literal,
        value=command.object if object_id is None else None,
        metadata={**(active.metadata if active else {}), **command.metadata},
    )


def own_first(relation_id: UUID, before: facts.Slot, after: facts.Slot) -> tuple[Validity, ...]:
    """The changed validities, with that of the relation itself first even if unchanged."""
    own = next(one.validity for one in after if one.relation_id == relation_id)
    return (own, *(one for one in facts.changes(before, after) if one.relation_id != relation_id))


def _tags(state: Graph, command: Remember) -> frozenset[str]:
    """The tags of the entities that the names may mean, then of the relations in that slot."""
    names = name_reads(command, command.subject) | _fresh(command)
    if isinstance(command.object, str) and command.kind is not ObjectKind.LITERAL:
        names |= name_reads(command, command.object)
    try:
        subject = subject_of(state, command)
    except MnemologError:
        return entity_reads(state) | names  # The decision raises the error.
    if subject is None:
        return entity_reads(state) | names
    return slot_reads(state, (command.scope, command.owner, subject.entity_id, command.predicate)) | names


def _fresh(command: Remember) -> frozenset[str]:
    """The tags of what gets a newly generated id."""
    entities = (entity_tag(command.subject_id), entity_tag(command.object_id))
    return frozenset({relation_tag(command.relation_id), *entities})


def _written(command: Remember, placed: Sequence[Placed]) -> Sequence[Placed]:
    """The events in which these turns stated the fact."""
    wanted = set(command.source_turn_ids)
    told = [one for one in placed if isinstance(one[1].payload, events.RelationEvent)]
    return [one for one in told if wanted.intersection(sources_of(one[1].payload) or ())][-1:]


FACTS: Decider[Remember, Graph] = Decider(
    initial=Graph(),
    subject=lambda command: "",
    tags=_tags,
    evolve=evolve,
    decide=decide,
    written=_written,
    fresh=_fresh,
)
