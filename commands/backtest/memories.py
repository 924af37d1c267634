"""Statements on memories, decided again in a shadow: under other categories and bands, and on other memories (X06)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from mnemolog.commands.backtest.shadow import Shadow, context_of
from mnemolog.commands.memories import MEMORIES, CreateMemory, Near, Similar, UndoChange, UpdateMemory
from mnemolog.domain import corroboration
from mnemolog.domain.bands import Band, Bands, conflicting, judged
from mnemolog.domain.category import CategoryPolicy
from mnemolog.domain.errors import InvalidInput, MnemologError
from mnemolog.domain.memory import Content
from mnemolog.domain.memory_key import memory_key
from mnemolog.domain.scope import Scope
from mnemolog.events import memory as events
from mnemolog.events.envelope import Recorded
from mnemolog.events.event import Event
from mnemolog.events.fields import validated
from mnemolog.events.memory_fold import LINK, MEMORY

Statement = events.MemoryCreated | events.MemoryUpdated | events.MemoryObserved
# Memories that came of statements on one memory, of which a later statement on it is compared with the last.
MOST_COMPARED = 20


def is_known(policy: CategoryPolicy, category: str) -> bool:
    try:
        policy.known(category)
    except InvalidInput:
        return False
    return True


def category_of(payload: Event) -> str | None:
    """The category that a request gave, as far as that was recorded."""
    match payload:
        case events.MemoryCreated():
            return payload.category
        case events.MemoryUpdated() if "category" in payload.changed:
            return payload.category
    return None


def is_statement(payload: Event) -> bool:
    """Whether an event records a statement that was compared with known memories."""
    if isinstance(payload, events.MemoryCreated):
        return True
    return isinstance(payload, events.MemoryUpdated | events.MemoryObserved) and payload.match is not None


def confidence_of(before: float, after: float) -> float:
    """The confidence of a statement that corroborated one: the inverse of `corroboration.confidence`."""
    if before >= 1:
        return 1.0
    return min(1.0, max(0.0, (1 - (1 - after) / (1 - before)) / corroboration.TRUST))


class MemoryReplay:
    """`became`: what a memory became that does not exist in the shadow. `split_off`: those that a statement on a memory
    became there.
    """

    def __init__(self, shadow: Shadow) -> None:
        self._shadow, self._versions = shadow, shadow.memories
        self._became: dict[UUID, UUID] = {}
        self._split_off: dict[UUID, list[UUID]] = {}

    def take(self, group: Sequence[Recorded]) -> None:
        payload = group[0].payload
        category = category_of(payload)
        now, then = self._shadow.terms.now.categories, self._shadow.terms.then.categories
        if category is not None and is_known(now, category) and not is_known(then, category):
            return
        if not (self._judged_otherwise(group) or any(self._versions.differs(id_) for id_ in _ids(group))):
            self._shadow.keep(group)
        elif any(one.erased for one in group):
            self._shadow.keep([one for one in group if not _needs(one.payload) - self._versions.shadow.keys()])
            self._shadow.note(group[0], _ids(group)[0], "its text was erased, so it is not decided again")
        elif is_statement(payload):
            self._statement(group)
        elif isinstance(payload, events.MemoryReverted | events.LinkReverted):
            self._undo(group, payload)
        elif isinstance(payload, events.MemoryUpdated) and len(group) > 1 and not self._missing(group[0]):
            self._update(group, payload)
        else:
            for event in group:
                self._change(event)

    def _judged_otherwise(self, group: Sequence[Recorded]) -> bool:
        """Whether the other policy judges new words otherwise, beside the same memories."""
        payload, terms = group[0].payload, self._shadow.terms
        if not isinstance(payload, Statement) or any(one.erased for one in group):
            return False
        now, then = terms.bands_of(terms.now), terms.bands_of(terms.then)
        if now == then or (payload.match and payload.match.model not in (None, terms.model)):
            return False
        return self._outcomes(group, payload, now) != self._outcomes(group, payload, then)

    def _outcomes(self, group: Sequence[Recorded], payload: Statement, bands: Bands) -> Sequence[object]:
        """The band of a statement, and which of its neighbours it contradicts."""
        known, text = self._versions.recorded, self._text(payload)
        found: list[object] = []
        match = payload.match
        if match and match.similarity is not None and (one := known.get(match.candidate_id or payload.memory_id)):
            identity = payload.identity if isinstance(payload, events.MemoryCreated) else one.identity
            found.append(judged(bands, match.similarity, one, text, identity))
        near = ((known.get(id_), similarity) for id_, similarity in self._linked(group).items())
        found += [conflicting(bands, similarity, text, one.content.text) for one, similarity in near if one]
        return found

    def _text(self, payload: Statement) -> str:
        """What a statement says: the words of the memory that it repeats, if it has none of its own."""
        known = self._versions.recorded.get(payload.memory_id)
        return payload.text or (known.content.text if known else "")

    def _linked(self, group: Sequence[Recorded]) -> Mapping[UUID, float]:
        own = MEMORY.touched(group[0].payload)[0]
        links = [one.payload for one in group if isinstance(one.payload, events.MemoriesLinked)]
        return {one.to_id if one.memory_id == own else one.memory_id: one.strength for one in links}

    def _statement(self, group: Sequence[Recorded]) -> None:
        event, payload = group[0], group[0].payload
        assert isinstance(payload, Statement)
        terms, id_ = self._shadow.terms, payload.memory_id
        try:
            command = self._command(event, payload, self._text(payload))
            if not is_known(terms.then.categories, command.category):
                return  # Refused: nothing is recorded.
            similar, lacking = self._similar(group, payload, command)
            decided = self._shadow.log.decide(MEMORIES, command.model_copy(update={"similar": similar}))
        except MnemologError as error:
            self._shadow.note(event, id_, f"would be refused: {error.message}")
            return
        decided = [_as_recorded(one, payload) for one in decided]
        self._shadow.write(decided, group)
        met = getattr(decided[0], "match", None) if decided else None
        for why in lacking if met is None or met.similarity is not None else ():
            self._shadow.note(event, id_, why)
        others = {one.memory_id for one in decided if isinstance(one, Statement)} - {id_}
        for other in others:
            if isinstance(payload, events.MemoryCreated):
                self._became[id_] = other
            else:
                self._split_off.setdefault(id_, []).append(other)

    def _command(self, event: Recorded, payload: Statement, text: str) -> CreateMemory:
        match = payload.match
        fields: dict[str, Any] = {
            **context_of(event),
            "text": text,
            "origin": payload.origin,
            "source_turn_ids": payload.source_turn_ids,
            "entity_ids": payload.entity_ids,
            "merge_similar": match is not None and match.candidate_id is not None,
        }
        if isinstance(payload, events.MemoryCreated):
            return validated(CreateMemory, {**fields, **_given(payload)})
        known, category = self._versions.recorded[payload.memory_id], category_of(payload)
        changed = payload.changed if isinstance(payload, events.MemoryUpdated) else ()
        own: dict[str, Any] = {
            name: getattr(payload, name) for name in ("importance", "pinned", "metadata") if name in changed
        }
        said = payload.confidence
        if isinstance(payload, events.MemoryObserved):
            said = confidence_of(known.content.confidence, payload.confidence)
        place: dict[str, Any] = {
            "kind": known.kind,
            "category": category or known.content.category,
            "scope": known.scope,
        }
        if match and match.band is Band.KEY:
            place["memory_key"] = known.identity.key
        agent = {"agent_id": known.agent_id} if known.scope is Scope.AGENT else {}
        return validated(
            CreateMemory, {**fields, **place, **agent, **own, "confidence": said, "memory_id": event.event_id}
        )

    def _similar(
        self, group: Sequence[Recorded], payload: Statement, command: CreateMemory | UpdateMemory
    ) -> tuple[Similar, Sequence[str]]:
        """What it is compared with in the shadow, by the similarities that were recorded or can be computed; and what
        is lacking. What has the same text or key is found without that.
        """
        terms, near, match = self._shadow.terms, dict(self._linked(group)), payload.match
        found, lacking = dict[UUID, float](), list[str]()
        if match and match.candidate_id and match.band is not Band.KEY:
            near[match.candidate_id] = 1.0 if match.similarity is None else match.similarity
        if match and match.model not in (None, terms.model):
            near, lacking = {}, ["its similarity is that of another embedding model"]
        for id_, similarity in near.items():
            recorded, there = self._versions.recorded.get(id_), self._versions.shadow.get(id_)
            split_off = self._split_off.get(id_, [])
            others = split_off[-MOST_COMPARED:]
            if len(split_off) > len(others):
                lacking.append(f"it was compared with {MOST_COMPARED} of {len(split_off)} memories beside {id_}")
            if recorded and there and recorded.content.text == there.content.text:
                found[id_] = similarity
            else:
                others = [self._standing_for(id_), *others]
            for other in others:
                known = self._versions.shadow.get(other)
                if known is None or not known.visible or other in found:
                    continue
                computed = self._shadow.similarity(command.text or "", known.content.text)
                if computed is None:
                    lacking.append(f"it was never compared with memory {other}")
                else:
                    found[other] = computed
        ordered = sorted(found.items(), key=lambda one: -one[1])
        similar = Similar(
            model=terms.model,
            bands=terms.bands_of(terms.then),
            link_min=terms.link_min,
            near=tuple(Near(memory_id=id_, similarity=one) for id_, one in ordered),
        )
        return similar, lacking

    def _standing_for(self, id_: UUID) -> UUID:
        while id_ not in self._versions.shadow and id_ in self._became:
            id_ = self._became[id_]
        return id_

    def _undo(self, group: Sequence[Recorded], payload: events.MemoryReverted | events.LinkReverted) -> None:
        if payload.undoes not in self._shadow.log.ids:
            self._shadow.note(group[0], payload.memory_id, "it undoes what would not have happened")
            return
        command = UndoChange(
            **context_of(group[0]), memory_id=payload.memory_id, event_id=payload.undoes, at=group[0].occurred_at
        )
        try:
            self._shadow.write(self._shadow.log.decide(MEMORIES, command), group)
        except MnemologError as error:
            self._shadow.note(group[0], payload.memory_id, f"would be refused: {error.message}")

    def _update(self, group: Sequence[Recorded], payload: events.MemoryUpdated) -> None:
        """New words of a memory, with what they are linked to."""
        changed = {name: getattr(payload, name) for name in Content.__slots__ if name in payload.changed}
        try:
            command = validated(UpdateMemory, {**context_of(group[0]), "memory_id": payload.memory_id, **changed})
            similar, lacking = self._similar(group, payload, command)
            decided = self._shadow.log.decide(MEMORIES, command.model_copy(update={"similar": similar}))
        except MnemologError as error:
            self._shadow.note(group[0], payload.memory_id, f"would be refused: {error.message}")
            return
        self._shadow.write(decided, group)
        for why in lacking:
            self._shadow.note(group[0], payload.memory_id, why)

    def _change(self, event: Recorded) -> None:
        """A change that was asked for: of what is there in the shadow, by what it changed."""
        payload, known = event.payload, self._versions.shadow
        if isinstance(payload, events.MemoriesMerged):
            absorbed = tuple(id_ for id_ in payload.absorbed_ids if id_ in known and known[id_].visible)
            if not absorbed:
                self._missing(event)
                return
            payload = payload.model_copy(update={"absorbed_ids": absorbed})
        if not self._missing(replace(event, payload=payload)):
            self._shadow.write([self._on_shadow(payload)], [event])

    def _missing(self, event: Recorded) -> bool:
        """Whether a change is about memories that are not there; a note if it may be about others."""
        payload = event.payload
        missing = _needs(payload) - self._versions.shadow.keys()
        for id_ in missing & self._became.keys():
            self._shadow.note(event, id_, f"it is about what would be part of memory {self._standing_for(id_)}")
        if not missing and not isinstance(payload, events.MemoryObserved):
            for id_ in _needs(payload) & self._split_off.keys():
                self._shadow.note(event, id_, f"it may be about what would be memory {self._split_off[id_][-1]}")
        return bool(missing)

    def _on_shadow(self, payload: Event) -> Event:
        match payload:
            case events.MemoryUpdated() | events.MemoriesMerged():
                there, before = self._versions.shadow[payload.memory_id], self._versions.recorded[payload.memory_id]
                changed = {
                    name: getattr(payload, name)
                    for name in Content.__slots__
                    if getattr(payload, name) != getattr(before.content, name)
                }
                content = replace(there.content, **changed).weighed()
                return payload.model_copy(update={name: getattr(content, name) for name in Content.__slots__})
            case events.MemoryObserved():
                grown = corroboration.corroborated(self._versions.shadow[payload.memory_id].content)
                return payload.model_copy(update={"confidence": grown.confidence, "importance": grown.importance})
        return payload


def _given(payload: events.MemoryCreated) -> dict[str, Any]:
    same = ("memory_id", "kind", "scope", "role", "type", "entity_type", "fact_type", "source", "entity_refs")
    given = {name: getattr(payload, name) for name in (*same, "entity_label", "topics", *Content.__slots__)}
    agent = {"agent_id": payload.agent_id} if payload.scope is Scope.AGENT else {}
    derived = memory_key(payload.type, payload.entity_type, payload.entity_refs, payload.fact_type)
    return {**given, **agent, "memory_key": "" if payload.memory_key == derived else payload.memory_key}


def _as_recorded(decided: Event, payload: Statement) -> Event:
    """What was recorded of a new memory stays, but for what it is like."""
    same = isinstance(decided, events.MemoryCreated) and isinstance(payload, events.MemoryCreated)
    return payload.model_copy(update={"match": getattr(decided, "match", None)}) if same else decided


def _ids(group: Sequence[Recorded]) -> Sequence[UUID]:
    """The memories that a group is about, its own first, or was compared with."""
    found = dict[UUID, None]()
    for event in group:
        payload = event.payload
        found |= dict.fromkeys(MEMORY.touched(payload))
        for ends in LINK.touched(payload):
            found |= dict.fromkeys(ends)
        match = getattr(payload, "match", None)
        if match and match.candidate_id:
            found[match.candidate_id] = None
    return list(found)


def _needs(payload: Event) -> set[UUID]:
    """The memories that have to be there for a change."""
    if isinstance(payload, events.MemoryCreated):
        return set()
    return {*MEMORY.touched(payload), *(id_ for ends in LINK.touched(payload) for id_ in ends)}
