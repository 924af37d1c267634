"""Folds turns into sessions. Pure: the store reads the sessions before and writes them after."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from mnemolog.domain import session
from mnemolog.domain.affect import DEFAULT_MODE, Affect
from mnemolog.domain.memory import VISIBLE, Cause
from mnemolog.domain.session import Session
from mnemolog.domain.summary import SummaryKind
from mnemolog.events.conversation import AffectSet, FocusSet, SessionForgotten, SessionReverted, TurnRecorded
from mnemolog.events.envelope import USER, Recorded, StreamId
from mnemolog.events.erasure import MemoryErased, ThreadErased, UserErased
from mnemolog.events.graph import EntityErased, EntityForgotten
from mnemolog.events.message import MessageDeleted, MessageReverted, MessagesErased
from mnemolog.events.message_fold import MESSAGE
from mnemolog.events.summaries import SummaryWritten
from mnemolog.projections.kinds import Kinds

NAME = "working"
AFFECT = "affect"
ERASURES = MemoryErased | ThreadErased | UserErased | EntityErased | EntityForgotten
# A deleted message leaves its session, and does not return to it when it is restored.
HIDING = MessagesErased | MessageDeleted | MessageReverted


@dataclass(frozen=True, slots=True, order=True)
class SessionPlace:
    """The (user, agent, chat) of a session, in a tenant. In an agent's own stream, `user_id` is the agent."""

    tenant: str
    user_id: str
    agent_id: str
    chat_id: str
    stream_kind: str = USER

    @property
    def key(self) -> str:
        prefix = "sess" if self.stream_kind == USER else f"sess-{self.stream_kind}"
        return session.key(prefix, self.tenant, self.user_id, self.agent_id, self.chat_id)

    @property
    def affect_key(self) -> str:
        """`affect:{user}:{agent}:{chat}` (A §2.1)."""
        prefix = AFFECT if self.stream_kind == USER else f"{AFFECT}-{self.stream_kind}"
        return session.key(prefix, self.tenant, self.user_id, self.agent_id, self.chat_id)

    @property
    def stream(self) -> StreamId:
        return StreamId(self.tenant, f"{self.stream_kind}:{self.user_id}")

    @classmethod
    def of(cls, stream: StreamId, agent_id: str, chat_id: str) -> Self:
        """The place of an agent and a chat in a stream."""
        return cls(stream.tenant, stream.owner, agent_id, chat_id, stream.kind)

    @classmethod
    def keys_begin(cls, stream: StreamId) -> str:
        """The prefix of the keys of a stream's sessions, and of no others."""
        return cls.of(stream, "", "").key.removesuffix(":")

    @classmethod
    def affects_begin(cls, stream: StreamId) -> str:
        """The prefix of the keys of a stream's affects, and of no others."""
        return cls.of(stream, "", "").affect_key.removesuffix(":")

    @classmethod
    def of_key(cls, stream: StreamId, key: str) -> Self:
        """The place for one of the stream's session keys."""
        agent_id, _, chat_id = key.removeprefix(cls.keys_begin(stream)).partition(":")
        return cls.of(stream, session.unescaped(agent_id), chat_id)


# A session and when it ends; None if it is to be deleted.
Kept = tuple[Session, datetime] | None


# Event types that may change a single session.
OF_ONE_CHAT = SessionForgotten | SessionReverted | AffectSet | FocusSet | SummaryWritten
KINDS = Kinds(TurnRecorded | OF_ONE_CHAT | ERASURES, shapes=HIDING)


def place_of(event: Recorded) -> SessionPlace | None:
    """The one session that an event concerns; None if there is none, or if there may be several."""
    match event.payload:
        case TurnRecorded(thread_id=chat_id):
            return SessionPlace.of(event.stream, event.meta.agent_id, chat_id)
        case SessionForgotten() | SessionReverted() | AffectSet() | FocusSet() as one:
            return SessionPlace.of(event.stream, one.agent_id, one.chat_id)
        case SummaryWritten(kind=SummaryKind.ROLLING | SummaryKind.SESSION) as one:
            return SessionPlace.of(event.stream, one.agent_id, one.thread_id)
        case _:
            return None


def erases(event: Recorded) -> bool:
    """Whether an event may remove something from any session of its user."""
    return isinstance(event.payload, ERASURES | HIDING)


