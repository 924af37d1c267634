"""Writes to webhooks by their idempotency keys."""

from mnemolog.adapters.postgres.migrate import run_sql_beside

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    run_sql_beside(__file__)
