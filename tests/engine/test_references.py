"""A question with a pronoun is answered about the entity that the session is about (A §6.1, A12)."""

from typing import Any

import pytest
from redis.exceptions import ConnectionError as NoRedis

from mnemolog.adapters.engine.engine import Engine
from mnemolog.commands.attention import SetFocus
from mnemolog.domain.session import Session
from mnemolog.projections.context import AgentContext
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import ContextRequest
from mnemolog.projections.working.projector import SessionPlace
from tests.bullets import bullets_of
from tests.engine.person import Person
from tests.engine.teller import Teller


@pytest.fixture
async def bob(engine: Engine, user: str) -> Teller:
    """Bob has spoken of Ana, of whom something is known, as it is of Marta."""
    bob = Teller(engine, user)
    ana = await bob.knows_of("Ana Silva")
    await bob.calls(ana, "Ana")
    await bob.tells("Ana Silva", "lives_in", "Lisbon")
    await bob.knows_of("Marta")
    await bob.tells("Marta", "lives_in", "Berlin")
    await bob.creates("Ana Silva works as a dentist")
    await bob.creates("Marta teaches piano")
    await bob.caught_up()
    await engine.settled(60)
    await bob.says("I met Ana yesterday", speaker="")
    return bob


async def context(bob: Person, query: str, moment: Moment | None = None, **fields: Any) -> AgentContext:
    request = ContextRequest(query=query, thread_id=bob.thread, **fields)
    return await bob.engine.reads.context(bob.viewer, request, moment or await bob.caught_up())


@pytest.mark.spec("A12")
async def test_a_search_with_a_pronoun_is_about_the_active_entity(bob: Teller) -> None:
    answer = await bob.asks("What does she do for a living?", top_k=1)

    assert [hit.text for hit in answer.hits] == ["Ana Silva works as a dentist"]
    assert [(one.text, one.name) for one in answer.references] == [("she", "Ana Silva")]


@pytest.mark.spec("A12")
async def test_whoever_a_message_introduces_is_meant_by_the_next_question(engine: Engine, user: str) -> None:
    eve = Person(engine, user)
    facts = [{"subject": "Clara", "predicate": "lives_in", "object": "Ghent"}]
    await eve.says("My cousin Clara lives in Ghent", facts=facts)

    answer = await eve.asks("Where does she live?", top_k=1)

    assert [(one.text, one.name) for one in answer.references] == [("she", "Clara")]
    assert [hit.text for hit in answer.hits] == ["Clara lives in Ghent"]


@pytest.mark.spec("A12")
async def test_the_context_loads_the_entity_that_is_named_or_meant(bob: Teller) -> None:
    meant = await context(bob, "Where does she live?")
    named = await context(bob, "Where does ANA live?")
    both = await context(bob, "Does she know Marta?")

    assert [one.line for one in meant.entities] == ["[person:ana_silva]: lives in Lisbon"]
    assert bullets_of(meant)[0] == "[person:ana_silva]: lives in Lisbon"
    assert [one.line for one in named.entities] == ["[person:ana_silva]: lives in Lisbon"]
    assert not named.references
    assert [one.row["name"] for one in both.entities] == ["Ana Silva", "Marta"]
    assert not (await context(bob, "Who lives where?")).entities
    assert not (await context(bob, "Where does she live?", categories=("tasks",))).entities


@pytest.mark.spec("A12")
async def test_an_elliptic_question_continues_the_topic(bob: Teller, engine: Engine) -> None:
    await bob.creates("Flights to Berlin leave at noon")
    who = {"user_id": bob.user, "agent_id": bob.agent, "thread_id": bob.thread}
    await engine.writes.handle(
        SetFocus.model_validate({**who, "topic_focus": "flights", "at": engine.writes.now()}), None
    )

    answer = await bob.asks("What about Berlin?", top_k=1)

    assert [hit.text for hit in answer.hits] == ["Flights to Berlin leave at noon"]
    assert [(one.text, one.topic) for one in answer.references] == [("what about", "flights")]


