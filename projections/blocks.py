"""The contents of a prompt beside its envelope: profile, todos, diary, recent memories, stores of a being (C14)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import ranking
from mnemolog.domain.authority import Slot
from mnemolog.domain.being import NoteType, Store
from mnemolog.domain.contradiction import contradiction_of
from mnemolog.domain.memory import Kind
from mnemolog.domain.message import with_lines
from mnemolog.domain.origin import Origin, lowest, quoted, told
from mnemolog.domain.predicates import PredicatePolicy
from mnemolog.domain.profile import CATEGORY as PROFILE
from mnemolog.domain.prompt import DIARY_DAYS, RECENT_NODES, RECENT_TURNS, Contents
from mnemolog.domain.scene_note import PARSE_FAILED
from mnemolog.domain.session import SAID, Session
from mnemolog.domain.todo import TodoStatus
from mnemolog.domain.turn import Role
from mnemolog.domain.viewer import Viewer
from mnemolog.events.being_bodies import Rule, Snapshot, body_of
from mnemolog.events.serving import ServedItem
from mnemolog.projections.artifacts import reader as artifacts
from mnemolog.projections.asking import together
from mnemolog.projections.being import reader as being
from mnemolog.projections.being.scenes import last_activated
from mnemolog.projections.changes import reader as changes
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.critical import critical
from mnemolog.projections.graph import facts
from mnemolog.projections.graph.facts import Point
from mnemolog.projections.graph.hydration import with_former
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.memories.filters import active, retrievable, unasked, visible_to
from mnemolog.projections.memories.tables import memories as table
from mnemolog.projections.profile import reader as profile
from mnemolog.projections.requests import BlocksRequest, PromptRequest
from mnemolog.projections.rows import Row, fetch, stored
from mnemolog.projections.slots import Envelope, Overruled
from mnemolog.projections.summaries import reader as summaries

DIARY = timedelta(days=DIARY_DAYS)
DIARY_ENTRIES = 10


async def opening(
    connection: AsyncConnection, viewer: Viewer, request: BlocksRequest | PromptRequest, now: datetime
) -> tuple[Contents, Sequence[ServedItem], Origin]:
    """The contents that do not depend on a message, what they show, and the least trusted origin of it.

    An agent with stores is a being: its blocks show its stores and its own scenes (C §Context Structure). That of
    another agent is its reflections and the memories that were activated last.
    """
    fields = await profile.fields(connection, viewer) if viewer.may_read(PROFILE) else []
    pinned = await memories.foundation(connection, viewer, trusted_only=request.trusted_only)
    todos = _inside(await profile.own_todos(connection, viewer, TodoStatus.OPEN), request)
    header, _ = await changes.header(connection, viewer, request.thread_id, request.since_rev)
    shown = Contents(
        instructions=request.instructions,
        profile=[f"{one['field']}: {_value(one['value'])}" for one in fields],
        pinned=list(map(_noted, pinned)),
        todos=[told(row["text"], row["origin"]) for row in todos],
        header=header,
        today=now.date(),
    )
    entries: Sequence[Row] = []
    diary: Sequence[Row] = []
    if await being.is_being(connection, viewer):
        since = (now - DIARY).date() + timedelta(days=1)
        entries = _inside([one for one in await being.in_blocks(connection, viewer, since) if _belongs(one)], request)
        shown = _of_being(shown, entries)
        recent = await last_activated(connection, viewer, RECENT_NODES, trusted_only=request.trusted_only)
    else:
        diary = _inside(await _diary(connection, viewer, request.thread_id, now), request)
        recent = _inside(await _recent(connection, viewer), request)
        shown = replace(shown, diary=list(map(_dated, diary)))
    items = [
        *(ServedItem(kind="profile", id=one["field"], seq=one["seq"]) for one in fields),
        *(ServedItem(kind="todo", id=str(one["todo_id"]), seq=one["seq"]) for one in todos),
        *(ServedItem(kind="being_entry", id=str(one["entry_id"]), seq=one["seq"]) for one in entries),
        *(item_of(row) for row in (*diary, *pinned, *recent)),
    ]
    origin = lowest(Origin.AGENT, *(origin_of(row) for row in (*todos, *diary, *pinned, *recent, *entries)))
    return replace(shown, recent=list(dict.fromkeys(map(_noted, recent)))), items, origin


async def preceding(
    connection: AsyncConnection,
    viewer: Viewer,
    request: BlocksRequest,
    now: datetime,
    predicates: PredicatePolicy,
    point: Point,
) -> tuple[Contents, Sequence[ServedItem]]:
    """The contents of what precedes a conversation, with critical facts, as in every context; and what they show."""
    (shown, items, _), vital = await together(
        opening(connection, viewer, request, now), critical(connection, viewer, predicates, point)
    )
    facts_ = (ServedItem(kind="fact", id=hit.id, seq=hit.row["details"]["seq"]) for hit in vital)
    lines = [ranking.dated(hit.row, former=not hit.current) for hit in vital]
    return replace(shown, critical=lines), [*items, *facts_]


def _inside(rows: Sequence[Row], request: BlocksRequest | PromptRequest) -> Sequence[Row]:
    return [row for row in rows if not (request.trusted_only and origin_of(row).external)]


def _belongs(entry: Row) -> bool:
    """Whether an entry is shown: an enabled rule, and a note unless it is a scene that waits for the patrol.

    A scene that the patrol could not read is shown, so that the being writes it again.
    """
    body = entry["body"]
    match entry["store"]:
        case Store.RULE:
            return Rule.model_validate(body).enabled
        case Store.NOTE:
            return bool(body["type"] != NoteType.SCENE or body["text"].startswith(PARSE_FAILED))
        case _:
            return True


def _of_being(shown: Contents, entries: Sequence[Row]) -> Contents:
    """With what the stores of a being hold, oldest first; the diary by its days."""
    lines: dict[Store, list[str]] = {store: [] for store in Store}
    snapshot = None
    for one in sorted(entries, key=lambda one: one["key"] if one["store"] == Store.DIARY else ""):
        store = Store(one["store"])
        body = body_of(store, one["body"])
        lines[store].append(told(body.line, origin_of(one)))
        snapshot = body if isinstance(body, Snapshot) else snapshot
    return replace(
        shown,
        soul="\n\n".join(lines[Store.SOUL]),
        think=snapshot.think_md if snapshot else "",
        rules=lines[Store.RULE],
        preferences=lines[Store.PREFERENCE],
        relationships=lines[Store.RELATIONSHIP],
        tools=lines[Store.TOOL],
        map=lines[Store.MAP],
        last_session=snapshot.text if snapshot else "",
        todos=[*shown.todos, *lines[Store.NOTE]],
        learnt=lines[Store.KNOWLEDGE],
        diary=lines[Store.DIARY],
    )


async def contents(
    connection: AsyncConnection,
    viewer: Viewer,
    request: PromptRequest,
    envelope: Envelope,
    session: Session,
    now: datetime,
    predicates: PredicatePolicy,
    point: Point,
) -> tuple[Contents, Sequence[ServedItem], Origin]:
    """The contents of the prompt for a message, what they show beside the envelope, and the origin of it all.

    Ended facts that memories, the diary, the summary or the last turns mention are named behind them.
    """
    shown, beside, least = await opening(connection, viewer, request, now)
    mood = envelope.AFFECT.affect
    hits = [(f"[{one.date:%Y-%m-%d}] {told(one.text, one.origin)}", one.overruled_by) for one in envelope.EPISODE.hits]
    before, beyond = _before(session, request.message), frozenset[str]()
    if request.trusted_only:
        beyond = frozenset(one.turn_id for one in before if one.origin.external)
        before = [one for one in before if not one.origin.external]
    items = [*beside, *(ServedItem(kind="message", id=one) for one in sorted(shown_turns(session) - beyond))]
    ids = {one.turn_id for one in before}
    lines = await artifacts.lines_of_turns(connection, viewer, ids)
    captions = await conversation.captions(connection, viewer, ids)
    described = [] if request.trusted_only else [line for one in before for line in lines.get(one.turn_id, ())]
    origin = lowest(
        least,
        *(fact.origin for fact in envelope.GRAPH.relations),
        *(passage.origin for passage in envelope.KNOWLEDGE.hits),
        *(hit.origin for hit in envelope.EPISODE.hits),
        *(one.origin for one in before),
        *(line.origin for line in described),
    )
    ended = await facts.ended_lately(connection, viewer, point, predicates, predicates.single)
    whole = replace(
        shown,
        pinned=[with_former(one, ended) for one in shown.pinned],
        diary=[with_former(one, ended) for one in shown.diary],
        recent=[with_former(one, ended) for one in shown.recent],
        graph=[_line(one.dated(told(one.text, one.origin)), one.overruled_by) for one in envelope.GRAPH.relations],
        knowledge=[
            _line(told(f"{one.headed}: {one.text}", one.origin), one.overruled_by) for one in envelope.KNOWLEDGE.hits
        ],
        episodes=[_line(*one) for one in hits],
        affect=f"{mood.label} ({mood.confidence:.2f})" if mood.confidence else "",
        summary=with_former(session.summary, ended),
        turns=[
            with_lines(
                f"{one.role}: {with_former(told(one.text, one.origin), ended)}",
                [
                    *(told(caption, one.origin) for caption in captions.get(one.turn_id, ())),
                    *(line.told(trusted_only=request.trusted_only) for line in lines.get(one.turn_id, ())),
                ],
            )
            for one in before
        ],
        message=request.message,
    )
    return whole, items, origin


def shown_turns(session: Session) -> frozenset[str]:
    """The ids of the messages that the prompt shows as conversation: a search need not find them."""
    said = session.scratch.get(SAID, [])[-RECENT_TURNS - 1 :]
    return frozenset(one[0] for one in said if one[0])


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn of the session. Old ones may be without an id."""

    turn_id: str
    role: Role
    text: str

    @property
    def origin(self) -> Origin:
        return Origin.of_role(self.role)


