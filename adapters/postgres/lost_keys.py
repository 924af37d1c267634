"""Data keys that were taken away: what is written under their scopes gets no other key, which would hide that (X07)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from mnemolog.adapters.encryption import ALGORITHM
from mnemolog.adapters.postgres.chained import single_damage, stored
from mnemolog.adapters.postgres.keys import covers
from mnemolog.domain.errors import KeyMissing
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import StreamId
from mnemolog.events.log import Append

Row = Mapping[str, Any]


class LostKeys:
    """For a batch of appends: the scopes that have text but no key, although no event destroyed it."""

    def __init__(self, chain_key: bytes, codec: Codec, appends: Sequence[Append]) -> None:
        self._chain_key, self._codec, self._appends = chain_key, codec, appends
        self._sealed: dict[tuple[StreamId, str], Row] = {}

    def wanted(self) -> dict[str, str]:
        """Each scope, with the marker in the data of events encrypted with its key."""
        scopes = {
            (append.stream, event.payload.key_scope(), event.payload.key_tag())
            for append in self._appends
            for event in append.events
            if event.payload.personal_fields()
        }
        rows = [
            {"tenant": stream.tenant, "stream": stream.name, "scope": scope, "tag": tag, "sealed": _sealed_as(scope)}
            for stream, scope, tag in sorted(scopes)
        ]
        return {"wanted": to_json(rows).decode()}

    def take(self, rows: Iterable[Row]) -> dict[str, list[Any]] | None:
        """Takes the scopes that have text but no key; returns from which seq on an erasure would explain that."""
        self._sealed = {(StreamId(row["tenant"], row["stream"]), row["scope"]): row for row in rows}
        if not self._sealed:
            return None
        return {
            "tenants": [stream.tenant for stream, _ in self._sealed],
            "streams": [stream.name for stream, _ in self._sealed],
            "afters": [row["seq"] for row in self._sealed.values()],
        }

    def refusals(self, erasures: Iterable[Row]) -> Mapping[int, KeyMissing]:
        """The refused appends by position, which would get a new key. A forged erasure does not count."""
        for row in erasures:
            event = stored(row)
            if not single_damage(self._chain_key, event, row["previous"]):
                for scope in self._codec.decode(event).payload.shreds():
                    self._drop(event.header.stream, scope, event.header.seq)
        found = ((position, self._refusal(append)) for position, append in enumerate(self._appends))
        return {position: refusal for position, refusal in found if refusal}

    def _drop(self, stream: StreamId, shredded: str, seq: int) -> None:
        for (own, scope), row in list(self._sealed.items()):
            if own == stream and row["seq"] < seq and covers(shredded, scope):
                del self._sealed[own, scope]

    def _refusal(self, append: Append) -> KeyMissing | None:
        shredded: set[str] = set()
        for event in append.events:
            scope = event.payload.key_scope()
            row = self._sealed.get((append.stream, scope)) if event.payload.personal_fields() else None
            if row and not any(covers(own, scope) for own in shredded):
                return missing(append.stream, scope, row)
            shredded |= event.payload.shreds()
        return None


def missing(stream: StreamId, whose: str, row: Row) -> KeyMissing:
    """`row` describes an event that was encrypted with the key."""
    detail = f"the key of {whose} is gone, and no event says that it was destroyed"
    return KeyMissing(str(stream), row["seq"], detail, str(row["event_id"]))


def _sealed_as(scope: str) -> str:
    """As the codec writes it; inside a string of an unencrypted field, its quotes would be escaped."""
    return f'"scope":{to_json(scope).decode()},"sealed":{{"alg":"{ALGORITHM}"'
