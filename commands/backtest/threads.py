"""Where the threads of a stream are divided into sessions and episodes, under any policy (X06)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mnemolog.commands.backtest.shadow import context_of
from mnemolog.commands.episodes import EPISODES, SegmentThread
from mnemolog.domain.episode import Place
from mnemolog.domain.segmentation import SegmentationPolicy, SpokenTurn, Vector
from mnemolog.domain.turn import Role
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Recorded
from mnemolog.events.episodes import Ended, EpisodeStarted, Started
from mnemolog.events.erasure import ThreadErased


@dataclass(frozen=True, slots=True)
class Stretch:
    """A session or an episode (`kind`): where it begins and why, and its last turn, if it is over."""

    kind: str
    id: str
    agent_id: str
    thread_id: str
    first_turn_id: str
    started_at: datetime
    starts_by: str
    last_turn_id: str | None = None


@dataclass(slots=True)
class Thread:
    """One agent's turns of a thread, and how many of them an erasure of the thread took."""

    turns: list[Recorded]
    erased: int = 0


def threads_of(events: Iterable[Recorded]) -> Mapping[tuple[str, str], Thread]:
    """By agent and thread."""
    found: defaultdict[tuple[str, str], Thread] = defaultdict(lambda: Thread([]))
    for event in events:
        payload = event.payload
        if isinstance(payload, TurnRecorded):
            found[event.meta.agent_id, payload.thread_id].turns.append(event)
        elif isinstance(payload, ThreadErased):
            for (_, thread_id), one in found.items():
                if thread_id == payload.thread_id:
                    one.erased = len(one.turns)
    return found


def divided(
    threads: Mapping[tuple[str, str], Thread],
    policy: SegmentationPolicy,
    least: float,
    vectors: Mapping[str, Vector],
    at: datetime,
) -> Sequence[Stretch]:
    """The sessions and episodes of these threads. `least` applies to a policy that has no similarity of its own."""
    found: list[Stretch] = []
    similarity = policy.topic_similarity
    for (agent_id, thread_id), thread in threads.items():
        if len(thread.turns) == thread.erased:
            continue
        command = SegmentThread(
            **{**context_of(thread.turns[0]), "agent_id": agent_id, "thread_id": thread_id},
            turns=tuple(_spoken(number, one, policy, vectors) for number, one in enumerate(thread.turns, 1)),
            erased_through=thread.erased,
            policy=policy,
            least_similarity=least if similarity is None else similarity,
            at=at,
        )
        found += _stretches(EPISODES.decide(EPISODES.initial, command))
    return found


def _spoken(number: int, event: Recorded, policy: SegmentationPolicy, vectors: Mapping[str, Vector]) -> SpokenTurn:
    turn = event.payload
    assert isinstance(turn, TurnRecorded)
    by_user = turn.role is Role.USER
    marker = policy.markers.found_in(turn.text) if by_user else None
    place = Place(turn.turn_id, number, event.occurred_at)
    return SpokenTurn(place, by_user, marker, vectors.get(turn.text), event.recorded_at)


def _stretches(events: Sequence[Any]) -> Sequence[Stretch]:
    ends = {str(_id(one)): one.last_turn_ids[-1] for one in events if isinstance(one, Ended)}
    return [
        Stretch(
            "episode" if isinstance(one, EpisodeStarted) else "session",
            str(_id(one)),
            one.agent_id,
            one.thread_id,
            one.first_turn_id,
            one.started_at,
            one.starts_by.value if isinstance(one, EpisodeStarted) else "",
            ends.get(str(_id(one))),
        )
        for one in events
        if isinstance(one, Started)
    ]


def _id(event: Any) -> object:
    return event.session_id if hasattr(event, "session_id") else event.episode_id
