"""The index of events by id, so that no plan takes it for their places."""

from mnemolog.adapters.postgres.migrate import run_sql_beside

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    run_sql_beside(__file__)