@pytest.mark.spec_part("A12")
async def test_another_thread_agent_or_user_has_another_she(bob: Teller, engine: Engine) -> None:
    question = "Where does she live?"
    for other in (
        Person(engine, bob.user, thread="another"),
        Person(engine, bob.user, agent="another"),
        Person(engine, f"{bob.user}-2"),
    ):
        answer = await other.asks(question)
        assert not answer.references
        assert not answer.skipped


@pytest.mark.spec_part("A12")
async def test_as_of_an_earlier_moment_she_is_who_was_meant_then(bob: Teller, engine: Engine) -> None:
    before = await engine.log.head(bob.stream)
    await engine.settled(60)
    await bob.says("Marta called", speaker="")

    now, then = [await bob.asks("Where does she live?", moment) for moment in (None, Moment(as_of=before))]

    assert [one.name for one in now.references] == ["Marta"]
    assert [one.name for one in then.references] == ["Ana Silva"]
    assert [one.line for one in (await context(bob, "Where does she live?", Moment(as_of=before))).entities] == [
        "[person:ana_silva]: lives in Lisbon"
    ]


@pytest.mark.spec_part("A12")
async def test_what_somebody_is_to_the_user_tells_whom_she_means(bob: Teller, engine: Engine) -> None:
    luca = await bob.knows_of("Luca")
    tie = await bob.tells("me", "married_to", str(luca), metadata={"relation": "husband"})
    await engine.settled(60)
    await bob.says("Ana met Luca", speaker="")
    husband, question = await engine.log.head(bob.stream), "Where does she live?"
    await bob.says("Luca called", speaker="")

    assert [one.name for one in (await bob.asks(question)).references] == ["Ana Silva"]
    assert [one.name for one in (await bob.asks("Where does he live?")).references] == ["Luca"]
    twin = await bob.knows_of("Luke")
    await bob.joins(twin, luca)
    assert [one.name for one in (await bob.asks(question)).references] == ["Ana Silva"]
    await bob.retires(tie)
    await engine.settled(60)
    assert [one.name for one in (await bob.asks(question)).references] == ["Luke"]
    assert [one.name for one in (await bob.asks(question, Moment(as_of=husband))).references] == ["Ana Silva"]


@pytest.mark.spec_part("A12")
async def test_a_relative_who_is_only_named_is_known_when_somebody_has_the_name(bob: Teller, engine: Engine) -> None:
    await bob.tells("me", "brother", "Luca")
    await bob.knows_of("Luca")
    await engine.settled(60)
    await bob.says("Luca called", speaker="")

    assert [one.name for one in (await bob.asks("Where does she live?")).references] == ["Ana Silva"]


@pytest.mark.spec_part("A12")
async def test_a_forgotten_entity_is_not_meant(bob: Teller) -> None:
    [ana] = await bob.engine.reads.entities(bob.viewer, await bob.caught_up(), name="Ana")
    await bob.forgets(ana["entity_id"])

    assert not (await bob.asks("Where does she live?")).references


@pytest.mark.spec_part("A12", "X12")
async def test_without_redis_the_answer_says_that_pronouns_are_not_resolved(
    bob: Teller, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object) -> None:
        raise NoRedis

    monkeypatch.setattr(engine.projections.working, "read", fails)
    answer = await bob.asks("Where does she live?")

    assert answer.skipped == ["pronouns: working memory is not available (server_failed)"]
    assert answer.hits
    assert not (await bob.asks("Where does Ana live?")).skipped


@pytest.fixture
def asked(engine: Engine, bob: Teller, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Bob's chats whose session was read: jobs for users of other tests read theirs."""
    seen: list[str] = []
    read = engine.projections.working.read

    async def told(place: SessionPlace) -> Session | None:
        if place.stream == bob.stream:
            seen.append(place.chat_id)
        return await read(place)

    monkeypatch.setattr(engine.projections.working, "read", told)
    return seen


@pytest.mark.spec_part("A12")
async def test_a_question_without_a_pronoun_reads_no_session(bob: Teller, asked: list[str]) -> None:
    await bob.asks("Where does Ana live?")
    await context(bob, "Where does Ana live?")
    assert asked == []

    await bob.asks("Where does she live?")
    assert asked == [bob.thread]
