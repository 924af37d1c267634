"""Webhooks: who is sent changes, how far, and what is to be delivered."""

from mnemolog.adapters.postgres.migrate import run_sql_beside

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    run_sql_beside(__file__)
