"""A turn of a conversation, and the episodic memory created from it without extraction (X12)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

CATEGORY = "activity"


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Shown:
    """The text of an attachment: its type (`image`, `file`, ...) and caption."""

    type: str
    caption: str


def as_memory(speaker: str, text: str, attachments: Sequence[Shown] = ()) -> str:
    """The text of the memory: speaker, text and captions, such as `Ana: Look! [image: a red bicycle]`."""
    shown = [f"[{item.type}: {item.caption}]" for item in attachments if item.caption]
    said = " ".join([text, *shown]).strip()
    return f"{speaker}: {said}" if speaker else said
