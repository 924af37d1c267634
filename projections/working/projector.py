"""Folds turns into sessions. Pure: the store reads the sessions before and writes them after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from mnemolog.domain import session
from mnemolog.domain.session import Session
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Recorded, StreamId

NAME = "working"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """The (user, agent, chat) of a session, in a tenant."""

    tenant: str
    user_id: str
    agent_id: str
    chat_id: str

    @property
    def key(self) -> str:
        return session.key("sess", self.tenant, self.user_id, self.agent_id, self.chat_id)

    @property
    def stream(self) -> StreamId:
        return StreamId.of_user(self.user_id, self.tenant)


def place_of(event: Recorded) -> Place | None:
    """The session that an event belongs to; None when it is no turn."""
    if not isinstance(event.payload, TurnRecorded):
        return None
    return Place(event.stream.tenant, event.stream.owner, event.meta.agent_id, event.payload.thread_id)


def fold(before: Mapping[Place, Session], events: Sequence[Recorded]) -> Mapping[Place, tuple[Session, datetime]]:
    """The sessions that the events change, and when each of them ends. After a long silence a new one begins."""
    after: dict[Place, tuple[Session, datetime]] = {}
    for event in events:
        place = place_of(event)
        if place is None:
            continue
        assert isinstance(event.payload, TurnRecorded)
        current = after[place][0] if place in after else before.get(place)
        if current is None or current.expired(event.recorded_at):
            current = Session(place.user_id, place.agent_id, place.chat_id)
        entity_id = event.payload.speaker_entity_id
        heard = current.heard(
            event.payload.role, event.payload.text, str(entity_id) if entity_id else None, event.recorded_at
        )
        after[place] = (heard, event.recorded_at + session.LIFETIME)
    return after
