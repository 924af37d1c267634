"""Set the affect and the focus of an agent's chat, and undo that (A §3, X03)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from mnemolog.commands.change_history import ChangeHistory, no_such_change
from mnemolog.commands.decider import Command, Decider, Decisions
from mnemolog.commands.naming import Name
from mnemolog.domain.affect import DEFAULT_MODE, LIFETIME, PULSE_EVERY
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.session import LIFETIME as LONGEST
from mnemolog.domain.updated import updated, without
from mnemolog.events.conversation import AffectSet, FocusSet, SessionForgotten, session_tag
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import USER
from mnemolog.events.event import Event
from mnemolog.events.fields import WHOLE, AtMost, Instant, Label, Unit, Uuid

MAX_MARKERS = MAX_QUESTIONS = 20
MAX_ACTIVE = 10
MAX_EVERY = 1000

Set = AffectSet | FocusSet


class SetAffect(Command):
    """The mood of a chat, as the asking agent reads it."""

    generated: ClassVar[frozenset[str]] = frozenset({"at"})

    label: Annotated[Name, Field(description="The mood, such as `stressed`.")]
    confidence: Annotated[
        Unit, Field(description="The confidence, 0 to 1. Below 0.3 it is dropped at the next message.")
    ]
    markers: Annotated[
        tuple[Label, ...], AtMost(MAX_MARKERS), Field(description="What it was read from, such as `short answers`.")
    ] = ()
    interaction_mode: Annotated[Label, Field(description="How the agent should speak.")] = DEFAULT_MODE
    decay_at: Annotated[Instant | None, Field(description="When it ends. Default: in 30 minutes.")] = None
    every_n_messages: Annotated[
        int, Field(ge=1, le=MAX_EVERY, description="After how many messages it fades a little."), WHOLE
    ] = PULSE_EVERY
    at: Instant


class SetFocus(Command):
    """What a chat is about. Fields that are left out stay as they are."""

    generated: ClassVar[frozenset[str]] = frozenset({"at"})

    topic_focus: Annotated[Label | None, Field(description="The topic; an empty text removes it.")] = None
    mode: Annotated[Label | None, Field(description="The mode, such as `reflective`; an empty text removes it.")] = None
    pending_questions: Annotated[
        tuple[Label, ...] | None, AtMost(MAX_QUESTIONS), Field(description="Questions that wait for an answer.")
    ] = None
    active_entity_ids: Annotated[
        tuple[Uuid, ...] | None,
        AtMost(MAX_ACTIVE),
        Field(description="The entities being talked about, most recent first."),
    ] = None
    at: Instant


class UndoAttention(Command):
    """The change `event_id` of an affect or a focus of the asking agent, or the undo of one."""

    event_id: Uuid


@dataclass(frozen=True, slots=True)
class Attention:
    """The affect and the focus of each chat, by subject, and every change of them. Erased words read as none.

    `at`: when each was set last.
    """

    known: Mapping[str, Set] = field(default_factory=dict)
    at: Mapping[str, datetime] = field(default_factory=dict)
    changes: ChangeHistory[Set] = field(default_factory=ChangeHistory)


def _subject(event: Set) -> str:
    kind = "affect" if isinstance(event, AffectSet) else "focus"
    return f"{kind}:{event.agent_id}/{event.chat_id}"


def _evolve(state: Attention, event: Happened) -> Attention:
    payload = event.payload
    if isinstance(payload, AffectSet | FocusSet):
        subject = _subject(payload)
        changes = state.changes.with_change(event, {subject: state.known.get(subject)}, payload.undoes)
        at = updated(state.at, {subject: event.occurred_at})
        return Attention(updated(state.known, {subject: payload}), at, changes)
    if isinstance(payload, SessionForgotten):
        blank = FocusSet(agent_id=payload.agent_id, chat_id=payload.chat_id)
        subject = _subject(blank)
        return replace(state, known=updated(state.known, {subject: blank}), at=without(state.at, [subject]))
    return state


_decide = Decisions[Command, Attention]()


@_decide.register
def _affect(command: SetAffect, state: Attention) -> Sequence[Event]:
    decay_at = command.at + LIFETIME if command.decay_at is None else command.decay_at
    if not command.at < decay_at <= command.at + LONGEST:
        raise InvalidInput(
            "is in the past, or more than a day away", field="decay_at", fix="give a time within a day, or leave it out"
        )
    return [
        AffectSet(
            agent_id=command.agent_id,
            chat_id=command.thread_id,
            decay_at=decay_at,
            **command.model_dump(include={"label", "confidence", "markers", "interaction_mode", "every_n_messages"}),
        )
    ]


@_decide.register
def _focus(command: SetFocus, state: Attention) -> Sequence[Event]:
    given = command.model_dump(
        include={"topic_focus", "mode", "pending_questions", "active_entity_ids"}, exclude_none=True
    )
    blank = FocusSet(agent_id=command.agent_id, chat_id=command.thread_id)
    subject = _subject(blank)
    before = state.known.get(subject)
    kept = (before or blank).model_copy(update={"active_entity_ids": None, "undoes": None})
    after = kept.model_copy(update=given)
    # The first is written even if it is blank: a receipt names the event that holds what was asked for.
    # Later than a session lasts, its session may have ended, and the focus with it.
    lasts = subject in state.at and command.at < state.at[subject] + LONGEST
    return [] if before and after == kept and lasts else [after]


@_decide.register
def _undo(command: UndoAttention, state: Attention) -> Sequence[Event]:
    """What the chat had before the change. Undone already: nothing."""
    changed = [state.known[subject] for subject in state.changes.subjects(command.event_id) if subject in state.known]
    if not changed or any(one.agent_id != command.agent_id for one in changed):
        raise no_such_change(command.event_id)
    if state.changes.undone(command.event_id):
        return []
    befores = state.changes.befores(command.event_id)
    return [_restored(one, befores[_subject(one)], command.event_id) for one in changed]


def _restored(now: Set, before: Set | None, undoes: UUID) -> Set:
    """As before; where there was nothing, as if it had never been set."""
    if before is not None:
        return before.model_copy(update={"undoes": undoes})
    if isinstance(now, AffectSet):
        return now.model_copy(update={"undoes": undoes, "label": "", "markers": (), "interaction_mode": ""})
    return FocusSet(agent_id=now.agent_id, chat_id=now.chat_id, undoes=undoes, active_entity_ids=())


ATTENTION: Decider[SetAffect | SetFocus, Attention] = Decider(
    initial=Attention(),
    subject=lambda command: session_tag(command.agent_id, command.thread_id),
    tags=lambda state, command: frozenset({session_tag(command.agent_id, command.thread_id)}),
    evolve=_evolve,
    decide=_decide,
)

ATTENTION_UNDO: Decider[UndoAttention, Attention] = Decider(
    initial=Attention(),
    subject=lambda command: USER,
    tags=lambda state, command: frozenset(
        {USER, *(session_tag(one.agent_id, one.chat_id) for one in state.known.values())}
    ),
    evolve=_evolve,
    decide=_decide,
)