def _before(session: Session, message: str) -> Sequence[_Turn]:
    """The turns before the message, which may be the last one."""
    ids = [one[0] or "" for one in session.scratch.get(SAID, [])]
    ids = [*[""] * (len(session.turns) - len(ids)), *ids]
    turns = [_Turn(id_, Role(one["role"]), one["text"]) for id_, one in zip(ids, session.turns, strict=True)]
    if turns and turns[-1].role is Role.USER and turns[-1].text == message:
        turns.pop()
    return turns[-RECENT_TURNS:]


async def _diary(connection: AsyncConnection, viewer: Viewer, thread_id: str, now: datetime) -> Sequence[Row]:
    """The agent's reflections of the last seven days, and the latest summary of each other conversation."""
    column, since = table.c, now - DIARY
    statement = (
        select(*stored(table))
        .where(*visible_to(viewer), active(), unasked(), column.kind == Kind.EPISODE, column.occurred_at > since)
        .order_by(column.occurred_at.desc(), column.memory_id)
        .limit(DIARY_ENTRIES)
    )
    reflections = await fetch(connection, table, statement)
    told = await summaries.newest(connection, viewer, None, None, 5 * DIARY_ENTRIES, None)
    latest = {row["thread_id"]: row for row in reversed(told) if row["created_at"] > since}
    latest.pop(thread_id, None)
    return sorted([*reflections, *latest.values()], key=lambda row: (_at(row), row["seq"]))[-DIARY_ENTRIES:]


