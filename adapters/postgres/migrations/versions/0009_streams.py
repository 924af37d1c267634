"""Embeddings by the whole stream."""

from mnemolog.adapters.postgres.migrate import run_sql_beside

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    run_sql_beside(__file__)
