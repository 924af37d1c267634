"""Isolation: no read gives anything of another tenant, user or agent, whatever ids a request names (invariant 5)."""

import inspect
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.app import ROUTES
from mnemolog.adapters.http.routes import IN_QUERY
from mnemolog.adapters.operations.registry import OPERATIONS
from mnemolog.adapters.reads.reads import Reads
from mnemolog.domain.errors import NotFound, NotPermitted
from mnemolog.domain.principal import ALL, Role
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import StreamId
from mnemolog.projections.operations.counted import Wanted
from mnemolog.projections.requests import UNFILTERED, MemoryQuery
from tests.adapters.principals.keys import calling, principal
from tests.engine.universe import AGENTS, SCOPES, TENANTS, USERS, Place, Universe, fields
from tests.testkit.examples import examples

EVERY_ROLE = [Role.READ, Role.WRITE, Role.ERASE, Role.CONSENT]
# What `{id}` may name where it may name several kinds.
OF_HISTORY = ("memory_id", "entity_id", "relation_id")
NAMED: Mapping[str, Sequence[str]] = {"history": OF_HISTORY, "why": (*OF_HISTORY, "todo_id", "entry_id", "field")}


@dataclass(frozen=True)
class Asked:
    """An operation, or a route that is none, as it is asked over HTTP."""

    name: str
    method: str
    path: str
    reads: bool

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def every_way() -> Iterator[Asked]:
    roles = {one.name: one.role for one in OPERATIONS}
    for route in ROUTES:
        method = min(route.methods or ())
        reads = roles[route.name] is Role.READ if route.name in roles else method == "GET"
        for kind in NAMED.get(route.name, ("id",)):
            yield Asked(route.name, method, route.path.replace("{id}", f"{{{kind}}}"), reads)


READING = [one for one in every_way() if one.reads]
CHANGING = [one for one in every_way() if not one.reads]
# Some of the reads by each key: more keys are tried that way.
AT_ONCE = 12
# What needs no user, and what only an admin may have, who may have all.
OF_NO_USER, OF_ADMINS = {"get_health", "get_ready", "get_metrics"}, {"export_user"}
# Streams take their user, and nobody else, in the query.
OF_USER = {"export_user", "import_user"}
# What tells ids, times and counts.
WITHOUT_WORDS = {"stats", "list_threads", "get_thread", "list_sessions", "get_session", "list_episodes", "get_episode"}
WITHOUT_WORDS |= {"validate_envelope", "served", "get_artifact_texts", "list_artifact_texts", "download_artifact_"}
WITHOUT_WORDS |= {"list_documents", "watch_", "list_deliveries"}
# Operations on the library of an agent, whichever user they are for.
OF_LIBRARY = {one.name for one in OPERATIONS if one.tag == "knowledge"} | {"add_document_"}

Target = tuple[str, str, str, str]
ids = st.tuples(*map(st.sampled_from, (TENANTS, USERS, AGENTS, SCOPES)))


def some(values: Sequence[str]) -> st.SearchStrategy[Collection[str]]:
    return st.sampled_from([(ALL,), *((one,) for one in values)])


@pytest.fixture(scope="module")
async def universe(guarded: Engine) -> Universe:
    return await Universe(guarded).begin()


async def answered(
    client: httpx.AsyncClient, universe: Universe, one: Asked, target: Target, user: str, agent: str
) -> httpx.Response:
    """The answer to a request that names the target's ids, as this user and this agent."""
    ids = universe.ids[target]
    path = re.sub(r"\{(\w+)\}", lambda found: ids[found[1]], one.path)
    if one.name in OF_NO_USER:
        return await client.request(one.method, path)
    if one.name in OF_USER:
        return await client.request(one.method, path, params={"user_id": user})
    if one.name == "add_artifact_":
        link = {"user_id": user, "agent_id": agent, "url": "https://example.org"}
        return await client.request(one.method, path, params=link)
    if one.name == "add_document_":
        named = {"agent_id": agent, "source": "tea.txt"}
        return await client.request(one.method, path, params=named, content=b"tea")
    whose = {"agent_id": agent} if one.name in OF_LIBRARY else {"user_id": user, "agent_id": agent}
    asked = {**whose, **fields(ids).get(one.name, {})}
    if one.method in IN_QUERY:
        return await client.request(one.method, path, params=asked)
    return await client.request(one.method, path, json=asked)