async def _recent(connection: AsyncConnection, viewer: Viewer) -> Sequence[Row]:
    """The scenes, or else the memories, that were activated last, without those that a newer memory contradicts."""
    column = table.c
    statement = (
        select(*stored(table))
        .where(*visible_to(viewer), active(), unasked(), retrievable(), *memories.uncontradicted(viewer))
        .order_by((column.kind == Kind.SCENE).desc(), column.last_accessed.desc(), column.memory_id)
        .limit(RECENT_NODES)
    )
    return await fetch(connection, table, statement)


def _at(row: Row) -> datetime:
    """When a memory was said, or a summary written."""
    at: datetime = row.get("occurred_at") or row["created_at"]
    return at


def item_of(row: Row) -> ServedItem:
    """A memory or a summary, for the record of what was shown."""
    if "summary_id" in row:
        return ServedItem(kind="summary", id=str(row["summary_id"]), seq=row["seq"])
    return ServedItem(kind=row["kind"], id=str(row["memory_id"]), seq=row["seq"])


def _dated(row: Row) -> str:
    """A memory or a summary with its day."""
    return f"[{_at(row):%Y-%m-%d}] {told(row['text'], origin_of(row))}"


def _noted(row: Row) -> str:
    """A memory with its day, and with what contradicts it. A scene tells its days itself."""
    if row["kind"] == Kind.SCENE:
        return told(row["text"], origin_of(row))
    note = contradiction_of(row)
    return f"{_dated(row)} ({note})" if note else _dated(row)


def origin_of(row: Row) -> Origin:
    """Where a memory, a summary or an entry of a being comes from."""
    return Origin(row.get("origin", Origin.AGENT))  # A summary leaves out what comes from outside.


def _line(text: str, by: Overruled | None) -> str:
    if by is None:
        return text
    statement = by.statement or by.id
    return f"{text} (overruled: {quoted(statement) if by.slot is Slot.KNOWLEDGE else statement})"


def _value(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)
