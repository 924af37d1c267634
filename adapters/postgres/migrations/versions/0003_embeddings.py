"""Embeddings are kept by memory, so that an erasure takes them along."""

from mnemolog.adapters.postgres.migrate import run_sql_beside

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run_sql_beside(__file__)
