"""Why something is known: its events, their policy, and the turns behind them (X04)."""

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.maintenance.summarizing import summarize
from mnemolog.adapters.operations.artifacts import AddArtifact, add_artifact
from mnemolog.adapters.operations.memories import search
from mnemolog.adapters.operations.results import Bullets
from mnemolog.commands.erasure import EraseMemory
from mnemolog.domain.errors import InvalidInput, MnemologError, NotFound
from mnemolog.events.fields import validated
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.reads.why import Why
from tests.engine.person import Person
from tests.engine.test_knowledge import Librarian

SAID = ("I moved to Lisbon in May", "The flat in Lisbon is small", "Remind me to call Marta", "Marta likes Lisbon")


async def why(person: Person, id_: object, moment: Moment | None = None) -> Why:
    return await person.engine.reads.why(person.viewer, str(id_), moment or await person.caught_up())


def types(found: Why) -> list[str]:
    return [event.type for event in found.events]


@pytest.mark.spec("X04")
async def test_why_lists_a_memorys_events_with_actor_time_and_policy(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("Ana drinks tea", actor="curator", run_id="run-7")
    await ana.updates(tea, text="Ana drinks green tea")
    undo = await ana.undoes(tea)

    found = await why(ana, tea)

    assert (found.kind, types(found)) == ("memory", ["MemoryCreated", "MemoryUpdated", "MemoryReverted"])
    assert (found.events[0].actor, found.events[0].run_id) == ("curator", "run-7")
    assert found.events[2].undoes == found.events[1].event_id
    assert found.events[2].event_id == undo.event_ids[0]
    assert {event.policy_version for event in found.events} == {engine.policy.version}


@pytest.mark.spec("X04")
@pytest.mark.spec_part("A10")
async def test_why_lists_the_source_turns_of_a_memory_through_merges_in_force(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I moved to Lisbon", turn_id="t1")
    await ana.says("I live by the river", turn_id="t2", thread_id="other")
    first = await ana.creates("Ana lives in Lisbon", source_turn_ids=("t1",))
    second = await ana.creates("Ana lives by the river", source_turn_ids=("t2",))
    await ana.merges(first, second)

    merged = await why(ana, first)
    assert merged.merged_from == [str(second)]
    told = [(turn.turn_id, turn.thread_id, turn.role, turn.text) for turn in merged.turns]
    assert told == [("t1", "main", "user", "I moved to Lisbon"), ("t2", "other", "user", "I live by the river")]
    assert (await why(ana, second)).merged_into == str(first)

    await ana.undoes(first)
    parted = await why(ana, first)
    assert (parted.merged_from, [turn.turn_id for turn in parted.turns]) == ([], ["t1"])


@pytest.mark.spec("X04")
async def test_merges_of_merges_are_followed_to_the_first(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I like tea", turn_id="t1")
    one, two, three = [await ana.creates(f"tea {n}", source_turn_ids=("t1",) if n == 0 else ()) for n in range(3)]
    await ana.merges(two, one)
    await ana.merges(three, two)

    found = await why(ana, three)

    assert found.merged_from == [str(two), str(one)]
    assert [turn.text for turn in found.turns] == ["I like tea"]


@pytest.mark.spec("X04", "A01", "B05")
async def test_nothing_is_reported_that_the_agent_may_not_see(engine: Engine, user: str) -> None:
    ana, planner = Person(engine, user), Person(engine, user, agent="planner")
    await ana.says("I have diabetes", turn_id="t1")  # Its own memory is an activity: not a planner's.
    private = await ana.creates("Ana has diabetes", category="profile")
    task = await ana.creates("Ana sees a doctor", category="tasks", source_turn_ids=("t1",))
    await ana.links(task, private)
    own = await Person(engine, user, agent="stylist").creates("only mine", scope="agent", category="tasks")

    found = await why(planner, task)

    assert (found.turns, found.unseen_turns) == ([], 1)
    assert [event.about for event in found.events] == [[], []]
    assert [turn.text for turn in (await why(ana, task)).turns] == ["I have diabetes"]
    for hidden in (private, own):
        with pytest.raises(NotFound):
            await why(planner, hidden)
    for person in (Person(engine, f"{user}-2"), Person(engine, user, tenant="other")):
        with pytest.raises(NotFound):
            await why(person, task)


@pytest.mark.spec("X04", "X07")
async def test_what_was_erased_tells_that_it_was_and_nothing_of_it(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("My number is 555-0199", turn_id="t1")
    number = await ana.creates("The number is 555-0199", source_turn_ids=("t1",))
    await erase(engine, EraseMemory.model_validate({"user_id": user, "memory_id": number, "with_survivors": True}))

    found = await why(ana, number)

    assert types(found)[-1] == "MemoryErased"
    assert [(turn.text, turn.erased) for turn in found.turns] == [("", True)]
    assert "555-0199" not in repr(found.as_dict())


@pytest.mark.spec("X04", "A07")
async def test_an_entity_tells_its_events_and_turns(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I moved to Lisbon", turn_id="t1", speaker="Ana")
    moment = await ana.caught_up()
    [entity] = await engine.reads.entities(ana.viewer, moment)

    found = await why(ana, entity["entity_id"])

    assert (found.kind, types(found)) == ("entity", ["EntityObserved"])


@pytest.mark.spec("X04", "A08", "B10", "D11")
async def test_facts_todos_and_profile_fields_tell_their_events_and_turns(engine: Engine, user: str) -> None:
    ana, writes = Person(engine, user), engine.writes
    who = {"user_id": user}
    await ana.says("I live in Lisbon, call Bo", turn_id="t1")
    drawn = {**who, "source_turn_ids": ("t1",)}
    fact, _ = await writes.remember({**drawn, "subject": "Ana", "predicate": "lives_in", "object": "Lisbon"})
    todo, _ = await writes.open_todo({**drawn, "kind": "commitment", "text": "call Bo"})
    await writes.propose({**who, "field": "city", "value": "Lisbon", "turn_id": "t1"})

    told = {
        found.kind: (types(found)[0], [turn.turn_id for turn in found.turns])
        for found in [await why(ana, id_) for id_ in (fact, todo, "city")]
    }

    assert told == {
        "relation": ("RelationAsserted", ["t1"]),
        "todo": ("TodoOpened", ["t1"]),
        "profile": ("ProfileProposed", ["t1"]),
    }
    for hidden, agent in ((todo, "stylist"), ("city", "planner")):
        with pytest.raises(NotFound):
            await why(Person(engine, user, agent=agent), hidden)


@pytest.mark.spec("X04")
async def test_whatever_a_search_finds_tells_why(engine: Engine, user: str) -> None:
    ana, who = Person(engine, user), {"user_id": user}
    await ana.says("I throw pottery on Sundays", turn_id="t1")
    await ana.creates("Ana loves pottery")
    await engine.writes.remember({**who, "subject": "Ana", "predicate": "likes", "object": "Pottery"})
    await engine.writes.open_todo({**who, "kind": "commitment", "text": "buy clay for pottery"})
    price_list = validated(AddArtifact, {**who, "caption": "Price list of the pottery shop", "name": "prices.txt"})
    await add_artifact(engine, price_list, b"Clay: 20 euros")
    moment = await ana.caught_up()

    found = await search.run(
        engine, validated(search.request, {**who, "query": "What about Ana and pottery?", "top_k": 50})
    )

    assert isinstance(found, Bullets)
    bullets = [*found.bullets, *found.related]
    assert {one.kind for one in bullets} >= {"message", "fact", "relation", "todo", "artifact"}
    for bullet in bullets:
        told = await why(ana, bullet.id, moment)
        assert told.events, bullet
        assert all(event.actor and event.policy_version for event in told.events), bullet


@pytest.mark.spec("X04")
async def test_a_summary_tells_the_messages_that_it_covers(engine: Engine, user: str) -> None:
    ana, elsewhere = Person(engine, user), Person(engine, user, thread="other")
    for number, text in enumerate(SAID):
        await ana.says(text)
        await elsewhere.says(f"{number} geese")
    await engine.settled(60)
    await summarize(engine, ana.stream, ana.agent, ana.thread)
    [summary] = await engine.reads.summaries(ana.viewer, moment=await ana.caught_up())
    summary_id = summary["summary_id"]

    found = await why(ana, summary_id)

    assert (found.kind, types(found), found.unseen_turns) == ("summary", ["SummaryWritten"], 0)
    assert [turn.text for turn in found.turns] == list(SAID)
    for other in (Person(engine, f"{user}-2"), Person(engine, user, agent="planner")):
        with pytest.raises(NotFound):
            await why(other, summary_id)


@pytest.mark.spec("X04")
async def test_a_passage_of_the_agents_library_tells_the_events_of_its_document(engine: Engine, user: str) -> None:
    library = Librarian(engine)
    ana, other = Person(engine, user, agent=library.agent), Person(engine, user)
    page = "# Sleep\n\nSleep well.\n\n## Naps\n\nTwenty minutes."
    added = await library.adds(page)
    before = engine.writes.now()
    await library.adds(page.replace("well", "long"))
    naps = next(one for one in await library.finds("naps") if one["place"] == "Sleep > Naps")
    sleep = next(one for one in await library.finds("sleep long") if one["text"] == "Sleep long.")

    assert types(await why(ana, naps["chunk_id"])) == ["DocumentAdded", "DocumentChunksStored"]
    new = await why(ana, sleep["chunk_id"])
    assert (new.kind, types(new)) == ("passage", ["DocumentAdded", "DocumentRevised", "DocumentChunksStored"])
    assert all(one.actor and one.policy_version == engine.policy.version for one in new.events)
    assert (await why(ana, added.document_id)).kind == "document"
    for reader, id_, moment in (
        (other, naps["chunk_id"], None),
        (other, added.document_id, None),
        (ana, sleep["chunk_id"], Moment(as_of=before)),
    ):
        with pytest.raises(NotFound):
            await why(reader, id_, moment)


@pytest.mark.spec("X02", "X04")
async def test_why_can_be_asked_as_of_an_earlier_moment(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("Ana drinks tea")
    await ana.updates(tea, text="Ana drinks coffee")

    assert types(await why(ana, tea, Moment(as_of=1))) == ["MemoryCreated"]


@pytest.mark.parametrize(
    ("id_", "kind"),
    [
        ("01942b6e-7c00-7000-8000-000000000000", NotFound),
        ("no_such_field", NotFound),
        ("", InvalidInput),
        ("a\x00b", InvalidInput),
    ],
)
async def test_what_is_not_known_has_no_reason(engine: Engine, user: str, id_: str, kind: type[MnemologError]) -> None:
    ana = Person(engine, user)
    await ana.creates("tea")

    with pytest.raises(kind):
        await why(ana, id_)
