"""Checkpoints of graphs, beside the log."""

from mnemolog.adapters.postgres.migrate import run_sql_beside

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    run_sql_beside(__file__)
