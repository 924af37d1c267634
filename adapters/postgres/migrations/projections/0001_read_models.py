"""What read models need beside their own tables, in a database without the log."""

from mnemolog.adapters.postgres.migrate import run_sql_beside

revision = "projections_0001"
down_revision = None


def upgrade() -> None:
    run_sql_beside(__file__)
