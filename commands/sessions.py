"""Forget a session: the working memory of one agent in one chat (A §9)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mnemolog.commands.decider import Command, Decider
from mnemolog.domain.errors import NotFound
from mnemolog.events.conversation import SessionForgotten, TurnRecorded, thread_tag
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import USER, ThreadErased
from mnemolog.events.event import Event


class ForgetSession(Command):
    """Of the asking agent, in the chat `thread_id`."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """The agents that ever heard something in a chat, and those whose session still holds it."""

    ever: frozenset[str] = frozenset()
    standing: frozenset[str] = frozenset()


def _evolve(state: Sessions, event: Happened) -> Sessions:
    match event.payload:
        case TurnRecorded():
            agent = {event.meta.agent_id}
            return Sessions(state.ever | agent, state.standing | agent)
        case SessionForgotten(agent_id=agent_id):
            return replace(state, standing=state.standing - {agent_id})
        case ThreadErased():
            return replace(state, standing=frozenset())
        case _:
            return state


def _decide(state: Sessions, command: ForgetSession) -> Sequence[Event]:
    if command.agent_id not in state.ever:
        raise NotFound(
            f"{command.agent_id!r} never heard anything of {command.user_id!r} in {command.thread_id!r}",
            field="thread_id",
            fix="name the chat and the agent of a turn",
        )
    if command.agent_id not in state.standing:
        return []
    return [SessionForgotten(agent_id=command.agent_id, chat_id=command.thread_id)]


SESSIONS: Decider[ForgetSession, Sessions] = Decider(
    initial=Sessions(),
    subject=lambda command: thread_tag(command.thread_id),
    tags=lambda state, command: frozenset({thread_tag(command.thread_id), USER}),
    evolve=_evolve,
    decide=_decide,
)
