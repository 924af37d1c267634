"""The profile and todos as sources of a search."""

from sqlalchemy import ColumnElement, func, select

from mnemolog.domain.origin import TRUSTED
from mnemolog.domain.profile import CATEGORY
from mnemolog.domain.todo import TodoStatus, asks_for_todos
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.conversation.tables import NAME as CONVERSATION
from mnemolog.projections.profile import reader
from mnemolog.projections.profile.tables import NAME, profile_fields, todos
from mnemolog.projections.retrieval import Hit
from mnemolog.projections.rows import Row
from mnemolog.projections.sources.source import SAID, Asked, Found, Source, hit_of
from mnemolog.projections.visibility import owned

FIELD, TODO = "profile", "todo"


def _has_fields(viewer: Viewer) -> ColumnElement[bool]:
    held = func.cardinality(profile_fields.c.held) > 0
    return select(profile_fields.c.field).where(owned(profile_fields, viewer), held).exists()


async def _fields(asked: Asked) -> Found:
    """The fields whose name or value the question mentions."""
    hits = []
    column = profile_fields.c
    where = asked.among.said(asked.viewer, column.updated_at, column.source_turn_ids, column.thread_id)
    for row in await reader.fields(asked.connection, asked.viewer, where):
        value = row["value"] if isinstance(row["value"], str) else ", ".join(row["value"])
        text = f"{row['field'].replace('_', ' ')}: {value}"
        if score := asked.match(text):
            hits.append(hit_of(FIELD, row["field"], FIELD, text, date=row["updated_at"], score=score, details=row))
    return Found(hits=hits)


def _has_todos(viewer: Viewer) -> ColumnElement[bool]:
    own = (todos.c.agent_id == viewer.agent_id) & (todos.c.status == TodoStatus.OPEN)
    return select(todos.c.todo_id).where(owned(todos, viewer), own).exists()


async def _todos(asked: Asked) -> Found:
    """The agent's open todos that the question mentions, or all of them if it asks for todos."""
    hits = []
    where = asked.among.said(asked.viewer, todos.c.created_at, todos.c.source_turn_ids, todos.c.thread_id)
    for row in await reader.own_todos(asked.connection, asked.viewer, TodoStatus.OPEN, limit=1000, where=where):
        score = 1.0 if asks_for_todos(asked.text) else asked.match(row["text"])
        if score and row["origin"] in asked.among.filters.origins:
            hits.append(todo_hit(row, score))
    return Found(hits=hits)


def todo_hit(row: Row, score: float = 0.0) -> Hit:
    """A todo as a hit, whether it was searched for or not."""
    when = f"due {row['due']:%Y-%m-%d}" if row["due"] else None
    id_, date = str(row["todo_id"]), row["created_at"]
    return hit_of(TODO, id_, TODO, row["text"], date=date, when=when, score=score, details=row, origin=row["origin"])


FIELDS = Source(
    kinds=frozenset({FIELD}),
    projections=(NAME,),
    holds=_has_fields,
    find=_fields,
    category=CATEGORY,
    filters=SAID,
    origins=TRUSTED,
)
TODOS = Source(kinds=frozenset({TODO}), projections=(NAME, CONVERSATION), holds=_has_todos, find=_todos, filters=SAID)
