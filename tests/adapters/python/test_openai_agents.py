"""A session of the OpenAI Agents SDK on a memory. Its import takes seconds, so it waits until a test runs."""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest

from mnemolog import AsyncMemory
from mnemolog.domain.errors import InvalidInput

if TYPE_CHECKING:
    from mnemolog.openai_agents import MnemologSession

ITEMS: list[Any] = [
    {"role": "user", "content": "I moved to Lisbon"},
    {"type": "function_call", "call_id": "c-1", "name": "search", "arguments": '{"query": "home"}'},
    {"type": "function_call_output", "call_id": "c-1", "output": "Lisbon"},
    {
        "type": "message",
        "id": "msg-1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "How is Lisbon?", "annotations": []}],
    },
]


@pytest.fixture(scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(tmp_path_factory.mktemp("agents"), durable=False, embedder="lexical") as opened:
        yield opened


def session_on(memory: AsyncMemory, name: str, **given: Any) -> "MnemologSession":
    from mnemolog.openai_agents import MnemologSession

    return MnemologSession(memory, name, **given)


async def test_items_come_back_as_they_were_and_are_a_conversation(memory: AsyncMemory, user: str) -> None:
    from agents.memory import Session

    session = session_on(memory, "main", user_id=user)
    assert isinstance(session, Session)
    await session.add_items(ITEMS)
    await session.add_items([])
    assert await session.get_items() == ITEMS
    assert await session.get_items(2) == ITEMS[-2:]
    assert await session.get_items(0) == []
    page = await memory.list_messages(user_id=user)
    assert [one.role for one in page][::-1] == ["user", "assistant", "tool", "assistant"]
    assert [one.text for one in page][::-1][1:] == ['search {"query": "home"}', "Lisbon", "How is Lisbon?"]


async def test_popped_and_cleared_items_are_gone(memory: AsyncMemory, user: str) -> None:
    from agents.memory import SessionSettings

    session = session_on(memory, "main", user_id=user, session_settings=SessionSettings(limit=1))
    other = session_on(memory, "other", user_id=user)
    assert await session.pop_item() is None
    await session.add_items(ITEMS)
    await other.add_items(ITEMS[:1])
    assert await session.pop_item() == ITEMS[-1]
    assert await session.get_items() == [ITEMS[2]]
    assert await session.get_items(10) == ITEMS[:3]
    await session.clear_session()
    assert await session.get_items(10) == []
    assert await other.get_items() == ITEMS[:1]


async def test_long_items_come_back_as_they_were(memory: AsyncMemory, user: str) -> None:
    page = "\n  " + "Lisbon has seven hills. 🏰 " * 4000 + " \n"
    items: list[Any] = [
        {"type": "function_call_output", "call_id": "c-1", "output": page},
        {"type": "function_call_output", "call_id": "c-2", "output": "\x1b[31mred\x1b[0m"},
        {"role": "user", "content": [{"type": "input_text", "text": page}, {"type": "input_text", "text": "short"}]},
        {"role": "assistant", "content": "\x07"},
    ]
    session = session_on(memory, "main", user_id=user)
    await session.add_items(items)
    assert await session.get_items() == items
    assert await memory.search("How many hills are there?", user_id=user, kinds=["message"])
    with pytest.raises(InvalidInput, match="at most 262,144"):
        await session.add_items([{"role": "user", "content": "word " * 100_000}])
    assert await session.get_items() == items


NESTED: list[Any] = []
for _ in range(100_000):
    NESTED = [NESTED]


@pytest.mark.parametrize(
    "item",
    ["Hello", None, {"role": "user", "content": {1, 2}}, {"role": "user", "content": "\ud800"}, {"content": NESTED}],
)
async def test_an_item_that_is_no_json_object_is_named(memory: AsyncMemory, user: str, item: Any) -> None:
    session = session_on(memory, "main", user_id=user)
    with pytest.raises(InvalidInput, match=r"items\[1\]"):
        await session.add_items([{"role": "user", "content": "Hi"}, item])
    assert await session.get_items() == []


async def test_an_item_of_an_unknown_form_is_kept(memory: AsyncMemory, user: str) -> None:
    session = session_on(memory, "main", user_id=user)
    items: list[Any] = [{"role": "user", "content": ["Hi", {"text": "there"}, {"text": 3}]}, {"role": 7, "content": 5}]
    await session.add_items(items)
    assert await session.get_items() == items


async def test_an_item_is_popped_once(memory: AsyncMemory, user: str) -> None:
    sessions = [session_on(memory, "main", user_id=user) for _ in range(6)]
    await sessions[0].add_items(ITEMS)
    popped = await asyncio.gather(*(one.pop_item() for one in sessions))
    assert sorted(map(str, filter(None, popped))) == sorted(map(str, ITEMS))
    assert await sessions[0].get_items() == []


async def test_what_something_else_recorded_is_in_it(memory: AsyncMemory, user: str) -> None:
    await memory.add("I moved to Lisbon", user_id=user, thread_id="main")
    session = session_on(memory, "main", user_id=user)
    assert await session.get_items() == [{"role": "user", "content": "I moved to Lisbon"}]
