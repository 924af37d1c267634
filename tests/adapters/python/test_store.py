"""LangGraph's store on memories: what its own in-memory store answers, and what only an event log can."""

import asyncio
from collections.abc import Iterator
from typing import Any, TypedDict
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from mnemolog import Memory
from mnemolog.domain.errors import InvalidInput
from mnemolog.langgraph import MnemologStore

pytestmark = pytest.mark.spec("X19")


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("store"), durable=False, embedder="lexical") as opened:
        yield opened


@pytest.fixture
def store(memory: Memory, user: str) -> MnemologStore:
    return MnemologStore(memory, user_id=user)


LABELS = st.sampled_from(["a", "b", "c"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["k", "ä b"])
VALUES = st.fixed_dictionaries(
    {"n": st.integers(0, 3)},
    optional={"text": st.sampled_from(["tea", "coffee and milk"]), "deep": st.just({"list": [1, None, True]})},
)
FILTERS = st.none() | st.fixed_dictionaries({"n": st.integers(0, 3) | st.just({"$gte": 1, "$lt": 3})})
PATTERNS = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=2).map(tuple)
CONDITIONS = st.tuples(st.sampled_from(["prefix", "suffix"]), PATTERNS).map(lambda given: MatchCondition(*given))
OPS = st.one_of(
    st.tuples(NAMESPACES, KEYS, VALUES | st.none()).map(lambda given: PutOp(*given)),
    st.tuples(NAMESPACES, KEYS).map(lambda given: GetOp(*given)),
    st.tuples(NAMESPACES, FILTERS).map(lambda given: SearchOp(*given, limit=100)),
    st.tuples(st.lists(CONDITIONS, max_size=2).map(tuple), st.none() | st.integers(1, 2)).map(
        lambda given: ListNamespacesOp(*given)
    ),
)


@given(batches=st.lists(st.lists(OPS, min_size=1, max_size=4), min_size=1, max_size=4))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_operations_answer_as_in_the_store_of_langgraph(memory: Memory, batches: list[list[Any]]) -> None:
    ours, theirs = MnemologStore(memory, user_id=str(uuid4())), InMemoryStore()
    for ops in batches:
        for op, found, expected in zip(ops, ours.batch(ops), theirs.batch(ops), strict=True):
            if isinstance(op, SearchOp):
                assert _items(found) == _items(expected), op
            elif isinstance(op, ListNamespacesOp):
                # A namespace whose items were all deleted is still listed there.
                assert set(found) <= set(expected), op
            else:
                assert _shown(found) == _shown(expected), op


def _shown(item: Any) -> Any:
    return item and (item.namespace, item.key, item.value)


def _items(found: Any) -> list[Any]:
    return sorted((one.namespace, one.key, str(one.value)) for one in found)


def test_a_search_ranks_by_the_words_of_the_indexed_fields(memory: Memory, user: str) -> None:
    store = MnemologStore(memory, user_id=user, index={"dims": 384, "embed": "unused", "fields": ["text", "notes[*]"]})
    store.put(("m",), "1", {"text": "Ana likes green tea", "other": "a lease in Lisbon"})
    store.put(("m",), "2", {"text": "Ana drives a van", "notes": ["the lease ends in May"]})
    store.put(("m",), "3", {"text": "a secret lease"}, index=False)

    found = store.search(("m",), query="lease")
    assert (found[0].key, found[0].score is not None) == ("2", True)
    assert {one.key: one.score for one in found}["3"] is None
    assert [one.key for one in store.search(("m",), query="green tea", limit=1)] == ["1"]
    assert [one.key for one in store.search(("m",), query="green tea", limit=1, offset=1)] != ["1"]


def test_each_user_has_items_of_their_own(memory: Memory, user: str) -> None:
    store = MnemologStore(memory, user_at=1)
    store.put(("memories", user), "tea", {"text": "likes tea"})
    store.put(("memories", f"{user}-2"), "tea", {"text": "hates tea"})

    assert [one.value["text"] for one in store.search(("memories", user), query="tea")] == ["likes tea"]
    assert [one.value["text"] for one in store.search(("memories", f"{user}-2"))] == ["hates tea"]
    for namespace in (("memories",), ()):
        with pytest.raises(InvalidInput, match="names no user"):
            store.search(namespace)
    with pytest.raises(InvalidInput, match="names no user"):
        store.list_namespaces()
    with pytest.raises(InvalidInput, match="user_id"):
        MnemologStore(memory)


def test_an_item_is_a_memory_with_its_history(memory: Memory, store: MnemologStore, user: str) -> None:
    store.put(("m",), "tea", {"text": "likes green tea"})
    store.put(("m",), "tea", {"text": "likes black tea"})
    [known] = memory.list(user_id=user)
    assert known.text == "likes black tea"

    memory.undo(known.memory_id, user_id=user)
    assert _value(store, "tea") == {"text": "likes green tea"}
    store.delete(("m",), "tea")
    assert _value(store, "tea") is None
    memory.restore(known.memory_id, user_id=user)
    assert _value(store, "tea") == {"text": "likes green tea"}

    memory.erase(known.memory_id, user_id=user)
    assert _value(store, "tea") is None
    store.put(("m",), "tea", {"text": "likes no tea"})
    assert _value(store, "tea") == {"text": "likes no tea"}


