"""Reads artifacts and their texts, as far as an agent may see them."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Select, Text, and_, any_, cast, func, literal, not_, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import ranking
from mnemolog.domain.artifact import (
    DESCRIBING,
    ArtifactType,
    Extraction,
    TextKind,
    erased_artifact,
    label,
    no_such_artifact,
    surrogate,
)
from mnemolog.domain.memory import VISIBLE, Status
from mnemolog.domain.origin import Origin, told
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import USER, StreamId
from mnemolog.projections import full_text
from mnemolog.projections.artifacts.tables import artifact_texts, artifacts
from mnemolog.projections.conversation.tables import messages
from mnemolog.projections.owner import OWNER, stream_of, without
from mnemolog.projections.paging import Slice, in_pages, page_of, sliced
from mnemolog.projections.rows import Row, fetch, stored
from mnemolog.projections.vectors.index import VectorIndex
from mnemolog.projections.vectors.question import Question
from mnemolog.projections.visibility import owned, shared

NEWEST = ("-seq", "artifact_id")
IN_ORDER = ("text_kind", "position", "text_id")
PAGE, CANDIDATES = 200, 50
_INTERNAL = frozenset({*OWNER, "blob", "withdrawn", "document"}) - {"user_id"}
_SHORT = frozenset(TextKind) - {TextKind.CHUNK}


def seen(viewer: Viewer) -> list[ColumnElement[bool]]:
    """The conditions of every read of artifacts. One without a hash and a URL was erased."""
    there = or_(artifacts.c.sha256 != "", artifacts.c.url != "")
    return [owned(artifacts, viewer), shared(artifacts, viewer), there]


def active(viewer: Viewer) -> ColumnElement[bool]:
    """Neither hidden, nor come with messages that are all hidden: a file may hold the whole text of its message."""
    came_with = [owned(messages, viewer), messages.c.message_id == any_(artifacts.c.source_turn_ids)]
    message = select(messages.c.message_id).where(*came_with)
    shown = message.where(messages.c.status.in_(sorted(VISIBLE))).exists()
    hidden = message.where(messages.c.status == Status.SOFT_DELETED).exists()
    return artifacts.c.status.in_(sorted(VISIBLE)) & or_(shown, not_(hidden))


async def one(connection: AsyncConnection, viewer: Viewer, artifact_id: UUID) -> Row:
    """An artifact, deleted or not, with its short texts; NotFound if the agent may not see it, or Erased."""
    column = artifacts.c
    own = [owned(artifacts, viewer), shared(artifacts, viewer), column.artifact_id == artifact_id]
    rows = await fetch(connection, artifacts, select(*stored(artifacts)).where(*own))
    if not rows:
        raise no_such_artifact(viewer.user_id, artifact_id)
    if rows[0]["status"] == Status.PURGED or not (rows[0]["sha256"] or rows[0]["url"]):
        raise erased_artifact(artifact_id)
    texts = await _texts(connection, viewer, rows, _SHORT)
    return {**_shown(rows[0], texts), "texts": [_told(text) for text in texts]}


async def newest(
    connection: AsyncConnection,
    viewer: Viewer,
    type_: ArtifactType | None = None,
    status: Status = Status.ACTIVE,
    label: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Slice:
    """Artifacts, most recently changed first."""
    column = artifacts.c
    wanted = active(viewer) if status in VISIBLE else column.status == status
    statement = select(*stored(artifacts)).where(*seen(viewer), wanted)
    if type_ is not None:
        statement = statement.where(column.type == type_)
    if label is not None:
        statement = statement.where(func.right(cast(column.artifact_id, Text), 6) == label.lower().removeprefix("a"))
    rows = await fetch(connection, artifacts, page_of(statement, artifacts, NEWEST, limit, cursor))
    texts = await _texts(connection, viewer, rows, _SHORT)
    return sliced([_shown(row, texts) for row in rows], NEWEST, limit)


async def texts_of(
    connection: AsyncConnection,
    viewer: Viewer,
    artifact_id: UUID,
    kind: TextKind | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Slice:
    """The texts of an artifact, by kind, in their order."""
    await one(connection, viewer, artifact_id)
    column = artifact_texts.c
    statement = (
        select(*stored(artifact_texts))
        .join(artifacts, _same_artifact())
        .where(*seen(viewer), column.artifact_id == artifact_id, _standing())
    )
    if kind is not None:
        statement = statement.where(column.text_kind == kind)
    rows = await fetch(connection, artifact_texts, page_of(statement, artifact_texts, IN_ORDER, limit, cursor))
    return sliced([_told(row) for row in rows], IN_ORDER, limit)


async def described(connection: AsyncConnection, viewer: Viewer, artifact_ids: Collection[UUID]) -> Mapping[UUID, Row]:
    """These artifacts, with the lines that stand for them in the history, if the agent may see them and they are not
    deleted.
    """
    if not artifact_ids:
        return {}
    wanted = artifacts.c.artifact_id.in_(sorted(artifact_ids)) & artifacts.c.status.in_(sorted(VISIBLE))
    rows = await fetch(connection, artifacts, select(*stored(artifacts)).where(*seen(viewer), wanted))
    texts = await _texts(connection, viewer, rows, frozenset(DESCRIBING))
    return {row["artifact_id"]: _shown(row, texts) for row in rows}


@dataclass(frozen=True, slots=True)
class Line:
    """What stands for an artifact in the history: its label, and a description of this origin."""

    surrogate: str
    origin: Origin

    @property
    def label(self) -> str:
        """Without the description: `[image#A7F3C2]`."""
        return self.surrogate.partition("]")[0] + "]"

    def told(self, *, trusted_only: bool = False) -> str:
        """As a prompt shows it: a description from outside is quoted, or left out."""
        description = self.surrogate.removeprefix(self.label).lstrip()
        if not description or (trusted_only and self.origin.external):
            return self.label
        return f"{self.label} {told(description, self.origin)}"


async def of_turns(connection: AsyncConnection, viewer: Viewer, turn_ids: Set[str]) -> Mapping[str, Sequence[str]]:
    """The surrogates of the artifacts that came with these messages, oldest first, by message."""
    found = await lines_of_turns(connection, viewer, turn_ids)
    return {turn_id: [line.surrogate for line in lines] for turn_id, lines in found.items()}


async def lines_of_turns(
    connection: AsyncConnection, viewer: Viewer, turn_ids: Set[str]
) -> Mapping[str, Sequence[Line]]:
    """The same, with where each description is from."""
    if not turn_ids:
        return {}
    column = artifacts.c
    wanted = column.source_turn_ids.overlap(literal(sorted(turn_ids), ARRAY(Text)))
    statement = select(*stored(artifacts)).where(*seen(viewer), column.status.in_(sorted(VISIBLE)), wanted)
    rows = await fetch(connection, artifacts, statement.order_by(column.created_at, column.artifact_id))
    texts = await _texts(connection, viewer, rows, frozenset(DESCRIBING))
    found: dict[str, list[Line]] = {}
    for row in rows:
        line = Line(_shown(row, texts)["surrogate"], _describer(row, texts))
        for turn_id in turn_ids & set(row["source_turn_ids"]):
            found.setdefault(turn_id, []).append(line)
    return found


async def pending(connection: AsyncConnection) -> AsyncIterator[Sequence[tuple[StreamId, UUID]]]:
    """Artifacts of any user whose text is not extracted yet, page by page. For jobs only."""
    waiting = (artifacts.c.extraction == Extraction.PENDING) & (artifacts.c.status != Status.PURGED)
    statement = select(*stored(artifacts)).where(artifacts.c.stream_kind == USER, waiting)
    key = list(artifacts.primary_key.columns)
    async for rows in in_pages(partial(fetch, connection, artifacts), statement, key, PAGE):
        yield [(stream_of(row), row["artifact_id"]) for row in rows]


def _same_artifact() -> ColumnElement[bool]:
    columns = (*OWNER, "artifact_id")
    return and_(*(artifacts.c[name] == artifact_texts.c[name] for name in columns))


def _standing() -> ColumnElement[bool]:
    """Whether a text is in force: not undone."""
    return artifact_texts.c.event_id != func.all(artifacts.c.withdrawn)


async def _texts(
    connection: AsyncConnection, viewer: Viewer, rows: Sequence[Row], kinds: Collection[TextKind]
) -> Sequence[Row]:
    """The texts of these kinds of these artifacts: the first passage of each, without undone ones."""
    if not rows:
        return []
    column = artifact_texts.c
    ids = sorted(row["artifact_id"] for row in rows)
    withdrawn = {one for row in rows for one in row["withdrawn"]}
    wanted = column.artifact_id.in_(ids) & column.text_kind.in_(sorted(kinds)) & (column.position == 0)
    statement = select(*stored(artifact_texts)).where(owned(artifact_texts, viewer), wanted)
    found = await fetch(connection, artifact_texts, statement.order_by(column.seq, column.text_id))
    return [text for text in found if text["event_id"] not in withdrawn]


def _shown(row: Row, texts: Sequence[Row]) -> dict[str, Any]:
    own = [text for text in texts if text["artifact_id"] == row["artifact_id"]]
    # The newest caption is what the user means by it now.
    said = {text["text_kind"]: text["text"] for text in own}
    description = next((said[kind] for kind in DESCRIBING if kind in said), row["name"] or row["url"])
    return {
        **without(row, _INTERNAL),
        "occurred_at": row["occurred_at"] or row["created_at"],
        "label": label(row["artifact_id"]),
        "surrogate": surrogate(ArtifactType(row["type"]), row["artifact_id"], description),
    }


def _describer(row: Row, texts: Sequence[Row]) -> Origin:
    """Whose words describe it: the user's, in a caption or as a name, or those of the file."""
    kinds = {text["text_kind"] for text in texts if text["artifact_id"] == row["artifact_id"]}
    return Origin.DOCUMENT if kinds and TextKind.USER_CAPTION not in kinds else Origin.USER


