"""Builds recorded events for projectors, without a log."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from mnemolog.domain.turn import Role
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Header, Meta, Recorded, StreamId
from mnemolog.events.event import Event

START = datetime(2026, 1, 3, 1, 2, 10, tzinfo=UTC)


def recorded(
    payload: Event, seq: int, *, user: str = "ana", at: datetime = START, agent: str = "deanna", thread: str = "main"
) -> Recorded:
    """An event as the log would give it."""
    meta = Meta("user", agent, thread)
    header = Header(
        StreamId.of_user(user),
        seq,
        UUID(int=seq),
        payload.type_name(),
        payload.version,
        tuple(sorted(payload.tags())),
        meta.as_dict(),
        at,
        at,
    )
    return Recorded(header, payload, meta)


def turns(count: int, *, first: int = 1, every: timedelta = timedelta(minutes=1), user: str = "ana") -> list[Recorded]:
    """Turns with seq `first`, `first` + 1, ..., each `every` after the one before."""
    return [
        recorded(
            TurnRecorded(turn_id=f"t{seq}", thread_id="main", role=Role.USER, text=f"sentence {seq}"),
            seq,
            user=user,
            at=START + seq * every,
        )
        for seq in range(first, first + count)
    ]
