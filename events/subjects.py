"""The registry of kinds of subjects. Code that treats kinds differently has an entry for each of them.

An event type without a fold, or a kind without an entry, fails at import with an error that names it.
"""

from collections.abc import Collection, Mapping, Sequence, Set
from typing import Any, TypeVar

from mnemolog.events import (
    access,
    checkpoints,
    conversation,
    episodes,
    erasure,
    extraction,
    minds,
    patrol,
    profile,
    serving,
    summaries,
)
from mnemolog.events.artifacts_fold import ARTIFACT
from mnemolog.events.being_fold import BEING_ENTRY
from mnemolog.events.documents_fold import DOCUMENT
from mnemolog.events.envelope import Header
from mnemolog.events.episode_fold import EPISODE
from mnemolog.events.event import Event
from mnemolog.events.graph_fold import ENTITY, RELATION
from mnemolog.events.memory import MemoriesRecalled
from mnemolog.events.memory_fold import LINK, MEMORY
from mnemolog.events.message_fold import MESSAGE
from mnemolog.events.profile_fold import FIELD, TODO
from mnemolog.events.registry import REGISTRY
from mnemolog.events.subject import Subject

T = TypeVar("T")

_OF_USERS = (MEMORY, LINK, ENTITY, RELATION, MESSAGE, FIELD, TODO, ARTIFACT, EPISODE, BEING_ENTRY)
_EACH: Sequence[Subject[Any, Any]] = (*_OF_USERS, DOCUMENT)
SUBJECTS: Mapping[str, Subject[Any, Any]] = {one.name: one for one in _EACH}

# Kinds with text of their own, except memories and messages, which are erased together.
_ERASED_TOGETHER = (MEMORY, MESSAGE)
KNOWN = tuple(one for one in SUBJECTS.values() if one.erase and one not in _ERASED_TOGETHER)
# Kinds with a history. A message is never rewritten, and a row for each would bury what changed.
WITH_HISTORY = tuple(one for one in SUBJECTS.values() if one is not MESSAGE)
# Events that change no subject: sessions, summaries, what was read or served, recalls, checkpoints, API keys.
OF_NO_SUBJECT: frozenset[type[Event]] = frozenset(
    {
        access.ApiKeyCreated,
        access.ApiKeyImported,
        access.ApiKeyRevoked,
        checkpoints.CheckpointsStarted,
        checkpoints.CheckpointsErased,
        conversation.SessionForgotten,
        conversation.SessionReverted,
        conversation.AffectSet,
        conversation.FocusSet,
        episodes.SessionStarted,
        episodes.SessionEnded,
        extraction.MessagesExtracted,
        minds.MindRan,
        MemoriesRecalled,
        patrol.CycleClosed,
        patrol.ScenesReviewed,
        profile.UserSeeded,
        serving.ContextServed,
        summaries.SummaryWritten,
        erasure.ThreadErased,
        erasure.UserErased,
    }
)


def subject_of(tag: str) -> Subject[Any, Any]:
    return SUBJECTS[tag.partition(":")[0]]


def folding(event_type: type[Event]) -> Sequence[Subject[Any, Any]]:
    """The kinds whose subjects events of this type may change."""
    return [one for one in SUBJECTS.values() if event_type in one.folds]


def key_scopes(header: Header) -> frozenset[str]:
    """Whose keys an event's words go with, as far as its header tells: for events that cannot be read."""
    event_type = REGISTRY.types.get(header.type, Event)
    if issubclass(event_type, conversation.TurnEvent):
        named = {tag.partition(":")[0]: tag.partition(":")[2] for tag in header.tags}
        return frozenset({conversation.turn_scope(named.get("thread", ""), named.get("turn", ""))})
    if issubclass(event_type, summaries.SummaryWritten):
        named = {tag.partition(":")[0]: tag.partition(":")[2] for tag in header.tags}
        scope = conversation.extracts_scope if "extracts" in named else conversation.summaries_scope
        return frozenset({scope(named.get("summaries", ""))})
    kinds = [one for one in folding(event_type) if one.erase]
    return frozenset(tag for tag in header.tags if any(one.has(tag) for one in kinds))


def of_each(what: str, entries: Mapping[str, T], kinds: Collection[Subject[Any, Any]] | None = None) -> Mapping[str, T]:
    """The entries, one for each of these kinds (default: all); raises ValueError for missing or unknown ones."""
    wanted = SUBJECTS.values() if kinds is None else kinds
    _require_complete(what, entries.keys(), {one.name for one in wanted}, "kind of subject")
    return entries


def of_each_event(
    what: str, entries: Mapping[type[Event], T], kinds: Collection[Subject[Any, Any]] = SUBJECTS.values()
) -> Mapping[type[Event], T]:
    """The entries, one for each event type that changes a subject of these kinds."""
    names = {event_type.type_name() for one in kinds for event_type in one.folds}
    _require_complete(what, {event_type.type_name() for event_type in entries}, names, "type of event")
    return entries


def _require_complete(what: str, entries: Set[str], names: Set[str], of: str) -> None:
    if missing := sorted(names - entries):
        raise ValueError(f"{what} has no entry for the {of} {', '.join(missing)}")
    if unknown := sorted(entries - names):
        raise ValueError(f"{what} has an entry for the {of} {', '.join(unknown)}, which is not registered")


def _require_folded(registered: Collection[type[Event]]) -> None:
    for event_type in registered:
        if event_type not in OF_NO_SUBJECT and not folding(event_type):
            raise ValueError(
                f"no kind of subject folds {event_type.type_name()}: add it to the folds of its kind, "
                "or to OF_NO_SUBJECT in events/subjects.py"
            )


_require_folded(REGISTRY.types.values())
