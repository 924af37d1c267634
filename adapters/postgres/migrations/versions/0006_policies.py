"""The policies that events were decided under."""

from mnemolog.adapters.postgres.migrate import run_sql_beside

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    run_sql_beside(__file__)
