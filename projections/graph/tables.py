"""The tables of the graph projection (A §4.1, §4.2), and when each fact held and was known (X13)."""

from sqlalchemy import BigInteger, Column, DateTime, Double, Index, MetaData, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from mnemolog.domain.origin import Origin
from mnemolog.events.stored_json import read_json
from mnemolog.projections.former import added, retyped
from mnemolog.projections.owner import indexed, owner_columns
from mnemolog.projections.seal import JsonText, mac_column

NAME = "graph"
VERSION = 10
READABLE_FROM = 3
metadata = MetaData(schema=NAME)
_WAS_JSONB = retyped(4, was=JSONB(), read=read_json)

entities = Table(
    "entities",
    metadata,
    *owner_columns(kind_since=4),
    Column("entity_id", Uuid, primary_key=True),
    Column("scope", Text, nullable=False),
    Column("agent_id", Text),
    Column("name", Text, nullable=False),
    Column("name_normalized", Text, nullable=False),
    Column("aliases", ARRAY(Text), nullable=False),
    Column("category", Text, nullable=False),
    Column("attributes", JsonText, nullable=False, info=_WAS_JSONB),
    Column("confidence", Double, nullable=False),
    Column("status", Text, nullable=False),
    Column("merged_into", Uuid),
    Column("purge_at", DateTime(timezone=True)),
    Column("forgotten_at", DateTime(timezone=True)),
    Column("forget_reason", Text, nullable=False),
    Column("hidden", JSONB, nullable=False),
    Column("source_turn_ids", ARRAY(Text), nullable=False),
    Column("last_seen", DateTime(timezone=True), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    Column("seq", BigInteger, nullable=False),
    mac_column(),
)
Index("entities_category", *indexed(entities), entities.c.scope, entities.c.category)
Index(
    "entities_merged",
    *indexed(entities),
    entities.c.merged_into,
    postgresql_where=entities.c.merged_into.is_not(None),
)

# What an entity is found by: its name and aliases, normalised. Erased entities have none.
aliases = Table(
    "aliases",
    metadata,
    *owner_columns(kind_since=4),
    Column("alias_normalized", Text, primary_key=True),
    Column("entity_id", Uuid, primary_key=True),
    Column("alias", Text, nullable=False),
    mac_column(),
)

relations = Table(
    "relations",
    metadata,
    *owner_columns(kind_since=4),
    Column("relation_id", Uuid, primary_key=True),
    Column("scope", Text, nullable=False),
    Column("agent_id", Text),
    Column("subject_id", Uuid, nullable=False),
    Column("predicate", Text, nullable=False),
    Column("object_id", Uuid),
    # The key of the name that a text as its object stands for, once there is such an entity.
    Column("named", Text, info=added(5)),
    Column("value", JsonText, info=_WAS_JSONB),
    Column("metadata", JsonText, nullable=False, info=_WAS_JSONB),
    Column("confidence", Double, nullable=False),
    Column("status", Text, nullable=False),
    Column("purge_at", DateTime(timezone=True)),
    Column("memory_id", Uuid),
    Column("origin", Text, nullable=False, info=added(6, reads=Origin.USER.value)),
    Column("source_turn_ids", ARRAY(Text), nullable=False),
    Column("thread_id", Text, info=added(9)),
    Column("periods", JSONB, nullable=False),
    # By date: how exactly the dates are known that are not known to the day; NULL if there are none.
    Column("precisions", JSONB, info=added(8)),
    # What was believed until then, once something was told late: `seq`, the event that told it, and the `closed`
    # beliefs. Rows of `periods` from before that event say what the log said, but not what was known at a time.
    Column("retold", JSONB, info=added(9)),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    Column("seq", BigInteger, nullable=False),
    mac_column(),
)
Index("relations_subject", *indexed(relations), relations.c.subject_id, relations.c.predicate)
Index(
    "relations_object",
    *indexed(relations),
    relations.c.object_id,
    postgresql_where=relations.c.object_id.is_not(None),
)
Index(
    "relations_named",
    *indexed(relations),
    relations.c.named,
    postgresql_where=relations.c.named.is_not(None),
)
Index("relations_predicate", *indexed(relations), relations.c.predicate)

# One row per belief: that the relation held from `valid_from` until `valid_to`, according to the log from event
# `known_from_seq` until event `known_to_seq`. NULL means open. A row is written once and closed once. `known_from` and
# `known_to` are when that was said, and `learned_at` when it was first said that the value holds from `valid_from`.
periods = Table(
    "periods",
    metadata,
    *owner_columns(kind_since=4),
    Column("relation_id", Uuid, primary_key=True),
    Column("known_from_seq", BigInteger, primary_key=True),
    Column("valid_from", DateTime(timezone=True), primary_key=True),
    Column("valid_to", DateTime(timezone=True)),
    Column("known_from", DateTime(timezone=True), nullable=False),
    Column("known_to", DateTime(timezone=True)),
    Column("known_to_seq", BigInteger),
    Column("learned_at", DateTime(timezone=True), info=added(5)),
    mac_column(),
)
