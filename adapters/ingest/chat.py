"""Plain chat logs: `2026-03-16 20:05:58 Ana: The cat is called Miso.`, a line a turn; the first who speaks is the user.

A time without an offset is UTC, and may stand in brackets. A line without a time goes on with the turn above it.
"""

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.turn import Role

_LINE = re.compile(
    r"\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)\]?\s+([^:]{1,200}?):\s+(.*)"
)


def turns(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every turn with its position, as a turn message without `user_id`; InvalidInput names the first invalid line."""
    user = ""
    for number, (time, speaker, words) in _turns(path):
        user = user or speaker
        text = "\n".join(words)
        said = hashlib.sha256(f"{time}\n{speaker}\n{text}".encode()).hexdigest()[:24]
        try:
            at = datetime.fromisoformat(time)
        except ValueError as error:
            raise InvalidInput(f"{time} is not a time", field=f"line {number}", fix="correct it") from error
        yield (
            f"line {number}",
            {
                "message_id": f"{number}-{said}",
                "occurred_at": (at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat(),
                "role": Role.USER if speaker == user else Role.ASSISTANT,
                "speaker": speaker,
                "text": text,
            },
        )


def _turns(path: Path) -> Iterator[tuple[int, tuple[str, str, list[str]]]]:
    """Each turn with the number of its first line."""
    began: tuple[int, tuple[str, str, list[str]]] | None = None
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if match := _LINE.fullmatch(line.strip()):
            if began:
                yield began
            began = number, (match[1], match[2], [match[3]])
        elif began:
            began[1][2].append(line.rstrip())
        elif line.strip():
            raise InvalidInput(
                "has no time and speaker", field=f"line {number}", fix="begin the line like `2026-03-16 20:05 Ana:`"
            )
    if began:
        yield began


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput("is not UTF-8", field="path", fix="save it as UTF-8") from error
