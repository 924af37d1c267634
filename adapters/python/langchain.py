"""LangChain's chat history, and tools for an agent, on the memory of a user. Needs `pip install 'mnemolog[langchain]'`.

from mnemolog.langchain import MnemologChatMessageHistory, memory_tools
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

try:
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        HumanMessage,
        SystemMessage,
        message_to_dict,
        messages_from_dict,
    )
    from langchain_core.tools import BaseTool, StructuredTool
except ImportError as error:
    raise ImportError("mnemolog.langchain needs LangChain: pip install 'mnemolog[langchain]'") from error

from mnemolog.blocking import Memory
from mnemolog.domain.identity import identifier
from mnemolog.memory import AsyncMemory
from mnemolog.mirror import Blocking
from mnemolog.transcript import Transcript

if TYPE_CHECKING:
    from mnemolog.adapters.operations.results import MessageView

TOOLS = ("search_memory", "add_memory", "get_context")
ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
TOP_K = 5


class MnemologChatMessageHistory(Transcript, BaseChatMessageHistory):
    """The messages of one thread, for `RunnableWithMessageHistory` and the like.

    What is added is recorded as a conversation: it is found by searches, and facts are extracted from it. `clear`
    deletes the messages of the thread; they can be restored. With an `AsyncMemory`, use `aadd_messages` and its like.

    Example:
        history = MnemologChatMessageHistory(memory, thread_id="main", user_id="ana")
        history.add_user_message("I moved to Lisbon")
        history.messages
    """

    framework = "langchain"

    @property
    def messages(self) -> list[BaseMessage]:
        """All messages, oldest first."""
        return self._wait(self.aget_messages())

    @messages.setter
    def messages(self, messages: list[BaseMessage]) -> None:
        raise AttributeError("messages cannot be replaced; use clear() and add_messages()")

    async def aget_messages(self) -> list[BaseMessage]:
        """All messages, oldest first."""
        return [self._whole(one, _message, _read) for one in await self._read()]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Record messages together."""
        self._wait(self.aadd_messages(messages))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Record messages together."""
        await self._append([(ROLES.get(one.type, "user"), _text(one), message_to_dict(one)) for one in messages])

    def clear(self) -> None:
        """Delete the messages of the thread. They can be restored."""
        self._wait(self.aclear())

    async def aclear(self) -> None:
        """Delete the messages of the thread. They can be restored."""
        await self._remove(await self._read())


def memory_tools(
    memory: Memory | AsyncMemory,
    *,
    user_id: str | None = None,
    agent_id: str | None = None,
    thread_id: str | None = None,
) -> list[BaseTool]:
    """Tools with which an agent remembers: `search_memory`, `add_memory` and `get_context`.

    The model chooses what to look for and what to remember, and never whose memory: user, agent and thread are given
    here, or those of `memory`. Each tool returns a text, and can be called with and without `await`.

    Example:
        agent = create_agent(model, tools=memory_tools(memory, user_id="ana"))
    """
    twin: AsyncMemory = memory.mirrored if isinstance(memory, Memory) else memory
    named = {"user_id": user_id, "agent_id": agent_id, "thread_id": thread_id}
    who: dict[str, Any] = {name: identifier(value, name) for name, value in named.items() if value is not None}

    async def search_memory(query: str, top_k: int = TOP_K) -> str:
        """Search what is known of the user, best first. Use it before you answer a question about the user."""
        whose = {name: value for name, value in who.items() if name != "thread_id"}
        found = await twin.search(query, top_k=top_k, **whose)
        unknown = [f"Nothing is known of {name}." for name in found.unknown]
        return "\n".join([*(hit.bullet for hit in found.hits), *unknown]) or found.nothing

    async def add_memory(text: str) -> str:
        """Remember one thing about the user: a short statement in the third person."""
        created = await twin.create(text, origin="agent", **who)
        return f"Remembered as {created.memory_id}."

    async def get_context(query: str) -> str:
        """Read what you need to know of the user to answer a message."""
        found = await twin.context(query, **who)
        return found.text or found.nothing

    runner = memory if isinstance(memory, Memory) else Blocking(twin)
    return [_tool(runner, one) for one in (search_memory, add_memory, get_context)]


def _tool(runner: Blocking, verb: Callable[..., Coroutine[Any, Any, str]]) -> BaseTool:
    def call(**arguments: Any) -> str:
        return runner._run(verb(**arguments))

    made: Any = StructuredTool.from_function(coroutine=verb)
    tool: BaseTool = StructuredTool.from_function(
        func=call, coroutine=verb, name=verb.__name__, description=verb.__doc__, args_schema=made.args_schema
    )
    return tool


def _text(message: BaseMessage) -> str:
    """What is searched of a message. What these tools returned is known already."""
    return "" if message.type == "tool" and message.name in TOOLS else str(message.text)


def _read(written: Any) -> BaseMessage:
    [message] = messages_from_dict([written])
    return message


def _message(found: MessageView) -> BaseMessage:
    """A message that something else recorded. What a tool said needs its call, so it is the assistant's."""
    kinds = {"user": HumanMessage, "system": SystemMessage}
    return kinds.get(found.role, AIMessage)(content=found.text, id=found.message_id)
