"""The role that reads as one tenant at a time."""

from mnemolog.adapters.postgres.migrate import run_sql_beside

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    run_sql_beside(__file__)
