"""The words of an entity and their sources, so that an erasure removes words without a remaining source (X07).

A word is a name, in any spelling, or an attribute with its value. Words without a recorded source (entered by a user,
or by an older version) stay as long as the entity.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace

from mnemolog.domain.entity import Traits
from mnemolog.domain.relation import value_key
from mnemolog.domain.text import name_key
from mnemolog.domain.updated import updated
from mnemolog.events import graph as events
from mnemolog.events.conversation import turn_tag
from mnemolog.events.event import sources_of
from mnemolog.events.graph_tags import entity_tag

# The source of a word if no event gives one.
UNTOLD = "untold"
# None and a name, or an attribute's key and value.
Word = tuple[str | None, str]


@dataclass(frozen=True, slots=True)
class Words:
    """An entity's current words, and every word it ever had, by the tags of their sources.

    `spoken`: facts and turns in which the entity is mentioned or speaks under its current name. `short`: parts of its
    name by which turns call it.
    """

    traits: Traits | None = None
    told: Mapping[Word, frozenset[str]] = field(default_factory=dict)
    spoken: frozenset[str] = frozenset()
    short: tuple[str, ...] = ()

    @property
    def sources(self) -> frozenset[str]:
        return self.spoken.union(*self.told.values())

    def tells(self, told: events.Telling, traits: Traits) -> bool:
        """Whether each of these words already has each of these sources."""
        return all(self.told.get(word, frozenset()).issuperset(told.sources) for word in _meant(told, traits))

    def spoken_of(self, sources: Iterable[str]) -> "Words":
        return replace(self, spoken=self.spoken.union(sources))

    def called(self, short: str, source: str) -> "Words":
        word = name_word(short)
        told = updated(self.told, {word: self.told.get(word, frozenset()) | {source}})
        return replace(self, told=told, short=tuple(dict.fromkeys((*self.short, short))))


def after(entities: Mapping[str, Words], event: events.EntityEvent) -> Mapping[str, Words]:
    tag = event.key_scope()
    words = entities.get(tag, Words())
    match event:
        case events.EntityContent():
            return updated(entities, {tag: _told_by(event, words, entities)})
        case events.EntityCleared() | events.EntityErased():
            return updated(entities, {tag: Words(spoken=words.spoken)})
        case _:
            return entities


def _told_by(event: events.EntityContent, words: Words, entities: Mapping[str, Words]) -> Words:
    traits = Traits(event.name, event.category, event.confidence, event.aliases, event.attributes)
    told, spoken = dict(words.told), words.spoken
    if words.traits and words.traits.name and name_word(words.traits.name) != name_word(traits.name):
        # Who spoke of it so far used its former name.
        former = name_word(words.traits.name)
        told[former], spoken = told.get(former, frozenset()).union(spoken), frozenset[str]()
    for word, sources in _told(event, traits, entities):
        told[word] = told.get(word, frozenset()).union(sources)
    for word in _words(traits):
        told.setdefault(word, frozenset({UNTOLD}))
    return replace(words, traits=traits, told=told, spoken=spoken)


def _told(
    event: events.EntityContent, traits: Traits, entities: Mapping[str, Words]
) -> Iterable[tuple[Word, Iterable[str]]]:
    match event:
        case events.EntityObserved():
            sources = tuple(map(turn_tag, sources_of(event) or ())) or (events.SAID,)
            return [(word, sources) for word in _words(traits)]
        case events.EntityUpdated(told=told) | events.EntityKept(told=told):
            return [(word, one.sources) for one in told for word in _meant(one, traits)]
        case events.EntitiesMerged(absorbed_ids=absorbed_ids):
            tags = [tag for tag in map(entity_tag, absorbed_ids) if tag in entities]
            return [(word, [tag]) for tag in tags for word in _words(entities[tag].traits) & _words(traits)]
        case _:
            return []


def _meant(one: events.Telling, traits: Traits) -> Set[Word]:
    told = {key: traits.attributes[key] for key in one.attributes if key in traits.attributes}
    return _words(Traits("", "", aliases=one.names, attributes=told))


def _words(traits: Traits | None) -> Set[Word]:
    if traits is None:
        return set()
    names = {name_word(name) for name in (traits.name, *traits.aliases) if name}
    return names | {attribute_word(key, value) for key, value in traits.attributes.items()}


def name_word(name: str) -> Word:
    return None, name_key(name)


def attribute_word(key: str, value: object) -> Word:
    return key, value_key(value)
