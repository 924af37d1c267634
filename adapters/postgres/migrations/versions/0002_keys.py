"""Keys that seal what is personal: roots, a key a stream, a key a scope."""

from importlib.resources import files

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    sql = files("mnemolog.adapters.postgres") / "migrations" / "versions" / "0002_keys.sql"
    op.get_bind().exec_driver_sql(sql.read_text(encoding="utf-8").replace("%", "%%"))
