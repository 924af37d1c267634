"""A cipher whose keys a test can destroy. It hides nothing from anybody who can read base64."""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from mnemolog.events.codec import Sealed
from mnemolog.events.envelope import StreamId


class ShreddingCipher:
    """Implements `mnemolog.events.codec.Cipher`."""

    def __init__(self) -> None:
        self.used: list[tuple[StreamId, str]] = []
        self._destroyed: set[tuple[StreamId, str]] = set()

    def destroy(self, stream: StreamId, key_scope: str) -> None:
        self._destroyed.add((stream, key_scope))

    def seal(self, stream: StreamId, key_scope: str, fields: Mapping[str, Any]) -> Sealed:
        self.used.append((stream, key_scope))
        return {"alg": "test", "fields": b64encode(json.dumps(fields).encode()).decode()}

    def open(self, stream: StreamId, key_scope: str, sealed: Sealed) -> Mapping[str, Any] | None:
        if (stream, key_scope) in self._destroyed:
            return None
        fields: Mapping[str, Any] = json.loads(b64decode(sealed["fields"]))
        return fields
