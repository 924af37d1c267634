"""Folds turns into messages. Exactly once: rows and progress share a transaction."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import MetaData
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.memory import VISIBLE, Status
from mnemolog.domain.message import Message, full_text, subject_id
from mnemolog.domain.text import search_document
from mnemolog.domain.turn import Shown
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Recorded
from mnemolog.events.erasure import MemoryErased, ThreadErased
from mnemolog.events.message import MessageDeleted, MessageEvent, MessagesErased
from mnemolog.events.message_fold import MESSAGE
from mnemolog.projections import words
from mnemolog.projections.conversation.tables import NAME, READABLE_FROM, VERSION, messages, metadata
from mnemolog.projections.conversation.tables import words as WORDS
from mnemolog.projections.forgetting import NOT_FORGOTTEN
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.owner import owner, owner_row
from mnemolog.projections.rows import Key, Row, load, upsert
from mnemolog.projections.threads import rows_of_threads

_ERASED = {"forget_reason": "", "speaker": "", "text": "", "attachments": [], "metadata": {}, "document": ""}


class ConversationProjector:
    name = NAME
    version = VERSION
    readable_from = READABLE_FROM
    variant = ""
    tables: MetaData = metadata
    kinds = Kinds(TurnRecorded | MessageEvent | MessagesErased | MemoryErased | ThreadErased)

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        touched = {(*owner(event), id_) for event in batch for id_ in MESSAGE.touched(event.payload)}
        threads = {(*owner(one), one.payload.thread_id) for one in batch if isinstance(one.payload, ThreadErased)}
        known = {
            **await load(connection, messages, touched),
            **await rows_of_threads(connection, messages, threads),
        }
        rows, changed = dict(known), dict[Key, Row]()
        for event in batch:
            after = _changed(rows, event)
            rows |= after
            changed |= after
        found, now = ({key for key, row in one.items() if _is_found(row)} for one in (known, changed))
        words.remove(connection, WORDS, found & changed.keys() - now)
        await upsert(connection, messages, list(changed.values()), known)
        words.add(connection, WORDS, now - found)


def _is_found(row: Row) -> bool:
    """Whether a search finds it. Its text does not change until it is erased."""
    return row["status"] in VISIBLE and bool(row["text"]) and not row["remembered"]


def _changed(rows: Mapping[Key, Row], event: Recorded) -> dict[Key, Row]:
    payload, whose = event.payload, owner(event)
    if isinstance(payload, TurnRecorded):
        return {(*whose, payload.turn_id): _row(event, payload)}
    if isinstance(payload, ThreadErased):
        there = {key: row for key, row in rows.items() if key[:-1] == whose and row["thread_id"] == payload.thread_id}
        return {key: _with(row, _message(row).erased(), event) for key, row in there.items()}
    known = {id_: _message(rows[*whose, id_]) for id_ in MESSAGE.touched(payload) if (*whose, id_) in rows}
    after = MESSAGE.evolve(known, payload)
    return {(*whose, id_): _with(rows[*whose, id_], message, event) for id_, message in after.items()}


def _message(row: Row) -> Message:
    return Message(row["message_id"], row["thread_id"], Status(row["status"]), row["purge_at"])


def _with(row: Row, message: Message, event: Recorded) -> Row:
    hidden = message.status not in VISIBLE
    # Of one that was erased, a replay does not know when it was hidden before.
    since = None if message.is_erased else row["forgotten_at"]
    reason = event.payload.reason if isinstance(event.payload, MessageDeleted) else row["forget_reason"]
    standing = {
        "status": message.status,
        "purge_at": message.purge_at,
        "updated_at": event.recorded_at,
        "forgotten_at": (since or event.recorded_at) if hidden else None,
        "forget_reason": reason if hidden else "",
    }
    return {**row, **standing, **(_ERASED if message.is_erased else {})}


def _row(event: Recorded, turn: TurnRecorded) -> Row:
    same = ("thread_id", "run_id", "role", "speaker", "speaker_entity_id", "text", "metadata", "remembered")
    row: dict[str, Any] = {
        **owner_row(event),
        **{name: getattr(turn, name) for name in same},
        "message_id": turn.turn_id,
        "subject_id": subject_id(turn.turn_id),
        "agent_id": event.meta.agent_id,
        "actor_id": event.meta.actor,
        "attachments": [item.model_dump() for item in turn.attachments],
        "status": Status.ACTIVE if turn.text else Status.PURGED,
        "purge_at": None,
        **NOT_FORGOTTEN,
        "occurred_at": event.occurred_at,
        "created_at": event.recorded_at,
        "updated_at": event.recorded_at,
        "seq": event.seq,
        "document": search_document(indexed_text(turn)),
    }
    return row if turn.text else {**row, **_ERASED}


def indexed_text(turn: TurnRecorded) -> str:
    """The text by which a search finds a turn's message; "" if it was erased, or a memory represents it."""
    if turn.remembered or not turn.text:
        return ""
    return full_text(turn.speaker, turn.text, [Shown(item.type, item.caption) for item in turn.attachments])