@pytest.mark.spec("A01", "C01")
@pytest.mark.spec_part("A11")
@settings(max_examples=examples(50), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.sampled_from(READING), min_size=AT_ONCE, max_size=AT_ONCE, unique=True),
    *(ids, st.sampled_from(TENANTS), some(USERS), some(AGENTS), st.sampled_from(USERS), st.sampled_from(AGENTS)),
)
async def test_a_key_reads_only_its_own_scope_whatever_the_request(
    guarded: Engine,
    universe: Universe,
    asked: Sequence[Asked],
    target: Target,
    tenant: str,
    users: Collection[str],
    agents: Collection[str],
    user: str,
    agent: str,
) -> None:
    who = principal(tenant=tenant, users=users, agents=agents, roles=EVERY_ROLE)
    of_agent = ALL in agents or agent in agents
    of_user = of_agent and (ALL in users or user in users)
    async with calling(guarded, who) as client:
        for one in asked:
            answer = await answered(client, universe, one, target, user, agent)
            reached = of_agent if one.name in OF_LIBRARY else of_user
            readable = universe.readable(tenant, user, agent) if reached else set()
            assert answer.status_code < 500, (one, answer.text)
            assert universe.told(answer.text) <= readable, (one, answer.text)
            hidden = not reached or ("id}" in one.path and not _owner(one, target).seen_by(tenant, user, agent))
            if hidden and one.name not in OF_NO_USER:
                assert answer.status_code in (403, 404), (one, answer.text)


def _owner(one: Asked, target: Target) -> Place:
    tenant, user, agent, scope = target
    if one.name in OF_LIBRARY:
        return Place(tenant, None, agent)
    return Place(tenant, user, agent if scope == "agent" else None)


@pytest.mark.parametrize("one", READING, ids=str)
async def test_who_owns_something_reads_it_by_every_route(guarded: Engine, universe: Universe, one: Asked) -> None:
    """So that the property above is not kept by requests that are wrong."""
    target = ("acme", "a", "x", "agent")
    async with calling(guarded, principal(tenant="acme", roles=[Role.ADMIN])) as client:
        answer = await answered(client, universe, one, target, "a", "x")
        assert answer.status_code == 200, answer.text
        if one.name not in OF_NO_USER | WITHOUT_WORDS:
            told = universe.told(answer.text)
            assert told or '"event":"ADD"' in answer.text or answer.json()["events"], answer.text
            assert one.name in OF_ADMINS or told <= universe.readable("acme", "a", "x")


@pytest.mark.parametrize("one", CHANGING, ids=str)
async def test_who_is_not_reached_is_not_changed_by_any_route(guarded: Engine, universe: Universe, one: Asked) -> None:
    target, stream = ("acme", "a", "x", "global"), StreamId.of_user("a", "acme")
    before = await guarded.log.head(stream)
    for users, agents in ((["a:b"], [ALL]), ([ALL], ["b:x"])):
        who = principal(tenant="acme", users=users, agents=agents, roles=EVERY_ROLE)
        async with calling(guarded, who) as client:
            answer = await answered(client, universe, one, target, "a", "x")
            assert answer.status_code in (403, 404), answer.text
            assert not universe.told(answer.text)
    assert await guarded.log.head(stream) == before


def reads_by_viewer() -> list[str]:
    """The reads of an engine, whatever interface comes to ask them."""
    public = [name for name, _ in inspect.getmembers(Reads, inspect.iscoroutinefunction) if not name.startswith("_")]
    return [name for name in public if "viewer" in inspect.signature(getattr(Reads, name)).parameters]


@pytest.mark.parametrize("name", [*reads_by_viewer(), "query"])
async def test_every_read_refuses_a_viewer_that_its_principal_does_not_reach(guarded: Engine, name: str) -> None:
    """A read that nobody has thought of here is refused too: all go through one gate, before they touch anything."""
    strangers = [
        principal(tenant="acme.b"),
        principal(tenant="acme", users=["a:b"]),
        principal(tenant="acme", agents=["b:x"]),
        principal(tenant="acme", roles=[Role.WRITE]),
    ]
    for who in strangers:
        read = getattr(guarded.reads.by(who), name)
        with pytest.raises((NotFound, NotPermitted)) as refused:
            await read(*_arguments(name))
        assert refused.value.field in ("user_id", "agent_id", "Authorization")


def _arguments(name: str) -> list[object]:
    if name == "query":
        return [
            MemoryQuery.model_validate({"tenant": "acme", "agent": "x", "query": "tea", "filters": {"user_id": "a"}})
        ]
    parameters = list(inspect.signature(getattr(Reads, name)).parameters.values())[1:]
    given = {
        "viewer": Viewer("acme", "a", "x"),
        "wanted": Wanted(),
        "filters": UNFILTERED,
        "thread_id": "main",
        "memory_ids": (),
    }
    return [given.get(one.name) for one in parameters if one.default is inspect.Parameter.empty]
