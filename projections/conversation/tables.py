"""The tables of the conversation projection."""

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Index, MetaData, Table, Text, Uuid

from mnemolog.domain.message import CATEGORY
from mnemolog.projections.former import added
from mnemolog.projections.full_text import searchable
from mnemolog.projections.owner import OWNER, owner_columns
from mnemolog.projections.seal import JsonText
from mnemolog.projections.words import words_of

NAME = "conversation"
VERSION = 4
READABLE_FROM = 1
metadata = MetaData(schema=NAME)

messages = Table(
    "messages",
    metadata,
    *owner_columns(kind_since=0),
    Column("message_id", Text, primary_key=True),
    # Its id in the vector index, and in the full-text search of memories and messages.
    Column("subject_id", Uuid, nullable=False),
    Column("thread_id", Text, nullable=False),
    Column("agent_id", Text, nullable=False),
    Column("actor_id", Text, nullable=False),
    Column("run_id", Text),
    Column("role", Text, nullable=False),
    Column("speaker", Text, nullable=False),
    Column("speaker_entity_id", Uuid),
    Column("text", Text, nullable=False),
    Column("attachments", JsonText, nullable=False),
    Column("metadata", JsonText, nullable=False),
    # A memory with the same text was created with it, and represents it in searches.
    Column("remembered", Boolean, nullable=False),
    Column("status", Text, nullable=False),
    Column("purge_at", DateTime(timezone=True)),
    Column("forgotten_at", DateTime(timezone=True), info=added(4)),
    Column("forget_reason", Text, nullable=False, info=added(4, reads="")),
    Column("occurred_at", DateTime(timezone=True), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    Column("seq", BigInteger, nullable=False),
    *searchable(),
    Index("messages_subject", *OWNER, "subject_id"),
    Index("messages_thread", *OWNER, "thread_id", "seq"),
)
column = messages.c
Index("messages_purge", column.purge_at, postgresql_where=column.purge_at.is_not(None))

words = words_of(messages, metadata, since=3, id_="subject_id", category=f"'{CATEGORY}'", agent="''")
