"""The keyed chain: each event's link covers the one before it, so that a changed row cannot be chained again (X08)."""

import hmac
import json
from datetime import UTC
from hashlib import sha256

from mnemolog.events.envelope import Header

START = bytes(32)
_canonical = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


def derived_key(master_key: bytes, purpose: str) -> bytes:
    """A 32-byte key for one purpose (HKDF-Expand of RFC 5869 with one block)."""
    return hmac.digest(master_key, f"mnemolog {purpose}".encode() + b"\x01", sha256)


def link(key: bytes, previous: bytes, header: Header, data: bytes) -> bytes:
    """HMAC-SHA256 over the previous link, the header and the data as stored; 32 bytes."""
    shape = canonical(header)
    return hmac.digest(key, previous + len(shape).to_bytes(8, "big") + shape + data, sha256)


def canonical(header: Header) -> bytes:
    """The header as bytes that depend on its values alone."""
    fields = [
        header.stream.tenant,
        header.stream.name,
        header.seq,
        str(header.event_id),
        header.type,
        header.version,
        sorted(header.tags),
        dict(header.meta),
        header.occurred_at.astimezone(UTC).isoformat(timespec="microseconds"),
        header.recorded_at.astimezone(UTC).isoformat(timespec="microseconds"),
    ]
    return _canonical(fields).encode()
