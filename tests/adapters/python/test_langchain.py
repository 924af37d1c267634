"""LangChain's chat history and tools on a memory."""

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables.history import RunnableWithMessageHistory

from mnemolog import AsyncMemory, Memory
from mnemolog.langchain import MnemologChatMessageHistory, memory_tools

SAID = [
    SystemMessage("Be brief"),
    HumanMessage("I moved to Lisbon", id="m-1", additional_kwargs={"app": "web"}),
    AIMessage("", tool_calls=[{"name": "search_memory", "args": {"query": "home"}, "id": "call-1"}]),
    ToolMessage("Lisbon", tool_call_id="call-1"),
    AIMessage([{"type": "text", "text": "How is Lisbon?"}]),
]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("langchain"), durable=False, embedder="lexical") as opened:
        yield opened


def history_of(memory: Memory | AsyncMemory, user: str, thread: str = "main") -> MnemologChatMessageHistory:
    return MnemologChatMessageHistory(memory, thread_id=thread, user_id=user, agent_id="coach")


def test_messages_come_back_as_they_were_and_are_a_conversation(memory: Memory, user: str) -> None:
    history = history_of(memory, user)
    history.add_messages(SAID)
    assert history.messages == SAID
    assert history_of(memory, user).messages == SAID
    roles = [one.role for one in memory.list_messages(user_id=user)][::-1]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    found = memory.search("Lisbon", user_id=user, agent_id="coach", kinds=["message"])
    assert "I moved to Lisbon" in [hit.text for hit in found.hits]


def test_a_thread_an_agent_and_a_user_have_their_own(memory: Memory, user: str) -> None:
    history_of(memory, user).add_user_message("I moved to Lisbon")
    assert history_of(memory, user, "other").messages == []
    assert history_of(memory, f"{user}-other").messages == []
    assert MnemologChatMessageHistory(memory, thread_id="main", user_id=user, agent_id="other").messages == []


def test_what_something_else_recorded_is_in_it(memory: Memory, user: str) -> None:
    who: Any = {"user_id": user, "agent_id": "coach", "thread_id": "main"}
    memory.add([{"content": "I moved to Lisbon"}, {"role": "assistant", "content": "Lovely"}], **who)
    assert [(one.type, one.content) for one in history_of(memory, user).messages] == [
        ("human", "I moved to Lisbon"),
        ("ai", "Lovely"),
    ]


def test_what_was_cleared_can_be_restored(memory: Memory, user: str) -> None:
    history = history_of(memory, user)
    history.add_user_message("I moved to Lisbon")
    [said] = list(memory.list_messages(user_id=user))
    history.clear()
    assert history.messages == []
    history.add_user_message("I moved to Lisbon")
    assert len(history.messages) == 1
    memory.restore_message(said.message_id, user_id=user, agent_id="coach", thread_id="main")
    assert len(history.messages) == 2


def test_more_messages_than_a_page(memory: Memory, user: str) -> None:
    history = history_of(memory, user)
    said = [HumanMessage(f"Train {number} leaves") for number in range(205)]
    history.add_messages(said)
    assert [one.content for one in history.messages] == [one.content for one in said]


@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")
def test_a_chain_remembers_what_was_said(memory: Memory, user: str) -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("Hello Ana"), AIMessage("You are Ana")]))
    chain = RunnableWithMessageHistory(model, lambda session_id: history_of(memory, user, session_id))
    for said in ("I am Ana", "Who am I?"):
        chain.invoke(said, {"configurable": {"session_id": "main"}})
    texts = [one.content for one in history_of(memory, user).messages]
    assert texts == ["I am Ana", "Hello Ana", "Who am I?", "You are Ana"]


async def test_it_awaits(memory: Memory, user: str) -> None:
    history = history_of(memory.mirrored, user)
    assert isinstance(memory.mirrored, AsyncMemory)

    def in_the_loop_of_the_memory(coroutine: Any) -> Any:
        return memory._run(coroutine)

    in_the_loop_of_the_memory(history.aadd_messages(SAID[:2]))
    assert in_the_loop_of_the_memory(history.aget_messages()) == SAID[:2]
    in_the_loop_of_the_memory(history.aclear())
    assert in_the_loop_of_the_memory(history.aget_messages()) == []


async def test_tools_read_and_write_the_memory_of_one_user(memory: Memory, user: str) -> None:
    tools = {one.name: one for one in memory_tools(memory, user_id=user, agent_id="coach")}
    assert list(tools) == ["search_memory", "add_memory", "get_context"]
    assert set(tools["search_memory"].args) == {"query", "top_k"}
    assert set(tools["add_memory"].args) == {"text"}

    assert tools["search_memory"].invoke({"query": "tea"}).startswith('Nothing is known about "tea"')
    assert "Nothing is known about" in tools["get_context"].invoke({"query": "tea"})
    assert tools["add_memory"].invoke({"text": "Ana drinks green tea"}).startswith("Remembered as ")
    assert "green tea" in tools["search_memory"].invoke({"query": "What does Ana drink?", "top_k": 1})
    assert "green tea" in tools["get_context"].invoke({"query": "What does Ana drink?"})
    other = {one.name: one for one in memory_tools(memory, user_id=f"{user}-other")}
    assert other["search_memory"].invoke({"query": "tea"}).startswith("Nothing is known")


def test_neither_the_call_of_a_memory_tool_nor_what_it_returned_is_found(memory: Memory, user: str) -> None:
    history = history_of(memory, user)
    tools = {one.name: one for one in memory_tools(memory, user_id=user, agent_id="coach")}
    tools["add_memory"].invoke({"text": "Ana drinks green tea"})
    call: Any = {"name": "search_memory", "args": {"query": "tea"}, "id": "call-1", "type": "tool_call"}
    returned = tools["search_memory"].invoke(call)
    elsewhere = ToolMessage("The shop sells black tea", name="shop", tool_call_id="call-2")
    history.add_messages([AIMessage("", tool_calls=[call]), returned, elsewhere])
    assert history.messages[1] == returned
    found = tools["search_memory"].invoke({"query": "Which tea?"}).splitlines()
    assert [one.partition(" (")[0] for one in found] == [
        "[note] Ana drinks green tea",
        '[message] "The shop sells black tea"',
    ]