def fold(before: Mapping[SessionPlace, Session], events: Sequence[Recorded]) -> Mapping[SessionPlace, Kept]:
    """The sessions that the events change, and when each of them ends. After a long silence a new one begins.

    A forgotten session stays, hidden, until it ends. For an event that `erases`, `before` holds every session of its
    user.
    """
    after: dict[SessionPlace, Kept] = {}
    for event in events:
        place = place_of(event)
        if place is not None:
            after[place] = _left(_current(before, after, place), place, event)
        elif erases(event):
            theirs = [one for one in {**before, **after} if one.stream == event.stream]
            found = {one: _current(before, after, one) for one in theirs}
            after |= {one: _erased(current, event) for one, current in found.items() if current}
    return {place: kept for place, kept in after.items() if kept is None or kept[0] is not before.get(place)}


def _current(
    before: Mapping[SessionPlace, Session], after: Mapping[SessionPlace, Kept], place: SessionPlace
) -> Session | None:
    if place not in after:
        return before.get(place)
    kept = after[place]
    return kept[0] if kept else None


def _left(current: Session | None, place: SessionPlace, event: Recorded) -> Kept:
    turn, at = event.payload, event.recorded_at
    if isinstance(turn, TurnRecorded | AffectSet | FocusSet) and (current is None or current.expired(at)):
        current = Session(place.user_id, place.agent_id, place.chat_id)
    if current is None:
        return None
    if isinstance(turn, TurnRecorded):
        named = [*([turn.speaker_entity_id] if turn.speaker_entity_id else []), *turn.mentioned_ids]
        left = current.heard(turn.role, turn.text, turn.turn_id, list(dict.fromkeys(map(str, named))), at)
    elif isinstance(turn, AffectSet):
        left = current.felt(_affect(turn, at), at)
    elif isinstance(turn, FocusSet):
        focus = turn.model_dump(include=set(session.FOCUS))
        active = None if turn.active_entity_ids is None else [str(one) for one in turn.active_entity_ids]
        left = current.focused(focus, active, at)
    elif isinstance(turn, SummaryWritten) and turn.kind is SummaryKind.SESSION:
        left = current.following(turn.summary_json, turn.last_turn_id) if turn.text else current
    elif isinstance(turn, SummaryWritten):
        left = current.summarized(turn.text, turn.last_turn_id)
    elif isinstance(turn, SessionReverted):
        left = current.shown_since(str(turn.since) if turn.since else None)
    else:
        left = current.forgotten_by(str(event.event_id))
    return left, left.ends_at


def _affect(event: AffectSet, at: datetime) -> Affect | None:
    """None if it has no label, because none was set or it was erased."""
    if not event.label:
        return None
    return Affect(
        event.label,
        event.confidence,
        event.decay_at,
        at,
        event.markers,
        event.interaction_mode or DEFAULT_MODE,
        event.every_n_messages,
    )


def _erased(current: Session, event: Recorded) -> Kept:
    match event.payload:
        case MemoryErased(turns=turns):
            left = _without(current, {turn.turn_id for turn in turns if turn.thread_id == current.chat_id})
            return left, left.ends_at
        case MessageReverted(status=status) if status in VISIBLE:
            return current, current.ends_at
        case MessageDeleted(cause=Cause.SCOPE):  # Whoever forgets a scope forgets its session too, and may undo both.
            return current, current.ends_at
        case (
            MessagesErased(thread_id=thread_id)
            | MessageDeleted(thread_id=thread_id)
            | MessageReverted(thread_id=thread_id)
        ):
            hidden = frozenset(MESSAGE.touched(event.payload)) if thread_id == current.chat_id else frozenset()
            left = _without(current, hidden)
            return left, left.ends_at
        case EntityErased(entity_id=entity_id) | EntityForgotten(entity_id=entity_id):
            left = current.forgetting(str(entity_id))
            return left, left.ends_at
        case ThreadErased(thread_id=thread_id) if thread_id != current.chat_id:
            return current, current.ends_at
        case _:
            return None


def _without(current: Session, turn_ids: Collection[str]) -> Session:
    """Without these turns, nor the summaries, which may contain their words."""
    return current.without(turn_ids).without_summaries() if turn_ids else current
