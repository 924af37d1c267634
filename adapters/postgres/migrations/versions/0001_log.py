"""The log, its heads, tags, receipts and outbox, and the cache of embeddings."""

from importlib.resources import files

from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    sql = files("mnemolog.adapters.postgres") / "migrations" / "versions" / "0001_log.sql"
    op.get_bind().exec_driver_sql(sql.read_text(encoding="utf-8").replace("%", "%%"))
