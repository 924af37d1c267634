"""Embeddings in half precision, of any subject, under a MAC."""

from mnemolog.adapters.postgres.migrate import run_sql_beside

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    run_sql_beside(__file__)
