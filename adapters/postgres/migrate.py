"""Bring the log's tables, or what read models need beside theirs, to the current version: by numbered files of SQL.

Projections are rebuilt, never migrated. Where they share the log's database, its migrations make what they need.
"""

from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

from sqlalchemy import Connection, Text, column, create_engine, delete, insert, select, table, text
from sqlalchemy.ext.asyncio import AsyncEngine

from mnemolog.adapters.postgres.url import sqlalchemy_url
from mnemolog.domain.errors import EngineError

SCHEMA = "mnemolog"

Kind = Literal["log", "projections"]
# The folder of the SQL, and what the names of its revisions begin with.
_VERSIONS: dict[Kind, tuple[str, str]] = {"log": ("versions", ""), "projections": ("projections", "projections_")}
_OTHER: dict[Kind, tuple[str, str, str]] = {
    "log": ("log_of_projections", "postgres_url", "this database holds projections, and no log"),
    "projections": ("events", "projections_url", "this database holds a log"),
}
_MIGRATIONS = table("migrations", column("version_num", Text), schema=SCHEMA)
_REVISION = select(_MIGRATIONS.c.version_num)


def migrate(
    postgres_dsn: str,
    revision: str | None = None,
    *,
    of: Kind = "log",
    admit: Callable[[Connection], None] = lambda connection: None,
) -> None:
    """Run pending migrations, all or up to a revision. Only one engine at a time; a second one waits.

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
            if connection.execute(text("SELECT to_regclass('mnemolog.migrations')")).scalar() is None:
                connection.execute(text("CREATE TABLE mnemolog.migrations (version_num varchar(32) PRIMARY KEY)"))
            reached = connection.execute(_REVISION).scalar() or ""
            if reached and not is_known(reached, of):
                raise EngineError(
                    f"a newer version of Mnemolog has migrated this database, to {reached}",
                    field=field,
                    fix="install that version or a later one",
                )
            admit(connection)
            for name, sql in _scripts(of).items():
                if name > reached and (revision is None or name <= revision):
                    connection.exec_driver_sql(sql.replace("%", "%%"))
                    connection.execute(delete(_MIGRATIONS))
                    connection.execute(insert(_MIGRATIONS).values(version_num=name))
    finally:
        engine.dispose()


def is_known(revision: str, of: Kind = "log") -> bool:
    """Whether this version of Mnemolog has a migration."""
    return revision in _scripts(of)


async def behind(engine: AsyncEngine, of: Kind = "log") -> bool:
    async with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        return (await connection.execute(_REVISION)).scalar_one_or_none() != list(_scripts(of))[-1]


@cache
def _scripts(of: Kind) -> Mapping[str, str]:
    """The SQL of each revision, the oldest first."""
    folder, prefix = _VERSIONS[of]
    found = (files("mnemolog.adapters.postgres") / "migrations" / folder).iterdir()
    scripts = sorted((one for one in found if one.name.endswith(".sql")), key=lambda one: one.name)
    return {f"{prefix}{one.name[:4]}": one.read_text("utf-8") for one in scripts}
