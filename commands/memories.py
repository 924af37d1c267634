"""The decider for commands on memories."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mnemolog.commands import memory_changes as changes
from mnemolog.commands import mentions, same_subject
from mnemolog.commands.decider import Decider, Placed
from mnemolog.commands.memory_requests import (
    ChangeStatus,
    ConfirmMemory,
    CreateMemory,
    ExpireMemory,
    LinkMemories,
    MemoryCommand,
    MergeMemories,
    Near,
    ObserveUse,
    PutMemory,
    RestoreMemory,
    Similar,
    SoftDeleteMemory,
    UndoChange,
    UpdateMemory,
    Writing,
)
from mnemolog.commands.memory_state import Memories, ends, evolve
from mnemolog.commands.memory_undo import meant, require_free, reverted, undo
from mnemolog.commands.memory_upsert import create
from mnemolog.domain.origin import Origin
from mnemolog.domain.text import same_text
from mnemolog.events.erasure import USER
from mnemolog.events.event import Event, memory_tag, sources_of
from mnemolog.events.log import NOTHING_IGNORED, Ignored
from mnemolog.events.memory import LinkReverted, MemoriesLinked, key_tag, text_tag

__all__ = [
    "MEMORIES",
    "ChangeStatus",
    "ConfirmMemory",
    "CreateMemory",
    "ExpireMemory",
    "LinkMemories",
    "Memories",
    "MemoryCommand",
    "MergeMemories",
    "Near",
    "ObserveUse",
    "PutMemory",
    "RestoreMemory",
    "Similar",
    "SoftDeleteMemory",
    "UndoChange",
    "UpdateMemory",
    "Writing",
    "decide",
    "ends",
    "evolve",
    "require_free",
    "reverted",
]

_DECISIONS: Mapping[type[MemoryCommand], Callable[[Any, Memories], Sequence[Event]]] = {
    CreateMemory: create,
    PutMemory: changes.put,
    UpdateMemory: changes.update,
    MergeMemories: changes.merge,
    SoftDeleteMemory: changes.soft_delete,
    ExpireMemory: changes.expire,
    ObserveUse: changes.observe_use,
    ChangeStatus: changes.change_status,
    ConfirmMemory: changes.confirm,
    RestoreMemory: changes.restore,
    LinkMemories: changes.link,
    UndoChange: undo,
}


def decide(state: Memories, command: MemoryCommand) -> Sequence[Event]:
    """The events of a command; none if it would change nothing."""
    return _DECISIONS[type(command)](command, state)


def tags(state: Memories, command: MemoryCommand) -> frozenset[str]:
    """The tags that a decision depends on: the memories given, the subjects of an undo, memories with the same key or
    text, and those that contradict what is changed.
    """
    reads = set(command.reads())
    if isinstance(command, UndoChange) and (event_id := meant(command, state)):
        reads |= set(ends(state.changes.subjects(event_id)))
    places, subject = set[tuple[str, Any, str | None]](), frozenset[str]()
    if isinstance(command, CreateMemory) and (command.finds_same_text or command.trust is Origin.AGENT):
        reads |= state.said.get(same_text(command.text), frozenset())
        subject |= {text_tag(command.text)}
    if isinstance(command, CreateMemory):
        subject |= same_subject.reads(state.people, command) | mentions.reads(state.people, command)
        places = {(key, command.scope, command.owner) for key in same_subject.keys(state.people, command)}
    if isinstance(command, RestoreMemory | ChangeStatus | UndoChange):
        places |= {(one.identity.key, one.scope, one.agent_id) for id_ in reads if (one := state.known.get(id_))}
    keyed = [place for place in places if place[0]]
    others = {one.memory_id for place in keyed for one in state.of_key(*place)}
    keys = {key_tag(scope, agent_id, key) for key, scope, agent_id in keyed}
    if isinstance(command, CreateMemory | UpdateMemory):
        reads |= {other for one in (command.memory_id, *others) for other in state.contradicted(one)}
    return frozenset({USER, *subject, *keys, *map(memory_tag, reads | others)})


def _written(command: MemoryCommand, placed: Sequence[Placed]) -> Sequence[Placed]:
    """The last event of the subject; for a memory that was confirmed instead of created, the one with its turns."""
    tag = memory_tag(command.memory_id)
    own = [one for one in placed if tag in one[1].payload.tags()]
    if own or not isinstance(command, CreateMemory):
        return own[-1:]
    turns = set(command.source_turn_ids)
    return [one for one in placed if not turns.isdisjoint(sources_of(one[1].payload) or ())][-1:]


def _fresh(command: MemoryCommand) -> frozenset[str]:
    """All tags of a memory with a newly generated id and no known counterpart."""
    plain = isinstance(command, CreateMemory) and not command.key and not command.entity_ids
    return tags(Memories(), command) if plain and len(command.reads()) == 1 else frozenset()


def _ignored(command: MemoryCommand) -> Ignored:
    """A new memory has no links yet, and those of its neighbours with others change nothing about its own; nor do links
    with others about that of two memories. What becomes of a memory as a whole does not depend on its links.
    """
    if isinstance(command, LinkMemories):
        return Ignored(_LINKS, between=True)
    new = type(command) is CreateMemory and not command.key and not command.merge_similar
    return Ignored(_LINKS) if new or isinstance(command, _AS_A_WHOLE) else NOTHING_IGNORED


_LINKS = frozenset({MemoriesLinked.type_name(), LinkReverted.type_name()})
_AS_A_WHOLE = SoftDeleteMemory, ExpireMemory, ObserveUse, ChangeStatus, ConfirmMemory, MergeMemories


MEMORIES: Decider[MemoryCommand, Memories] = Decider(
    initial=Memories(),
    subject=lambda command: memory_tag(command.memory_id),
    tags=tags,
    evolve=evolve,
    decide=decide,
    written=_written,
    fresh=_fresh,
    ignored=_ignored,
)
