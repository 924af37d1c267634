"""The command that records a summary of messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from pydantic import JsonValue

from mnemolog.commands.decider import Command, Decider
from mnemolog.domain.message import Message, no_such_message
from mnemolog.domain.summary import SummaryKind
from mnemolog.events.conversation import summaries_tag, turn_tag
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import USER, UserErased
from mnemolog.events.event import Event
from mnemolog.events.generation import Generation
from mnemolog.events.message_fold import MESSAGE
from mnemolog.events.summaries import SummaryWritten


class WriteSummary(Command):
    """Records a summary of an agent's messages in a thread, in their order.

    NotFound if one of them was erased or hidden since the summary was made: its words must not come back.
    """

    generated: ClassVar[frozenset[str]] = frozenset({"text", "summary_json", "generation", "mechanical"})

    kind: SummaryKind
    turn_ids: tuple[str, ...]
    mechanical: bool
    generation: Generation
    text: str
    summary_json: dict[str, JsonValue] = {}  # noqa: RUF012


@dataclass(frozen=True, slots=True)
class Summaries:
    """The messages of a decision, and the latest summary of each kind and agent in the thread."""

    messages: Mapping[str, Message] = field(default_factory=dict)
    latest: Mapping[tuple[SummaryKind, str], SummaryWritten] = field(default_factory=dict)


def _evolve(state: Summaries, event: Happened) -> Summaries:
    payload = event.payload
    if isinstance(payload, SummaryWritten):
        return replace(state, latest={**state.latest, (payload.kind, payload.agent_id): payload})
    if isinstance(payload, UserErased):
        return Summaries()
    return replace(state, messages={**state.messages, **MESSAGE.evolve(state.messages, payload)})


def _decide(state: Summaries, command: WriteSummary) -> Sequence[Event]:
    for turn_id in command.turn_ids:
        message = state.messages.get(turn_id)
        if message is None or not message.visible:
            raise no_such_message(command.user_id, turn_id, "turn_ids")
    before = state.latest.get((command.kind, command.agent_id))
    written = SummaryWritten(
        kind=command.kind,
        agent_id=command.agent_id,
        thread_id=command.thread_id,
        number=before.number + 1 if before else 1,
        first_turn_id=command.turn_ids[0],
        last_turn_id=command.turn_ids[-1],
        messages=len(command.turn_ids),
        mechanical=command.mechanical,
        generation=command.generation,
        text=command.text,
        summary_json=command.summary_json,
    )
    return [] if before and before.text and _covered(before) == _covered(written) else [written]


def _covered(summary: SummaryWritten) -> tuple[str, str, int]:
    return summary.first_turn_id, summary.last_turn_id, summary.messages


SUMMARIES: Decider[WriteSummary, Summaries] = Decider(
    initial=Summaries(),
    subject=lambda command: summaries_tag(command.thread_id),
    tags=lambda state, command: frozenset({USER, summaries_tag(command.thread_id), *map(turn_tag, command.turn_ids)}),
    evolve=_evolve,
    decide=_decide,
)
