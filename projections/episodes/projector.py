"""Counts the turns of threads, and notes where they divide. Exactly once: rows and progress share a transaction."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import MetaData, Table
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.episode import Boundary, EpisodeStatus
from mnemolog.domain.memory import Cause
from mnemolog.domain.summary import SummaryKind
from mnemolog.domain.turn import Role
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Recorded
from mnemolog.events.episodes import (
    Ended,
    EpisodeClosed,
    EpisodesReverted,
    EpisodeStarted,
    EpisodeState,
    SessionEnded,
    SessionStarted,
    Started,
    ThreadEvent,
)
from mnemolog.events.erasure import MemoryErased, ThreadErased
from mnemolog.events.message import MessagesErased
from mnemolog.events.summaries import SummaryWritten
from mnemolog.projections.episodes.tables import NAME, READABLE_FROM, VERSION, episodes, metadata, sessions, threads
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.owner import owner, owner_row
from mnemolog.projections.rows import Key, Row, load, primary_key, upsert
from mnemolog.projections.threads import rows_of_threads

# The summaries of sessions and episodes that ended longer ago are not written again after an erasure.
REWRITTEN = timedelta(days=30)


class EpisodesProjector:
    name = NAME
    version = VERSION
    readable_from = READABLE_FROM
    variant = ""
    tables: MetaData = metadata
    kinds = Kinds((ThreadEvent, ThreadErased), shapes=TurnRecorded | SummaryWritten | MessagesErased | MemoryErased)

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        fold = _Fold(await _rows(connection, batch))
        for event in batch:
            fold.apply(event)
        for table, rows in fold.changed.items():
            await upsert(connection, table, list(rows.values()))


Rows = dict[Table, dict[Key, Row]]


async def _rows(connection: AsyncConnection, batch: Sequence[Recorded]) -> Rows:
    """The rows that the batch changes, as they stand; of what was erased, all."""
    held = {
        threads: {_thread(event) for event in batch if isinstance(event.payload, TurnRecorded | ThreadEvent)},
        sessions: {key for event in batch if (key := _session(event))},
        episodes: {key for event in batch for key in _episodes(event)},
    }
    found: Rows = {table: await load(connection, table, keys) for table, keys in held.items()}
    places = {(*owner(event), thread_id) for event in batch for thread_id in _erased_threads(event)}
    for table, rows in found.items():
        rows |= await rows_of_threads(connection, table, places)
    return found


def _erased_threads(event: Recorded) -> Sequence[str]:
    """The threads of which something is erased, and the summaries with it."""
    match event.payload:
        case ThreadErased(thread_id=thread_id):
            return [thread_id]
        case MessagesErased(thread_id=thread_id, cause=cause) if cause is not Cause.TTL:
            return [thread_id]
        case MemoryErased(turns=turns):
            return [turn.thread_id for turn in turns]
        case _:
            return []


def _thread(event: Recorded) -> Key:
    payload = event.payload
    agent_id = payload.agent_id if isinstance(payload, ThreadEvent) else event.meta.agent_id
    return (*owner(event), agent_id, payload.thread_id)  # type: ignore[attr-defined]


def _session(event: Recorded) -> Key | None:
    match event.payload:
        case (
            SessionStarted(session_id=session_id)
            | SessionEnded(session_id=session_id)
            | SummaryWritten(session_id=UUID() as session_id)
        ):
            return (*owner(event), session_id)
        case _:
            return None


def _episodes(event: Recorded) -> Sequence[Key]:
    match event.payload:
        case (
            EpisodeStarted(episode_id=episode_id)
            | EpisodeClosed(episode_id=episode_id)
            | SummaryWritten(kind=SummaryKind.FINAL, episode_id=UUID() as episode_id)
        ):
            return [(*owner(event), episode_id)]
        case EpisodesReverted(episodes=states):
            return [(*owner(event), one.episode_id) for one in states]
        case _:
            return []


class _Fold:
    """Rows while a batch is applied. What is not there, as an event was skipped, is not changed."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.changed: Rows = {table: {} for table in rows}

    def apply(self, event: Recorded) -> None:
        payload = event.payload
        match payload:
            case TurnRecorded():
                self._turn(event, payload)
            case SessionStarted():
                self._begin(sessions, {"session_id": payload.session_id, **self._started(event, payload)})
                self._note(event, active_session_id=payload.session_id)
            case EpisodeStarted():
                self._begin(episodes, {**self._started(event, payload), **_reason(payload)})
                self._note(event, active_episode_id=payload.episode_id)
            case SessionEnded():
                self._set(sessions, (*owner(event), payload.session_id), _ended(event, payload))
                self._note(event, active_session_id=None, session_last=payload.last_number)
            case EpisodeClosed():
                more = {"last_user_message_at": payload.last_user_message_at}
                self._set(episodes, (*owner(event), payload.episode_id), {**_ended(event, payload), **more})
                self._note(event, active_episode_id=None, episode_last=payload.last_number)
            case EpisodesReverted():
                self._reverted(event, payload)
            case SummaryWritten(kind=SummaryKind.SESSION):
                self._set(sessions, (*owner(event), payload.session_id), {"summary_due_at": None})
            case SummaryWritten(kind=SummaryKind.FINAL):
                self._set(episodes, (*owner(event), payload.episode_id), {"summary_due_at": None})
            case ThreadErased():
                self._erased(event, payload.thread_id)
            case MessagesErased() | MemoryErased():
                self._without_summaries(event, _erased_threads(event))

    def _turn(self, event: Recorded, turn: TurnRecorded) -> None:
        key, at = _thread(event), event.occurred_at
        row = self._rows[threads].get(key) or _new_thread(event, turn)
        user_at = max(row["last_user_message_at"] or at, at) if turn.role is Role.USER else row["last_user_message_at"]
        said = {
            "turns": row["turns"] + 1,
            "started_at": min(row["started_at"], at),
            "last_activity_at": max(row["last_activity_at"], at),
            "last_user_message_at": user_at,
            "waiting_since": row["waiting_since"] or event.recorded_at,
            "recorded_at": event.recorded_at,
            "seq": event.seq,
        }
        self._put(threads, key, {**row, **said})

    def _started(self, event: Recorded, payload: Started) -> Row:
        thread = self._rows[threads].get(_thread(event))
        same = ("agent_id", "thread_id", "previous_id", "first_turn_id", "first_number", "started_at")
        return {
            **owner_row(event),
            **{name: getattr(payload, name) for name in (*same, "silence_seconds")},
            "status": EpisodeStatus.ACTIVE.value,
            "last_turn_id": None,
            "last_number": None,
            "ended_at": None,
            "carried_turn_ids": list(payload.carried_turn_ids),
            "closed_by": None,
            "erased": thread is not None and payload.first_number <= thread["erased_turns"],
            "summary_due_at": None,
            "seq": event.seq,
        }

    def _begin(self, table: Table, row: Row) -> None:
        self._put(table, primary_key(table)(row), row)

    def _note(self, event: Recorded, **more: Any) -> None:
        """What the thread's row says of its sessions and episodes; whatever waited was looked at."""
        self._set(threads, _thread(event), {**more, "waiting_since": None, "seq": event.seq})

    def _reverted(self, event: Recorded, payload: EpisodesReverted) -> None:
        for state in payload.episodes:
            self._set(episodes, (*owner(event), state.episode_id), _state(event, state))
        active = next((one for one in payload.episodes if one.status is EpisodeStatus.ACTIVE), None)
        row = self._rows[episodes].get((*owner(event), active.episode_id)) if active else None
        if active and row:
            self._note(event, active_episode_id=active.episode_id, episode_last=row["first_number"] - 1)

    def _erased(self, event: Recorded, thread_id: str) -> None:
        """The shape stays: ids, counts and times. What was erased is not listed."""
        whose = owner(event)
        for table, rows in self._rows.items():
            for key, row in list(rows.items()):
                if key[: len(whose)] == whose and row["thread_id"] == thread_id:
                    shape = {"erased": True, "summary_due_at": None}
                    gone = {"erased_turns": row["turns"]} if table is threads else shape
                    self._put(table, key, {**row, **gone, "seq": event.seq})

    def _without_summaries(self, event: Recorded, threads: Sequence[str]) -> None:
        """The summaries of these threads were destroyed: those of the last weeks are to be written again."""
        whose, since = owner(event), event.recorded_at - REWRITTEN
        for table in (sessions, episodes):
            for key, row in list(self._rows[table].items()):
                ended = row["status"] == EpisodeStatus.CLOSED and row["ended_at"] >= since
                if key[: len(whose)] == whose and row["thread_id"] in threads and ended and not row["erased"]:
                    self._put(table, key, {**row, "summary_due_at": event.recorded_at})

    def _set(self, table: Table, key: Key, values: Row) -> None:
        if row := self._rows[table].get(key):
            self._put(table, key, {**row, **values})

    def _put(self, table: Table, key: Key, row: Row) -> None:
        self._rows[table][key] = self.changed[table][key] = row


