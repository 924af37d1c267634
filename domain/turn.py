"""What a turn of a conversation consists of."""

from dataclasses import dataclass
from enum import StrEnum


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
