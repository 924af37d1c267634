"""Create a memory, or confirm or update a known one with the same key or meaning (D04, D13)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mnemolog.commands import mentions, same_subject
from mnemolog.commands.memory_requests import CreateMemory, Near, Writing
from mnemolog.commands.memory_state import Memories
from mnemolog.domain import bands, corroboration, procedure
from mnemolog.domain.bands import Band, conflicting, same_words
from mnemolog.domain.contradiction import CONTRADICTS, RELATED
from mnemolog.domain.errors import IdempotencyConflict, TransitionRefused
from mnemolog.domain.link import Ends
from mnemolog.domain.memory import SEMANTIC, Content, Kind, Memory, Status
from mnemolog.domain.memory_key import MemoryType
from mnemolog.domain.origin import Origin, lowest, require_inside, restated
from mnemolog.domain.profile import CATEGORY as PROFILE
from mnemolog.domain.text import same_text
from mnemolog.events import memory as events
from mnemolog.events.event import Event
from mnemolog.events.memory import Match, Observation


def create(command: CreateMemory, state: Memories) -> Sequence[Event]:
    kind, _ = command.kept_as
    if kind is Kind.PROCEDURE:
        procedure.require_steps(command.text)
        procedure.require_wanted(command.source, command.confidence)
    _require_inside(command, _origin(command, state))
    if command.memory_id in state.known:
        return _again(command, state)
    # Also under the entity's other names; pinned ones first, as they are never absorbed.
    existing = [state.holder(key, command.scope, command.owner) for key in same_subject.keys(state.people, command)]
    if holders := sorted(filter(None, existing), key=lambda one: not one.content.pinned):
        return _met_by_key(command, state, holders)
    match = _same_text(command, state) or _match(command, state)
    if match is None or match.candidate_id is None or match.band in (Band.FALLBACK, Band.CONFLICT):
        return [_created(command, state, match), *links(command, state, _initial(command))]
    known = state.known[match.candidate_id]
    if match.band is not Band.AUTO and _is_outside(command, state, known):
        beside = match.model_copy(update={"band": Band.FALLBACK})
        return [_created(command, state, beside), *links(command, state, _initial(command))]
    if match.band is not Band.RECREATE:
        return met(command, state, known, match)
    kept = {key: one for key, one in state.known.items() if key != known.memory_id}
    without = replace(state, known=kept)
    content = _content(command)
    merged = replace(content, importance=max(content.importance, known.content.importance))
    return [
        _created(command, state, match),
        events.MemoriesMerged.of(
            command.memory_id,
            merged,
            absorbed_ids=(known.memory_id,),
            match=match,
            source_turn_ids=command.source_turn_ids,
            entity_ids=mentions.of(state.people, command),
        ),
        *links(command, without, _initial(command)),
    ]


def _met_by_key(command: CreateMemory, state: Memories, holders: Sequence[Memory]) -> Sequence[Event]:
    """Memories that share a key because two names turned out to mean the same entity are merged."""
    first, *others = holders
    match = Match(band=Band.KEY, candidate_id=first.memory_id)
    alike = (one for one in others if one.origin.external is first.origin.external)
    absorbed = [one for one in alike if not one.content.pinned and one.kind is first.kind]
    if not absorbed:
        return met(command, state, first, match)
    contents = [one.content for one in (first, *absorbed)]
    content = replace(
        first.content,
        importance=max(one.importance for one in contents),
        confidence=max(one.confidence for one in contents),
    )
    ids = tuple(one.memory_id for one in absorbed)
    merged = events.MemoriesMerged.of(first.memory_id, content, absorbed_ids=ids, match=match)
    return [merged, *met(command, state, replace(first, content=content), match)]


def met(command: CreateMemory, state: Memories, known: Memory, match: Match) -> Sequence[Event]:
    """Record a statement on a known memory. A turn that is already its source adds nothing."""
    turns = command.source_turn_ids
    if turns and state.sources.get(known.memory_id, frozenset()).issuperset(turns):
        return []
    if (known.kind is Kind.PROCEDURE) is not (command.kept_as[0] is Kind.PROCEDURE):
        raise TransitionRefused(
            f"memory {known.memory_id} has this key and kind {known.kind}", field="kind", fix="use another key"
        )
    same = same_words(known.content.text, command.text)
    if same or match.band is Band.AUTO:
        return [_observed(command, state, known, match, said="" if same else command.text)]
    if _is_outside(command, state, known):
        require_inside(_origin(command, state), "update what did not come from outside", "memory_key")
    content, origin = _newer(command, known.content), restated(known.origin, _origin(command, state))
    changed = [name for name in sorted(Content.__slots__) if getattr(content, name) != getattr(known.content, name)]
    updated = events.MemoryUpdated.of(
        known.memory_id,
        content,
        changed=(*changed, *(["origin"] if origin is not known.origin else [])),
        origin=None if origin is known.origin else origin,
        match=match,
        source_turn_ids=command.source_turn_ids,
        entity_ids=mentions.of(state.people, command),
    )
    return [updated, *links(command, state, replace(known, content=content))]


def links(command: Writing, state: Memories, memory: Memory) -> Iterable[events.MemoriesLinked]:
    """Links to the neighbours of a semantic memory, where there is none yet (B §2).

    Contradicting memories are linked as such until one of them changes.
    """
    if command.similar is None or memory.kind not in SEMANTIC:
        return
    # What was linked as contradicting and is not near any more contradicts only if little differs.
    linked = dict.fromkeys(state.contradicted(memory.memory_id), command.similar.bands.fallback_low)
    near = {one.memory_id: one.similarity for one in command.similar.near}
    for other_id, similarity in {**linked, **near}.items():
        strength = min(1.0, max(0.0, similarity))
        other = state.known.get(other_id)
        if other is not None and _beside(memory, other):
            against = conflicting(command.similar.bands, similarity, memory.content.text, other.content.text)
            related = similarity >= command.similar.link_min and other.kind in SEMANTIC
            for from_id, to_id in _unlinked(state, memory, other, against, related):
                kind = CONTRADICTS if against else RELATED
                yield events.MemoriesLinked(memory_id=from_id, to_id=to_id, relation_type=kind, strength=strength)


def _unlinked(state: Memories, memory: Memory, other: Memory, against: bool, related: bool) -> Iterable[Ends]:
    """Links between two memories that should get another type. Links made by a caller stay."""
    out, into = Ends(memory.memory_id, other.memory_id), Ends(other.memory_id, memory.memory_id)
    there, back = (link.relation_type if (link := state.links.get(edge)) else "" for edge in (out, into))
    if back == CONTRADICTS:
        if not against:
            yield into
    elif (against and there in ("", RELATED)) or (related and not there) or (not against and there == CONTRADICTS):
        yield out


def _beside(memory: Memory, other: Memory) -> bool:
    """Whether a link is allowed: the target is active, and everyone who sees one memory sees the other."""
    same = (memory.scope, memory.agent_id) == (other.scope, other.agent_id)
    return other.visible and same and other.memory_id != memory.memory_id


def _again(command: CreateMemory, state: Memories) -> Sequence[Event]:
    if state.known[command.memory_id].status is Status.PURGED:
        return []  # Erased text cannot be compared, so nothing is written again.
    found_since = {"match": None, "entity_ids": (), "origin": Origin.USER}
    before, now = state.created[command.memory_id], _created(command, state, None)
    if before.model_copy(update=found_since) != now.model_copy(update=found_since):
        raise IdempotencyConflict(
            f"memory {command.memory_id} already exists with different content",
            field="memory_id",
            fix="generate a new id, or update the memory",
        )
    return []


def _created(command: CreateMemory, state: Memories, match: Match | None) -> events.MemoryCreated:
    return events.MemoryCreated.of(
        command.memory_id,
        _content(command),
        kind=command.kept_as[0],
        scope=command.scope,
        agent_id=command.owner,
        role=command.role,
        run_id=command.run_id,
        source_turn_ids=command.source_turn_ids,
        type=command.type,
        entity_type=command.entity_type,
        fact_type=command.fact_type,
        source=command.source,
        origin=_origin(command, state),
        match=match,
        memory_key=command.key,
        entity_refs=command.entity_refs,
        entity_ids=mentions.of(state.people, command),
        entity_label=command.entity_label,
        topics=command.topics,
    )


def _content(command: CreateMemory) -> Content:
    given = {name: getattr(command, name) for name in Content.__slots__}
    return Content(**{**given, "category": command.kept_as[1], "importance": command.weight}).weighed()


def _initial(command: CreateMemory) -> Memory:
    return Memory(command.memory_id, command.kept_as[0], command.scope, command.owner, _content(command))


def _observed(command: CreateMemory, state: Memories, known: Memory, match: Match, said: str) -> Event:
    """From outside, it strengthens nothing that did not come from there. The user's own word raises what did."""
    about, origin = mentions.of(state.people, command), _origin(command, state)
    outside = _is_outside(command, state, known)
    grown = known.content if outside else corroboration.corroborated(known.content, command.confidence)
    if command.importance is not None and not outside:
        grown = replace(grown, importance=max(grown.importance, command.weight))
    pinned = command.pinned and not known.content.pinned
    raised = known.origin.external and origin is Origin.USER
    if pinned or raised:
        changed = ("confidence", "importance", *(["origin"] if raised else []), *(["pinned"] if pinned else []))
        return events.MemoryUpdated.of(
            known.memory_id,
            replace(grown, pinned=known.content.pinned or command.pinned).weighed(),
            changed=changed,
            origin=origin if raised else None,
            match=match,
            source_turn_ids=command.source_turn_ids,
            entity_ids=about,
        )
    return events.MemoryObserved(
        memory_id=known.memory_id,
        confidence=grown.confidence,
        importance=grown.importance,
        cause=Observation.REPEAT,
        origin=origin if origin.external else None,
        match=match,
        source_turn_ids=command.source_turn_ids,
        entity_ids=about,
        text=said,
    )


