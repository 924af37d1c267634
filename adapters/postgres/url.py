"""The address of a Postgres, as its two clients spell it."""


def sqlalchemy_url(postgres_dsn: str) -> str:
    """A libpq URI as SQLAlchemy spells it, for psycopg 3."""
    scheme, _, rest = postgres_dsn.partition("://")
    return f"{'postgresql+psycopg' if scheme in ('postgres', 'postgresql') else scheme}://{rest}"
