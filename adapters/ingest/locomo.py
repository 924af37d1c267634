"""LoCoMo files (Maharana et al., ACL 2024): one user per conversation, one run per session."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.turn import Role

_TIME = "%I:%M %p on %d %B, %Y"


def turns(path: Path) -> Iterator[dict[str, Any]]:
    """Every turn of every conversation, as a turn message; InvalidInput if the file is not a LoCoMo file."""
    try:
        conversations = json.loads(path.read_bytes())
        for conversation in conversations:
            yield from _conversation(str(conversation["sample_id"]), conversation["conversation"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InvalidInput(
            f"{path.name} is not a LoCoMo file: {why}", field="path", fix="use JSON Lines, or a LoCoMo release"
        ) from error


def _conversation(user_id: str, conversation: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    roles = {conversation["speaker_a"]: Role.USER, conversation["speaker_b"]: Role.ASSISTANT}
    for number in sorted(_sessions(conversation)):
        name = f"session_{number}"
        began = datetime.strptime(conversation[f"{name}_date_time"], _TIME).replace(tzinfo=UTC)
        for index, turn in enumerate(conversation[name]):
            yield {
                "message_id": turn["dia_id"],
                "user_id": user_id,
                "run_id": name,
                "role": roles[turn["speaker"]],
                "speaker": turn["speaker"],
                "text": turn["text"],
                "occurred_at": (began + timedelta(seconds=index)).isoformat(),
                "attachments": list(_images(turn)),
            }


def _sessions(conversation: Mapping[str, Any]) -> Iterator[int]:
    for name, value in conversation.items():
        number = name.removeprefix("session_")
        if number.isdecimal() and isinstance(value, list):
            yield int(number)


def _images(turn: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """A turn has at most one picture for its reader: the urls are copies with one caption."""
    caption = turn.get("blip_caption", "")
    for url in (turn.get("img_url") or [""])[:1]:
        if url or caption:
            yield {"type": "image", "url": url, "caption": caption}