def _require_inside(command: CreateMemory, origin: Origin) -> None:
    """Refuse to pin what comes from outside, or to make it a procedure or a part of the profile (X21)."""
    kind, category = command.kept_as
    if command.pinned:
        require_inside(origin, "be pinned", "pinned")
    if kind is Kind.PROCEDURE:
        require_inside(origin, "be a procedure", "kind")
    if category == PROFILE:
        require_inside(origin, "be part of the profile", "category")
    if command.type is MemoryType.PROFILE:
        require_inside(origin, "be part of the profile", "type")


def _origin(command: CreateMemory, state: Memories) -> Origin:
    """An agent's conclusion that says the same as something from outside comes from there, whatever its sources."""
    trust = command.trust
    if trust is not Origin.AGENT:
        return trust
    similar = command.similar
    said = state.said.get(same_text(command.text), frozenset())
    copies = sorted(said, key=lambda id_: state.known[id_].origin.external)
    near = [one.memory_id for one in similar.near if one.similarity >= similar.bands.check_low] if similar else []
    known = (state.known[id_] for id_ in (*copies, *near) if id_ in state.known)
    seen = (one for one in known if one.visible and one.agent_id in (None, command.agent_id))
    nearest = next(seen, None)
    return lowest(trust, nearest.origin) if nearest and nearest.origin.external else trust


