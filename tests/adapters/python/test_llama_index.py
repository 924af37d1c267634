"""A chat memory of LlamaIndex on a memory. Skipped without the package: pip install llama-index-core."""

from collections.abc import AsyncIterator

import pytest

from mnemolog import AsyncMemory, Memory

pytest.importorskip("llama_index.core")

from llama_index.core.base.llms.types import ChatMessage, ImageBlock, MessageRole, TextBlock
from llama_index.core.memory.types import BaseMemory

from mnemolog.llama_index import MnemologChatMemory

MESSAGES = [
    ChatMessage(role=MessageRole.USER, content="I moved to Lisbon"),
    ChatMessage(role=MessageRole.ASSISTANT, content="", additional_kwargs={"tool_calls": [{"id": "c-1"}]}),
    ChatMessage(role=MessageRole.TOOL, content="Lisbon", additional_kwargs={"tool_call_id": "c-1"}),
    ChatMessage(
        role=MessageRole.ASSISTANT, blocks=[TextBlock(text="How is it?"), ImageBlock(url="https://example.org/a.png")]
    ),
]


@pytest.fixture(scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(tmp_path_factory.mktemp("llama"), durable=False, embedder="lexical") as opened:
        yield opened


async def test_messages_come_back_as_they_were_and_are_a_conversation(memory: AsyncMemory, user: str) -> None:
    chat = MnemologChatMemory(memory, "main", user_id=user)
    assert isinstance(chat, BaseMemory)
    await chat.aput(MESSAGES[0])
    await chat.aput_messages(MESSAGES[1:])
    assert await chat.aget_all() == MESSAGES
    assert await chat.aget("where?") == MESSAGES
    assert await MnemologChatMemory.from_defaults(memory=memory, user_id=user, limit=2).aget() == MESSAGES[-2:]
    page = await memory.list_messages(user_id=user)
    assert [one.role for one in page][::-1] == ["user", "assistant", "tool", "assistant"]
    assert next(one.text for one in page) == "How is it?"


async def test_set_keeps_what_is_only_continued_and_replaces_the_rest(memory: AsyncMemory, user: str) -> None:
    chat = MnemologChatMemory(memory, "main", user_id=user)
    other = MnemologChatMemory(memory, "other", user_id=user)
    await other.aput(MESSAGES[0])
    await chat.aset(MESSAGES[:2])
    before = [one.message_id for one in await memory.list_messages(user_id=user, thread_id="main")]
    await chat.aset(MESSAGES)
    after = [one.message_id for one in await memory.list_messages(user_id=user, thread_id="main")]
    assert after[-2:] == before
    await chat.aset(MESSAGES[2:])
    assert await chat.aget_all() == MESSAGES[2:]
    await chat.areset()
    assert await chat.aget_all() == []
    assert await other.aget_all() == MESSAGES[:1]


async def test_what_something_else_recorded_is_in_it(memory: AsyncMemory, user: str) -> None:
    await memory.add("I moved to Lisbon", user_id=user, thread_id="main")
    found = await MnemologChatMemory(memory, "main", user_id=user).aget()
    assert found == [ChatMessage(role=MessageRole.USER, content="I moved to Lisbon")]


def test_it_works_without_await(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Memory(tmp_path_factory.mktemp("llama-sync"), durable=False, embedder="lexical") as memory:
        chat = MnemologChatMemory(memory, user_id="ana")
        chat.put(MESSAGES[0])
        chat.put_messages(MESSAGES[2:3])
        assert chat.get() == [MESSAGES[0], MESSAGES[2]]
        chat.set(MESSAGES[:1])
        assert chat.get_all() == MESSAGES[:1]
        chat.reset()
        assert chat.get() == []