def test_what_is_put_again_is_what_was_put_last(memory: Memory, store: MnemologStore, user: str) -> None:
    for text in ("green", "black", "green", "green"):
        store.put(("m",), "tea", {"text": text})
    assert _value(store, "tea") == {"text": "green"}
    [known] = memory.list(user_id=user)
    assert [one.event for one in memory.history(known.memory_id, user_id=user)] == ["UPDATE", "UPDATE", "ADD"]

    store.delete(("m",), "tea")
    store.put(("m",), "tea", {"text": "white"})
    assert _value(store, "tea") == {"text": "white"}
    events = [one.event for one in memory.history(known.memory_id, user_id=user)]
    assert (events[:3], memory.list(user_id=user)[0].memory_id) == (["UPDATE", "RESTORE", "DELETE"], known.memory_id)


def test_items_with_similar_words_stay_apart(memory: Memory, store: MnemologStore, user: str) -> None:
    for key in "abc":
        store.put(("m",), key, {"text": "Ana likes green tea"})
    known = memory.list(user_id=user)
    assert len(known) == 3
    assert [one for item in known for one in memory.links(item.memory_id, user_id=user)] == []


def test_a_search_ranks_further_if_a_filter_leaves_too_few(store: MnemologStore) -> None:
    for number in range(12):
        store.put(("m",), str(number), {"text": "green tea", "n": number})
    found = store.search(("m",), query="green tea", filter={"n": {"$gte": 9}}, limit=3)
    assert sorted(one.key for one in found) == ["10", "11", "9"]
    assert all(one.score is not None for one in found)


def _value(store: MnemologStore, key: str) -> Any:
    found = store.get(("m",), key)
    return found and found.value


def test_items_expire_and_live_on_when_they_are_read(memory: Memory, user: str) -> None:
    store = MnemologStore(memory, user_id=user, ttl={"refresh_on_read": False, "default_ttl": 60.0})
    store.put(("m",), "over", {"text": "over"}, ttl=0.0)
    store.put(("m",), "kept", {"text": "kept"}, ttl=None)
    store.put(("m",), "hour", {"text": "an hour"})
    assert [_value(store, key) is None for key in ("over", "kept", "hour")] == [True, False, False]
    assert {one.key for one in store.search(("m",))} == {"kept", "hour"}

    def expires() -> str:
        [found] = [one for one in memory.list(user_id=user) if one.text == "an hour"]
        return str(found.metadata["store"]["expires_at"])  # type: ignore[index, call-overload]

    before = expires()
    assert store.get(("m",), "hour")
    assert expires() == before
    assert store.get(("m",), "hour", refresh_ttl=True)
    assert expires() > before


async def test_puts_of_one_item_at_once_leave_one_item(memory: Memory, user: str) -> None:
    store = MnemologStore(memory.mirrored, user_id=user)
    await asyncio.gather(*(store.aput(("m",), "k", {"n": n}) for n in range(8)))
    assert len(await store.asearch(("m",))) == 1
    await memory.mirrored.close()


@pytest.mark.parametrize(
    "filter_",
    [
        {"home": {"city": "Lisbon"}},
        {"home": {"rooms": {"$gte": 3}}},
        {"home": {"city": {"$ne": "Lisbon"}}},
        {"home": {}},
        {"tags": ["a", "b"]},
        {"tags": ("a", "b")},
        {"tags": ["b", "a"]},
        {"pet": None},
        {"pet": {"$eq": None}},
        {"pet": {"$ne": None}},
        {"pet": {"$ne": "Miso"}},
        {"none": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("query", [None, "word"])
def test_filters_hold_as_in_a_store_of_langgraph(
    store: MnemologStore, filter_: dict[str, Any], query: str | None
) -> None:
    peer = InMemoryStore()
    for key, value in {
        "1": {"home": {"city": "Lisbon", "rooms": 3}, "tags": ["a", "b"], "pet": "Miso"},
        "2": {"home": {"city": "Porto", "rooms": 1}, "tags": ["a"], "pet": None},
        "3": {"home": "nowhere", "tags": "ab"},
    }.items():
        store.put(("m",), key, value)
        peer.put(("m",), key, value)
    found, expected = (one.search(("m",), query=query, filter=filter_) for one in (store, peer))
    assert _items(found) == _items(expected)


def test_what_cannot_be_stored_is_refused(store: MnemologStore) -> None:
    with pytest.raises(InvalidInput, match="metadata"):
        store.put(("m",), "big", {"text": "word " * 8000})
    for minutes in (-1.0, 1e12):
        with pytest.raises(InvalidInput, match="ttl"):
            store.put(("m",), "k", {"n": 1}, ttl=minutes)
    store.put(("m",), "k", {"n": 1})
    with pytest.raises(InvalidInput, match="filter"):
        store.search(("m",), filter={"n": {"$near": 1}})
    with pytest.raises(InvalidNamespaceError):
        store.put((), "k", {"n": 1})


class State(TypedDict):
    answer: str


def test_a_graph_remembers_across_threads(store: MnemologStore) -> None:
    def node(state: State, runtime: Runtime[None]) -> State:
        assert runtime.store
        runtime.store.put(("m",), "name", {"text": "The user is called Ana"})
        return {"answer": runtime.store.search(("m",), query="name")[0].value["text"]}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    assert builder.compile(store=store).invoke({"answer": ""})["answer"] == "The user is called Ana"