def _new_thread(event: Recorded, turn: TurnRecorded) -> Row:
    return {
        **owner_row(event),
        "agent_id": event.meta.agent_id,
        "thread_id": turn.thread_id,
        "turns": 0,
        "erased_turns": 0,
        "started_at": event.occurred_at,
        "last_activity_at": event.occurred_at,
        "last_user_message_at": None,
        "active_session_id": None,
        "active_episode_id": None,
        "session_last": 0,
        "episode_last": 0,
        "waiting_since": None,
    }


def _reason(payload: EpisodeStarted) -> Row:
    same = ("episode_id", "starts_by", "least_similarity", "model", "marker_kind", "marker_language")
    return {
        **{name: getattr(payload, name) for name in same},
        "merged_into": None,
        "similarities": list(payload.similarities),
        "last_user_message_at": None,
        "reopened_at": None,
    }


def _ended(event: Recorded, payload: Ended) -> Row:
    return {
        "status": EpisodeStatus.CLOSED.value,
        "last_turn_id": payload.last_turn_ids[-1],
        "last_number": payload.last_number,
        "ended_at": payload.ended_at,
        "closed_by": payload.closed_by,
        "summary_due_at": event.recorded_at if payload.closed_by is not Boundary.ERASED else None,
        "seq": event.seq,
    }


def _state(event: Recorded, state: EpisodeState) -> Row:
    same = ("status", "last_number", "ended_at", "closed_by", "merged_into", "reopened_at")
    return {
        **{name: getattr(state, name) for name in same},
        "last_turn_id": state.last_turn_ids[-1] if state.last_number is not None else None,
        "summary_due_at": event.recorded_at if state.status is EpisodeStatus.CLOSED else None,
        "seq": event.seq,
    }
