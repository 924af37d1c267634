"""The log, its heads, tags, receipts and outbox, and the cache of embeddings."""

from mnemolog.adapters.postgres.migrate import run_sql_beside

revision = "0001"
down_revision = None


def upgrade() -> None:
    run_sql_beside(__file__)
