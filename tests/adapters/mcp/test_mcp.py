"""Clients of the MCP server: in this process, on standard input and output, and over HTTP."""

import asyncio
import sys
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._context_streams import create_context_streams
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, TextContent, jsonrpc_message_adapter
from pydantic import ValidationError

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.server import serve
from mnemolog.adapters.mcp.answering import Answering
from mnemolog.adapters.mcp.server import Session, mcp_server
from mnemolog.adapters.mcp.tools import TOOLS, input_schema
from mnemolog.adapters.operations.operation import Operation
from mnemolog.adapters.operations.registry import OPERATIONS
from mnemolog.adapters.operations.requests import AnyRequest
from mnemolog.adapters.operations.serving import ServedRead, served
from mnemolog.domain.principal import Role
from mnemolog.events.envelope import DEFAULT_AGENT
from mnemolog.events.serving import Purpose
from tests.adapters.principals.keys import principal
from tests.engine.test_knowledge import Librarian


@asynccontextmanager
async def client_of(engine: Engine, roles: Collection[Role] = tuple(Role), **options: Any) -> AsyncIterator[Client]:
    async def run(operation: Operation[Any, Any], request: AnyRequest) -> Any:
        return await operation.run(engine, request)

    session = Session(run=run, may=lambda role: role in roles, **options)
    async with Client(mcp_server(lambda _: session)) as client:
        yield client


async def called(client: Client, tool: str, **arguments: Any) -> str:
    """The text of a call that succeeds."""
    result = await client.call_tool(tool, arguments)
    [content] = result.content
    assert isinstance(content, TextContent)
    assert not result.is_error, content.text
    return content.text


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    [content] = result.content
    assert isinstance(content, TextContent)
    assert result.is_error
    return content.text


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.spec("X20")
async def test_three_tools_remember_find_and_give_context(engine: Engine, user: str) -> None:
    async with client_of(engine, user_id=user) as client:
        assert await names(client) == ["add_memory", "search_memory", "get_context"]
        added = await called(client, "add_memory", text="Ana is allergic to peanuts", pinned=True)
        again = await called(client, "add_memory", text="Ana is allergic to peanuts")
        found = await called(client, "search_memory", query="allergic to what?")
        context = await called(client, "get_context", query="Which car is red?")

        assert added.startswith("Created. memory_id=")
        assert again.split()[-1] == added.split()[-1]
        assert found.startswith("[note] Ana is allergic to peanuts (")
        assert "Ana is allergic to peanuts" in context
        nothing = await called(client, "search_memory", query="Zanzibar", kinds=["todo"])
        assert nothing.startswith("Nothing")


@pytest.mark.spec("X18")
async def test_what_a_model_was_given_is_recorded(engine: Engine, user: str) -> None:
    async with client_of(engine, user_id=user) as client:
        memory_id = (await called(client, "add_memory", text="Ana drinks tea", pinned=True)).partition("=")[2]
        await called(client, "get_context", query="What may I offer?")
        await called(client, "search_memory", query="tea")
        await client.get_prompt("answer_from_memory", {"question": "What does Ana drink?"})
    async with client_of(engine, roles=[Role.READ], user_id=user) as client:
        await called(client, "get_context", query="What may I offer?")

    given = await served.run(engine, ServedRead.model_validate({"user_id": user, "agent_id": DEFAULT_AGENT}))
    assert [one.purpose for one in given.items] == [Purpose.CONTEXT, Purpose.RECALL, Purpose.CONTEXT]
    assert all(memory_id in {item.id for item in one.items} for one in given.items)


async def test_all_tools_correct_explain_and_undo(engine: Engine, user: str) -> None:
    async with client_of(engine, user_id=user, tools="all") as client:
        memory_id = (await called(client, "add_memory", text="Ana lives in Lisbon")).partition("=")[2]
        await called(client, "update_memory", memory_id=memory_id, text="Ana lives in Porto")
        assert "Ana lives in Porto (" in (found := await called(client, "search_memory", query="where?"))
        assert f"id={memory_id}" in found
        await called(client, "undo", memory_id=memory_id)
        assert "Ana lives in Lisbon" in await called(client, "get_memory", memory_id=memory_id)
        assert '"event":"UPDATE"' in await called(client, "memory_history", id=memory_id)
        await called(client, "add_fact", subject="me", predicate="works_at", object="Acme")
        assert "Acme" in await called(client, "list_facts")


@pytest.mark.spec("A21")
async def test_the_library_of_the_clients_agent_is_searched(engine: Engine, user: str) -> None:
    library = Librarian(engine)
    await library.adds("# Sleep\n\n## Caffeine\n\nNo coffee in the six hours before bed.")
    for whose in (user, None):
        async with client_of(engine, user_id=whose, agent_id=library.agent, tools="all") as client:
            assert "No coffee in the six hours" in await called(client, "search_knowledge", query="coffee before bed")
    async with client_of(engine, user_id=user, tools="all") as client:
        assert "No coffee" not in await called(client, "search_knowledge", query="coffee before bed")


