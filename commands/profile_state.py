"""What a decision on the profile reads: the proposals, what the fields hold, and every change of that."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from mnemolog.commands.steps import Steps
from mnemolog.domain.consent import Status, due
from mnemolog.domain.profile import Values, always_sensitive, place_of
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import UserErased
from mnemolog.events.profile import ProfileDecided, ProfileErased, ProfileProposed, ProfileSet, field_tag


@dataclass(frozen=True, slots=True)
class Setting:
    """What a place of the profile holds, and by which proposal."""

    values: Values = ()
    patch_id: UUID | None = None
    source: str = "api"
    source_turn_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Patch:
    """A proposal, with all its signals."""

    proposed: ProfileProposed
    status: Status = Status.PROPOSED

    def open(self, now: datetime) -> bool:
        """Whether it can still be decided."""
        return self.status is Status.PROPOSED and not due(self.proposed.expires_at, now)


@dataclass(frozen=True, slots=True)
class Profile:
    """What a decision reads: proposals, what is set by place, every change of that, and the turns that were said."""

    patches: Mapping[UUID, Patch] = field(default_factory=dict)
    places: Mapping[str, Setting] = field(default_factory=dict)
    changes: Steps[Setting] = field(default_factory=Steps)
    turns: frozenset[str] = frozenset()

    def holds(self, name: str) -> Setting:
        return self.places.get(place_of(name), Setting())

    def sensitive(self, name: str) -> bool:
        """Whether a field needs consent: by B §10, or as a proposal for its place said that the policy has it."""
        place = place_of(name)
        said = (one.proposed for one in self.patches.values() if one.proposed.sensitive)
        return always_sensitive(place) or any(place_of(one.field) == place for one in said)


def evolve(state: Profile, event: Happened) -> Profile:
    payload = event.payload
    match payload:
        case ProfileProposed():
            return replace(state, patches={**state.patches, payload.patch_id: Patch(payload)})
        case ProfileDecided(patch_id=patch_id) if patch_id in state.patches:
            decided = replace(state.patches[patch_id], status=payload.decision)
            return replace(state, patches={**state.patches, patch_id: decided})
        case ProfileSet():
            return _set(state, event, payload)
        case ProfileErased():
            return _erased(state, place_of(payload.field))
        case TurnRecorded() if payload.text:
            return replace(state, turns=state.turns | {payload.turn_id})
        case UserErased():
            return Profile()
        case _:
            return state


def _set(state: Profile, event: Happened, change: ProfileSet) -> Profile:
    place, tag = place_of(change.field), field_tag(change.field)
    changes = state.changes.and_then(event, {tag: state.places.get(place)}, change.undoes)
    setting = Setting(change.values, change.patch_id, change.source, change.source_turn_ids)
    return replace(state, places={**state.places, place: setting}, changes=changes)


def _erased(state: Profile, place: str) -> Profile:
    """As if nothing had ever been known of the place: what was erased is neither granted nor brought back.

    A proposal that still waited has expired with its value.
    """
    tag, changes = field_tag(place), state.changes
    of = {subject: steps for subject, steps in changes.of.items() if subject != tag}
    changed = {id_: subjects for id_, subjects in changes.changed.items() if tag not in subjects}
    return replace(
        state,
        patches={id_: left for id_, one in state.patches.items() if (left := _left(one, place))},
        places={name: setting for name, setting in state.places.items() if name != place},
        changes=replace(changes, of=of, changed=changed),
    )


def _left(patch: Patch, place: str) -> Patch | None:
    """What the erasure of a place leaves of a proposal."""
    if place_of(patch.proposed.field) != place:
        return patch
    if patch.status not in (Status.PROPOSED, Status.EXPIRED):
        return None
    return Patch(patch.proposed.model_copy(update={"value": ""}), Status.EXPIRED)
