"""The tables of the graph projection (A §4.1)."""

from sqlalchemy import Column, DateTime, Double, Index, MetaData, Table, Text, Uuid

from mnemolog.projections.seal import mac_column

NAME = "graph"
metadata = MetaData(schema=NAME)

entities = Table(
    "entities",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("user_id", Text, primary_key=True),
    Column("entity_id", Uuid, primary_key=True),
    Column("scope", Text, nullable=False),
    Column("agent_id", Text),
    Column("name", Text, nullable=False),
    Column("name_normalized", Text, nullable=False),
    Column("category", Text, nullable=False),
    Column("confidence", Double, nullable=False),
    Column("last_seen", DateTime(timezone=True), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    mac_column(),
    Index("entities_name", "tenant", "user_id", "name_normalized"),
)
