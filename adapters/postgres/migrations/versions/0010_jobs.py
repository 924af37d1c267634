"""Durable jobs."""

from mnemolog.adapters.postgres.migrate import run_sql_beside

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    run_sql_beside(__file__)
