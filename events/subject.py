"""A kind of subject, such as a memory or a todo, and its fold."""

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
    """One kind. Its tags consist of its `name` and an id, which `read_id` parses.

    `folds` is shared by the write and the read side: for each event type that may change a subject, a function from the
    old to the new state. `ids` are the subjects that such an event affects, its own first. Only the types in `begins`
    create a subject; other events on an unknown subject are ignored.

    `erased` is a subject's state after the erasure of its user, and `erase` the event that destroys its text; None if
    it has no text of its own. `missing` is the error for a subject that does not exist or is not visible to the caller.
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
        """Whether a tag belongs to a subject of this kind."""
        return tag.startswith(f"{self.name}:")

    def id_of(self, tag: str) -> Id:
        return self.read_id(tag.partition(":")[2])

    def touched(self, event: Event) -> Sequence[Id]:
        """The subjects of this kind that an event may change, its own first."""
        return self.ids(event) if type(event) in self.folds else ()

    def befores(self, known: Mapping[Id, T], event: Event) -> dict[str, T | None]:
        """The previous state of each subject that an event affects, by tag; None if unknown."""
        return {self.tag(id_): known.get(id_) for id_ in self.touched(event)}

    def evolve(self, known: Mapping[Id, T], event: Event) -> dict[Id, T]:
        """The new states of the subjects that an event changes."""
        if isinstance(event, UserErased):
            return {id_: self.erased(one) for id_, one in known.items()}
        touched = self.touched(event)
        begun = touched[:1] if type(event) in self.begins else ()
        fold = self.folds.get(type(event))
        return {id_: fold(known.get(id_), event) for id_ in touched if fold and (id_ in known or id_ in begun)}
