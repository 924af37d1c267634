"""Sources of turns: JSON Lines, LoCoMo files and chat logs. A turn is a message body with its position."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from uuid import UUID, uuid5

from mnemolog.adapters.ingest import chat, locomo
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.json_value import parsed_json

Format = Literal["auto", "jsonl", "locomo", "chat"]
# For ids of imports, by the bytes of their files.
NAMESPACE = UUID("2c0d5a52-7c1e-5b64-8f0a-5a3f1f1f6a11")


@dataclass(frozen=True, slots=True)
class SourceTurn:
    """`place` identifies it to a person: `line 12`, or `conv-26 D1:3`. `body` is sent unchanged."""

    place: str
    body: bytes

    @property
    def user_id(self) -> str:
        """The user of a turn that was accepted."""
        return str(parsed_json(self.body, "message")["user_id"])


def read(path: Path, given: Format = "auto", defaults: Mapping[str, Any] | None = None) -> Sequence[SourceTurn]:
    """The turns of a file, in order. Fields that a line omits are taken from `defaults` (such as `user_id`)."""
    if not path.is_file():
        raise InvalidInput(f"there is no file {path}", field="path", fix="correct the path")
    common = {"correlation_id": str(import_id(path)), **(defaults or {})}
    if given == "locomo" or (given == "auto" and path.suffix == ".json"):
        found = ((f"{turn['user_id']} {turn['message_id']}", turn) for turn in locomo.turns(path))
    elif given == "chat" or (given == "auto" and path.suffix == ".txt"):
        found = ((place, {**turn, "user_id": _user(common)}) for place, turn in chat.turns(path))
    else:
        return list(_lines(path, common))
    return [SourceTurn(place, _body({"correlation_id": common["correlation_id"], **turn})) for place, turn in found]


def import_id(path: Path) -> UUID:
    """The id for rolling back all turns of a file: the same for the same file."""
    return uuid5(NAMESPACE, hashlib.sha256(path.read_bytes()).hexdigest())


def _user(common: Mapping[str, Any]) -> Any:
    if "user_id" not in common:
        raise InvalidInput("a chat log needs a user", field="user_id", fix="pass --user")
    return common["user_id"]


def _lines(path: Path, defaults: Mapping[str, Any]) -> Iterator[SourceTurn]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield SourceTurn(f"line {number}", _completed(line.strip(), number, defaults))


def _completed(line: bytes, number: int, defaults: Mapping[str, Any]) -> bytes:
    """The line with default fields added; a line that is not an object is left unchanged, and refused later."""
    try:
        turn = parsed_json(line, "message")
    except InvalidInput:
        return line
    if not isinstance(turn, dict):
        return line
    # The same line of the same file is the same turn if it is ingested again.
    named = {"message_id": f"{number}-{hashlib.sha256(line).hexdigest()[:24]}"}
    return _body({**named, **defaults, **turn})


def _body(turn: Mapping[str, Any]) -> bytes:
    return json.dumps(turn, ensure_ascii=False).encode("utf-8", errors="surrogatepass")
