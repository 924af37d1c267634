"""An anchor: the heads of some streams at one moment, stored outside the database (design §7).

Each node chains its anchors by their MACs, so that one that is missing from the middle is noticed.
"""

import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from mnemolog.domain.errors import MalformedEvent
from mnemolog.events.envelope import StreamId

FIRST = ""


@dataclass(frozen=True, slots=True)
class AnchoredHead:
    """The last event of a stream: its seq, and its link in the chain, which covers all events before it."""

    stream: StreamId
    seq: int
    link: bytes


@dataclass(frozen=True, slots=True)
class Anchor:
    """Heads that changed since the node's previous anchor.

    `accepted`: these heads are older than those anchored before, and an operator decided to continue from them.
    """

    node: str
    number: int
    at: datetime
    heads: Sequence[AnchoredHead]
    previous: str = FIRST
    accepted: bool = False


def pack(anchor: Anchor, key: bytes) -> bytes:
    """One line of JSON, without a newline: the anchor and its MAC."""
    body = {
        "node": anchor.node,
        "number": anchor.number,
        "at": anchor.at.isoformat(),
        "heads": [[head.stream.tenant, head.stream.name, head.seq, head.link.hex()] for head in anchor.heads],
        "previous": anchor.previous,
        "accepted": anchor.accepted,
    }
    return canonical({"anchor": body, "mac": _mac(key, body)})


def unpack(line: bytes, key: bytes) -> Anchor:
    """The anchor in a line; MalformedEvent if no engine with this key wrote it."""
    try:
        document = json.loads(line)
        body = document["anchor"]
        if not hmac.compare_digest(document["mac"], _mac(key, body)):
            raise ValueError("its MAC does not match")
        heads = [AnchoredHead(StreamId(t, name), seq, bytes.fromhex(link)) for t, name, seq, link in body["heads"]]
        at = datetime.fromisoformat(body["at"])
        return Anchor(body["node"], body["number"], at, heads, body["previous"], body["accepted"])
    except (ValueError, KeyError, TypeError) as error:
        raise MalformedEvent(f"an anchor cannot be read: {error}", field="anchor") from error


def mac_of(line: bytes) -> str:
    """The MAC of a packed anchor, which the node's next one contains."""
    return str(json.loads(line)["mac"])


def _mac(key: bytes, body: dict[str, Any]) -> str:
    return hmac.digest(key, canonical(body), sha256).hex()


def canonical(value: Any) -> bytes:
    """JSON in the one form that a MAC is of."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()
