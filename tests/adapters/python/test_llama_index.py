"""A chat memory of LlamaIndex on a memory. Skipped without the package: pip install llama-index-core.

Its import takes seconds, so it waits until a test runs.
"""

from collections.abc import AsyncIterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from mnemolog import AsyncMemory, Memory

if TYPE_CHECKING:
    from mnemolog.llama_index import MnemologChatMemory

pytestmark = pytest.mark.skipif(not find_spec("llama_index"), reason="llama-index-core is not installed")


@pytest.fixture(scope="module")
def messages() -> list[Any]:
    from llama_index.core.base.llms.types import ChatMessage, ImageBlock, MessageRole, TextBlock

    return [
        ChatMessage(role=MessageRole.USER, content="I moved to Lisbon"),
        ChatMessage(role=MessageRole.ASSISTANT, content="", additional_kwargs={"tool_calls": [{"id": "c-1"}]}),
        ChatMessage(role=MessageRole.TOOL, content="Lisbon", additional_kwargs={"tool_call_id": "c-1"}),
        ChatMessage(
            role=MessageRole.ASSISTANT,
            blocks=[TextBlock(text="How is it?"), ImageBlock(url="https://example.org/a.png")],
        ),
    ]


def chat_on(memory: AsyncMemory | Memory, *thread: str, user_id: str) -> "MnemologChatMemory":
    from mnemolog.llama_index import MnemologChatMemory

    return MnemologChatMemory(memory, *thread, user_id=user_id)


@pytest.fixture(scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(tmp_path_factory.mktemp("llama"), durable=False, embedder="lexical") as opened:
        yield opened


async def test_messages_come_back_as_they_were_and_are_a_conversation(
    memory: AsyncMemory, user: str, messages: list[Any]
) -> None:
    from llama_index.core.memory.types import BaseMemory

    from mnemolog.llama_index import MnemologChatMemory

    chat = chat_on(memory, "main", user_id=user)
    assert isinstance(chat, BaseMemory)
    await chat.aput(messages[0])
    await chat.aput_messages(messages[1:])
    assert await chat.aget_all() == messages
    assert await chat.aget("where?") == messages
    assert await MnemologChatMemory.from_defaults(memory=memory, user_id=user, limit=2).aget() == messages[-2:]
    page = await memory.list_messages(user_id=user)
    assert [one.role for one in page][::-1] == ["user", "assistant", "tool", "assistant"]
    assert next(one.text for one in page) == "How is it?"


async def test_set_keeps_what_is_only_continued_and_replaces_the_rest(
    memory: AsyncMemory, user: str, messages: list[Any]
) -> None:
    chat = chat_on(memory, "main", user_id=user)
    other = chat_on(memory, "other", user_id=user)
    await other.aput(messages[0])
    await chat.aset(messages[:2])
    before = [one.message_id for one in await memory.list_messages(user_id=user, thread_id="main")]
    await chat.aset(messages)
    after = [one.message_id for one in await memory.list_messages(user_id=user, thread_id="main")]
    assert after[-2:] == before
    await chat.aset(messages[2:])
    assert await chat.aget_all() == messages[2:]
    await chat.areset()
    assert await chat.aget_all() == []
    assert await other.aget_all() == messages[:1]


async def test_what_something_else_recorded_is_in_it(memory: AsyncMemory, user: str, messages: list[Any]) -> None:
    await memory.add("I moved to Lisbon", user_id=user, thread_id="main")
    found = await chat_on(memory, "main", user_id=user).aget()
    assert found == messages[:1]


def test_it_works_without_await(tmp_path_factory: pytest.TempPathFactory, messages: list[Any]) -> None:
    with Memory(tmp_path_factory.mktemp("llama-sync"), durable=False, embedder="lexical") as memory:
        chat = chat_on(memory, user_id="ana")
        chat.put(messages[0])
        chat.put_messages(messages[2:3])
        assert chat.get() == [messages[0], messages[2]]
        chat.set(messages[:1])
        assert chat.get_all() == messages[:1]
        chat.reset()
        assert chat.get() == []
