"""The texts of policy versions recorded in events (X04)."""

from collections.abc import Collection, Mapping
from datetime import datetime

from mnemolog.adapters.postgres.pool import Pool
from mnemolog.adapters.postgres.queries import query
from mnemolog.domain.policy import version_of
from mnemolog.events.envelope import StreamId


class Policies:
    """A version is the hash of its text: a text that was changed is not shown."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def keep(self, text: str, at: datetime) -> None:
        """Store a policy's text, in force since `at`; an existing one does not change."""
        values = {"version": version_of(text), "policy": text, "at": at}
        async with self._pool.connection() as connection:
            await connection.execute(query("keep_policy"), values)

    async def kept(self, versions: Collection[str]) -> Mapping[str, str]:
        """The stored texts of these versions."""
        async with self._pool.connection() as connection:
            cursor = await connection.execute(query("find_policies"), {"versions": list(versions)})
            found = {row["version"]: row["policy"] for row in await cursor.fetchall()}
        return {version: text for version, text in found.items() if version_of(text) == version}

    async def of_stream(self, stream: StreamId) -> Mapping[str, str]:
        """The texts of all versions that the events of a stream refer to."""
        values = {"tenant": stream.tenant, "stream": stream.name}
        async with self._pool.connection() as connection:
            cursor = await connection.execute(query("policy_versions"), values)
            versions = [row["version"] for row in await cursor.fetchall()]
        return await self.kept(versions)
