"""Propose, grant, refuse, expire and undo changes of the profile (B §10).

A sensitive field changes only by a grant. A benign one changes by two signals from different turns, or one with high
confidence.
"""

from collections.abc import Sequence
from uuid import UUID

from mnemolog.commands.decider import Decider, Decisions
from mnemolog.commands.profile_requests import (
    SIGNAL,
    DecidePatch,
    ExpirePatch,
    PatchCommand,
    ProfileCommand,
    ProposeProfile,
    StateProfile,
    UndoDecision,
    UndoProfile,
    Value,
)
from mnemolog.commands.profile_state import Profile, evolve
from mnemolog.domain import consent, profile
from mnemolog.domain.consent import PatchStatus
from mnemolog.domain.errors import NotFound
from mnemolog.domain.origin import Origin, lowest
from mnemolog.domain.profile import place_of
from mnemolog.events.conversation import turn_tag
from mnemolog.events.erasure import USER
from mnemolog.events.event import Event
from mnemolog.events.profile import ProfileDecided, ProfileProposed, ProfileSet, field_tag
from mnemolog.events.profile_fold import FIELD, Patch, Setting

__all__ = [
    "PROFILE",
    "SIGNAL",
    "DecidePatch",
    "ExpirePatch",
    "ProfileCommand",
    "ProposeProfile",
    "StateProfile",
    "UndoDecision",
    "UndoProfile",
    "Value",
    "holding",
    "patch_of",
    "reverted",
]


_decide = Decisions[ProfileCommand, Profile]()


@_decide.register
def _propose(command: ProposeProfile, state: Profile) -> Sequence[Event]:
    if isinstance(command, StateProfile):
        consent.require_word_of(command.actor)
    if command.turn_id and command.turn_id not in state.turns:
        raise NotFound(
            f"user {command.user_id!r} has no turn {command.turn_id!r}",
            field="turn_id",
            fix="record the turn first, or omit it",
        )
    if command.patch_id in state.patches or _is_set(command, state) or _counted(command, state):
        return []
    open_ones = (one.proposed for one in state.patches.values() if one.status is PatchStatus.PROPOSED)
    waiting = next((one for one in open_ones if _says(one, command)), None)
    late = waiting is not None and consent.due(waiting.expires_at, command.at)
    before = None if late else waiting
    met = _met(command, before, _origin(command, state))
    decision = _verdict(command, met)
    if met == before and decision is None:
        return []
    expired = [_decided(waiting, PatchStatus.EXPIRED, consent.CLOCK)] if waiting and late else []
    signalled = [met] if met != before else []
    return [*expired, *signalled, *_applied(state, met, decision, command.actor)]


def _is_set(command: ProposeProfile, state: Profile) -> bool:
    values = state.holds(command.field).values
    return profile.after(values, command.field, command.value) == values


def _counted(command: ProposeProfile, state: Profile) -> bool:
    """Whether the turn's signal belongs to a decided or expired proposal, so that it opens no new one."""
    closed = (one.proposed for one in state.patches.values() if not one.open(command.at))
    said = any(command.turn_id in one.source_turn_ids for one in closed if _says(one, command))
    return said and not isinstance(command, StateProfile)


def _says(patch: ProfileProposed, command: ProposeProfile) -> bool:
    return patch.field == command.field and profile.same(patch.value, command.value)


def _origin(command: ProposeProfile, state: Profile) -> Origin:
    """Where it comes from; what only supports a message of a tool or an agent is no better than that."""
    return lowest(command.trust, Origin.of_role(state.turns[command.turn_id]) if command.turn_id else command.trust)


def _met(command: ProposeProfile, before: ProfileProposed | None, origin: Origin) -> ProfileProposed:
    """The proposal including the command's signal.

    What comes from outside supports nothing that did not; and what came from there first is no signal for the user's.
    """
    if before and origin.external and not before.origin.external:
        return before
    earlier = before if before and before.origin.external is origin.external else None
    turns = dict.fromkeys(
        (*(earlier.source_turn_ids if earlier else ()), *([command.turn_id] if command.turn_id else []))
    )
    return ProfileProposed(
        field=command.field,
        patch_id=before.patch_id if before else command.patch_id,
        sensitive=command.sensitive or profile.always_sensitive(command.field) or bool(before and before.sensitive),
        signals=max(1, len(turns)),
        confidence=max(command.confidence, earlier.confidence if earlier else 0.0),
        expires_at=before.expires_at if before else command.at + consent.QUEUED_FOR,
        source=earlier.source if earlier else command.source,
        origin=lowest(origin, earlier.origin) if earlier else origin,
        proposed_by=tuple(dict.fromkeys((*(before.proposed_by if before else ()), command.actor))),
        source_turn_ids=tuple(turns),
        value=before.value if before else command.value,
    )


def _verdict(command: ProposeProfile, met: ProfileProposed) -> PatchStatus | None:
    if isinstance(command, StateProfile):
        return PatchStatus.GRANTED
    if met.origin.external:
        return None
    return PatchStatus.CORROBORATED if not met.sensitive and consent.corroborated(met.signals, met.confidence) else None


