"""The state for decisions on the profile: proposals, values and their changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from mnemolog.commands.change_history import ChangeHistory
from mnemolog.domain.profile import always_sensitive, place_of
from mnemolog.domain.turn import Role
from mnemolog.domain.updated import updated
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import UserErased
from mnemolog.events.profile import ProfileErased, ProfileSet, field_tag
from mnemolog.events.profile_fold import FIELD, Patch, ProfileField, Setting


@dataclass(frozen=True, slots=True)
class Profile:
    """Fields with their proposals, every change of their values, and the recorded turns with their roles."""

    fields: Mapping[str, ProfileField] = field(default_factory=dict)
    changes: ChangeHistory[Setting] = field(default_factory=ChangeHistory)
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
        case ProfileErased():
            state = replace(state, changes=state.changes.without(field_tag(payload.field)))
    return replace(state, fields=updated(state.fields, FIELD.evolve(state.fields, payload)))
