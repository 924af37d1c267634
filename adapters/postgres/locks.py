"""Advisory locks by name."""

from sqlalchemy import Select, func, select


def advisory_lock(name: str, *, shared: bool = False) -> Select[tuple[None]]:
    """A statement that takes a named lock until the end of the transaction."""
    take = func.pg_advisory_xact_lock_shared if shared else func.pg_advisory_xact_lock
    return select(take(func.hashtextextended(f"mnemolog {name}", 0)))
