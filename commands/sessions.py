"""Forget a session (the working memory of one agent in one thread), and undo that (A §9, X03)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from mnemolog.commands.change_history import ChangeHistory, no_such_change
from mnemolog.commands.decider import Command, Decider
from mnemolog.domain.errors import NotFound
from mnemolog.domain.updated import updated
from mnemolog.events.conversation import SessionForgotten, SessionReverted, TurnRecorded, thread_tag
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import USER, ThreadErased, UserErased
from mnemolog.events.event import Event
from mnemolog.events.fields import Uuid


class ForgetSession(Command):
    """Forgets the agent's session in this thread."""


class UndoSession(Command):
    """Undoes `event_id`, which forgot a session of the agent or restored one."""

    event_id: Uuid


@dataclass(frozen=True, slots=True)
class Heard:
    """The number of turns in a session; how many were erased, and how many forgotten by each `SessionForgotten`.

    `since` is the `SessionForgotten` in effect.
    """

    agent_id: str
    chat_id: str
    turns: int = 0
    erased: int = 0
    forgotten: Mapping[UUID, int] = field(default_factory=dict)
    since: UUID | None = None

    @property
    def subject(self) -> str:
        return f"session:{self.agent_id}/{self.chat_id}"

    @property
    def stands(self) -> bool:
        """Whether the session has visible turns."""
        return self.turns > max(self.erased, self.forgotten[self.since] if self.since else 0)


@dataclass(frozen=True, slots=True)
class Sessions:
    """The sessions of each agent and chat, with every change of what is forgotten."""

    heard: Mapping[tuple[str, str], Heard] = field(default_factory=dict)
    changes: ChangeHistory[UUID] = field(default_factory=ChangeHistory)

    def of(self, agent_id: str, chat_id: str) -> Heard:
        return self.heard.get((agent_id, chat_id)) or Heard(agent_id, chat_id)

    def having(self, *heard: Heard, changes: ChangeHistory[UUID] | None = None) -> "Sessions":
        new = {(one.agent_id, one.chat_id): one for one in heard}
        return Sessions(updated(self.heard, new), changes or self.changes)

    def changed(self, event_id: UUID) -> Sequence[Heard]:
        """The sessions that an event forgot or restored."""
        subjects = self.changes.subjects(event_id)
        return [one for one in self.heard.values() if one.subject in subjects]


def _evolve(state: Sessions, event: Happened) -> Sessions:
    match event.payload:
        case TurnRecorded(thread_id=chat_id):
            heard = state.of(event.meta.agent_id, chat_id)
            return state.having(replace(heard, turns=heard.turns + 1))
        case SessionForgotten(agent_id=agent_id, chat_id=chat_id):
            heard = state.of(agent_id, chat_id)
            forgotten = {**heard.forgotten, event.event_id: heard.turns}
            changes = state.changes.with_change(event, {heard.subject: heard.since})
            return state.having(replace(heard, forgotten=forgotten, since=event.event_id), changes=changes)
        case SessionReverted(agent_id=agent_id, chat_id=chat_id, undoes=undoes, since=since):
            heard = state.of(agent_id, chat_id)
            changes = state.changes.with_change(event, {heard.subject: heard.since}, undoes)
            return state.having(replace(heard, since=since), changes=changes)
        case ThreadErased(thread_id=chat_id):
            return _erased(state, event, [one for one in state.heard.values() if one.chat_id == chat_id])
        case UserErased():
            return _erased(state, event, list(state.heard.values()))
        case _:
            return state


def _erased(state: Sessions, event: Happened, heard: Sequence[Heard]) -> Sessions:
    """Turns that were forgotten earlier stay forgotten."""
    changes = state.changes.with_change(event, {one.subject: one.since for one in heard}).irreversible(event.event_id)
    return state.having(*(replace(one, erased=one.turns) for one in heard), changes=changes)


def _decide(state: Sessions, command: ForgetSession) -> Sequence[Event]:
    heard = state.of(command.agent_id, command.thread_id)
    if not heard.turns:
        raise NotFound(
            f"{command.agent_id!r} has no session with {command.user_id!r} in {command.thread_id!r}",
            field="thread_id",
            fix="give the thread and the agent of a recorded turn",
        )
    return [SessionForgotten(agent_id=heard.agent_id, chat_id=heard.chat_id)] if heard.stands else []


def _undo(state: Sessions, command: UndoSession) -> Sequence[Event]:
    """The session without the change, including turns since; no event if already undone."""
    changed = state.changed(command.event_id)
    if not changed or any(one.agent_id != command.agent_id for one in changed):
        raise no_such_change(command.event_id)
    if state.changes.undone(command.event_id):
        return []
    befores = state.changes.befores(command.event_id)
    return [
        SessionReverted(agent_id=one.agent_id, chat_id=one.chat_id, undoes=command.event_id, since=befores[one.subject])
        for one in changed
    ]


SESSIONS: Decider[ForgetSession, Sessions] = Decider(
    initial=Sessions(),
    subject=lambda command: thread_tag(command.thread_id),
    tags=lambda state, command: frozenset({thread_tag(command.thread_id), USER}),
    evolve=_evolve,
    decide=_decide,
)

SESSION_UNDO: Decider[UndoSession, Sessions] = Decider(
    initial=Sessions(),
    subject=lambda command: USER,
    tags=lambda state, command: frozenset(
        {USER, *(thread_tag(one.chat_id) for one in state.changed(command.event_id))}
    ),
    evolve=_evolve,
    decide=_undo,
)