def _told(text: Row) -> dict[str, Any]:
    names = ("text_id", "text_kind", "position", "place", "text", "writer", "confidence", "created_at")
    return {name: text[name] for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class TextCandidates:
    """Which texts of artifacts a search may find, of those that its viewer sees. None leaves nothing out.

    `where`: conditions on their artifacts.
    """

    artifact_id: UUID | None = None
    type: ArtifactType | None = None
    kind: TextKind | None = None
    text_ids: frozenset[UUID] | None = None
    where: tuple[ColumnElement[bool], ...] = ()

    words = ()

    def documents(self, viewer: Viewer) -> Select[Any]:
        """The candidates: each `id` with the terms that a full-text search finds it by, as `search`."""
        column = artifact_texts.c
        return select(column.text_id.label("id"), column.search.label("search")).where(*self.conditions(viewer))

    def conditions(self, viewer: Viewer) -> list[ColumnElement[bool]]:
        """As a statement over texts says it."""
        column = artifact_texts.c
        of = [*seen(viewer), active(viewer), _same_artifact(), _standing(), *self.where]
        if self.type is not None:
            of.append(artifacts.c.type == self.type)
        found = [owned(artifact_texts, viewer), select(artifacts.c.artifact_id).where(*of).exists()]
        if self.artifact_id is not None:
            found.append(column.artifact_id == self.artifact_id)
        if self.kind is not None:
            found.append(column.text_kind == self.kind)
        if self.text_ids is not None:
            found.append(column.text_id.in_(sorted(self.text_ids)))
        return found


async def search(
    connection: AsyncConnection,
    viewer: Viewer,
    among: TextCandidates,
    limit: int,
    index: VectorIndex,
    question: Question,
) -> Sequence[dict[str, Any]]:
    """The texts of artifacts that answer, best first: by meaning and by words, fused."""
    at_most = max(CANDIDATES, limit)
    near = await index.search(connection, viewer, among, question.model, question.meaning(), at_most)
    worded = (await full_text.search(connection, among, viewer, question.text, at_most)).scores
    fused = ranking.fuse(near, worded)
    best = sorted(fused, key=lambda id_: (-fused[id_], id_))[:limit]
    wanted = replace(among, text_ids=frozenset(best)).conditions(viewer)
    rows = await fetch(connection, artifact_texts, select(*stored(artifact_texts)).where(*wanted))
    texts = {row["text_id"]: row for row in rows}
    shown = await described(connection, viewer, {row["artifact_id"] for row in rows})
    return [
        {
            **_told(text),
            "artifact_id": text["artifact_id"],
            "surrogate": shown[text["artifact_id"]]["surrogate"],
            "occurred_at": shown[text["artifact_id"]]["occurred_at"],
            "seq": shown[text["artifact_id"]]["seq"],
            "score": fused[id_],
            "similarity": near.get(id_),
            "text_rank": worded.get(id_),
        }
        for id_ in best
        if (text := texts.get(id_)) and text["artifact_id"] in shown
    ]
