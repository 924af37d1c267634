"""The tables of the episodes projection (E §Threads & Episodes, D §Session)."""

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Double, Index, MetaData, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY

from mnemolog.projections.former import added
from mnemolog.projections.owner import indexed, owner_columns
from mnemolog.projections.seal import mac_column

NAME = "episodes"
VERSION = 2
READABLE_FROM = 1
metadata = MetaData(schema=NAME)

# One agent's part of a thread. `session_last` and `episode_last` are the numbers of the turns up to which sessions are
# ended and episodes closed; `waiting_since` is when the first turn was recorded that was not looked at since.
threads = Table(
    "threads",
    metadata,
    *owner_columns(kind_since=1),
    Column("agent_id", Text, primary_key=True),
    Column("thread_id", Text, primary_key=True),
    Column("turns", BigInteger, nullable=False),
    Column("erased_turns", BigInteger, nullable=False),
    Column("started_at", DateTime(timezone=True), nullable=False),
    Column("last_activity_at", DateTime(timezone=True), nullable=False),
    Column("last_user_message_at", DateTime(timezone=True)),
    Column("active_session_id", Uuid),
    Column("active_episode_id", Uuid),
    Column("session_last", BigInteger, nullable=False),
    Column("episode_last", BigInteger, nullable=False),
    Column("waiting_since", DateTime(timezone=True)),
    Column("recorded_at", DateTime(timezone=True), nullable=False),
    Column("seq", BigInteger, nullable=False),
    mac_column(),
)
unfinished = (threads.c.session_last < threads.c.turns) | (threads.c.episode_last < threads.c.turns)
Index("threads_unfinished", *indexed(threads), postgresql_where=unfinished)
Index("threads_latest", *indexed(threads), threads.c.agent_id, threads.c.last_activity_at)


def _stretch_columns() -> tuple[Column[object], ...]:
    """What sessions and episodes have in common. While one is open, its last turn is the thread's."""
    return (
        Column("agent_id", Text, nullable=False),
        Column("thread_id", Text, nullable=False),
        Column("status", Text, nullable=False),
        Column("previous_id", Uuid),
        Column("first_turn_id", Text, nullable=False),
        Column("first_number", BigInteger, nullable=False),
        Column("last_turn_id", Text),
        Column("last_number", BigInteger),
        Column("started_at", DateTime(timezone=True), nullable=False),
        Column("ended_at", DateTime(timezone=True)),
        Column("silence_seconds", Double),
        Column("carried_turn_ids", ARRAY(Text), nullable=False),
        Column("closed_by", Text),
        Column("erased", Boolean, nullable=False),
        # Since when its summary is to be written, or to be written again; none once it is, and while it is open.
        Column("summary_due_at", DateTime(timezone=True), info=added(2, reads=None)),
        Column("seq", BigInteger, nullable=False),
    )


sessions = Table(
    "sessions",
    metadata,
    *owner_columns(kind_since=1),
    Column("session_id", Uuid, primary_key=True),
    *_stretch_columns(),
    mac_column(),
)

episodes = Table(
    "episodes",
    metadata,
    *owner_columns(kind_since=1),
    Column("episode_id", Uuid, primary_key=True),
    *_stretch_columns(),
    Column("merged_into", Uuid),
    Column("starts_by", Text, nullable=False),
    Column("similarities", ARRAY(Double), nullable=False),
    Column("least_similarity", Double),
    Column("model", Text),
    Column("marker_kind", Text),
    Column("marker_language", Text),
    Column("last_user_message_at", DateTime(timezone=True)),
    Column("reopened_at", DateTime(timezone=True)),
    mac_column(),
)
for _table in (sessions, episodes):
    Index(
        f"{_table.name}_latest",
        *indexed(_table),
        _table.c.agent_id,
        _table.c.thread_id,
        _table.c.started_at,
    )
    Index(
        f"{_table.name}_summary_due",
        *indexed(_table),
        postgresql_where=_table.c.summary_due_at.is_not(None),
    )
