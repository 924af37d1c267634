"""Bring the log's tables to the current version (Alembic). Projections are rebuilt, never migrated."""

from functools import cache
from importlib.resources import files
from pathlib import Path

from alembic import command, op
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Text, column, create_engine, select, table, text
from sqlalchemy.ext.asyncio import AsyncEngine

from mnemolog.adapters.postgres.url import sqlalchemy_url

SCHEMA = "mnemolog"


def migrate(postgres_dsn: str, revision: str = "head") -> None:
    """Run what has not run yet, up to a revision, as one engine at a time: a second one waits."""
    engine = create_engine(sqlalchemy_url(postgres_dsn))
    try:
        with engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended('mnemolog migrate', 0))"))
            connection.execute(text("CREATE SCHEMA IF NOT EXISTS mnemolog"))
            command.upgrade(_config(connection), revision)
    finally:
        engine.dispose()


def is_known(revision: str) -> bool:
    """Whether this Mnemolog has the migration."""
    script = ScriptDirectory(str(files("mnemolog.adapters.postgres") / "migrations"))
    return revision in {one.revision for one in script.walk_revisions()}


async def behind(engine: AsyncEngine) -> bool:
    """Whether the log's tables are not those of this Mnemolog."""
    async with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        asked = select(column("version_num", Text)).select_from(table("migrations", schema=SCHEMA))
        return (await connection.execute(asked)).scalar_one_or_none() != _newest()


@cache
def _newest() -> str | None:
    return ScriptDirectory(str(files("mnemolog.adapters.postgres") / "migrations")).get_current_head()


def run_sql_beside(migration: str) -> None:
    """Run the SQL file of a migration: the one of its name, beside it."""
    sql = Path(migration).with_suffix(".sql").read_text(encoding="utf-8")
    op.get_bind().exec_driver_sql(sql.replace("%", "%%"))


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(files("mnemolog.adapters.postgres") / "migrations"))
    config.attributes["connection"] = connection
    return config
