"""Which event told the text of an embedding."""

from mnemolog.adapters.postgres.migrate import run_sql_beside

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    run_sql_beside(__file__)
