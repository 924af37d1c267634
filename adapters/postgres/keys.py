"""Encryption keys in Postgres: one per stream, wrapped by a root key, and data keys per scope, wrapped by that.

Nothing is remembered between calls: a key whose row is gone opens nothing any more, in whichever process.
"""

import hmac
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from typing import Any

from pydantic_core import to_json

from mnemolog.adapters.encryption import ID_BYTES, KEY_BYTES, DataKey, place, unwrapped, wrapped
from mnemolog.adapters.postgres.pool import Connection
from mnemolog.adapters.postgres.queries import query
from mnemolog.adapters.postgres.roots import Roots
from mnemolog.adapters.postgres.statements import Ask
from mnemolog.domain.errors import MalformedEvent
from mnemolog.events.chain import derived_key
from mnemolog.events.envelope import Header, StreamId
from mnemolog.events.event import BLIND
from mnemolog.events.subjects import key_scopes

TAG_BYTES = 16


class StreamKeys:
    """The keys of one stream that a step needs, including new ones."""

    def __init__(self, stream: StreamId, roots: Roots) -> None:
        self.stream, self._roots = stream, roots
        self.stream_key: bytes | None = None
        self.data_keys: dict[str, DataKey] = {}
        self.new_stream_key: dict[str, Any] | None = None
        self.new_data_keys: dict[str, dict[str, Any]] = {}
        self.used: set[str] = set()
        self._unopened: dict[str, MalformedEvent] = {}

    def load(self, row: Mapping[str, Any]) -> None:
        """Load a row of `find_keys`: the stream's key, and the data key of one scope if there is one."""
        if self.stream_key is None:
            root_id = bytes(row["root_id"])
            key = self._roots.wrapping_key(root_id)
            self.stream_key = unwrapped(key, bytes(row["stream_key"]), place(self.stream, "", root_id))
        if row["key_id"] is not None:
            key_id, scope = bytes(row["key_id"]), row["scope"]
            secret = unwrapped(self.stream_key, bytes(row["data_key"]), place(self.stream, scope, key_id))
            self.data_keys[scope] = DataKey(key_id, secret)

    def load_what_opens(self, row: Mapping[str, Any]) -> None:
        """Like `load`, but MalformedEvent is only raised when a broken key is used: an erasure needs none."""
        try:
            self.load(row)
        except MalformedEvent as error:
            self._unopened[row["scope"] if self.stream_key else ""] = error

    def sealing(self, scope: str, tag: str) -> DataKey:
        """The data key of a scope, created if needed. Everything encrypted with it carries `tag`."""
        if scope in self._unopened:
            raise self._unopened[scope]
        if scope not in self.data_keys:
            random_bytes = self._roots.random_bytes
            made = DataKey(random_bytes(ID_BYTES), random_bytes(KEY_BYTES))
            box = wrapped(self._stream_key(), made.key, place(self.stream, scope, made.key_id), random_bytes)
            self.new_data_keys[scope] = {"scope": scope, "key_id": made.key_id.hex(), "wrapped": box.hex(), "tag": tag}
            self.data_keys[scope] = made
        elif scope not in self.new_data_keys:
            self.used.add(scope)
        return self.data_keys[scope]

    def settle(self) -> None:
        """The new keys are written."""
        self.new_stream_key = None
        self.new_data_keys.clear()
        self.used.clear()

    def shred(self, scope: str) -> None:
        """Drop the keys of a scope and of all scopes below it; "" means the whole stream."""
        for own in [own for own in self.data_keys if covers(scope, own)]:
            del self.data_keys[own]
            self.new_data_keys.pop(own, None)
            self.used.discard(own)
        for own in [own for own in self._unopened if covers(scope, own)]:
            del self._unopened[own]
        if not scope:
            self.stream_key = self.new_stream_key = None

    def tag(self, tag: str) -> str:
        """A tag as stored in the log: a blind one as an HMAC with the stream's key."""
        return blinded(self._stream_key(), tag) if tag.startswith(BLIND) else tag

    def _stream_key(self) -> bytes:
        if "" in self._unopened:
            raise self._unopened[""]
        if self.stream_key is None:
            self.stream_key = self._roots.random_bytes(KEY_BYTES)
            root_id = self._roots.current
            context = place(self.stream, "", root_id)
            box = wrapped(self._roots.wrapping_key(root_id), self.stream_key, context, self._roots.random_bytes)
            self.new_stream_key = {"root_id": root_id.hex(), "wrapped": box.hex()}
        return self.stream_key


def covers(scope: str, other: str) -> bool:
    """Whether shredding `scope` destroys the key of `other`."""
    return not scope or other == scope or other.startswith(f"{scope}/")


def destroyed(header: Header, shredded: Collection[str]) -> bool:
    """Whether later events, which shred these scopes, erased the whole text of an event, judging by its header."""
    scopes = key_scopes(header)
    gone = all(any(covers(one, scope) for one in shredded) for scope in scopes)
    return "" in shredded or (bool(scopes) and gone)


def blinded(stream_key: bytes, tag: str) -> str:
    """`~name:ana` becomes `name:<hmac>`: the kind stays readable, the text only with the stream's key."""
    kind = tag[len(BLIND) :].partition(":")[0]
    return f"{kind}:{hmac.digest(derived_key(stream_key, 'tags'), tag.encode(), sha256)[:TAG_BYTES].hex()}"


async def find_keys(
    connection: Connection, roots: Roots, wanted: Collection[tuple[StreamId, str]], *, lenient: bool = False
) -> dict[StreamId, StreamKeys]:
    """The existing keys of these streams and scopes; scope "" means the stream's key only.

    MalformedEvent if one cannot be unwrapped, unless `lenient`: then it counts as missing.
    """
    cursor = await connection.execute(query("find_keys"), wanted_keys(wanted), binary=True)
    return loaded(roots, {stream for stream, _ in wanted}, await cursor.fetchall(), lenient=lenient)


async def ask_keys(ask: Ask, roots: Roots, wanted: Collection[tuple[StreamId, str]]) -> dict[StreamId, StreamKeys]:
    """Like `find_keys`, in one round trip with the other queries."""
    rows = await ask(query("find_keys"), wanted_keys(wanted))
    found = (dict(zip(_FOUND, row, strict=True)) for row in rows)
    return loaded(roots, {stream for stream, _ in wanted}, found)


_FOUND = ("tenant", "stream", "root_id", "stream_key", "scope", "key_id", "data_key")


def wanted_keys(wanted: Collection[tuple[StreamId, str]]) -> dict[str, str]:
    """The parameter of the query `find_keys`: as JSON, which takes a third of the time of the driver's arrays."""
    scopes: dict[StreamId, list[str]] = {}
    for stream, scope in wanted:
        scopes.setdefault(stream, []).append(scope)
    rows = [{"tenant": stream.tenant, "stream": stream.name, "scopes": own} for stream, own in scopes.items()]
    return {"wanted": to_json(rows).decode()}


def loaded(
    roots: Roots, streams: Iterable[StreamId], rows: Iterable[Mapping[str, Any]], *, lenient: bool = False
) -> dict[StreamId, StreamKeys]:
    """Rows of `find_keys`, unwrapped."""
    keys = {stream: StreamKeys(stream, roots) for stream in streams}
    for row in rows:
        own = keys[StreamId(row["tenant"], row["stream"])]
        (own.load_what_opens if lenient else own.load)(row)
    return keys
