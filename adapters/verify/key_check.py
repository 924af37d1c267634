"""Checks keys against the log: a data key may be missing only if an event erased it (X07, X08)."""

from collections.abc import Sequence

from mnemolog.adapters.encryption import ALGORITHM
from mnemolog.adapters.postgres.keys import covers, destroyed, find_keys
from mnemolog.adapters.postgres.pool import Connection
from mnemolog.adapters.postgres.roots import Roots
from mnemolog.adapters.verify.damage import Damage, DamageKind, Part, Report
from mnemolog.domain.errors import MalformedEvent, MnemologError
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import StoredEvent, StreamId
from mnemolog.events.registry import SHREDDING

AT_ONCE = 5000


class KeyCheck:
    """Takes events in order within each stream; those without a key wait for a later event that destroyed it."""

    def __init__(self, roots: Roots, codec: Codec, report: Report) -> None:
        self._roots, self._codec, self._report = roots, codec, report
        self._wanted: dict[tuple[StreamId, str, str], StoredEvent] = {}
        self._unread: list[StoredEvent] = []

    async def take(self, connection: Connection, events: Sequence[StoredEvent]) -> None:
        for event in events:
            try:
                self._note(event)
            except MalformedEvent:
                self._unread.append(event)  # Unless it is erased later on.
            except MnemologError:
                continue
        if len(self._wanted) > AT_ONCE:
            await self._drop_what_opens(connection)

    async def finish(self, connection: Connection) -> None:
        """After a page of streams: events that still have no key were not erased by any event."""
        await self._drop_what_opens(connection)
        for (stream, scope, _), event in self._wanted.items():
            if not self._report.log_damaged(stream):
                detail = f"the key of {scope} is gone, and no event says that it was destroyed"
                self._report.add(_damage(Part.KEY, DamageKind.KEY_MISSING, event, detail))
        self._wanted.clear()
        for event in self._unread:  # A forged event was written readable.
            if not self._report.log_damaged(event.header.stream):  # The chain already reported it.
                self._report.add(
                    _damage(Part.EVENT, DamageKind.FORGED, event, "its data is not what any engine writes")
                )
        self._unread.clear()

    def _note(self, event: StoredEvent) -> None:
        stream = event.header.stream
        body = self._codec.body(event)
        if event.header.type in SHREDDING:
            shredded = self._codec.decode(event).payload.shreds()
            self._unread = [
                one for one in self._unread if one.header.stream != stream or not destroyed(one.header, shredded)
            ]
            for scope in shredded:
                for key in [key for key in self._wanted if key[0] == stream and covers(scope, key[1])]:
                    del self._wanted[key]
        if body.sealed is not None and body.sealed.get("alg") == ALGORITHM:
            self._wanted.setdefault((stream, body.scope, body.sealed["key"]), event)

    async def _drop_what_opens(self, connection: Connection) -> None:
        by_stream: dict[StreamId, list[tuple[str, str]]] = {}
        for stream, scope, key_id in self._wanted:
            by_stream.setdefault(stream, []).append((scope, key_id))
        for stream, scopes in by_stream.items():
            await self._drop(connection, stream, scopes)

    async def _drop(self, connection: Connection, stream: StreamId, scopes: Sequence[tuple[str, str]]) -> None:
        try:
            found = await find_keys(connection, self._roots, [(stream, scope) for scope, _ in scopes])
        except MnemologError:
            self._report.add(Damage(Part.KEY, DamageKind.CHANGED, stream, "a key of the stream does not open"))
            found = {}
        keys = found[stream].data_keys if stream in found else {}
        for scope, key_id in scopes:
            if not found or (scope in keys and keys[scope].key_id.hex() == key_id):
                del self._wanted[stream, scope, key_id]


def _damage(part: Part, kind: DamageKind, event: StoredEvent, detail: str) -> Damage:
    header = event.header
    return Damage(part, kind, header.stream, detail, header.seq, str(header.event_id))