@pytest.mark.spec("X20")
async def test_destructive_tools_are_off_unless_asked_for(engine: Engine, user: str) -> None:
    async with client_of(engine, user_id=user, tools="all") as client:
        memory_id = (await called(client, "add_memory", text="Ana drinks tea")).partition("=")[2]
        with pytest.raises(MCPError, match=r"--destructive, or write \?tools=all&destructive=true in its URL"):
            await client.call_tool("delete_memory", {"memory_id": memory_id})
        assert not {"delete_memory", "delete_fact", "erase_memory"} & {*await names(client)}
    async with client_of(engine, user_id=user, tools="all", destructive=True) as client:
        [erase] = [one for one in (await client.list_tools()).tools if one.name == "erase_memory"]
        assert erase.annotations
        assert erase.annotations.destructive_hint
        await called(client, "delete_memory", memory_id=memory_id)
        assert "Ana drinks tea" not in await called(client, "search_memory", query="tea")
        await called(client, "erase_memory", memory_id=memory_id)
        assert "erased" in await refused(client, "restore_memory", memory_id=memory_id)


@pytest.mark.spec("X20")
async def test_only_tools_of_the_roles_of_a_key_are_offered(engine: Engine, user: str) -> None:
    async with client_of(engine, roles=[Role.READ], user_id=user) as client:
        assert await names(client) == ["search_memory", "get_context"]
        with pytest.raises(MCPError, match="role write"):
            await client.call_tool("add_memory", {"text": "tea"})


async def test_wrong_calls_are_answered_with_the_argument_and_the_fix(engine: Engine, user: str) -> None:
    async with client_of(engine, user_id=user) as client:
        empty = await refused(client, "search_memory", query=" ")
        assert empty == "query: is empty (send at least one visible character)"
        assert "the arguments of add_memory are" in await refused(client, "add_memory", text="tea", user_id="somebody")
        assert (await refused(client, "add_memory")).startswith("text: ")
        with pytest.raises(MCPError, match="the tools are add_memory"):
            await client.call_tool("add_memories", {})
    async with client_of(engine, user_id=None) as client:
        [add, *_] = (await client.list_tools()).tools
        assert "user_id" in add.input_schema["required"]
        assert (await refused(client, "add_memory", text="tea")).startswith("user_id: ")
        await called(client, "add_memory", text="Ana drinks tea", user_id=user)
        assert "tea" in await called(client, "search_memory", query="tea", user_id=user)


async def test_the_profile_and_entities_are_resources_and_a_question_is_a_prompt(engine: Engine, user: str) -> None:
    async with client_of(engine, user_id=user, tools="all") as client:
        await called(client, "add_fact", subject="Marta", predicate="lives_in", object="Berlin")
        listed = {one.name: one.uri for one in (await client.list_resources()).resources}
        assert {"Profile", "Marta", "Berlin"} <= listed.keys()
        [card] = (await client.read_resource(listed["Marta"])).contents
        assert "Marta" in str(card)
        assert (await client.read_resource(listed["Profile"])).contents
        for unknown in ("mnemolog://nothing", "mnemolog://entities/1"):
            with pytest.raises(MCPError):
                await client.read_resource(unknown)
        asked = await client.get_prompt("answer_from_memory", {"question": "Where does Marta live?"})
        assert "Marta lives in Berlin" in str(asked.messages[0].content)
        with pytest.raises(MCPError, match="question: is empty"):
            await client.get_prompt("answer_from_memory", {})


def test_every_tool_is_an_operation_with_these_arguments() -> None:
    for tool in TOOLS.values():
        assert tool.operation in OPERATIONS
        assert {*tool.arguments, *tool.defaults} <= tool.operation.request.model_fields.keys()
        of_user = {"user_id"} & tool.operation.request.model_fields.keys()
        assert {*input_schema(tool.name, True)["properties"]} == {*of_user, *tool.arguments}
        assert tool.description


async def test_a_client_starts_the_server_itself(engine: Engine, user: str) -> None:
    arguments = ["--data-dir", str(engine.settings.directory), "mcp", "--user", user]
    server = StdioServerParameters(command=str(Path(sys.executable).with_name("mnemolog")), args=arguments)
    async with Client(server) as client:
        await called(client, "add_memory", text="Ana drinks tea")
        assert "Ana drinks tea" in await called(client, "search_memory", query="tea")


