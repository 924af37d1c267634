"""A Postgres URL in the forms of its two clients."""

from typing import Any

from mnemolog.domain.errors import InvalidInput


def checked_url(value: Any, field: str) -> Any:
    """The address, or None; InvalidInput if it is not a URL, such as libpq's `host=... dbname=...`."""
    if value is None or (isinstance(value, str) and value.startswith(("postgres://", "postgresql://"))):
        return value
    raise InvalidInput("is not a Postgres URL", field=field, fix="write postgresql://user:password@host:5432/database")


def sqlalchemy_url(postgres_dsn: str) -> str:
    """A libpq URI in SQLAlchemy's form, for psycopg 3."""
    scheme, _, rest = postgres_dsn.partition("://")
    return f"{'postgresql+psycopg' if scheme in ('postgres', 'postgresql') else scheme}://{rest}"
