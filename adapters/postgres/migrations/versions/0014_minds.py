"""Failures in a row of each mind, by user."""

from mnemolog.adapters.postgres.migrate import run_sql_beside

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    run_sql_beside(__file__)
