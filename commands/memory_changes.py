"""Update, merge, delete, restore, age and link existing memories."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from mnemolog.commands.memory_requests import (
    ChangeStatus,
    ConfirmMemory,
    ExpireMemory,
    LinkMemories,
    MergeMemories,
    ObserveUse,
    PutMemory,
    RestoreMemory,
    SoftDeleteMemory,
    UpdateMemory,
)
from mnemolog.commands.memory_state import Memories
from mnemolog.commands.memory_upsert import create, links
from mnemolog.domain import corroboration, importance, memory, procedure
from mnemolog.domain.consent import require_person
from mnemolog.domain.errors import InvalidInput, TransitionRefused, UntrustedOrigin
from mnemolog.domain.link import Ends
from mnemolog.domain.memory import Cause, Content, Kind, Memory, Status
from mnemolog.domain.origin import Origin, lowest, require_inside, restated
from mnemolog.domain.profile import CATEGORY as PROFILE
from mnemolog.domain.scene import absorbing
from mnemolog.domain.updated import updated
from mnemolog.events import memory as events
from mnemolog.events.event import Event
from mnemolog.events.memory import Observation


def update(command: UpdateMemory, state: Memories) -> Sequence[Event]:
    found = state.get(command.memory_id, command)
    memory.require_visible(found, "updated")
    changes = command.asked
    if not changes:
        raise InvalidInput(
            "no change is given", field="text", fix=f"give at least one of {', '.join(Content.__slots__)}"
        )
    content = replace(found.content, **changes)  # type: ignore[arg-type]
    if content.pinned and command.importance is not None and content.importance != importance.PINNED:
        raise InvalidInput("a pinned memory has importance 1", field="importance", fix="omit it, or unpin the memory")
    if procedure.kind_and_category(found.kind, content.category) != (found.kind, content.category):
        raise InvalidInput(
            f"a {found.kind} cannot have category {content.category!r}",
            field="category",
            fix="the category procedural is only for procedures",
        )
    if command.experience is not None and found.kind is not Kind.SCENE:
        raise InvalidInput("only a scene has one", field="experience", fix="omit it")
    if found.kind is Kind.PROCEDURE and command.text is not None:
        procedure.require_steps(command.text)
    content = content.weighed()
    if content == found.content:
        return []
    command.require_not_below(found.origin, "update")
    new_words = content.text != found.content.text
    origin = restated(found.origin, command.trust) if new_words else found.origin
    if content.pinned and "pinned" in changes:
        require_inside(restated(origin, command.trust), "be pinned", "pinned")
    if content.category == PROFILE and "category" in changes:
        require_inside(restated(origin, command.trust), "be part of the profile", "category")
    updated = events.MemoryUpdated.of(
        command.memory_id,
        content,
        changed=(*sorted(changes), *(["origin"] if origin is not found.origin else [])),
        origin=None if origin is found.origin else origin,
    )
    return [updated, *(links(command, state, replace(found, content=content)) if new_words else ())]


C = TypeVar("C", RestoreMemory, UpdateMemory)


def put(command: PutMemory, state: Memories) -> Sequence[Event]:
    """Create a memory under an id of the caller's, or restore and update it (X19). Erased if that memory was."""
    if command.memory_id not in state.known:
        return create(command, state)
    given = command.model_dump(exclude_unset=True)
    restored = restore(_given_as(RestoreMemory, given), state)
    known = replace(state.get(command.memory_id, command), status=Status.ACTIVE)
    back = replace(state, known=updated(state.known, {command.memory_id: known}))
    return [*restored, *update(_given_as(UpdateMemory, given), back)]


def _given_as(kind: type[C], given: Mapping[str, object]) -> C:
    return kind.model_validate({name: value for name, value in given.items() if name in kind.model_fields})


def merge(command: MergeMemories, state: Memories) -> Sequence[Event]:
    survivor = state.get(command.memory_id, command)
    absorbed = tuple(state.get(id_, command, f"absorbed_ids[{i}]") for i, id_ in enumerate(command.absorbed_ids))
    reads_so = command.text in (None, survivor.content.text)
    if absorbed and reads_so and all(one.merged_into == survivor.memory_id for one in absorbed):
        return []
    memory.require_visible(survivor, "merged")
    memory.require_mergeable(survivor, absorbed)
    if survivor.kind is Kind.PROCEDURE and command.text is not None:
        procedure.require_steps(command.text)
    if len({one.origin.external for one in (survivor, *absorbed)}) > 1 and command.trust is not Origin.USER:
        raise UntrustedOrigin(
            "some of them come from outside, and some do not",
            field="absorbed_ids",
            fix="let the user confirm them first",
        )
    command.require_not_below(survivor.origin, "merge")
    origin = survivor.origin
    if command.text is not None:
        together = lowest(survivor.origin, *(one.origin for one in absorbed))
        origin = restated(together, command.trust)
    contents = [survivor.content, *(one.content for one in absorbed)]
    merged = replace(
        survivor.content,
        text=command.text or survivor.content.text,
        importance=max(content.importance for content in contents),
        confidence=max(content.confidence for content in contents),
        experience=survivor.content.experience
        and absorbing(survivor.content.experience, [one.experience for one in contents[1:] if one.experience]),
    )
    changed = None if origin is survivor.origin else origin
    return [
        events.MemoriesMerged.of(command.memory_id, merged.weighed(), absorbed_ids=command.absorbed_ids, origin=changed)
    ]


