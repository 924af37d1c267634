"""Embeddings are kept by memory, so that an erasure takes them along."""

from importlib.resources import files

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    sql = files("mnemolog.adapters.postgres") / "migrations" / "versions" / "0003_embeddings.sql"
    op.get_bind().exec_driver_sql(sql.read_text(encoding="utf-8").replace("%", "%%"))