@pytest.mark.parametrize(
    ("line", "id_", "code"),
    [
        (r'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"\ud800"}}', 7, -32700),
        (r'{"jsonrpc":"2.0","id":"\ud800","method":"tools/list"}', None, -32700),
        ('{"jsonrpc":"2.0","id":7,"method":', None, -32700),
        ('{"jsonrpc":"2.0","id":7,"method":"tools/list","params":' + "[" * 100_000, None, -32700),
        ("[]", None, -32600),
        ('{"jsonrpc":"2.0","id":7,"params":{}}', 7, -32600),
    ],
)
async def test_a_line_that_cannot_be_read_is_answered_with_an_error(line: str, id_: int | None, code: int) -> None:
    send, reading = create_context_streams[SessionMessage | Exception](1)
    writing, answers = create_context_streams[SessionMessage](1)
    async with writing, answers, Answering(reading, writing) as messages:
        with pytest.raises(ValidationError) as refused:
            jsonrpc_message_adapter.validate_json(line, by_name=False)
        async with send:
            await send.send(refused.value)
        assert [one async for one in messages] == []
        answer = (await answers.receive()).message

    assert isinstance(answer, JSONRPCError)
    assert (answer.id, answer.error.code) == (id_, code)


async def test_a_server_answers_before_its_engine_is_there(tmp_path: Path) -> None:
    """Clients give up after a minute; an engine that cannot start is reported by the call that needs it."""
    out_of_reach = {"MNEMOLOG_POSTGRES_URL": "postgresql://x:x@127.0.0.1:1/x", "MNEMOLOG_ENGINE": "in-process"}
    arguments = ["--data-dir", str(tmp_path), "mcp", "--user", "ana"]
    command = str(Path(sys.executable).with_name("mnemolog"))
    async with Client(StdioServerParameters(command=command, args=arguments, env=out_of_reach)) as client:
        assert await names(client) == ["add_memory", "search_memory", "get_context"]
        assert "127.0.0.1:1" in await refused(client, "search_memory", query="tea")


@asynccontextmanager
async def over_http(url: str, key: str | None, query: str = "") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(f"{url}/mcp{query}", http_client=http)) as client,
    ):
        yield client


@pytest.mark.spec("X20")
async def test_over_http_a_key_says_whose_memory_it_is(guarded: Engine, user: str) -> None:
    other = f"other-{user}"
    own = (await guarded.api_keys.create(principal(f"own-{user}", users=[user])))[1]
    both = (await guarded.api_keys.create(principal(f"both-{user}", users=[user, other])))[1]
    reads = (await guarded.api_keys.create(principal(f"reads-{user}", users=[user], roles=[Role.READ])))[1]
    async with serve(guarded) as url:
        async with over_http(url, own) as client:
            await called(client, "add_memory", text="Ana drinks tea")
        async with over_http(url, both, f"?user_id={other}&tools=all") as client:
            assert len(await names(client)) > 3
            assert "Ana drinks tea" not in await called(client, "search_memory", query="tea")
        async with over_http(url, both) as client:
            assert "tea" in await called(client, "search_memory", query="tea", user_id=user)
            assert "there is no user" in await refused(client, "search_memory", query="tea", user_id="somebody")
        async with over_http(url, reads) as client:
            assert await names(client) == ["search_memory", "get_context"]
            assert "tea" in await called(client, "search_memory", query="tea")
        async with over_http(url, own, "?tools=all&destructive=true") as client:
            assert {"delete_memory", "delete_fact"} <= {*await names(client)}
        async with over_http(url, own, "?tools=all&destructive=false") as client:
            assert "delete_memory" not in await names(client)
        for wrong, field in (("?tool=all", "tool"), ("?destructive=maybe", "destructive")):
            async with over_http(url, own, wrong) as client:
                with pytest.raises(MCPError, match=field):
                    await client.list_tools()
        async with httpx2.AsyncClient() as stranger:
            assert (await stranger.post(f"{url}/mcp", json={})).status_code == 401
            evil = {"Origin": "http://evil.example", "Authorization": f"Bearer {own}"}
            assert (await stranger.post(f"{url}/mcp", json={}, headers=evil)).status_code == 403
            # A stream that the server has nothing to say on would be held open.
            opened = await stranger.get(f"{url}/mcp", headers={"Authorization": f"Bearer {own}"})
            assert (opened.status_code, opened.headers["allow"]) == (405, "POST")


async def test_many_clients_at_once_each_get_their_own_user(guarded: Engine, user: str) -> None:
    async def remembers(url: str, key: str, place: int) -> None:
        mine = f"{user}-{place}"
        async with over_http(url, key, f"?user_id={mine}") as client:
            await called(client, "add_memory", text=f"Number {place} drinks tea")
            found = await called(client, "search_memory", query="Who drinks tea?")
            assert [line.split()[2] for line in found.splitlines()] == [str(place)]

    key = (await guarded.api_keys.create(principal(f"all-{user}")))[1]
    async with serve(guarded) as url:
        await asyncio.gather(*map(partial(remembers, url, key), range(8)))
