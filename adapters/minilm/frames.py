"""The protocol between an engine and its embedding process: a header with kind and length, then the body."""

import json
from struct import Struct

from mnemolog.domain.errors import InvalidInput, MnemologError, ModelMissing

HEAD = Struct("!cI")

TEXTS = b"T"
"""A JSON list of texts, to the process."""
ROWS = b"R"
"""Their vectors as float32, row by row: one answer per frame of texts, in the same order."""
MISSING = b"M"
"""Instead of rows: ModelMissing as JSON."""
REFUSED = b"X"
"""Instead of rows: InvalidInput as JSON."""


def frame(kind: bytes, body: bytes) -> bytes:
    return HEAD.pack(kind, len(body)) + body


def refusal(error: ModelMissing | InvalidInput) -> bytes:
    told = {"message": error.message, "field": error.field, "fix": error.fix}
    return frame(MISSING if isinstance(error, ModelMissing) else REFUSED, json.dumps(told).encode())


def refused(kind: bytes, body: bytes) -> MnemologError:
    """The error of a refusal."""
    return (ModelMissing if kind == MISSING else InvalidInput)(**json.loads(body))
