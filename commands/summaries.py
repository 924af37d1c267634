"""The command that records a summary of messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar
from uuid import UUID

from pydantic import JsonValue

from mnemolog.commands.decider import Command, Decider
from mnemolog.domain.message import Message, no_such_message
from mnemolog.domain.summary import SummaryKind
from mnemolog.domain.updated import updated
from mnemolog.events.conversation import EVERY_THREAD, summaries_tag, turn_tag
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import USER, ThreadErased, UserErased
from mnemolog.events.event import Event
from mnemolog.events.generation import Generation
from mnemolog.events.message_fold import MESSAGE
from mnemolog.events.summaries import SummaryWritten

# The kind of a summary, its agent, and the first, the last and the number of the messages that it covers.
Covered = tuple[SummaryKind, str, str, str, int]


class WriteSummary(Command):
    """Records a summary of an agent's messages in a thread, in their order; a spine is of all messages.

    NotFound if one of them was erased or hidden since the summary was made: its words must not come back. `builds_on`
    is the version of the spine that this one continues, or 0.
    """

    generated: ClassVar[frozenset[str]] = frozenset({"text", "summary_json", "generation", "mechanical"})

    kind: SummaryKind
    turn_ids: tuple[str, ...]
    session_id: UUID | None = None
    episode_id: UUID | None = None
    builds_on: int = 0
    mechanical: bool
    generation: Generation
    text: str
    summary_json: dict[str, JsonValue] = {}  # noqa: RUF012

    @property
    def place(self) -> tuple[str, str]:
        """The agent and the thread of the summary."""
        return ("", EVERY_THREAD) if self.kind is SummaryKind.SPINE else (self.agent_id, self.thread_id)


@dataclass(frozen=True, slots=True)
class Summaries:
    """The messages of a decision, and of the thread's summaries, what the readable ones cover and the last version.

    `spine`: the version of the latest spine, 0 once it was erased.
    """

    messages: Mapping[str, Message] = field(default_factory=dict)
    covered: frozenset[Covered] = frozenset()
    versions: Mapping[tuple[SummaryKind, str], int] = field(default_factory=dict)
    spine: int = 0

    def needs(self, command: WriteSummary) -> bool:
        """Whether no summary is made of the same messages, and a spine continues what is still the latest."""
        if command.kind is SummaryKind.SPINE and self.spine != command.builds_on:
            return False
        turn_ids = command.turn_ids
        one = (command.kind, command.place[0], turn_ids[0], turn_ids[-1], len(turn_ids))
        return one not in self.covered


def _evolve(state: Summaries, event: Happened) -> Summaries:
    payload = event.payload
    if isinstance(payload, SummaryWritten):
        one = (payload.kind, payload.agent_id, payload.first_turn_id, payload.last_turn_id, payload.messages)
        spine = payload.number if payload.text else 0
        return replace(
            state,
            covered=state.covered | {one} if payload.text else state.covered,
            versions=updated(state.versions, {(payload.kind, payload.agent_id): payload.number}),
            spine=spine if payload.kind is SummaryKind.SPINE else state.spine,
        )
    if isinstance(payload, UserErased):
        return Summaries()
    if isinstance(payload, ThreadErased):  # Of any thread: what the spine said is read as erased.
        return state
    return replace(state, messages=updated(state.messages, MESSAGE.evolve(state.messages, payload)))


def _decide(state: Summaries, command: WriteSummary) -> Sequence[Event]:
    for turn_id in command.turn_ids:
        message = state.messages.get(turn_id)
        if message is None or not message.visible:
            raise no_such_message(command.user_id, turn_id, "turn_ids")
    agent_id, thread_id = command.place
    if not state.needs(command):
        return []
    return [
        SummaryWritten(
            kind=command.kind,
            agent_id=agent_id,
            thread_id=thread_id,
            number=state.versions.get((command.kind, agent_id), 0) + 1,
            first_turn_id=command.turn_ids[0],
            last_turn_id=command.turn_ids[-1],
            messages=len(command.turn_ids),
            mechanical=command.mechanical,
            generation=command.generation,
            session_id=command.session_id,
            episode_id=command.episode_id,
            text=command.text,
            summary_json=command.summary_json,
        )
    ]


SUMMARIES: Decider[WriteSummary, Summaries] = Decider(
    initial=Summaries(),
    subject=lambda command: summaries_tag(command.place[1]),
    tags=lambda state, command: frozenset({USER, summaries_tag(command.place[1]), *map(turn_tag, command.turn_ids)}),
    evolve=_evolve,
    decide=_decide,
)
