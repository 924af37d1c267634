"""The table of the operations projection: a row for each hour in which an operation happened (B §14)."""

from sqlalchemy import BigInteger, Column, DateTime, MetaData, Table, Text

from mnemolog.projections.owner import owner_columns
from mnemolog.projections.seal import mac_column

NAME = "operations"
VERSION = 2
READABLE_FROM = 1
metadata = MetaData(schema=NAME)

operations = Table(
    "operations",
    metadata,
    *owner_columns(kind_since=1),
    Column("hour", DateTime(timezone=True), primary_key=True),
    Column("agent_id", Text, primary_key=True),
    Column("node", Text, primary_key=True),
    Column("op", Text, primary_key=True),
    Column("status", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("count", BigInteger, nullable=False),
    # Of those with a similarity. The sum is in millionths: it is then the same in whatever order it was added.
    Column("compared", BigInteger, nullable=False),
    Column("similarity_sum", BigInteger, nullable=False),
    mac_column(),
)
