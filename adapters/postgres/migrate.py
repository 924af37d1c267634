"""Bring the log's tables, or what read models need beside theirs, to the current version (Alembic).

Projections are rebuilt, never migrated. Where they share the log's database, its migrations make what they need.
"""

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from alembic import command, op
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Text, column, create_engine, select, table, text
from sqlalchemy.ext.asyncio import AsyncEngine

from mnemolog.adapters.postgres.url import sqlalchemy_url
from mnemolog.domain.errors import EngineError

SCHEMA = "mnemolog"

Kind = Literal["log", "projections"]
_VERSIONS: dict[Kind, str] = {"log": "versions", "projections": "projections"}
_OTHER: dict[Kind, tuple[str, str, str]] = {
    "log": ("log_of_projections", "postgres_url", "this database holds projections, and no log"),
    "projections": ("events", "projections_url", "this database holds a log"),
}
_REVISION = select(column("version_num", Text)).select_from(table("migrations", schema=SCHEMA))


def migrate(
    postgres_dsn: str,
    revision: str = "head",
    *,
    of: Kind = "log",
    admit: Callable[[Connection], None] = lambda connection: None,
) -> None:
    """Run pending migrations up to a revision. Only one engine at a time; a second one waits.

    `admit` raises an error if this engine may not use the database, which then stays as it is.
    """
    engine = create_engine(sqlalchemy_url(postgres_dsn))
    try:
        with engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended('mnemolog migrate', 0))"))
            other, field, what = _OTHER[of]
            if connection.execute(text("SELECT to_regclass(:name)"), {"name": f"{SCHEMA}.{other}"}).scalar():
                raise EngineError(what, field=field, fix="name another database: the two settings may not be mixed up")
            connection.execute(text("CREATE SCHEMA IF NOT EXISTS mnemolog"))
            _require_known(connection, of)
            admit(connection)
            config = _config(of)
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
    finally:
        engine.dispose()


def is_known(revision: str, of: Kind = "log") -> bool:
    """Whether this version of Mnemolog has a migration."""
    script = ScriptDirectory.from_config(_config(of))
    return revision in {one.revision for one in script.walk_revisions()}


def _require_known(connection: Connection, of: Kind) -> None:
    if connection.execute(text("SELECT to_regclass('mnemolog.migrations')")).scalar() is None:
        return
    revision = connection.execute(_REVISION).scalar()
    if revision is not None and not is_known(revision, of):
        raise EngineError(
            f"a newer version of Mnemolog has migrated this database, to {revision}",
            field=_OTHER[of][1],
            fix="install that version or a later one",
        )


async def behind(engine: AsyncEngine, of: Kind = "log") -> bool:
    async with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        return (await connection.execute(_REVISION)).scalar_one_or_none() != _newest(of)


@cache
def _newest(of: Kind) -> str | None:
    return ScriptDirectory.from_config(_config(of)).get_current_head()


def run_sql_beside(migration: str) -> None:
    """Run the SQL file of the same name as a migration."""
    sql = Path(migration).with_suffix(".sql").read_text(encoding="utf-8")
    op.get_bind().exec_driver_sql(sql.replace("%", "%%"))


def _config(of: Kind) -> Config:
    scripts = files("mnemolog.adapters.postgres") / "migrations"
    config = Config()
    config.set_main_option("script_location", str(scripts))
    config.set_main_option("version_locations", str(scripts / _VERSIONS[of]))
    config.set_main_option("path_separator", "os")
    return config