def _is_outside(command: CreateMemory, state: Memories, known: Memory) -> bool:
    """Whether it comes from outside, and what it would change does not."""
    return _origin(command, state).external and not known.origin.external


def _newer(command: CreateMemory, old: Content) -> Content:
    """The new text with its confidence; an update never lowers the importance."""
    given = {name: getattr(command, name) for name in Content.__slots__ if name in command.model_fields_set}
    overrides = {
        "category": command.kept_as[1] if "category" in given else old.category,
        "importance": max(old.importance, command.weight) if command.importance is not None else old.importance,
        "confidence": command.confidence,
        "pinned": old.pinned or command.pinned,
    }
    return replace(old, **{**given, **overrides}).weighed()


def _same_text(command: CreateMemory, state: Memories) -> Match | None:
    """A memory with the same text, found in the log, so that concurrent writers create only one."""
    if not command.finds_same_text:
        return None
    wanted, begun = same_text(command.text), _initial(command)
    for known in state.known.values():
        alike = (known.kind, known.content.category) == (begun.kind, begun.content.category)
        same = alike and same_text(known.content.text) == wanted and _beside(begun, known)
        if same and bands.one_subject(known, command.identity):
            return Match(band=Band.AUTO, candidate_id=known.memory_id)
    return None


def _match(command: CreateMemory, state: Memories) -> Match | None:
    """The best match found by the model among visible memories with the same owner, kind and category."""
    if command.similar is None or not command.merge_similar:
        return None
    found = [(one, band) for one in command.similar.near if (band := _band(command, state, one))]
    if not found:
        return None
    near, band = min(found, key=lambda pair: (_STRENGTH.index(pair[1]), -pair[0].similarity))
    return Match(band=band, similarity=near.similarity, model=command.similar.model, candidate_id=near.memory_id)


_STRENGTH = (Band.AUTO, Band.UPDATE, Band.RECREATE, Band.CONFLICT, Band.FALLBACK)


def _band(command: CreateMemory, state: Memories, near: Near) -> Band | None:
    known, begun = state.known.get(near.memory_id), _initial(command)
    if command.similar is None or known is None or not _beside(begun, known):
        return None
    if (known.kind, known.content.category) != (begun.kind, begun.content.category):
        return None
    return bands.judged(command.similar.bands, near.similarity, known, command.text, command.identity)
