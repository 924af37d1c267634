"""Which words of an entity stay when something goes: those that something that stays told (X07)."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from mnemolog.commands.words import UNTOLD, Word, Words, attribute_word, name_word
from mnemolog.domain.entity import Traits
from mnemolog.events import graph as events


@dataclass(frozen=True, slots=True)
class Ground:
    """On what words stand while something goes: `staying` and `gone` are tags of what may have told them."""

    entities: Mapping[str, Words]
    staying: Set[str]
    gone: Set[str]

    def kept(self, tag: str) -> Traits | None:
        """What stays of an entity; None when nobody who stays calls it by a name."""
        words = self.entities[tag]
        traits = words.traits
        if traits is None or not self._called(tag, traits):
            return None
        names = (traits.name, *traits.aliases, *words.short)
        name = next(name for name in names if self._stays(tag, name_word(name)))
        aliases = tuple(one for one in traits.aliases if one != name and self._stays(tag, name_word(one)))
        attributes = {key: one for key, one in traits.attributes.items() if self._stays(tag, attribute_word(key, one))}
        return replace(traits, name=name, aliases=aliases, attributes=attributes)

    def touched(self, tag: str) -> bool:
        """Whether something goes that told of it."""
        words = self.entities[tag]
        return not self.gone.isdisjoint(words.spoken.union(*(self._tellers(tag, word) for word in words.told)))

    def loses(self, tag: str) -> bool:
        """Whether something is an entity that ever had a word that nothing tells any more."""
        return tag in self.entities and any(self._lost(tag, word) for word in self.entities[tag].told)

    def named(self, tag: str) -> bool:
        """Whether what told its name stays."""
        traits = self.entities[tag].traits
        return traits is not None and self._holds(tag, name_word(traits.name))

    def tellings(self, tag: str, traits: Traits) -> tuple[events.Telling, ...]:
        """What stays of an entity, by what tells it."""
        names: dict[tuple[str, ...], list[str]] = {}
        attributes: dict[tuple[str, ...], list[str]] = {}
        for name in (traits.name, *traits.aliases):
            names.setdefault(self._staying_sources(tag, name_word(name)), []).append(name)
        for key, value in traits.attributes.items():
            attributes.setdefault(self._staying_sources(tag, attribute_word(key, value)), []).append(key)
        return tuple(
            events.Telling(
                sources=sources, names=tuple(names.get(sources, ())), attributes=tuple(attributes.get(sources, ()))
            )
            for sources in sorted({*names, *attributes} - {()})
        )

    def _called(self, tag: str, traits: Traits) -> bool:
        spoken = not self.staying.isdisjoint(self.entities[tag].spoken)
        names = (traits.name, *traits.aliases, *self.entities[tag].short)
        return spoken or any(self._holds(tag, name_word(name)) for name in names)

    def _stays(self, tag: str, word: Word) -> bool:
        words = self.entities[tag]
        if words.traits and word == name_word(words.traits.name) and not self.staying.isdisjoint(words.spoken):
            return True
        return self._holds(tag, word) or UNTOLD in words.told.get(word, ())

    def _lost(self, tag: str, word: Word) -> bool:
        return not self._stays(tag, word) and not self.gone.isdisjoint(self._tellers(tag, word))

    def _holds(self, tag: str, word: Word) -> bool:
        return not self.staying.isdisjoint(self._tellers(tag, word))

    def _staying_sources(self, tag: str, word: Word) -> tuple[str, ...]:
        """What of its tellers stays; an entity stays as a teller while it has the word itself."""
        told = self.entities[tag].told.get(word, ())
        return tuple(
            sorted(
                one
                for one in told
                if one == UNTOLD or one in self.staying or (self._is_other(one) and self._holds(one, word))
            )
        )

    def _tellers(self, tag: str, word: Word) -> Set[str]:
        """What told a word, in the end: of what was merged, what told it there."""
        found, queue = set[str](), [tag]
        for one in queue:  # It grows during the loop.
            told = self.entities[one].told.get(word, frozenset())
            others = {source for source in told if self._is_other(source)}
            queue += sorted(others.difference(queue))
            found |= told - others
        return found

    def _is_other(self, source: str) -> bool:
        return source in self.entities and source not in self.gone
