"""Keys that seal what is personal: roots, a key a stream, a key a scope."""

from mnemolog.adapters.postgres.migrate import run_sql_beside

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run_sql_beside(__file__)
