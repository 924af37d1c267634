"""The writes of libraries: a part of `Writes`."""

from collections.abc import Mapping
from typing import Any

from mnemolog.commands.documents import DOCUMENTS, DeleteDocument, DocumentCommand, RestoreDocument, UndoDocument
from mnemolog.commands.handler import Handler
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import validated


class DocumentWrites:
    """The operations of `Writes` on the documents of a library, except for adding them, which reads files."""

    _handler: Handler

    async def delete_document(self, fields: Mapping[str, Any], idempotency_key: str | None = None) -> Receipt:
        """Hide a document."""
        return await self._document(validated(DeleteDocument, {"at": self._handler.now(), **fields}), idempotency_key)

    async def restore_document(self, fields: Mapping[str, Any], idempotency_key: str | None = None) -> Receipt:
        """Show a deleted document again."""
        return await self._document(validated(RestoreDocument, fields), idempotency_key)

    async def undo_document(self, fields: Mapping[str, Any], idempotency_key: str | None = None) -> Receipt:
        """Undo a change of a document."""
        return await self._document(validated(UndoDocument, fields), idempotency_key)

    async def _document(self, command: DocumentCommand, idempotency_key: str | None) -> Receipt:
        return await self._handler.handle(DOCUMENTS, command, idempotency_key=idempotency_key)
