"""Pauses of projections carry a MAC."""

from importlib.resources import files

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    sql = files("mnemolog.adapters.postgres") / "migrations" / "versions" / "0005_sealed_pauses.sql"
    op.get_bind().exec_driver_sql(sql.read_text(encoding="utf-8").replace("%", "%%"))
