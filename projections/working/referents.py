"""What the pronouns of recorded messages refer to, in the sessions of their time (A12, X06). Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from uuid import UUID

from mnemolog.domain.anaphora import TIES, Candidate, resolve, ties_of
from mnemolog.domain.entity import Entity
from mnemolog.domain.memory import VISIBLE
from mnemolog.domain.mention import phrases
from mnemolog.domain.pronouns import Pronouns
from mnemolog.domain.relation import Relation
from mnemolog.domain.scope import readable
from mnemolog.domain.session import Session
from mnemolog.domain.text import name_key
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Recorded
from mnemolog.events.graph_fold import ENTITY, RELATION
from mnemolog.projections.working.projector import SessionPlace, fold, place_of


def referents(
    events: Iterable[Recorded], turn_ids: Collection[str], policies: Sequence[Pronouns]
) -> Mapping[str, Sequence[str]]:
    """For each of these messages and each policy: its pronouns, and whom or what they refer to."""
    sessions, known, found = dict[SessionPlace, Session](), _Known(), dict[str, Sequence[str]]()
    for event in events:
        turn, place = event.payload, place_of(event)
        if isinstance(turn, TurnRecorded) and turn.turn_id in turn_ids and place:
            session = sessions.get(place)
            shown = session.shown() if session and not session.expired(event.recorded_at) else None
            shown = shown or Session(place.user_id, place.agent_id, place.chat_id)
            candidates = known.candidates(turn.text, shown, event.meta.agent_id)
            found[turn.turn_id] = [_referred(turn.text, one, shown, candidates) for one in policies]
        for changed, kept in fold(sessions, [event]).items():
            if kept is None:
                sessions.pop(changed, None)
            else:
                sessions[changed] = kept[0]
        known.take(event)
    return found


def _referred(text: str, policy: Pronouns, session: Session, candidates: Sequence[Candidate]) -> str:
    found = policy.found_in(text)
    names = defaultdict[str, list[str]](list)
    for one in resolve(text, found, session, candidates).references:
        names[one.text.lower()].append(one.name or one.topic)
    words = dict.fromkeys((*(one.text for one in found.pronouns), *([found.opening] if found.opening else [])))
    return ", ".join(f"{word}: {' and '.join(names[word.lower()]) or 'nobody'}" for word in words) or "no pronoun"


class _Known:
    """The entities so far, those of each name, and the relations that may tell their gender, by whom they lead to."""

    def __init__(self) -> None:
        self._entities = dict[UUID, Entity]()
        self._named = defaultdict[str, set[UUID]](set)
        self._merged = defaultdict[UUID, set[UUID]](set)  # Into each, directly.
        self._relations = dict[UUID, Relation]()
        self._leading_to = defaultdict[str, set[UUID]](set)

    def take(self, event: Recorded) -> None:
        related = RELATION.evolve(self._relations, event.payload)
        self._relations |= related
        for id_, tie in related.items():
            if tie.predicate in TIES and (end := str(tie.object_id or name_key(tie.name or ""))):
                self._leading_to[end].add(id_)
        changed = ENTITY.evolve(self._entities, event.payload)
        for id_, one in changed.items():
            if (former := self._entities.get(id_)) and former.merged_into:
                self._merged[former.merged_into].discard(id_)
            if one.merged_into:
                self._merged[one.merged_into].add(id_)
            for name in _names(one):
                self._named[name].add(id_)
        self._entities |= changed

    def candidates(self, text: str, session: Session, agent_id: str) -> Sequence[Candidate]:
        """Those that are active in the session, or named in the text or a turn; a merged one as its survivor."""
        named = frozenset[str]().union(*map(phrases, (text, *(turn["text"] for turn in session.turns))))
        active = map(UUID, session.active_entity_ids)
        wanted = {*active, *(id_ for name in named for id_ in self._named.get(name, ()))}
        ids = defaultdict[UUID, set[str]](set)
        for id_ in wanted & self._entities.keys():
            ids[self._survivor(id_)].add(str(id_))
        return list(self._seen_by(agent_id, ids))

    def _seen_by(self, agent_id: str, ids: Mapping[UUID, set[str]]) -> Iterator[Candidate]:
        for id_, own in ids.items():
            one = self._entities[id_]
            if one.status in VISIBLE and one.traits.name and readable(one.scope, one.agent_id, agent_id):
                traits, all_ids, ties = one.traits, frozenset({str(id_), *own}), self._ties(id_, agent_id)
                yield Candidate(id_, traits.name, traits.category, _names(one), all_ids, traits.attributes, ties)

    def _ties(self, entity_id: UUID, agent_id: str) -> frozenset[str]:
        """What an entity is to others by what ever held of it and the agent may see."""
        own = {str(id_) for id_ in self._and_merged(entity_id)}
        ends = own.union(_names(self._entities[entity_id])) & self._leading_to.keys()
        found = frozenset[str]()
        for one in (self._relations[id_] for end in ends for id_ in self._leading_to[end]):
            held = one.status in VISIBLE and one.validity.periods
            if held and readable(one.scope, one.agent_id, agent_id):
                found |= ties_of(one.predicate, one.metadata)
        return found

    def _and_merged(self, id_: UUID) -> Iterator[UUID]:
        """An entity, and those that were merged into it."""
        yield id_
        for one in self._merged.get(id_, ()):
            yield from self._and_merged(one)

    def _survivor(self, id_: UUID) -> UUID:
        while into := self._entities[id_].merged_into:
            id_ = into
        return id_


def _names(one: Entity) -> frozenset[str]:
    return frozenset(filter(None, map(name_key, (one.traits.name, *one.traits.aliases))))
