"""What was said in a thread, as a model reads it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from mnemolog.domain.extraction.windows import Utterance
from mnemolog.domain.summary import shortened
from mnemolog.domain.turn import Role
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Recorded
from mnemolog.events.message_fold import MESSAGE

MESSAGE_CHARACTERS = 2000


def said(events: Sequence[Recorded], agent_id: str, since: datetime) -> Sequence[Utterance]:
    """What the user and the agent said to each other since then, without what was hidden or erased."""
    messages: dict[str, Any] = {}
    for event in events:
        messages |= MESSAGE.evolve(messages, event.payload)
    return [
        Utterance(event.seq, turn.turn_id, turn.role, turn.speaker, turn.text, event.occurred_at)
        for event in events
        if isinstance(turn := event.payload, TurnRecorded)
        and turn.role in (Role.USER, Role.ASSISTANT)
        and turn.text
        and event.meta.agent_id == agent_id
        and event.recorded_at >= since
        and messages[turn.turn_id].visible
    ]


def line_of(one: Utterance) -> str:
    text = shortened(" ".join(one.text.split()), MESSAGE_CHARACTERS)
    return f"{one.at:%A %Y-%m-%d} {one.speaker or one.role}: {text}"
