"""The former table of API keys: read once, then dropped."""

from collections.abc import Sequence
from typing import Any

from psycopg.errors import InsufficientPrivilege
from sqlalchemy import ARRAY, Column, DateTime, LargeBinary, MetaData, Table, Text, func, select
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.schema import DropTable

from mnemolog.commands.api_keys import ApiKey
from mnemolog.domain.principal import Principal, Role
from mnemolog.projections.seal import RowSeal, mac_column

api_keys = Table(
    "api_keys",
    MetaData(schema="mnemolog"),
    Column("key_id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("agents", ARRAY(Text), nullable=False),
    Column("users", ARRAY(Text), nullable=False),
    Column("roles", ARRAY(Text), nullable=False),
    Column("secret_mac", LargeBinary, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("revoked_at", DateTime(timezone=True)),
    mac_column(),
)


class KeyTable:
    """Created by a migration; each row is sealed."""

    def __init__(self, engine: AsyncEngine, key: bytes) -> None:
        self._engine, self._seal = engine, RowSeal(key)

    async def keys(self) -> Sequence[tuple[ApiKey, bool]]:
        """Each key, oldest first, and whether its seal matches; empty without the table."""
        async with self._engine.connect() as connection:
            if not await _exists(connection):
                return []
            rows = await connection.execute(select(api_keys).order_by(api_keys.c.created_at, api_keys.c.key_id))
            return [(_key(dict(row)), self._seal.fits(api_keys, dict(row))) for row in rows.mappings()]

    async def drop(self) -> None:
        """Drop it. If this engine may not, it stays unused."""
        try:
            async with self._engine.begin() as connection:
                if await _exists(connection):
                    await connection.execute(DropTable(api_keys, if_exists=True))
        except ProgrammingError as error:
            if not isinstance(error.orig, InsufficientPrivilege):
                raise


async def _exists(connection: AsyncConnection) -> bool:
    return await connection.scalar(select(func.to_regclass("mnemolog.api_keys"))) is not None


def _key(row: dict[str, Any]) -> ApiKey:
    ids = frozenset(row["agents"]), frozenset(row["users"])
    roles = frozenset(role for role in Role if role in row["roles"])
    principal = Principal(row["name"], row["tenant"], *ids, roles)
    return ApiKey(row["key_id"], principal, row["created_at"], row["revoked_at"], bytes(row["secret_mac"]))
