"""A chat memory of LlamaIndex on the memory of a user. Needs `pip install 'mnemolog[llama-index]'`.

from mnemolog.llama_index import MnemologChatMemory
answer = await agent.run("Where do I live?", memory=MnemologChatMemory(memory, "main", user_id="ana"))
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

try:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.memory.types import BaseMemory
except ImportError as error:
    raise ImportError("mnemolog.llama_index needs LlamaIndex: pip install 'mnemolog[llama-index]'") from error

from mnemolog.blocking import Memory
from mnemolog.memory import AsyncMemory
from mnemolog.transcript import Transcript

if TYPE_CHECKING:
    from mnemolog.adapters.operations.results import MessageView

T = TypeVar("T")

ROLES = {
    "user": "user",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}


class MnemologChatMemory(BaseMemory):
    """Implements LlamaIndex's `BaseMemory`: the messages of one conversation, in the thread `thread_id`.

    What is put is recorded as a conversation: it is found by searches, and facts are extracted from what the user says.
    `get` returns the last `limit` messages, or all. `reset` and `set` delete messages, which can be restored. With an
    `AsyncMemory`, use `aget`, `aput` and their like.

    Example:
        history = MnemologChatMemory(memory, "main", user_id="ana")
        history.put(ChatMessage(role="user", content="I moved to Lisbon"))
        history.get()
    """

    _thread: _Thread = PrivateAttr()
    _limit: int | None = PrivateAttr()

    def __init__(
        self,
        memory: Memory | AsyncMemory | str | Path | None = None,
        thread_id: str = "main",
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        limit: int | None = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        self._thread = _Thread(memory, thread_id=thread_id, user_id=user_id, agent_id=agent_id, **settings)
        self._limit = limit

    @classmethod
    def class_name(cls) -> str:
        return "MnemologChatMemory"

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> MnemologChatMemory:
        """As the constructor."""
        return cls(**kwargs)

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """The last messages, oldest first. `input` does not change which."""
        return self._wait(self.aget())

    async def aget(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """The last messages, oldest first. `input` does not change which."""
        return await self._thread.chat(self._limit)

    def get_all(self) -> list[ChatMessage]:
        """All messages, oldest first."""
        return self._wait(self.aget_all())

    async def aget_all(self) -> list[ChatMessage]:
        """All messages, oldest first."""
        return await self._thread.chat()

    def put(self, message: ChatMessage) -> None:
        """Record a message."""
        self._wait(self.aput(message))

    async def aput(self, message: ChatMessage) -> None:
        """Record a message."""
        await self.aput_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Record messages together."""
        self._wait(self.aput_messages(messages))

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Record messages together."""
        await self._thread.record(messages)

    def set(self, messages: list[ChatMessage]) -> None:
        """Make these the messages of the thread."""
        self._wait(self.aset(messages))

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Make these the messages of the thread. If they only continue what is there, nothing is deleted."""
        there = await self.aget_all()
        if messages[: len(there)] != there:
            await self.areset()
            there = []
        await self.aput_messages(messages[len(there) :])

    def reset(self) -> None:
        """Delete all messages. They can be restored."""
        self._wait(self.areset())

    async def areset(self) -> None:
        """Delete all messages. They can be restored."""
        await self._thread.clear()

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._thread._wait(coroutine)


class _Thread(Transcript):
    framework = "llama_index"

    async def chat(self, limit: int | None = None) -> list[ChatMessage]:
        return [self._whole(one, _message, ChatMessage.model_validate) for one in await self._read(limit)]

    async def record(self, messages: Sequence[ChatMessage]) -> None:
        await self._append([(_role(one), one.content or "", one.model_dump(mode="json")) for one in messages])

    async def clear(self) -> None:
        await self._remove(await self._read())


def _role(message: ChatMessage) -> str:
    return ROLES.get(message.role.value, "assistant")


def _message(found: MessageView) -> ChatMessage:
    """A message that something else recorded. What a tool said needs its call, so it is the assistant's."""
    role = found.role if found.role in ("user", "system") else "assistant"
    return ChatMessage(role=role, content=found.text)
