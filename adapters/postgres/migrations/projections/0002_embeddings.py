"""Embeddings in half precision, of any subject, under a MAC."""

from mnemolog.adapters.postgres.migrate import run_sql_beside

revision = "projections_0002"
down_revision = "projections_0001"


def upgrade() -> None:
    run_sql_beside(__file__)
