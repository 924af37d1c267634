"""The codec: payload to bytes and back, on the one decode path that reads, projectors, rebuild and export share.

The bytes are JSON of two parts. `open` holds the shape (ids, kinds, numbers), which is never lost; `sealed` holds the
personal fields, encrypted with the key that the event names. Destroying that key destroys the text and leaves the shape
(design §7).
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from pydantic import ValidationError
from pydantic_core import to_json

from mnemolog.domain.errors import LogError, MalformedEvent, Unstorable
from mnemolog.events.envelope import Header, Meta, NewEvent, Recorded, StoredEvent, StreamId
from mnemolog.events.event import Event
from mnemolog.events.fields import clause
from mnemolog.events.registry import REGISTRY, Registry
from mnemolog.events.stored_json import read_json
from mnemolog.events.unread import Unread

Sealed = dict[str, Any]
# As JSON writes it, and not after a backslash that is itself escaped. Postgres keeps no NUL in a text.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
PLAINER = "send plain JSON values: text in well-formed Unicode, finite numbers, lists and objects"


@dataclass(frozen=True, slots=True)
class Body:
    """An event's stored fields: the open ones, and the sealed ones with their key scope."""

    open: Mapping[str, Any]
    scope: str = ""
    sealed: Sealed | None = None


class Cipher(Protocol):
    """Encrypts personal fields with a key of the stream. `open` returns None if that key was destroyed."""

    def seal(self, stream: StreamId, key_scope: str, fields: Mapping[str, Any]) -> Sealed: ...

    def open(self, stream: StreamId, key_scope: str, sealed: Sealed) -> Mapping[str, Any] | None: ...


class PlainCipher:
    """Stores personal fields unencrypted. `alg` says so in every event, so a log may contain both forms."""

    ALGORITHM = "none"

    def seal(self, stream: StreamId, key_scope: str, fields: Mapping[str, Any]) -> Sealed:
        return {"alg": self.ALGORITHM, "fields": dict(fields)}

    def open(self, stream: StreamId, key_scope: str, sealed: Sealed) -> Mapping[str, Any] | None:
        if sealed["alg"] != self.ALGORITHM:
            raise MalformedEvent(
                f"the data is encrypted with {sealed['alg']!r}", field="data", fix="configure its cipher"
            )
        fields: Mapping[str, Any] = sealed["fields"]
        return fields


PLAIN = PlainCipher()


class Codec:
    """Encodes new events and decodes stored ones to the current version of their type."""

    def __init__(self, registry: Registry = REGISTRY) -> None:
        self._registry = registry

    def encode(self, stream: StreamId, event: NewEvent, cipher: Cipher = PLAIN) -> bytes:
        payload = event.payload
        fields = payload.model_dump(mode="json")
        personal = {name: fields.pop(name) for name in sorted(payload.personal_fields())}
        body: dict[str, Any] = {"open": fields}
        if personal:
            body["scope"] = payload.key_scope()
            body["sealed"] = cipher.seal(stream, payload.key_scope(), personal)
        return to_json(body)

    def require_readable(self, stream: StreamId, event: NewEvent) -> None:
        """Raises Unstorable unless the event can be encoded and decoded again."""
        payload, at = event.payload, event.recorded_at or event.occurred_at
        type_ = (payload.type_name(), payload.version)
        header = Header(stream, 1, event.event_id, *type_, (), event.meta.as_dict(), event.occurred_at, at)
        try:
            data = self.encode(stream, event)
            self.decode(StoredEvent(header, data, b""))
            written = data + to_json([header.meta, *event.tags])
            if b"\\u0000" in written and _NUL.search(written):  # The search alone takes as long as all the rest.
                raise MalformedEvent("it contains a NUL character")
        except (LogError, ValueError, RecursionError) as error:
            what = error.message if isinstance(error, LogError) else type(error).__name__
            raise Unstorable(f"cannot be stored: {what}", field=getattr(error, "field", ""), fix=PLAINER) from error

    def body(self, stored: StoredEvent, shapes: Collection[str] = ()) -> Body:
        """The two parts of an event's bytes, not yet decrypted; raises MalformedEvent if they are invalid.

        For the types in `shapes`, only the open part.
        """
        try:
            fields = read_json(stored.data)
            if "sealed" not in fields:
                return Body(fields["open"])
            whole = Body(fields["open"], fields["scope"], dict(fields["sealed"]))
            return Body(whole.open) if stored.header.type in shapes else whole
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise _malformed(stored.header, "data", repr(error)) from error

    def decode(self, stored: StoredEvent, cipher: Cipher = PLAIN, body: Body | None = None) -> Recorded:
        """The event, upcast to the current version. Raises UnknownEvent or MalformedEvent.

        `body` is the result of `body(stored)`, if already computed.
        """
        header = stored.header
        event_type = self._registry.resolve(header.type, header.version)
        body = body or self.body(stored)
        try:
            personal = {} if body.sealed is None else cipher.open(header.stream, body.scope, body.sealed)
            fields = self._registry.upcast(header.type, header.version, {**body.open, **(personal or {})})
            payload = event_type.model_validate(fields)
        except ValidationError as error:
            # Without the field's value, which may be personal: errors end up in logs and tables that are not encrypted.
            first = error.errors()[0]
            raise _malformed(header, ".".join(["data", *map(str, first["loc"])]), clause(first["msg"])) from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise _malformed(header, "data", repr(error)) from error
        return Recorded(header, payload, _meta(header), erased=personal is None)

    def unread(self, stored: StoredEvent) -> Recorded:
        """A placeholder for an event that cannot be decoded: its header, and its open fields if they can be read."""
        header = stored.header
        try:
            shape = self.decode(stored, PLAIN, Body(self.body(stored).open)).payload
        except LogError:
            shape = None
        try:
            meta = _meta(header)
        except LogError:
            meta = Meta(actor="")
        return Recorded(header, Unread(type=header.type, header_tags=frozenset(header.tags), shape=shape), meta)


def schema(event_type: type[Event]) -> dict[str, Any]:
    """The JSON Schema of a type's current version; personal fields carry `x-personal`."""
    document = event_type.model_json_schema()
    for name in event_type.personal_fields():
        document["properties"][name]["x-personal"] = True
    return document


def _meta(header: Header) -> Meta:
    try:
        return _meta_of(tuple(header.meta.items()))
    except (ValueError, TypeError, AttributeError) as error:  # AttributeError: it is not an object at all.
        raise _malformed(header, "meta", str(error)) from error


@lru_cache(maxsize=4096)
def _meta_of(fields: tuple[tuple[str, str], ...]) -> Meta:
    """Most events of a stream have the same scope as the previous one."""
    return Meta.from_dict(dict(fields))


def _malformed(header: Header, field: str, what: str) -> MalformedEvent:
    return MalformedEvent(
        f"{header.type} {header.event_id} (seq {header.seq} of {header.stream}) does not match its type: {what}",
        field=field,
        fix="run `mnemolog doctor`; the stored bytes were changed or written by another program",
    )
