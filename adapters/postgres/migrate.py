"""Bring the log's tables to the current version (Alembic). Projections are rebuilt, never migrated."""

from importlib.resources import files

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, text

from mnemolog.adapters.postgres.url import sqlalchemy_url


def migrate(postgres_dsn: str) -> None:
    """Run what has not run yet, as one engine at a time: a second one waits."""
    engine = create_engine(sqlalchemy_url(postgres_dsn))
    try:
        _migrate(engine)
    finally:
        engine.dispose()


def _migrate(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended('mnemolog migrate', 0))"))
        connection.execute(text("CREATE SCHEMA IF NOT EXISTS mnemolog"))
        command.upgrade(_config(connection), "head")


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(files("mnemolog.adapters.postgres") / "migrations"))
    config.attributes["connection"] = connection
    return config
