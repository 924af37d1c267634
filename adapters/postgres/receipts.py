"""Receipts of idempotency keys, and how a repetition is distinguished from a different request."""

import hmac
import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from mnemolog.domain.errors import IdempotencyConflict
from mnemolog.events.envelope import Receipt, StreamId

Row = Mapping[str, Any]


def receipt_row(key: str, receipt: Receipt, request: bytes, secret: bytes) -> dict[str, Any]:
    """What is stored for an idempotency key: the receipt, and a fingerprint of the request."""
    row = {
        "tenant": receipt.stream.tenant,
        "stream": receipt.stream.name,
        "key": key,
        "first_seq": receipt.first_seq,
        "last_seq": receipt.last_seq,
    }
    return {**row, "fingerprint": fingerprinted(secret, row, request).hex()}


def receipt_of(row: Row, fingerprint: bytes, key: bytes) -> Receipt:
    """The receipt stored for an idempotency key; IdempotencyConflict if the key was used for another request."""
    kept = {**row, "key": row["idempotency_key"]}
    if not hmac.compare_digest(bytes(row["fingerprint"]), fingerprinted(key, kept, fingerprint)):
        raise key_used(row["idempotency_key"])
    stream = StreamId(row["tenant"], row["stream"])
    return Receipt(stream, tuple(row["event_ids"]), row["first_seq"], row["last_seq"], already=True)


def fingerprinted(key: bytes, row: Row, request: bytes) -> bytes:
    """The fingerprint of a request: it reveals nothing about it, and matches this receipt only."""
    fields = json.dumps([row[name] for name in ("tenant", "stream", "key", "first_seq", "last_seq")])
    return hmac.digest(key, f"{len(fields)} {fields}".encode() + request, sha256)


def key_used(key: str) -> IdempotencyConflict:
    """`key` as stored: with the name of the principal whose key it is, if there is one."""
    sent = key.rpartition("\n")[2]
    return IdempotencyConflict(
        f"the key {sent!r} was already used for another request",
        field="idempotency_key",
        fix="send the same request again, or use a new key",
    )
