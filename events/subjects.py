"""All that can be known, kind by kind. Whatever treats kinds differently has an entry for each of these.

A type of event that no kind folds, or a kind that lacks an entry somewhere, fails at import, and the error names it.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

from mnemolog.events import access, conversation, erasure, patrol, profile
from mnemolog.events.event import Event
from mnemolog.events.graph_fold import ENTITY, RELATION
from mnemolog.events.memory import MemoriesRecalled
from mnemolog.events.memory_fold import LINK, MEMORY
from mnemolog.events.profile_fold import FIELD, TODO
from mnemolog.events.registry import REGISTRY
from mnemolog.events.subject import Subject

T = TypeVar("T")

SUBJECTS: Mapping[str, Subject[Any, Any]] = {one.name: one for one in (MEMORY, LINK, ENTITY, RELATION, FIELD, TODO)}

# Events that change no subject of any kind: what was said, what was found, who may call.
OF_NO_SUBJECT: frozenset[type[Event]] = frozenset(
    {
        access.ApiKeyCreated,
        access.ApiKeyImported,
        access.ApiKeyRevoked,
        conversation.TurnRecorded,
        conversation.SessionForgotten,
        conversation.SessionReverted,
        MemoriesRecalled,
        patrol.CycleClosed,
        profile.UserSeeded,
        erasure.ThreadErased,
        erasure.UserErased,
    }
)


def subject_of(tag: str) -> Subject[Any, Any]:
    """The kind that a tag names."""
    return SUBJECTS[tag.partition(":")[0]]


def folding(event_type: type[Event]) -> Sequence[Subject[Any, Any]]:
    """The kinds whose subjects events of this type may change."""
    return [one for one in SUBJECTS.values() if event_type in one.folds]


def of_each(what: str, entries: Mapping[str, T], names: Collection[str] = SUBJECTS) -> Mapping[str, T]:
    """The entries, one for each kind; ValueError that says what is missing, or is for no kind."""
    return _complete(what, entries, names, "kind of subject")


def of_each_event(what: str, entries: Mapping[type[Event], T]) -> Mapping[type[Event], T]:
    """The entries, one for each type of event that changes a subject."""
    by_name = {event_type.type_name(): one for event_type, one in entries.items()}
    _complete(what, by_name, {one.type_name() for one in _FOLDED}, "type of event")
    return entries


def _complete(what: str, entries: Mapping[str, T], names: Collection[str], of: str) -> Mapping[str, T]:
    if missing := sorted(set(names) - entries.keys()):
        raise ValueError(f"{what} has no entry for the {of} {', '.join(missing)}")
    if unknown := sorted(entries.keys() - set(names)):
        raise ValueError(f"{what} has an entry for the {of} {', '.join(unknown)}, which is not registered")
    return entries


def _require_folded(registered: Collection[type[Event]]) -> None:
    for event_type in registered:
        if event_type not in OF_NO_SUBJECT and not folding(event_type):
            raise ValueError(
                f"no kind of subject folds {event_type.type_name()}: add it to the folds of its kind, "
                "or to OF_NO_SUBJECT in events/subjects.py"
            )


_FOLDED = frozenset(event_type for one in SUBJECTS.values() for event_type in one.folds)
_require_folded(REGISTRY.types.values())
