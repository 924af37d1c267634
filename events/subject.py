"""A kind of subject: something that can be known, such as a memory or a todo, and what each event leaves of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from mnemolog.domain.errors import NotFound
from mnemolog.events.erasure import UserErased
from mnemolog.events.event import Event

Id = TypeVar("Id")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Subject(Generic[Id, T]):
    """One kind. A tag of it is its `name` and an id, which `read_id` takes from the text.

    `folds` is the one fold of the write and the read side: for each type of event that may change a subject, what the
    subject is afterwards, given what it was. `ids` are the subjects that such an event touches, its own first. Only
    the types in `begins` make their own subject known; of one that is not known, no other event says anything.

    `erased` is what the erasure of a user leaves of a subject, and `erase` the event that destroys its words; None
    where it has no words of its own. `missing` is the one answer for a subject that is not there, and for one that the
    asker may not see.
    """

    name: str
    read_id: Callable[[str], Id]
    ids: Callable[[Any], Sequence[Id]]
    folds: Mapping[type[Event], Callable[[Any, Any], T]]
    begins: frozenset[type[Event]]
    erased: Callable[[T], T]
    erase: Callable[[Id], Event] | None
    missing: Callable[[str, Id], NotFound]

    def tag(self, id_: Id) -> str:
        return f"{self.name}:{id_}"

    def has(self, tag: str) -> bool:
        """Whether a tag names a subject of this kind."""
        return tag.startswith(f"{self.name}:")

    def id_of(self, tag: str) -> Id:
        return self.read_id(tag.partition(":")[2])

    def touched(self, event: Event) -> Sequence[Id]:
        """The subjects of this kind that an event may change, its own first."""
        return self.ids(event) if type(event) in self.folds else ()

    def befores(self, known: Mapping[Id, T], event: Event) -> dict[str, T | None]:
        """What each subject that an event touches was before it, by its tag; None where it was not known."""
        return {self.tag(id_): known.get(id_) for id_ in self.touched(event)}

    def evolve(self, known: Mapping[Id, T], event: Event) -> dict[Id, T]:
        """The subjects that an event changes, as it leaves them."""
        if isinstance(event, UserErased):
            return {id_: self.erased(one) for id_, one in known.items()}
        touched = self.touched(event)
        begun = touched[:1] if type(event) in self.begins else ()
        fold = self.folds.get(type(event))
        return {id_: fold(known.get(id_), event) for id_ in touched if fold and (id_ in known or id_ in begun)}
