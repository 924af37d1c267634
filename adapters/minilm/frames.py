"""What an engine and its embedding process send each other: a head with kind and length, then that many bytes."""

from struct import Struct

HEAD = Struct("!cI")

TEXTS = b"T"
"""A JSON list of texts, to the process."""
ROWS = b"R"
"""Their vectors as float32, row after row: one answer a frame of texts, in the same order."""
MISSING = b"M"
"""Instead of rows: the ModelMissing as JSON."""
REFUSED = b"X"
"""Instead of rows: the InvalidInput as JSON."""


def frame(kind: bytes, body: bytes) -> bytes:
    return HEAD.pack(kind, len(body)) + body
