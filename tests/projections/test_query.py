"""memory.query: filters and allowlists in the store, hybrid search, budgets (B §6)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemolog.adapters.engine.engine import Engine
from mnemolog.domain.category import CategoryPolicy
from mnemolog.domain.errors import CategoryNotAllowed, InvalidInput
from mnemolog.domain.importance import to_five
from mnemolog.domain.text import count_tokens
from mnemolog.events.fields import validated
from mnemolog.projections.memories import reader
from mnemolog.projections.requests import ContextRequest, MemoryQuery
from tests.bullets import undated
from tests.engine.person import Person
from tests.testkit.examples import examples
from tests.testkit.ranges import holding_something

Row = Mapping[str, Any]

AGENTS = ("coach", "planner", "deanna")
ROLES = ("user", "assistant", None)
RUNS = ("run-1", "run-2", None)
ACTORS = ("user", "deanna")
CATEGORIES = ("note", "tasks", "projects", "goals", "procedural")
LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
USER = "filtered"


@pytest.fixture(scope="module")
async def rows(engine: Engine) -> Sequence[Row]:
    """Forty memories that differ in everything that a query can filter by, every seventh of them deleted."""
    written: list[tuple[Person, UUID]] = []
    for n in range(40):
        writer = Person(engine, USER, agent=AGENTS[n % 3])
        memory_id = await writer.creates(
            f"1. Write a note about tea number {n}",
            category=CATEGORIES[n % 5],
            importance=LEVELS[n // 2 % 5],
            pinned=n % 4 == 0,
            scope="agent" if n % 2 else "global",
            role=ROLES[n // 3 % 3],
            run_id=RUNS[n // 4 % 3],
            actor=ACTORS[n // 5 % 2],
        )
        if n % 7 == 0:
            await writer.deletes(memory_id)
        written.append((writer, memory_id))
    await engine.settled()
    async with engine.projections.live.connect() as connection:
        # Past the allowlists, which the engine's own reads obey.
        return [await reader.one(connection, writer.viewer, id_) for writer, id_ in written]


def naive(rows: Sequence[Row], agent: str, categories: Sequence[str], filters: Mapping[str, Any]) -> set[UUID]:
    """What a query should find, judged row by row."""
    allowed = CategoryPolicy().allowed(agent, [*categories, *([filters["category"]] if "category" in filters else [])])
    assert allowed is not None
    tests: dict[str, Callable[[Row, Any], bool]] = {
        "importance_min": lambda row, level: to_five(row["importance"]) >= level,
        "importance_max": lambda row, level: to_five(row["importance"]) <= level,
        "updated_after": lambda row, at: row["updated_at"] > at,
        "updated_before": lambda row, at: row["updated_at"] < at,
    }
    return {
        row["memory_id"]
        for row in rows
        if row["status"] == "active"
        and (row["scope"] == "global" or row["agent_id"] == agent)
        and row["category"] in allowed
        and (not categories or row["category"] in categories)
        and all(tests[name](row, value) if name in tests else row[name] == value for name, value in filters.items())
    }


def filters(rows: Sequence[Row]) -> st.SearchStrategy[dict[str, Any]]:
    times = st.sampled_from([row["updated_at"] + timedelta(microseconds=n) for row in rows for n in (-1, 0, 1)])
    wanted = st.fixed_dictionaries(
        {},
        optional={
            "agent_id": st.sampled_from(AGENTS),
            "run_id": st.sampled_from(["run-1", "run-2", "run-3"]),
            "actor_id": st.sampled_from(ACTORS),
            "role": st.sampled_from(["user", "assistant"]),
            "category": st.sampled_from(["tasks", "projects", "goals"]),
            "pinned": st.booleans(),
            "importance_min": st.sampled_from([1, 2, 3.0, 4, 5]),
            "importance_max": st.sampled_from([1, 2, 3.0, 4, 5]),
            "updated_after": times,
            "updated_before": times,
        },
    )
    ranges = {"importance_min": "importance_max", "updated_after": "updated_before"}
    return wanted.map(lambda one: holding_something(one, ranges, alike=("importance_min",)))


@pytest.mark.spec("B06", "A01", "B07", "B12")
@settings(max_examples=examples(150), deadline=None)
@given(st.data(), st.sampled_from(AGENTS), st.sampled_from([(), ("tasks",), ("goals", "projects")]))
async def test_filters_in_any_combination_find_what_a_look_at_every_row_finds(
    engine: Engine, rows: Sequence[Row], data: st.DataObject, agent: str, categories: tuple[str, ...]
) -> None:
    wanted = data.draw(filters(rows))

    answer = await Person(engine, USER, agent=agent).asks("tea", categories=categories, filters=wanted)

    assert {UUID(hit.id) for hit in answer.hits} == naive(rows, agent, categories, wanted)


@pytest.mark.spec("B06")
async def test_a_filter_is_applied_before_the_nearest_are_cut_off(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await asyncio.gather(*(ana.creates("tea tea tea") for _ in range(60)))
    await ana.creates("Ana has a cat", pinned=True)

    assert await ana.finds("tea", filters={"pinned": True}) == ["Ana has a cat"]


@pytest.mark.spec("B06")
@pytest.mark.parametrize("top_k", [1, 3, 100])
async def test_top_k_limits_the_answer_and_keeps_the_best(engine: Engine, user: str, top_k: int) -> None:
    ana = Person(engine, user)
    for text in ("a cat", "green tea in a cup", "green tea", "tea", "a dog"):
        await ana.creates(text)

    found = await ana.finds("green tea", top_k=top_k)

    assert found == (await ana.finds("green tea"))[:top_k]
    assert found[0] == "green tea"
    assert len(found) == min(top_k, 5)


@pytest.mark.spec("B06")
async def test_a_threshold_drops_what_is_not_similar(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("green tea")
    await ana.creates("a dog that likes tea and other things beside")

    answer = await ana.asks("green tea", threshold=0.65)

    assert [hit.text for hit in answer.hits] == ["green tea"]
    assert all(hit.similarity is not None and hit.similarity >= 0.65 for hit in answer.hits)
    assert await ana.finds("green tea", threshold=1.0) in (["green tea"], [])


@pytest.mark.spec("B06")
@pytest.mark.parametrize("budget", [1, 18, 50, 10_000])
async def test_the_bullets_stay_within_the_budget(engine: Engine, user: str, budget: int) -> None:
    ana = Person(engine, user)
    for number in range(8):
        await ana.creates(f"Ana drinks tea number {number}")

    answer = await ana.asks("tea", budget_tokens=budget)

    spent = [count_tokens(hit.bullet) for hit in answer.hits]
    longest = max(count_tokens(hit.bullet) for hit in (await ana.asks("tea")).hits)
    assert sum(spent) <= budget
    assert len(spent) == 8 or sum(spent) + longest >= budget


@pytest.mark.spec("B06")
async def test_a_hit_is_a_bullet_of_the_specification_or_the_complete_memory(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    memory_id = await ana.creates("Deploy on Friday", category="tasks", importance=0.75)

    [hit] = (await ana.asks("deploy", returns="full")).hits

    assert undated(hit.bullet) == "[tasks] Deploy on Friday"
    assert hit.row.items() >= {"memory_id": memory_id, "importance": 0.75, "pinned": False, "status": "active"}.items()
    assert not {"document", "search", "tenant"} & hit.row.keys()


@pytest.mark.spec("B07", "X03")
async def test_hidden_memories_are_never_returned(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    tea, green, deleted = [await ana.creates(text) for text in ("tea", "green tea", "white tea")]
    await ana.merges(tea, green)
    await ana.deletes(deleted)

    assert await ana.finds("green white tea") == ["tea"]


@pytest.mark.spec("B12")
async def test_procedures_are_returned_only_on_request(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("1. Boil water.\n2. Add tea.", category="procedural", kind="procedure")

    assert await ana.finds("tea") == []
    assert await ana.finds("tea", categories=["procedural"]) == ["1. Boil water.\n2. Add tea."]
    assert await ana.finds("tea", filters={"category": "procedural"}) == ["1. Boil water.\n2. Add tea."]


@pytest.mark.spec("B05", "B06")
async def test_an_agent_reads_the_categories_of_its_allowlist_without_asking(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("Ship the tea", category="tasks")
    await ana.creates("Ana likes tea", category="preferences")

    assert await Person(engine, user, agent="planner").finds("tea") == ["Ship the tea"]
    assert await Person(engine, user, agent="stylist").finds("tea") == ["Ana likes tea"]


@pytest.mark.spec("B05")
@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"categories": ["tasks", "profile"]}, "categories[1]"),
        ({"filters": {"category": "profile"}}, "filters.category"),
        ({"categories": ["tasks"], "filters": {"category": "profile"}}, "filters.category"),
    ],
)
async def test_a_category_outside_the_allowlist_is_refused_wherever_it_is_named(
    engine: Engine, user: str, asked: dict[str, Any], field: str
) -> None:
    with pytest.raises(CategoryNotAllowed) as refused:
        await Person(engine, user, agent="planner").asks("tea", **asked)

    assert refused.value.field == field


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"query": "   "}, "query"),
        ({"query": "tea\0"}, "query"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": "5"}, "top_k"),
        ({"budget_tokens": 0}, "budget_tokens"),
        ({"threshold": 1.5}, "threshold"),
        ({"since_rev": -1}, "since_rev"),
        ({"return": "prose"}, "return"),
        ({"filters": {}, "user_id": ""}, "user_id"),
        ({"filters": {"user_id": "ana", "pinned": "yes"}}, "filters.pinned"),
        ({"filters": {"user_id": "ana", "owner": "me"}}, "filters.owner"),
        ({"filters": {"user_id": "ana", "role": "king"}}, "filters.role"),
        ({"filters": {"user_id": "ana", "updated_after": "2026-01-01T00:00:00"}}, "filters.updated_after"),
        ({"filters": {"since": "2026-03-02", "until": "2026-03-01"}}, "filters.until"),
        ({"filters": {"since": "2026-03-01", "until": "2026-03-01"}}, "filters.until"),
        ({"filters": {"updated_after": "2026-03-01", "updated_before": "2026-03-01"}}, "filters.updated_before"),
        ({"filters": {"importance_min": 3.5, "importance_max": 3}}, "filters.importance_max"),
    ],
)
def test_a_request_that_is_wrong_names_its_field(asked: dict[str, Any], field: str) -> None:
    request = {"query": "tea", "user_id": "ana", **asked}

    with pytest.raises(InvalidInput) as refused:
        validated(MemoryQuery, request)

    assert refused.value.field == field
    assert refused.value.fix


def test_a_range_of_one_level_and_of_one_moment_holds_something() -> None:
    filters = {"importance_min": 3, "importance_max": 3, "since": "2026-03-01", "until": "2026-03-01T00:00:00.000001Z"}

    assert validated(ContextRequest, {"query": "tea", "filters": filters}).filters.importance_max == 3


async def test_a_category_that_does_not_exist_is_wrong_input_for_whoever_asks(engine: Engine, user: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await Person(engine, user, agent="planner").asks("tea", filters={"category": "no such"})

    assert (refused.value.code, refused.value.field) == ("invalid_input", "filters.category")


@pytest.mark.parametrize("level", [0, 5.5, float("nan")])
async def test_an_importance_off_the_scale_is_refused(engine: Engine, user: str, level: float) -> None:
    with pytest.raises(InvalidInput) as refused:
        await Person(engine, user).asks("tea", filters={"importance_min": level})

    assert refused.value.field == "filters.importance_min"


def test_a_plain_date_is_that_days_start_in_utc() -> None:
    request = validated(MemoryQuery, {"query": "tea", "filters": {"user_id": "ana", "updated_after": "2025-07-01"}})

    assert request.filters.updated_after == datetime(2025, 7, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Ана пьёт зелёный чай", "зеленый"),
        ("アナは緑茶が好きです", "緑茶"),
        ("アナは緑茶が好きです", "好"),
        ("आना हरी चाय पीती है", "चाय"),
        ("أنا أشرب الشاي الأخضر", "الشاي"),
        ("อานาชอบชาเขียว", "ชาเขียว"),
        ("아나는 녹차를 좋아한다", "녹차"),
        ("Η Άνα πίνει πράσινο τσάι", "πρασινο"),
        ("Ana trägt Größe 38", "grosse"),
    ],
)
async def test_a_word_of_any_script_is_found_by_full_text(engine: Engine, user: str, text: str, query: str) -> None:
    ana = Person(engine, user)
    await ana.creates(text)
    await ana.creates("something else in English")

    hits = (await ana.asks(query)).hits

    assert [hit.text for hit in hits if hit.text_rank is not None] == [text]
    assert hits[0].text == text


async def test_last_saturday_counts_from_when_the_question_is_asked(engine: Engine) -> None:
    ana = Person(engine, "ana-dated")
    for day, band in (("2023-04-15", "the Owls"), ("2023-04-08", "the Larks"), ("2023-03-25", "the Wrens")):
        await ana.says(f"I went to a concert of {band} with friends", occurred_at=f"{day}T18:00:00Z", thread_id=day)

    async def first(question: str, asked_at: str) -> str:
        request = {"user_id": ana.user, "query": question, "asked_at": asked_at}
        return (await engine.reads.query(validated(MemoryQuery, request), await ana.caught_up())).hits[0].text

    assert "Owls" in await first("Which concert was last Saturday?", "2023-04-22")
    assert "Larks" in await first("Which concert was last Saturday?", "2023-04-15")
    assert "Wrens" in await first("Which concert was last month?", "2023-04-15")


async def test_when_finds_the_message_that_tells_a_time(engine: Engine) -> None:
    ana = Person(engine, "ana-when")
    await ana.says("The fair with my dance studio was a great fair", thread_id="one")
    await ana.says("Yesterday I was at the fair with my dance studio", thread_id="two")
    now = await ana.caught_up()

    def asked(question: str) -> MemoryQuery:
        return MemoryQuery(user_id=ana.user, query=question)

    assert (
        "Yesterday" in (await engine.reads.query(asked("When was the fair with the dance studio?"), now)).hits[0].text
    )
    assert "great" in (await engine.reads.query(asked("How was the fair with the dance studio?"), now)).hits[0].text
