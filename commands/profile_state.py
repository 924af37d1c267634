"""The state for decisions on the profile: proposals, values and their changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from mnemolog.commands.change_history import ChangeHistory
from mnemolog.domain.consent import PatchStatus
from mnemolog.domain.profile import always_sensitive, place_of
from mnemolog.domain.turn import Role
from mnemolog.domain.updated import updated
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import UserErased
from mnemolog.events.profile import (
    ProfileDecided,
    ProfileErased,
    ProfileProposed,
    ProfileSet,
    field_tag,
    patch_tag,
)
from mnemolog.events.profile_fold import FIELD, Patch, ProfileField, Setting


@dataclass(frozen=True, slots=True)
class Profile:
    """Fields with their proposals, the recorded turns with their roles, and the changes: of each field's values, and of
    each proposal's status. Of the latter, refusals and their undos can be undone, and a proposal that still waits as
    it was made.
    """

    fields: Mapping[str, ProfileField] = field(default_factory=dict)
    changes: ChangeHistory[Setting | PatchStatus] = field(default_factory=ChangeHistory)
    turns: Mapping[str, Role] = field(default_factory=dict)

    @property
    def patches(self) -> Mapping[UUID, Patch]:
        return {id_: patch for one in self.fields.values() for id_, patch in one.patches.items()}

    @property
    def places(self) -> Mapping[str, Setting]:
        return {place: one.setting for place, one in self.fields.items() if one.setting}

    def holds(self, name: str) -> Setting:
        return self.places.get(place_of(name), Setting())

    def sensitive(self, name: str) -> bool:
        """Whether a field needs consent, by B §10 or by the policy recorded in its proposals."""
        held = self.fields.get(place_of(name), ProfileField())
        return always_sensitive(name) or any(one.proposed.sensitive for one in held.patches.values())


def evolve(state: Profile, event: Happened) -> Profile:
    payload = event.payload
    match payload:
        case UserErased():
            return Profile()
        case TurnRecorded() if payload.text:
            return replace(state, turns=updated(state.turns, {payload.turn_id: payload.role}))
        case ProfileSet():
            befores = {field_tag(payload.field): state.places.get(place_of(payload.field))}
            state = replace(state, changes=state.changes.with_change(event, befores, payload.undoes))
        case ProfileProposed(patch_id=id_):
            known = id_ in state.patches
            changes = _settled(state, id_) if known else state.changes.with_change(event, {patch_tag(id_): None})
            state = replace(state, changes=changes)
        case ProfileDecided() if patch := state.patches.get(payload.patch_id):
            changes = state.changes if payload.undoes else _settled(state, payload.patch_id)
            changes = changes.with_change(event, {patch_tag(payload.patch_id): patch.status}, payload.undoes)
            final = payload.decision is not PatchStatus.REFUSED and payload.undoes is None
            state = replace(state, changes=changes.irreversible(event.event_id) if final else changes)
        case ProfileErased():
            held = state.fields.get(place_of(payload.field), ProfileField())
            for subject in (field_tag(payload.field), *map(patch_tag, held.patches)):
                state = replace(state, changes=state.changes.without(subject))
    return replace(state, fields=updated(state.fields, FIELD.evolve(state.fields, payload)))


def _settled(state: Profile, patch_id: UUID) -> ChangeHistory[Setting | PatchStatus]:
    """The changes, without the undo of a proposal that others have supported, or somebody has decided."""
    made = next(iter(state.changes.of.get(patch_tag(patch_id), ())), None)
    return state.changes.irreversible(made.event_id) if made and made.before is None else state.changes
