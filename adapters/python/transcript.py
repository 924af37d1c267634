"""The messages of one thread, as frameworks keep them: read, append, remove. What each framework calls them is its own.

A message of a framework is recorded as a message of the conversation, with the whole of it in `metadata`, so that it
comes back as it was. Messages that something else recorded in the thread are there too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mnemolog.adapters.operations.conversation import MAX_MESSAGES
from mnemolog.blocking import Memory
from mnemolog.borrowing import Borrowing
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.identity import identifier
from mnemolog.domain.json_value import MAX_JSON_BYTES
from mnemolog.domain.message import WITHOUT_TEXT
from mnemolog.domain.text import CONTROL, clean
from mnemolog.memory import AsyncMemory

if TYPE_CHECKING:
    from mnemolog.adapters.operations.results import MessageView

T = TypeVar("T")

PAGE = 200
MAX_KEPT_BYTES = MAX_JSON_BYTES - 1024
LONG, PLACE = 1024, "mnemolog_text"


class Transcript(Borrowing):
    """One thread of a user and an agent. `memory` is a `Memory`, an `AsyncMemory` or a data directory.

    Other keywords are settings, as of `Memory`. `framework` is the key in `metadata` of what this framework wrote.
    """

    framework: str

    def __init__(
        self,
        memory: Memory | AsyncMemory | str | Path | None = None,
        *,
        thread_id: str,
        user_id: str | None = None,
        agent_id: str | None = None,
        **settings: Any,
    ) -> None:
        self._use(memory, settings)
        self._where: dict[str, Any] = {
            "thread_id": identifier(thread_id, "thread_id"),
            "user_id": self._memory._user_id if user_id is None else identifier(user_id, "user_id"),
            "agent_id": self._memory._agent_id if agent_id is None else identifier(agent_id, "agent_id"),
        }

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine, for a method that may not await."""
        return self._blocking._run(coroutine)

    async def _read(self, limit: int | None = None) -> list[MessageView]:
        """The last messages of the agent in the thread, or all of them, oldest first."""
        if limit is not None and limit < 0:
            raise InvalidInput(f"{limit} is less than 0", field="limit", fix="use None for all messages")
        found: list[MessageView] = []
        cursor: str | None = None
        while limit is None or len(found) < limit:
            page = await self._memory.list_messages(**self._where, limit=PAGE, cursor=cursor)
            found += [one for one in page if one.agent_id == self._where["agent_id"]]
            cursor = page.next_cursor
            if cursor is None:
                break
        return found[:limit][::-1]

    async def _append(self, items: Sequence[tuple[str, str, Mapping[str, Any]]]) -> None:
        """Record messages, up to MAX_MESSAGES together: of each, its role, its text, and the whole of it in JSON."""
        messages = [self._written(*item) for item in items]
        for first in range(0, len(messages), MAX_MESSAGES):
            await self._memory.add(messages[first : first + MAX_MESSAGES], **self._where)

    async def _remove(self, messages: Sequence[MessageView]) -> bool:
        """Delete messages. They are hidden, and can be restored; `erase_message` destroys one.

        False if all of them had been deleted meanwhile.
        """
        removed = False
        for one in messages:
            removed |= not (await self._memory.delete_message(one.message_id, **self._where)).already
        return removed

    def _whole(self, message: MessageView, otherwise: Callable[[MessageView], T], read: Callable[[Any], T]) -> T:
        """A message as this framework wrote it, or made of its role and text."""
        written = message.metadata.get(self.framework)
        return otherwise(message) if written is None else read(_joined(written, message.text))

    def _written(self, role: str, text: str, whole: Mapping[str, Any]) -> dict[str, Any]:
        """The message. Long texts of what is too long for metadata are its text, and what is left names their place."""
        kept: Any = whole
        if len(json.dumps(whole, ensure_ascii=False).encode()) > MAX_KEPT_BYTES:
            texts: list[str] = []
            kept = _parted(whole, texts)
            text = "".join(texts)
            clean(text, "messages.content")  # What is longer would come back cut.
        text = CONTROL.sub("", text) if kept is whole else text
        return {"role": role, "content": text if text.strip() else WITHOUT_TEXT, "metadata": {self.framework: kept}}


def _parted(value: Any, texts: list[str]) -> Any:
    """The value with the place of each long text instead of the text, which is added to `texts`."""
    if isinstance(value, Mapping):
        return {name: _parted(one, texts) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_parted(one, texts) for one in value]
    if not isinstance(value, str) or len(inner := value.strip()) < LONG:
        return value
    start, before = sum(map(len, texts)), len(value) - len(value.lstrip())
    texts.append(inner)
    return {PLACE: [value[:before], start, start + len(inner), value[before + len(inner) :]]}


def _joined(value: Any, text: str) -> Any:
    """What `_parted` was given."""
    if isinstance(value, Mapping) and value.keys() == {PLACE}:
        before, start, end, after = value[PLACE]
        return before + text[start:end] + after
    if isinstance(value, Mapping):
        return {name: _joined(one, text) for name, one in value.items()}
    return [_joined(one, text) for one in value] if isinstance(value, list) else value