def confirm(command: ConfirmMemory, state: Memories) -> Sequence[Event]:
    """Raise what came from outside, or was concluded, to the user's own word."""
    found = state.get(command.memory_id, command)
    memory.require_visible(found, "confirmed")
    require_person(command.actor, consenting=command.consenting, what="confirm a memory in the user's name")
    if found.origin is Origin.USER:
        return []
    return [events.MemoryUpdated.of(command.memory_id, found.content, changed=("origin",), origin=Origin.USER)]


def soft_delete(command: SoftDeleteMemory, state: Memories) -> Sequence[Event]:
    """Works for pinned memories too, since it was requested."""
    found = state.get(command.memory_id, command)
    if found.status is Status.SOFT_DELETED:
        return []
    memory.require_visible(found, "deleted")
    command.require_not_below(found.origin, "delete")
    purge_at = command.at + memory.PURGE_AFTER
    return [
        events.MemorySoftDeleted(
            memory_id=command.memory_id, purge_at=purge_at, cause=command.cause, reason=command.reason
        )
    ]


def expire(command: ExpireMemory, state: Memories) -> Sequence[Event]:
    """No event if it has changed since it was read, or is exempt from fading."""
    found = state.get(command.memory_id, command)
    due = command.retention.expired(found.kind, found.content, command.last_accessed, command.at)
    if not (found.visible and due and found.content == command.seen):
        return []
    purge_at = command.at + memory.PURGE_AFTER
    return [events.MemorySoftDeleted(memory_id=command.memory_id, purge_at=purge_at, cause=Cause.TTL)]


def observe_use(command: ObserveUse, state: Memories) -> Sequence[Event]:
    found = state.get(command.memory_id, command)
    if not found.visible:
        return []
    grown = corroboration.corroborated(found.content)
    return [
        events.MemoryObserved(
            memory_id=command.memory_id,
            confidence=grown.confidence,
            importance=grown.importance,
            cause=Observation.USE,
        )
    ]


def restore(command: RestoreMemory, state: Memories) -> Sequence[Event]:
    found = state.get(command.memory_id, command)
    if found.visible:
        return []
    _require_free(state, found)
    return [events.MemoryRestored(memory_id=command.memory_id)]


def change_status(command: ChangeStatus, state: Memories) -> Sequence[Event]:
    found = state.get(command.memory_id, command)
    if found.status is command.status and found.merged_into is None:
        return []
    if found.status is not Status.DORMANT or found.merged_into is not None:
        memory.require_visible(found, f"made {command.status}")
    if command.status is not Status.ACTIVE:
        memory.require_unpinned(found, f"made {command.status}")
    if not found.visible:
        _require_free(state, found)
    cause = None if command.status is Status.ACTIVE else command.cause
    return [
        events.MemoryStatusChanged(memory_id=command.memory_id, was=found.status, status=command.status, cause=cause)
    ]


def link(command: LinkMemories, state: Memories) -> Sequence[Event]:
    if command.memory_id == command.to_id:
        raise InvalidInput("a memory cannot be linked to itself", field="to_id", fix="choose another memory")
    for id_, path in ((command.memory_id, "memory_id"), (command.to_id, "to_id")):
        memory.require_visible(state.get(id_, command, path), "linked", path)
    if state.links.get(Ends(command.memory_id, command.to_id)) == (command.relation_type, command.strength):
        return []
    return [
        events.MemoriesLinked(
            memory_id=command.memory_id,
            to_id=command.to_id,
            relation_type=command.relation_type,
            strength=command.strength,
        )
    ]


def _require_free(state: Memories, found: Memory) -> None:
    """Refuse to restore a memory while another one has its key (D04)."""
    holder = state.holder(found.identity.key, found.scope, found.agent_id)
    if holder:
        raise TransitionRefused(
            f"memory {holder.memory_id} now has its key",
            field="memory_id",
            fix="merge the two, or delete the other one first",
        )
