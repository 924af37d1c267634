"""A message of a conversation: a turn as it was said (E §2). It can be hidden, restored and erased, never rewritten."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID, uuid5

from mnemolog.domain.artifact import label, named_by
from mnemolog.domain.errors import Erased, InvalidInput, NotFound
from mnemolog.domain.memory import VISIBLE, Cause, Status
from mnemolog.domain.turn import Shown

KIND = "message"
# The category of messages: policies allow it to an agent and say how it enters the context (B §5).
CATEGORY = "activity"
# The text of a message that has none, such as the call of a tool. No search finds it.
WITHOUT_TEXT = "(no text)"
# Messages share the vector index with memories, whose ids are UUIDs.
_SUBJECT_IDS = UUID("8a3d9a0e-2f0b-5c47-9f0e-6a1df6d1c0b5")


@dataclass(frozen=True, slots=True)
class Message:
    """Where a message stands, and whether it is shown. `message_id` is the turn's id."""

    message_id: str
    thread_id: str
    status: Status = Status.ACTIVE
    purge_at: datetime | None = None
    cause: Cause | None = None

    @property
    def visible(self) -> bool:
        return self.status in VISIBLE

    @property
    def is_erased(self) -> bool:
        return self.status is Status.PURGED

    def deleted(self, purge_at: datetime, cause: Cause) -> "Message":
        return replace(self, status=Status.SOFT_DELETED, purge_at=purge_at, cause=cause)

    def restored(self) -> "Message":
        return replace(self, status=Status.ACTIVE, purge_at=None, cause=None)

    def erased(self) -> "Message":
        return replace(self, status=Status.PURGED, purge_at=None)


@lru_cache(maxsize=4096)
def subject_id(message_id: str) -> UUID:
    """The id under which a message is in the vector index."""
    return uuid5(_SUBJECT_IDS, message_id)


def found_id(row: Mapping[str, Any]) -> str:
    """The id of a row that a search found: of a message, or of a memory."""
    return str(row["message_id" if row["kind"] == KIND else "memory_id"])


def captions_of(attachments: Sequence[Shown]) -> list[str]:
    """What stands for attachments behind the text of their message: `[image: a red bicycle]`."""
    return [f"[{item.type}: {item.caption}]" for item in attachments if item.caption]


def labels_of(attachments: Sequence[tuple[str, str]]) -> str:
    """The text of a message without words: a line for each attachment, by type and URL: `[image#A7F3C2]` or `[image]`.

    Captions are not part of it: what rules and models extract from is what was said.
    """
    if not attachments:
        fix = "send at least one visible character, or an attachment"
        raise InvalidInput("is empty", field="text", fix=fix)
    named = ((type_, named_by(url)) for type_, url in attachments)
    return "\n".join(f"[{type_}#{label(id_)}]" if id_ else f"[{type_}]" for type_, id_ in named)


def with_lines(text: str, lines: Iterable[str]) -> str:
    """The text with the lines that stand for its attachments behind it.

    Where a line of the text is only the label of an attachment, the line takes its place.

    >>> with_lines("Look!", ["[image: a tram]"]), with_lines("[image#A7F3C2]", ["[image#A7F3C2] a red bicycle"])
    ('Look! [image: a tram]', '[image#A7F3C2] a red bicycle')
    """
    said, behind = text.split("\n"), list[str]()
    for line in lines:
        bare = f"{line.partition(']')[0].partition(':')[0]}]"
        places = (place for place, one in enumerate(said) if one == bare or one.endswith(f": {bare}"))
        place = next(places, None)
        if place is None:
            behind.append(line)
        else:
            said[place] = f"{said[place].removesuffix(bare)}{line}"
    return " ".join(["\n".join(said), *behind]).strip()


def full_text(speaker: str, text: str, attachments: Sequence[Shown] = ()) -> str:
    """Speaker, text and captions, such as `Ana: Look! [image: a red bicycle]`: what a search finds a message by."""
    said = " ".join([text, *captions_of(attachments)]).strip()
    return f"{speaker}: {said}" if speaker else said


def no_such_message(user_id: str, message_id: str, path: str = "message_id") -> NotFound:
    """The error for a message that does not exist or is not visible to the caller."""
    what = f"user {user_id!r} has no message {message_id!r:.80}"
    return NotFound(what, field=path, fix="look it up with `mnemolog message list`")


def erased_message(message_id: str) -> Erased:
    return Erased(
        f"message {message_id!r:.80} was erased", field="message_id", fix="its text is destroyed; send it again"
    )
