"""The folds of profile fields, with their proposals, and of todos."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from mnemolog.domain.consent import PatchStatus, due
from mnemolog.domain.origin import Origin
from mnemolog.domain.profile import Values, no_such_field, place_of
from mnemolog.domain.scope import Scope
from mnemolog.domain.todo import Todo, no_such_todo
from mnemolog.events import profile as events
from mnemolog.events.subject import Subject


@dataclass(frozen=True, slots=True)
class Setting:
    """The values of a profile field, and the proposal that set them."""

    values: Values = ()
    patch_id: UUID | None = None
    source: str = "api"
    source_turn_ids: tuple[str, ...] = ()
    origin: Origin = Origin.USER


@dataclass(frozen=True, slots=True)
class Patch:
    """A proposal, with all its signals. `decided_by`: the actor of the last decision."""

    proposed: events.ProfileProposed
    status: PatchStatus = PatchStatus.PROPOSED
    decided_by: str | None = None

    def open(self, now: datetime) -> bool:
        """Whether it can still be decided."""
        return self.status is PatchStatus.PROPOSED and not due(self.proposed.expires_at, now)


@dataclass(frozen=True, slots=True)
class ProfileField:
    """A profile field: its values and its proposals.

    `setting` is None if it was never set; nothing is restored once it `is_erased`.
    """

    setting: Setting | None = None
    patches: Mapping[UUID, Patch] = field(default_factory=dict)
    is_erased: bool = False
    scope: Scope = Scope.GLOBAL
    agent_id: str | None = None


NEW = ProfileField()


def _proposed(before: ProfileField | None, event: events.ProfileProposed) -> ProfileField:
    held = before or NEW
    return replace(held, patches={**held.patches, event.patch_id: Patch(event)}, is_erased=False)


def _decided(before: ProfileField | None, event: events.ProfileDecided) -> ProfileField:
    held = before or NEW
    decided = {
        id_: replace(one, status=event.decision, decided_by=event.by)
        for id_, one in held.patches.items()
        if id_ == event.patch_id
    }
    return replace(held, patches={**held.patches, **decided}, is_erased=False)


def _set(before: ProfileField | None, event: events.ProfileSet) -> ProfileField:
    setting = Setting(event.values, event.patch_id, event.source, event.source_turn_ids, event.origin)
    return replace(before or NEW, setting=setting, is_erased=False)


def _erased(held: ProfileField) -> ProfileField:
    """Reset to unknown: erased values are neither granted nor restored.

    Open proposals have expired.
    """
    waited = {
        id_: one for id_, one in held.patches.items() if one.status in (PatchStatus.PROPOSED, PatchStatus.EXPIRED)
    }
    blank = {
        id_: Patch(one.proposed.model_copy(update={"value": ""}), PatchStatus.EXPIRED) for id_, one in waited.items()
    }
    return ProfileField(patches=blank, is_erased=True)


FIELD: Subject[str, ProfileField] = Subject(
    name="profile",
    read_id=str,
    ids=lambda event: (place_of(event.field),),
    begins=frozenset({events.ProfileProposed, events.ProfileDecided, events.ProfileSet, events.ProfileErased}),
    folds={
        events.ProfileProposed: _proposed,
        events.ProfileDecided: _decided,
        events.ProfileSet: _set,
        events.ProfileErased: lambda before, event: _erased(before or NEW),
    },
    erased=_erased,
    erase=lambda name: events.ProfileErased(field=name),
    missing=no_such_field,
)


def _changed(todo: Todo, event: events.TodoChanged) -> Todo:
    return replace(todo, kind=event.kind, text=event.text, status=event.status, due=event.due)


def _without_text(todo: Todo) -> Todo:
    return replace(todo, text="")


TODO: Subject[UUID, Todo] = Subject(
    name="todo",
    read_id=UUID,
    ids=lambda event: (event.todo_id,),
    begins=frozenset({events.TodoOpened}),
    folds={
        events.TodoOpened: lambda _, event: event.todo,
        events.TodoChanged: _changed,
        events.TodoErased: lambda todo, event: _without_text(todo),
    },
    erased=_without_text,
    erase=lambda todo_id: events.TodoErased(todo_id=todo_id),
    missing=no_such_todo,
)
