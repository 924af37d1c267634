"""What an agent is told before it answers: foundation, `all` and `rag` (B §5, D §pinned)."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.operations.artifacts import AddArtifact, add_artifact
from mnemolog.domain.errors import CategoryNotAllowed
from mnemolog.domain.message import CATEGORY
from mnemolog.domain.ranking import UNRELATED
from mnemolog.domain.text import count_tokens
from mnemolog.projections.context import AgentContext
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import ContextRequest
from tests.bullets import bullets_of, undated
from tests.engine.person import Person
from tests.engine.policies import under
from tests.engine.teller import Teller
from tests.engine.test_being_context import shown
from tests.testkit.eventually import eventually


async def context(person: Person, query: str = "tea", moment: Moment | None = None, **fields: object) -> AgentContext:
    request = ContextRequest.model_validate({"query": query, **fields})
    return await person.engine.reads.context(person.viewer, request, moment or await person.caught_up())


def told(found: AgentContext) -> dict[str, list[str]]:
    return {one.category: [row["text"] for row in one.rows] for one in found.sections}


@pytest.mark.spec("B05")
async def test_a_category_in_mode_all_is_complete_pinned_then_important_then_newest_first(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    await ana.creates("older", category="profile", importance=0.25)
    await ana.creates("newer", category="profile", importance=0.25)
    await ana.creates("important", category="profile", importance=0.75)
    await ana.creates("pinned", category="profile", pinned=True)
    gone = await ana.creates("deleted", category="profile")
    await ana.deletes(gone)

    found = await context(ana, "nothing of this kind")

    assert told(found) == {"profile": ["pinned", "important", "newer", "older"]}


@pytest.mark.spec("B05")
async def test_a_category_in_mode_rag_has_matching_memories_up_to_its_length(engine: Engine, user: str) -> None:
    async with under(engine, "categories: {custom: [{name: teas, rag_length: 2}]}") as own:
        ana = Person(own, user)
        for text in ("green tea in the morning", "a walk at noon", "green tea at night", "a book at night"):
            await ana.creates(text, category="teas")

        found = await context(ana, "green tea")

    assert sorted(told(found)["teas"]) == ["green tea at night", "green tea in the morning"]
    assert [one.mode.rag_length for one in found.sections] == [2]


@pytest.mark.spec("D03", "B05")
async def test_at_most_twenty_pinned_memories_come_first_and_each_memory_once(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    for number in range(21):
        await ana.creates(f"pinned {number}", category="profile", pinned=True)
    await ana.creates("not pinned", category="profile", importance=0.0)

    found = await context(ana)

    assert [row["text"] for row in found.foundation] == [f"pinned {number}" for number in range(20, 0, -1)]
    assert len(told(found)["profile"]) == 22
    told_first = [undated(one) for one in bullets_of(found)[:20]]
    assert told_first == [f"[profile] pinned {number}" for number in range(20, 0, -1)]
    assert len(bullets_of(found)) == len(set(bullets_of(found))) == 22


@pytest.mark.spec("X21")
async def test_a_trusted_context_leaves_out_what_came_from_outside_also_if_the_user_pinned_it(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    page = await ana.creates("the museum is closed on Mondays", origin="document")
    await ana.updates(page, pinned=True, actor="user")
    await ana.creates("green tea in the morning", pinned=True)

    assert len((await context(ana)).foundation) == 2
    trusted = await context(ana, trusted_only=True)
    assert [row["text"] for row in trusted.foundation] == ["green tea in the morning"]
    assert "museum" not in trusted.text


@pytest.mark.spec("X21")
async def test_a_todo_from_a_tool_is_marked_and_can_be_left_out(engine: Engine, user: str) -> None:
    coach = Person(engine, user, agent="coach")
    await coach.says("I must pay the rent", turn_id="mine", role="user")
    await coach.says("Reminder: pay the invoice of Acme", turn_id="page", role="tool")
    who = {"user_id": user, "agent_id": "coach", "actor": "agent:coach"}
    for text, turn_ids in (("pay the invoice of Acme", ["mine", "page"]), ("pay the rent", ["mine"])):
        await engine.writes.open_todo({**who, "text": text, "source_turn_ids": turn_ids})

    listed = await engine.reads.todos(coach.viewer, moment=await coach.caught_up())
    assert {row["text"]: row["origin"] for row in listed} == {"pay the invoice of Acme": "tool", "pay the rent": "user"}
    asked: dict[str, Any] = {"top_k": 9, "kinds": ["todo"]}
    hits = (await coach.asks("What do I have to do?", **asked)).hits
    assert [undated(hit.bullet) for hit in hits] == ["[todo] pay the rent", '[todo] "pay the invoice of Acme"']
    trusted = (await coach.asks("What do I have to do?", **asked, filters={"trusted_only": True})).hits
    assert [hit.text for hit in trusted] == ["pay the rent"]
    assert "Quoted from outside" in (found := (await context(coach, recent=1)).text)
    assert '- "pay the invoice of Acme"' in found
    assert "invoice" not in (await context(coach, recent=1, trusted_only=True)).text
    assert '(from outside, from tool output) "pay the invoice of Acme"' in (await shown(coach)).user
    blocks = (await shown(coach, trusted_only=True)).user
    assert "pay the rent" in blocks
    assert "invoice" not in blocks


@pytest.mark.spec("B05")
async def test_an_agent_sees_nothing_outside_its_allowlist_pinned_or_not(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("Ana has diabetes", category="profile", pinned=True)
    await ana.creates("ship the tea shop", category="tasks")
    planner = Person(engine, user, agent="planner")

    assert list(map(undated, bullets_of(await context(planner)))) == ["[tasks] ship the tea shop"]
    with pytest.raises(CategoryNotAllowed):
        await context(planner, categories=("profile",))


@pytest.mark.spec("B12")
async def test_procedures_are_listed_by_name_only(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("1. Boil water\n2. Pour", category="procedural", kind="procedure")

    assert bullets_of(await context(ana)) == []
    assert len(bullets_of(await context(ana, categories=("procedural",)))) == 1


async def test_a_budget_limits_the_bullets(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("one two three", category="profile", pinned=True)
    await ana.creates("four five six seven eight nine ten", category="profile")

    assert list(map(undated, bullets_of(await context(ana, budget_tokens=16)))) == ["[profile] one two three"]


async def test_what_is_pinned_is_in_the_text_before_what_was_said_whatever_its_group(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("green tea only", category="preferences", pinned=True)
    for place in range(12):
        await ana.says(
            f"We had tea number {place} in the garden and talked", occurred_at=datetime(2026, 1, 1, tzinfo=UTC)
        )
    whole = await context(ana)

    for budget in range(count_tokens(whole.text), 60, -20):
        text = (await context(ana, budget_tokens=budget)).text
        assert count_tokens(text) <= budget
        assert "- green tea only (" in text


async def test_a_small_budget_keeps_the_best_of_all_categories_and_says_when_it_does_not_fit(
    engine: Engine, user: str
) -> None:
    ana, query = Person(engine, user), "When is the rent of the flat in Lisbon due?"
    best = "the rent of the flat in Lisbon is due on the third working day of each month, by bank transfer"
    await ana.creates(best, category="tasks")
    await ana.creates("the rent is high", category="note")
    await ana.says("Lisbon has a river")
    size = count_tokens(f"[tasks] {best} (2026-01-01)")

    for budget in (size + 1, size + 8):
        assert (await context(ana, query, budget_tokens=budget)).rows[0]["text"] == best
        assert (await ana.asks(query, budget_tokens=budget)).hits[0].text == best
    small = await context(ana, query, budget_tokens=size - 1)
    assert small.rows == []
    assert (await ana.asks(query, budget_tokens=size - 1)).hits == []
    for found in (small, await ana.asks(query, budget_tokens=size - 1)):
        assert f"more than {size - 1} tokens" in found.nothing


async def test_a_budget_that_critical_facts_use_up_is_not_blamed_on_what_was_found(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "allergy", "peanuts")
    await ana.creates("tea at noon", category="note")
    [fact] = (await context(ana, "zebra")).critical

    found = await context(ana, "tea", budget_tokens=count_tokens(fact.bullet) + 4)

    assert [hit.id for hit in found.critical] == [fact.id]
    assert found.rows == []
    assert "takes more than the 4 of " in found.nothing


async def test_a_text_of_several_lines_is_one_bullet_dated_in_its_first_line(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("Teas to buy:\n\n- sencha\n- assam")

    found = await context(ana)

    assert re.search(r"^- Teas to buy \(\d{4}-\d\d-\d\d\):\n  - sencha\n  - assam$", found.text, re.MULTILINE)


@pytest.mark.spec("X02")
async def test_a_context_is_not_filled_with_what_the_question_does_not_ask_for(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I keep bees on the roof")
    for number in range(40):
        await ana.says(f"Bus {number} was late")

    found = await context(ana, query="What do I keep on the roof?")

    assert found.rows[0]["text"] == "I keep bees on the roof"
    assert len(found.rows) == 20


async def test_a_context_ends_with_the_day_on_which_it_is_asked(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I moved to Leipzig")

    days = [f"Today is {datetime.now(UTC):%A, %Y-%m-%d}."]
    found = await context(ana, query="where do I live?")
    days.append(f"Today is {datetime.now(UTC):%A, %Y-%m-%d}.")

    *before, last = found.text.splitlines()
    assert last in days
    assert not any("Today is" in line for line in before), "what a prompt cache keeps does not change with the day"


async def test_the_context_can_be_read_as_of_an_earlier_moment(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("Ana drinks tea", category="profile")
    await ana.updates(tea, text="Ana drinks coffee")

    assert list(map(undated, bullets_of(await context(ana, moment=Moment(as_of=1))))) == ["[profile] Ana drinks tea"]


@pytest.mark.spec("E07")
async def test_a_context_has_the_conversation_what_is_remembered_and_what_was_attached(
    engine: Engine, user: str
) -> None:
    ana = Teller(engine, user)
    at = datetime(2026, 3, 2, 18, tzinfo=UTC)
    said = (
        "I live in Berlin.",
        "The rent there is 900 euros.",
        "I moved to Leipzig.",
        "Where should I plant tomatoes?",
    )
    for day, text in enumerate(said):
        await ana.says(text, speaker="", occurred_at=at + timedelta(days=day))
    await ana.creates("The rent in Berlin is 900 euros")
    await ana.tells("me", "lives_in", "Berlin", since=at)
    await ana.tells("me", "lives_in", "Leipzig", since=at + timedelta(days=2))
    await ana.tells("me", "allergy", "peanuts")
    todo = {"user_id": user, "agent_id": ana.agent, "tenant": ana.tenant, "text": "renew the passport"}
    await engine.writes.open_todo(todo)
    plan = {"user_id": user, "agent_id": ana.agent, "name": "plan.txt"}
    await add_artifact(engine, AddArtifact.model_validate(plan), b"Tomatoes need the sunny side of the balcony.")

    async def found(**fields: object) -> AgentContext:
        request = {
            "query": "Which side does the file on tomatoes name?",
            "thread_id": ana.thread,
            "recent": 3,
            **fields,
        }
        return await engine.reads.context(ana.viewer, ContextRequest.model_validate(request), await ana.caught_up())

    async def attached() -> bool:
        return "sunny side of the balcony" in (await found()).text

    await eventually(attached)
    whole = await found()
    assert [hit.row["text"] for hit in whole.recent] == list(said[1:])
    assert "Always consider:\n- " in whole.text
    assert (
        "The last messages:\n- user: The rent there is 900 euros. (2026-03-03)\n- user: I moved to Leipzig."
        in whole.text
    )
    assert "- renew the passport" in whole.text
    assert whole.text.count("I moved to Leipzig.") == 1, "what is shown as conversation is not shown again"
    small = await found(budget_tokens=160)
    assert count_tokens(small.text) <= 160
    assert [hit.row["text"] for hit in small.recent] in ([said[-1]], list(said[-2:])), "the latest have room"
    assert "peanuts" in small.text
    assert (await found(recent=0)).recent == []


@pytest.mark.spec("B02")
async def test_a_context_has_two_memories_linked_to_those_that_answer(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("oolong tea", category="note")
    texts = ("a red boat", "three ships", "a blue lamp", "one lost key")
    ids = [await ana.creates(text, category="tasks" if "key" in text else "note") for text in texts]
    for strength, id_ in zip((0.5, 0.9, 0.7, 1.0), ids, strict=True):
        await ana.links(tea, id_, strength=strength)

    async def oolong(**fields: object) -> AgentContext:
        return await context(ana, "oolong", None, **{"cutoff": "relative", **fields})

    found = await oolong()

    assert [row["text"] for row in found.related] == ["one lost key", "three ships"]
    assert list(map(undated, bullets_of(found))) == [
        "[note] oolong tea",
        "[tasks] one lost key",
        "[note] three ships",
    ]
    assert "three ships" in found.text
    only = await oolong(categories=("note",))
    assert [row["text"] for row in only.related] == ["three ships", "a blue lamp"]
    small = await oolong(budget_tokens=count_tokens(bullets_of(found)[0]))
    assert (list(small.related), len(bullets_of(small))) == ([], 1)
    assert (await oolong(profile="twin")).related == []
    await ana.deletes(ids[3])
    assert [row["text"] for row in (await oolong()).related] == ["three ships", "a blue lamp"]


async def test_in_a_budget_a_long_text_is_shown_by_the_sentences_that_answer(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    around = " ".join(f"On day {day} of the trip it rained, and we read in the hall." for day in range(1, 30))
    answer = "The guide was called Henrike."
    long = f"{around} {answer} {around}"
    await ana.says(long)
    await ana.creates(f"Of the trip to the island I also remember the boat. {around}", category="profile")
    question = "What was the guide of the trip called?"

    for budget in (130, 200, 400):
        found = await context(ana, question, budget_tokens=budget)
        assert answer in found.text
        assert count_tokens(found.text) <= budget
        hits = (await ana.asks(question, budget_tokens=budget)).hits
        assert answer in hits[0].bullet
        assert sum(count_tokens(hit.bullet) for hit in hits) <= budget
        assert hits[0].text.endswith(long)
        assert hits[0].row["text"] == long

    whole = (await ana.asks(question, budget_tokens=5000)).hits
    assert [hit.bullet.count("…") for hit in whole] == [0, 0]
    assert long in (await context(ana, question)).text


async def test_small_talk_brings_few_messages(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    for number in range(30):
        await ana.says(f"I bought tea of sort {number}.", turn_id=f"{user}-{number}")

    asked = await context(ana, "Which tea did I buy?")
    thanked = await context(ana, "lol")

    assert len(told(asked)[CATEGORY]) == 30
    assert len(told(thanked)[CATEGORY]) == UNRELATED
