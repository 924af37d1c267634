"""Proposals for the profile, decided again in a shadow: under other rules of consent (X06)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemolog.commands.backtest.shadow import Shadow, context_of
from mnemolog.commands.profile import (
    PROFILE,
    DecidePatch,
    ExpirePatch,
    ProfileCommand,
    ProposeProfile,
    StateProfile,
    UndoDecision,
    UndoProfile,
)
from mnemolog.domain import consent
from mnemolog.domain.consent import PatchStatus
from mnemolog.domain.errors import InvalidInput, MnemologError
from mnemolog.domain.policy import Policy
from mnemolog.domain.profile import place_of
from mnemolog.events.envelope import Recorded
from mnemolog.events.fields import validated
from mnemolog.events.profile import FieldEvent, ProfileDecided, ProfileErased, ProfileProposed, ProfileSet


def rule_of(policy: Policy, field: str) -> bool | None:
    """Whether a field needs consent; None if it is refused."""
    try:
        return policy.profile.is_sensitive(field)
    except InvalidInput:
        return None


class ProfileReplay:
    """`diverged` are fields of which some event was replayed otherwise."""

    def __init__(self, shadow: Shadow) -> None:
        self._shadow = shadow
        self._diverged = set[str]()
        self._last: Recorded | None = None

    def drop(self, group: Sequence[Recorded]) -> None:
        """It would not have been recorded."""
        self._diverged |= {place_of(_field(event)) for event in group}

    def take(self, group: Sequence[Recorded]) -> None:
        self._last = group[-1]
        field = _field(group[0])
        terms = self._shadow.terms
        if rule_of(terms.now, field) != rule_of(terms.then, field):
            self._diverged.add(place_of(field))
        if place_of(field) not in self._diverged or isinstance(group[0].payload, ProfileErased):
            self._shadow.keep(group)
        elif any(event.erased for event in group):
            self._shadow.keep(group)
            self._shadow.note(group[0], field, "its value was erased, so it is not decided again")
        elif command := self._command(group):
            self._decide(command, group)

    def expire(self, at: datetime) -> None:
        """What nobody would have decided by now has expired."""
        if self._last is None:
            return
        for place in sorted(self._diverged):
            held = self._shadow.fields.shadow.get(place)
            for patch_id, patch in (held.patches if held else {}).items():
                if patch.status is PatchStatus.PROPOSED and consent.due(patch.proposed.expires_at, at):
                    context = {**context_of(self._last), "actor": consent.CLOCK}
                    self._decide(ExpirePatch(**context, patch_id=patch_id, at=at), [self._last])

    def _command(self, group: Sequence[Recorded]) -> ProfileCommand | None:
        """The request that a group answers; None if it would be refused."""
        event, payloads = group[0], [one.payload for one in group]
        decided = [one for one in payloads if isinstance(one, ProfileDecided)]
        for one in payloads:
            if isinstance(one, ProfileProposed):
                stated = any(each.decision is PatchStatus.GRANTED for each in decided)
                return self._proposal(event, one, stated=stated)
        about = {**context_of(event), "at": event.occurred_at}
        match payloads[0]:
            case ProfileDecided(undoes=UUID() as undoes) as reopened if undoes in self._shadow.log.ids:
                return UndoDecision(**about, patch_id=reopened.patch_id, event_id=undoes)
            case ProfileDecided(decision=PatchStatus.EXPIRED) as expired:
                return ExpirePatch(**about, patch_id=expired.patch_id)
            case ProfileDecided(decision=PatchStatus.GRANTED | PatchStatus.REFUSED) as answer:
                return validated(DecidePatch, {**about, "patch_id": answer.patch_id, "decision": answer.decision})
            case ProfileSet(undoes=undoes) as setting if undoes in self._shadow.log.ids:
                return UndoProfile(**context_of(event), field=setting.field, event_id=undoes)
        self._shadow.note(event, _field(event), "it undoes what would not have happened")
        return None

    def _proposal(self, event: Recorded, payload: ProfileProposed, *, stated: bool) -> ProposeProfile | None:
        sensitive = rule_of(self._shadow.terms.then, payload.field)
        if sensitive is None:
            return None
        held = self._shadow.fields.recorded.get(place_of(payload.field))
        before = held.patches.get(payload.patch_id) if held else None
        known = before.proposed.source_turn_ids if before else ()
        turns = [one for one in payload.source_turn_ids if one not in known]
        fields: dict[str, Any] = {
            **context_of(event),
            "actor": event.meta.actor if not stated else consent.PERSON,
            "patch_id": payload.patch_id,
            "field": payload.field,
            "value": payload.value,
            "sensitive": sensitive,
            "confidence": payload.confidence,
            "origin": payload.origin,
            "consenting": True,
            "turn_id": turns[-1] if turns else None,
            "source": payload.source,
            "at": event.occurred_at,
        }
        return validated(StateProfile if stated else ProposeProfile, fields)

    def _decide(self, command: ProfileCommand, group: Sequence[Recorded]) -> None:
        """A proposal that is decided already, or was never made, is not decided again."""
        try:
            decided = self._shadow.log.decide(PROFILE, command, place_of(_field(group[0])))
        except MnemologError as error:
            if isinstance(command, ProposeProfile):
                self._shadow.note(group[0], command.field, f"would be refused: {error.message}")
            return
        self._shadow.write(decided, group)


def _field(event: Recorded) -> str:
    assert isinstance(event.payload, FieldEvent)
    return event.payload.field
