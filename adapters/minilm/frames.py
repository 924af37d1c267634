"""The protocol between an engine and its embedding process: a header with kind and length, then the body."""

import json
from collections.abc import Mapping
from struct import Struct

from mnemolog.domain.errors import (
    InvalidInput,
    MnemologError,
    ModelMissing,
    ModelOutputInvalid,
    ModelRequestRefused,
    ModelUnavailable,
)

HEAD = Struct("!cI")

TEXTS = b"T"
"""A JSON list of texts, to the process."""
ROWS = b"R"
"""Their vectors as float32, row by row: one answer per frame of texts, in the same order."""
FAULTS: Mapping[bytes, type[MnemologError]] = {
    b"M": ModelMissing,
    b"X": InvalidInput,
    b"U": ModelUnavailable,
    b"K": ModelRequestRefused,
    b"O": ModelOutputInvalid,
}
"""Instead of rows: the error as JSON."""


def frame(kind: bytes, body: bytes) -> bytes:
    return HEAD.pack(kind, len(body)) + body


def refusal(error: MnemologError) -> bytes:
    """The frame of one of the FAULTS; StopIteration for any other error."""
    kind = next(kind for kind, fault in FAULTS.items() if isinstance(error, fault))
    fields = {"message": error.message, "field": error.field, "fix": error.fix}
    return frame(kind, json.dumps(fields).encode())


def refused(kind: bytes, body: bytes) -> MnemologError:
    return FAULTS[kind](**json.loads(body))
