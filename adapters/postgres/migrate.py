"""Bring the log's tables to the current version (Alembic). Projections are rebuilt, never migrated."""

from importlib.resources import files
from pathlib import Path

from alembic import command, op
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, text

from mnemolog.adapters.postgres.url import sqlalchemy_url


def migrate(postgres_dsn: str, revision: str = "head") -> None:
    """Run what has not run yet, up to a revision, as one engine at a time: a second one waits."""
    engine = create_engine(sqlalchemy_url(postgres_dsn))
    try:
        _migrate(engine, revision)
    finally:
        engine.dispose()


def is_known(revision: str) -> bool:
    """Whether this Mnemolog has the migration."""
    script = ScriptDirectory(str(files("mnemolog.adapters.postgres") / "migrations"))
    return revision in {one.revision for one in script.walk_revisions()}


def run_sql_beside(migration: str) -> None:
    """Run the SQL file of a migration: the one of its name, beside it."""
    sql = Path(migration).with_suffix(".sql").read_text(encoding="utf-8")
    op.get_bind().exec_driver_sql(sql.replace("%", "%%"))


def _migrate(engine: Engine, revision: str) -> None:
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended('mnemolog migrate', 0))"))
        connection.execute(text("CREATE SCHEMA IF NOT EXISTS mnemolog"))
        command.upgrade(_config(connection), revision)


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(files("mnemolog.adapters.postgres") / "migrations"))
    config.attributes["connection"] = connection
    return config
