"""Record what was put into a prompt (X18)."""

from collections.abc import Sequence
from typing import ClassVar

from mnemolog.commands.decider import Command, Decider
from mnemolog.domain.gate import Signal
from mnemolog.domain.principal import Role
from mnemolog.events.event import Event
from mnemolog.events.fields import Id
from mnemolog.events.serving import SERVED, ContextServed, Purpose, ServedItem, served_tag


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


def decide(state: Event | None, command: RecordServed) -> Sequence[Event]:
    """Nothing if the same was recorded for the same answer, as for a request that is repeated."""
    given = command.model_dump(include=set(RecordServed.__annotations__) - {"needs"})
    served = ContextServed(**given, agent_id=command.agent_id, thread_id=command.thread_id)
    return [] if served == state else [served]


def _answer(command: RecordServed) -> frozenset[str]:
    return frozenset({served_tag(command.answer_id)} if command.answer_id else ())


SERVING: Decider[RecordServed, Event | None] = Decider(
    initial=None,
    subject=lambda command: served_tag(command.answer_id) if command.answer_id else SERVED,
    tags=lambda state, command: _answer(command),  # Without an answer it depends on nothing, and never conflicts.
    evolve=lambda state, event: event.payload,
    decide=decide,
    fresh=_answer,
)
