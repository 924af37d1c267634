"""The writes of artifacts: a part of `Writes`."""

from collections.abc import Mapping
from typing import Any

from mnemolog.commands.artifacts import ARTIFACTS, ArtifactCommand, DeleteArtifact, DescribeArtifact, RestoreArtifact
from mnemolog.commands.handler import Handler
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import validated


class ArtifactWrites:
    """The operations of `Writes` on artifacts, except for their content, which is in the blob store."""

    _handler: Handler

    async def describe_artifact(self, fields: Mapping[str, Any], idempotency_key: str | None = None) -> Receipt:
        """Add a text that stands for an artifact."""
        return await self._artifact(validated(DescribeArtifact, fields), idempotency_key)

    async def delete_artifact(self, fields: Mapping[str, Any], idempotency_key: str | None = None) -> Receipt:
        """Hide an artifact."""
        command = validated(DeleteArtifact, {"at": self._handler.now(), **fields})
        return await self._artifact(command, idempotency_key)

    async def restore_artifact(self, fields: Mapping[str, Any], idempotency_key: str | None = None) -> Receipt:
        """Show a deleted artifact again."""
        return await self._artifact(validated(RestoreArtifact, fields), idempotency_key)

    async def _artifact(self, command: ArtifactCommand, idempotency_key: str | None) -> Receipt:
        return await self._handler.handle(ARTIFACTS, command, idempotency_key=idempotency_key)
