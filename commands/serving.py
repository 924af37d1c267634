"""Record what was put into a prompt (X18)."""

from collections.abc import Sequence
from typing import ClassVar

from mnemolog.commands.decider import Command, Decider
from mnemolog.domain.gate import Signal
from mnemolog.domain.principal import Role
from mnemolog.events.event import Event
from mnemolog.events.fields import Id
from mnemolog.events.serving import SERVED, ContextServed, Purpose, ServedItem


class RecordServed(Command):
    """What an agent was given. Whoever may read it may record that it was read."""

    needs: ClassVar[Role] = Role.READ

    purpose: Purpose
    items: tuple[ServedItem, ...]
    tokens: int
    searched: bool | None = None
    signals: tuple[Signal, ...] = ()
    question_id: Id | None = None
    answer_id: Id | None = None


def decide(state: None, command: RecordServed) -> Sequence[Event]:
    given = command.model_dump(include=set(RecordServed.__annotations__) - {"needs"})
    return [ContextServed(**given, agent_id=command.agent_id, thread_id=command.thread_id)]


SERVING: Decider[RecordServed, None] = Decider(
    initial=None,
    subject=lambda command: SERVED,
    tags=lambda state, command: frozenset(),  # It depends on nothing, so it never conflicts.
    evolve=lambda state, event: None,
    decide=decide,
)