@_decide.register
def _on_patch(command: DecidePatch, state: Profile) -> Sequence[Event]:
    patch = _get(state, command)
    if patch.status is command.decision:
        return []
    consent.require_open(command.patch_id, patch.status, patch.proposed.expires_at, command.at)
    if command.decision is PatchStatus.GRANTED:
        consent.require_other(command.actor, patch.proposed.proposed_by)
    return _applied(state, patch.proposed, command.decision, command.actor)


@_decide.register
def _expire(command: ExpirePatch, state: Profile) -> Sequence[Event]:
    patch = _get(state, command)
    if patch.status is not PatchStatus.PROPOSED or not consent.due(patch.proposed.expires_at, command.at):
        return []
    return [_decided(patch.proposed, PatchStatus.EXPIRED, command.actor)]


@_decide.register
def _undo(command: UndoProfile, state: Profile) -> Sequence[Event]:
    """A sensitive field needs the user's consent, because the user may have withdrawn the value that would be restored.

    A key that proposed the value cannot restore it alone, although it was once granted.
    """
    if state.changes.undone(command.event_id):
        return []
    [(subject, before)] = state.changes.befores(command.event_id).items()
    assert not isinstance(before, PatchStatus)
    if state.sensitive(FIELD.id_of(subject)):
        consent.require_person(command.actor, consenting=command.consenting)
    patch = state.patches.get(before.patch_id) if before and before.patch_id else None
    if patch and patch.proposed.sensitive:
        consent.require_other(command.actor, patch.proposed.proposed_by)
    return [reverted(state, command.event_id, subject, before)]


@_decide.register
def _undo_decision(command: UndoDecision, state: Profile) -> Sequence[Event]:
    """A proposal is refused. Whoever refused one may undo that; others need the user, as it may be the user's word."""
    if state.changes.undone(command.event_id):
        return []
    [before] = state.changes.befores(command.event_id).values()
    patch = _get(state, command)
    if before is None:
        return [_decided(patch.proposed, PatchStatus.REFUSED, command.actor, undoes=command.event_id)]
    assert isinstance(before, PatchStatus)
    if command.actor != patch.decided_by:
        consent.require_person(command.actor, consenting=command.consenting, what="undo a decision of another")
    return [_decided(patch.proposed, before, command.actor, undoes=command.event_id)]


def reverted(state: Profile, event_id: UUID, subject: str, before: Setting | None) -> ProfileSet:
    """The event that restores a profile field to its value before the event."""
    return holding(FIELD.id_of(subject), before or Setting(), undoes=event_id)


def patch_of(state: Profile, command: ProposeProfile) -> Patch | None:
    """The proposal that a command created or supported: the newest with the same value."""
    said = [one for one in state.patches.values() if _says(one.proposed, command)]
    return state.patches.get(command.patch_id) or (said[-1] if said else None)


def _applied(state: Profile, patch: ProfileProposed, decision: PatchStatus | None, by: str) -> list[Event]:
    if decision is None:
        return []
    decided = _decided(patch, decision, by)
    setting_before = state.holds(patch.field)
    values = profile.after(setting_before.values, patch.field, patch.value)
    if decision not in consent.APPLIED or values == setting_before.values:
        return [decided]
    turns = (*(setting_before.source_turn_ids if profile.adds(patch.field) else ()), *patch.source_turn_ids)
    origin = Origin.USER if decision is PatchStatus.GRANTED else patch.origin
    setting = Setting(values, patch.patch_id, patch.source, tuple(dict.fromkeys(turns)), origin)
    return [decided, holding(place_of(patch.field), setting)]


def _decided(patch: ProfileProposed, decision: PatchStatus, by: str, undoes: UUID | None = None) -> ProfileDecided:
    return ProfileDecided(field=patch.field, patch_id=patch.patch_id, decision=decision, by=by, undoes=undoes)


def holding(place: str, setting: Setting, undoes: UUID | None = None) -> ProfileSet:
    """The event that sets a field."""
    return ProfileSet(
        field=place,
        patch_id=setting.patch_id,
        source=setting.source,
        source_turn_ids=setting.source_turn_ids,
        origin=setting.origin,
        undoes=undoes,
        values=setting.values,
    )


def _get(state: Profile, command: PatchCommand) -> Patch:
    if command.patch_id not in state.patches:
        raise consent.no_such_patch(command.user_id, command.patch_id)
    return state.patches[command.patch_id]


def _tags(state: Profile, command: ProfileCommand) -> frozenset[str]:
    found = {USER, command.subject()}
    if isinstance(command, ProposeProfile) and command.turn_id:
        found.add(turn_tag(command.turn_id))
    if isinstance(command, PatchCommand) and command.patch_id in state.patches:
        found.add(field_tag(state.patches[command.patch_id].proposed.field))
    return frozenset(found)


PROFILE: Decider[ProfileCommand, Profile] = Decider(
    initial=Profile(),
    subject=lambda command: command.subject(),
    tags=_tags,
    evolve=evolve,
    decide=_decide,
)
