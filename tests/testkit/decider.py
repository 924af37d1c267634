"""Given, when, then for deciders: `given(MEMORIES, *events).when(command).then(*events)`."""

from collections.abc import Sequence
from typing import Generic, TypeVar

import pytest

from mnemolog.commands.decider import Command, Decider
from mnemolog.domain.errors import MnemologError
from mnemolog.events.envelope import NewEvent
from mnemolog.events.event import Event
from tests.testkit.events import new

C = TypeVar("C", bound=Command)
S = TypeVar("S")
E = TypeVar("E", bound=MnemologError)


def given(decider: Decider[C, S], *history: Event | NewEvent) -> "Story[C, S]":
    """A decider that has seen these events. Pass a NewEvent where the event's id matters."""
    return Story(decider, decider.initial).and_then(*history)


class Story(Generic[C, S]):
    """What has happened so far. Immutable: `and_then` and `after` give a longer one."""

    def __init__(self, decider: Decider[C, S], state: S) -> None:
        self.decider, self.state = decider, state

    def and_then(self, *history: Event | NewEvent) -> "Story[C, S]":
        state = self.state
        for event in history:
            state = self.decider.evolve(state, event if isinstance(event, NewEvent) else new(event))
        return Story(self.decider, state)

    def when(self, command: C) -> "Decision[C, S]":
        return Decision(self, command)

    def after(self, command: C) -> "Story[C, S]":
        """The story with what this command decides."""
        return self.and_then(*self.when(command).events())


class Decision(Generic[C, S]):
    """A command that meets a story."""

    def __init__(self, story: Story[C, S], command: C) -> None:
        self._story, self._command = story, command

    def events(self) -> Sequence[Event]:
        return self._story.decider.decide(self._story.state, self._command)

    def then(self, *expected: Event) -> None:
        assert list(self.events()) == list(expected)

    def then_nothing(self) -> None:
        """What is asked for holds already."""
        self.then()

    def then_refused(self, error: type[E], field: str, match: str | None = None) -> E:
        with pytest.raises(error, match=match) as caught:
            self.events()
        assert caught.value.field == field
        assert caught.value.fix, "an error says what to do"
        return caught.value
