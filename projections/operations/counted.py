"""The operations that an event stands for: where they ran, what they did, and how they ended (B §14)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from mnemolog.domain.memory import Kind
from mnemolog.domain.minds.mind import Mind
from mnemolog.events import (
    artifacts,
    conversation,
    documents,
    episodes,
    extraction,
    memory,
    message,
    minds,
    patrol,
    profile,
    serving,
    summaries,
)
from mnemolog.events.envelope import Recorded
from mnemolog.events.erasure import ThreadErased
from mnemolog.events.event import Event
from mnemolog.projections.history.entries import ENTRIES, entry, subjects


class Node(StrEnum):
    """Where an operation ran: for a caller, in a search, on episodes and summaries, or in the background."""

    HOTPATH = "hotpath"
    CONTEXT = "context"
    EPISODIC = "episodic"
    WORKER = "worker"


class Outcome(StrEnum):
    """`skipped`: nothing new was stored, because it was known; messages said nothing worth remembering; or a context
    was served without a search.

    `error`: a file could not be read.
    """

    OK = "ok"
    SKIPPED = "skipped"
    ERROR = "error"


class Over(StrEnum):
    """Whose operations are counted."""

    AGENT = "agent"
    USER = "user"
    TENANT = "tenant"


class Period(StrEnum):
    """Times are in UTC."""

    HOUR = "hour"
    DAY = "day"
    TOTAL = "total"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which operations: from `since` on and before `until`, both by the hour."""

    over: Over = Over.AGENT
    by: Period = Period.DAY
    since: datetime | None = None
    until: datetime | None = None
    node: Node | None = None
    op: str | None = None
    status: Outcome | None = None


class Operation(NamedTuple):
    """One of B §14, or another. `similarity` is that of the best neighbour, if one was looked for."""

    node: Node
    op: str
    status: Outcome
    subject: str
    times: int = 1
    similarity: float | None = None


# The actors of background jobs.
WORKERS = frozenset({"extractor", "model-extractor", "patrol", "retention", *Mind})
_OPS = {
    "ADD": "create",
    "UPDATE": "update",
    "MERGE": "merge",
    "LINK": "link",
    "DELETE": "delete",
    "TTL": "expire",
    "RESTORE": "restore",
}
# Events without an entry in the history: their op, what it is done to, and how often it happened.
_OTHERS: Mapping[type[Event], tuple[str, str, Callable[[Any], int]]] = {
    conversation.TurnRecorded: ("create", "message", lambda it: 1),
    message.MessageDeleted: ("delete", "message", lambda it: 1),
    message.MessageRestored: ("restore", "message", lambda it: 1),
    message.MessageReverted: ("undo", "message", lambda it: 1),
    message.MessagesErased: ("erase", "message", lambda it: len(it.turn_ids)),
    conversation.AffectSet: ("set", "affect", lambda it: 1),
    conversation.FocusSet: ("set", "focus", lambda it: 1),
    extraction.MessagesExtracted: ("classify", "message", lambda it: len(it.turn_ids)),
    minds.MindRan: ("run", "mind", lambda it: 1),
    memory.MemoriesRecalled: ("recall", "memory", lambda it: sum(it.weights)),
    patrol.CycleClosed: ("cycle", "patrol", lambda it: 1),
    patrol.ScenesReviewed: ("review", "patrol", lambda it: len(it.memory_ids)),
    serving.ContextServed: ("search", "context", lambda it: 1),
    summaries.SummaryWritten: ("create", "summary", lambda it: 1),
    profile.UserSeeded: ("seed", "user", lambda it: 1),
    ThreadErased: ("erase", "thread", lambda it: 1),
}
_REFUSED = artifacts.ArtifactRefused
COUNTED = (*ENTRIES, *_OTHERS)


def operations_of(event: Recorded) -> Iterable[Operation]:
    """None, one, or one for each memory, entity, fact or other subject that the event changed."""
    payload, node = event.payload, _node(event)
    if type(payload) in _OTHERS:
        op, subject, count = _OTHERS[type(payload)]
        if isinstance(payload, serving.ContextServed) and payload.purpose is serving.Purpose.RECALL:
            op = "recall"
        yield Operation(node, op, Outcome.SKIPPED if _in_vain(payload) else Outcome.OK, subject, count(payload))
        return
    for one in subjects(payload):
        word, details = entry(payload, one)
        if isinstance(payload, documents.DocumentChunksStored):  # A part of adding or revising the document.
            continue
        op, status = _OPS[word], Outcome.OK
        if details.get("observed") in (True, memory.Observation.REPEAT):
            op, status = "create", Outcome.SKIPPED
        elif "undoes" in details:
            op = "undo"
        elif "erased" in details:
            op = "erase"
        elif isinstance(payload, _REFUSED):
            op, status = "extract", Outcome.ERROR
        elif isinstance(payload, artifacts.ArtifactExtracted):
            op = "extract"
        match = details.get("match")
        similarity = match.get("similarity") if match else None
        yield Operation(node, op, status, one.kind, similarity=similarity)
        if match:  # Its neighbours were looked for.
            yield Operation(node, "search", Outcome.OK, one.kind, similarity=similarity)


def _in_vain(payload: Event) -> bool:
    match payload:
        case serving.ContextServed(searched=searched):
            return searched is False
        case extraction.MessagesExtracted(proposals=proposals):
            return proposals == 0
        case _:
            return False


def _node(event: Recorded) -> Node:
    if isinstance(event.payload, memory.MemoriesRecalled | serving.ContextServed):
        return Node.CONTEXT
    if event.meta.actor in WORKERS:
        return Node.WORKER
    if isinstance(event.payload, episodes.EpisodeStarted | episodes.EpisodeClosed | summaries.SummaryWritten):
        return Node.EPISODIC
    if isinstance(event.payload, memory.MemoryCreated) and event.payload.kind in (Kind.EPISODE, Kind.SUMMARY):
        return Node.EPISODIC
    return Node.HOTPATH
