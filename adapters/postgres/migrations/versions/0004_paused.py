"""Projections that an operator paused."""

from importlib.resources import files

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    sql = files("mnemolog.adapters.postgres") / "migrations" / "versions" / "0004_paused.sql"
    op.get_bind().exec_driver_sql(sql.read_text(encoding="utf-8").replace("%", "%%"))
