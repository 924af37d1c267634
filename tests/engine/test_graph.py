"""Entities as they are read: by any spelling of any name, through merges, both ways, erased (A07, A12)."""

from uuid import UUID

import pytest
from sqlalchemy import text

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.commands.erasure import EraseKnown
from mnemolog.domain.errors import Erased, NotFound
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import EnvelopeRequest, MemoryQuery
from mnemolog.projections.sources.graph import FACT
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.teller import Teller, sentence

SECRET = "Xanthippequux"


@pytest.mark.spec("A07")
@pytest.mark.spec_part("A12")
@pytest.mark.parametrize(
    ("name", "asked"),
    [("Márta", "marta"), ("Ελένη", "ελενη"), ("Straße", "STRASSE"), ("さくら", "さくら"), ("Борис", "БОРИС")],
)
async def test_an_entity_is_found_by_any_spelling_of_its_name(engine: Engine, user: str, name: str, asked: str) -> None:
    ana = Teller(engine, user)
    known = await ana.knows_of(name)

    assert [row["entity_id"] for row in await ana.entities(asked)] == [known]
    assert await ana.entities("somebody else") == []


@pytest.mark.spec("A07", "A20")
@pytest.mark.spec_part("A12")
async def test_an_alias_finds_its_entity_until_it_is_taken_back(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    work, family = await ana.knows_of("Marta"), await ana.knows_of("Marta", another=True)
    called = await ana.calls(work, "work Marta")

    assert [row["entity_id"] for row in await ana.entities("Work Marta")] == [work]
    assert {row["entity_id"] for row in await ana.entities("Marta")} == {work, family}
    await ana.takes_back(called)
    assert await ana.entities("Work Marta") == []


@pytest.mark.spec_part("A12")
async def test_a_dropped_alias_finds_no_entity(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    known = await ana.knows_of("Marta Silva")
    await ana.renames(known, "Marta Costa")
    assert [row["aliases"] for row in await ana.entities("MARTA SILVA")] == [["Marta Silva"]]
    await ana.drops_aliases(known)

    assert await ana.entities("Marta Silva") == []
    assert [row["name"] for row in await ana.entities("marta costa")] == ["Marta Costa"]


@pytest.mark.spec_part("D13")
async def test_names_that_differ_by_a_slip_are_suggested_and_others_are_not(engine: Engine, user: str) -> None:
    ana, coach = Teller(engine, user), Teller(engine, user, agent="coach")
    makesh, mukesh = await ana.knows_of("Makesh"), await ana.knows_of("Mukesh")
    await ana.knows_of("Marta")
    await ana.knows_of("Mokesh", category="Location")
    await coach.knows_of("Mikesh", scope="agent")

    found = await engine.reads.variants(ana.viewer, makesh, await ana.caught_up())

    assert [row["entity_id"] for row in found] == [mukesh]


@pytest.mark.spec("X03")
@pytest.mark.spec_part("D13")
async def test_what_was_merged_reads_as_its_survivor_until_the_merge_is_undone(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    makesh, mukesh, mokesh = [await ana.knows_of(name) for name in ("Makesh", "Mukesh", "Mokesh")]
    await ana.tells("Mokesh", "likes", "rain")
    await ana.tells("Makesh", "likes", "rain")
    before = await ana.facts()
    first = await ana.joins(mukesh, mokesh)
    second = await ana.joins(makesh, mukesh)

    assert (await ana.entity(mokesh)).entity["entity_id"] == makesh
    assert [row["entity_id"] for row in await ana.entities("mokesh")] == [makesh]
    assert await ana.told(mokesh) == {"Makesh likes rain"}
    assert [row["entity_id"] for row in await ana.entities()] == [makesh]
    await ana.takes_back(second)
    await ana.takes_back(first)

    changing = {"updated_at", "seq", "known_from"}
    assert [_but(row, changing) for row in await ana.facts()] == [_but(row, changing) for row in before]
    assert {row["entity_id"] for row in await ana.entities()} == {makesh, mukesh, mokesh}
    assert [row["event"] for row in await ana.history(mokesh)] == ["ADD", "MERGE", "RESTORE"]


def _but(row: object, names: set[str]) -> dict[str, object]:
    return {name: value for name, value in row.items() if name not in names}  # type: ignore[attr-defined]


@pytest.mark.spec("A07", "D06")
async def test_an_entity_shows_its_facts_in_both_directions_and_its_card(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Alice", "knows", "John Doe")
    await ana.tells("John Doe", "lives_in", "Austin")
    await ana.tells("John Doe", "allergy", "nuts")
    [john] = await ana.entities("john doe")

    known = await ana.entity(john["entity_id"])

    assert {sentence(fact) for fact in known.facts} == {
        "Alice knows John Doe",
        "John Doe lives_in Austin",
        "John Doe allergy nuts",
    }
    assert known.card == "[person:john_doe]: is allergic to nuts; lives in Austin; Alice knows John Doe"


@pytest.mark.spec_part("D06")
async def test_a_card_names_relatives_in_plain_words_from_both_ends(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Rita", "knows", "Alice")
    await ana.tells("Alice", "sister", "Rita")
    [alice], [rita] = await ana.entities("alice"), await ana.entities("rita")

    assert (await ana.entity(alice["entity_id"])).card == "[person:alice]: sister is Rita; Rita knows Alice"
    assert (await ana.entity(rita["entity_id"])).card == "[person:rita]: Alice's sister is Rita; knows Alice"


@pytest.mark.spec("A01")
async def test_another_agents_entities_and_their_facts_are_not_visible(engine: Engine, user: str) -> None:
    coach, ana = Teller(engine, user, agent="coach"), Teller(engine, user)
    fact = await coach.tells("Zoe", "likes", "rain", scope="agent")
    [zoe] = await coach.entities("Zoe")

    assert await ana.entities("Zoe") == await ana.entities() == await ana.facts() == []
    for read in (
        ana.entity(zoe["entity_id"]),
        ana.history(zoe["entity_id"]),
        ana.history(fact),
        ana.facts(zoe["entity_id"]),
    ):
        with pytest.raises(NotFound):
            await read


@pytest.mark.spec("X02")
async def test_an_entity_reads_as_of_an_earlier_seq_with_the_facts_of_then(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Alice", "lives_in", "Berlin")
    then = await engine.log.head(ana.stream)
    [alice] = await ana.entities("Alice")
    await ana.renames(alice["entity_id"], "Alicia")
    await ana.tells("Alicia", "lives_in", "Lisbon")

    known = await ana.entity(alice["entity_id"], Moment(as_of=then))

    assert [sentence(fact) for fact in known.facts] == ["Alice lives_in Berlin"]


@pytest.mark.spec("X07", "X16")
async def test_an_erased_entity_keeps_its_shape_and_nothing_else(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    secret = await ana.knows_of(SECRET, attributes={"called": SECRET})
    await ana.calls(secret, f"{SECRET} the second")
    fact = await ana.tells(SECRET, "motto", f"ask {SECRET}", metadata={"heard": SECRET})
    other = await ana.tells("Alice", "likes", "tea")
    await ana.forgets(secret, f"{SECRET} must go")
    await ana.recalls(secret)

    await erase(engine, EraseKnown(user_id=user, agent_id=ana.agent, kind="entity", name=str(secret)))

    assert (await prove(engine, ProofSubject(ana.stream, known=f"entity:{secret}"), SECRET)).holds
    with pytest.raises(Erased):
        await ana.entity(secret)
    assert await ana.entities(SECRET) == []
    assert [row["relation_id"] for row in await ana.facts()] == [other]
    assert await ana.told(moment=Moment(as_of=await engine.log.head(ana.stream) - 2)) == {"Alice likes tea"}
    assert (await ana.history(fact))[-1]["meta"]["erased"] is True
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec("X07", "X02")
async def test_no_moment_before_its_erasure_shows_a_fact(engine: Engine, user: str) -> None:
    """Neither one about two entities that are still known, nor one whose value is destroyed."""
    ana = Teller(engine, user)
    await ana.knows_of("Marta")
    erased = [await ana.tells("Alice", "knows", "Marta"), await ana.tells("Alice", "door_code", "4711")]
    await ana.tells("Alice", "likes", "tea")
    before = Moment(as_of=await engine.log.head(ana.stream))
    for fact in erased:
        await erase(engine, EraseKnown(user_id=user, agent_id=ana.agent, kind="relation", name=str(fact)))

    asked = MemoryQuery(user_id=user, agent_id=ana.agent, query="Alice: Marta, door code, tea")
    hits = (await engine.reads.query(asked, before)).hits
    request = EnvelopeRequest(message="What do you know about Alice?")
    found = await engine.reads.envelope(ana.viewer, request, now(), before)

    assert [hit.text for hit in hits if hit.kind == FACT] == ["Alice likes tea"]
    assert [one.text for one in found.envelope.GRAPH.relations] == ["Alice likes tea"]


@pytest.mark.spec("X08")
async def test_a_forged_alias_leads_to_no_entity(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    known = await ana.knows_of("Marta")
    await ana.entities()
    async with engine.projections.live.begin() as connection:
        schema = engine.projections.stores["graph"].schema  # type: ignore[attr-defined]
        forged = text(f"UPDATE {schema}.aliases SET alias_normalized = 'boss' WHERE entity_id = :id")  # noqa: S608
        await connection.execute(forged, {"id": known})

    assert await ana.entities("boss") == []
    assert not (await engine.projections.rebuild("graph")).equal


@pytest.mark.spec("B08")
async def test_the_history_of_nothing_is_not_found(engine: Engine, user: str) -> None:
    with pytest.raises(NotFound) as missing:
        await Teller(engine, user).history(UUID(int=7))

    assert missing.value.field == "id"


@pytest.mark.spec("A07", "A20")
async def test_whoever_is_spoken_of_is_seen(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    names = ("Marta", "Bruno", "Zoe", "Yves")
    ids = [await ana.knows_of(name) for name in names]

    async def last_seen() -> list[UUID]:
        rows = await engine.reads.entities(ana.viewer, await ana.caught_up())
        return [row["entity_id"] for row in rows]

    marta, bruno, zoe, yves = ids
    assert await last_seen() == [yves, zoe, bruno, marta]
    await ana.tells("Marta", "likes", "tea", literal=True)
    assert (await last_seen())[0] == marta
    await ana.creates("Bruno bakes bread", entity_refs=["person:bruno"])
    assert (await last_seen())[0] == bruno
    await ana.tells("Marta", "likes", "tea", literal=True)
    assert (await last_seen())[0] == marta
    await ana.creates("He paints", entity_ids=[zoe], memory_key="zoe")
    assert (await last_seen())[0] == zoe
    await ana.tells("Marta", "knows", "Yves")
    assert set((await last_seen())[:2]) == {yves, marta}
    await ana.creates("HE paints", entity_ids=[zoe], memory_key="zoe")
    assert (await last_seen())[0] == zoe
    await ana.says("I am back", speaker="Bruno")
    assert (await last_seen())[0] == bruno
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec_part("A10")
async def test_a_memory_is_found_by_the_entities_that_it_is_about_through_merges(engine: Engine, user: str) -> None:
    ana, other = Teller(engine, user), Teller(engine, user, agent="other")
    makesh, mukesh, alone = [await ana.knows_of(name) for name in ("Makesh", "Mukesh", "Zoe")]
    secret = await other.knows_of("Nobody", scope="agent")
    by_id = await ana.creates("He bakes bread", entity_ids=[makesh])
    by_ref = await ana.creates("Mukesh bakes cakes", entity_refs=["person:Mukesh"])
    await ana.creates("She bakes pies", entity_ids=[alone])

    async def about(*wanted: UUID) -> set[UUID]:
        asked = {"query": "bakes", "filters": {"user_id": user, "entity_ids": wanted}}
        return {UUID(hit.id) for hit in (await engine.reads.query(MemoryQuery.model_validate(asked))).hits}

    row = await engine.reads.memory(ana.viewer, by_ref, await ana.caught_up())
    assert row["entity_ids"] == [mukesh]
    assert (await about(makesh), await about(mukesh)) == ({by_id}, {by_ref})
    await ana.joins(makesh, mukesh)
    later = await ana.creates("Mukesh bakes bagels", entity_ids=[mukesh])
    await ana.caught_up()
    await engine.settled(60)
    assert await about(mukesh) == await about(makesh) == {by_id, by_ref, later}
    assert await about(UUID(int=0)) == set()
    for unknown in (secret, UUID(int=1)):
        with pytest.raises(NotFound) as refused:
            await ana.creates("who?", entity_ids=[alone, unknown])
        assert refused.value.field == "entity_ids[1]"


@pytest.mark.spec_part("A19")
async def test_what_is_forgotten_reads_with_the_reason_and_the_time_until_it_is_restored_or_erased(
    engine: Engine, user: str
) -> None:
    ana = Teller(engine, user)
    tea, marta = await ana.creates("Ana drinks tea"), await ana.knows_of("Marta")
    await ana.deletes(tea, reason="out of date")
    await ana.forgets(marta, reason="a mistake")
    now_ = await ana.caught_up()

    memory = await engine.reads.memory(ana.viewer, tea, now_)
    entity = (await engine.reads.entity(ana.viewer, marta, now_)).entity
    assert (memory["forget_reason"], entity["forget_reason"]) == ("out of date", "a mistake")
    assert memory["forgotten_at"] >= memory["created_at"]
    assert entity["forgotten_at"] >= entity["created_at"]
    await ana.restores(tea)
    memory = await engine.reads.memory(ana.viewer, tea, await ana.caught_up())
    assert (memory["forget_reason"], memory["forgotten_at"]) == ("", None)


@pytest.mark.spec("D13")
async def test_a_write_suggests_variants_of_the_names_it_uses(engine: Engine, user: str) -> None:
    ana, writes = Teller(engine, user), engine.writes
    who = {"user_id": user, "category": "Person"}
    zoe = {"user_id": user, "predicate": "knows", "object": "Zoe"}

    async def suggested(receipt: Receipt) -> set[UUID]:
        return {row["entity_id"] for row in await engine.reads.suggested(ana.viewer, receipt)}

    makesh, first = await writes.observe_entity({**who, "name": "Makesh"})
    assert await suggested(first) == set()
    mukesh, second = await writes.observe_entity({**who, "name": "Mukesh"})
    assert await suggested(second) == {makesh}
    assert await suggested((await writes.observe_entity({**who, "name": "Mukesh"}))[1]) == set()
    assert await suggested((await writes.remember({**zoe, "subject": "Makesh"}))[1]) == set()
    assert await suggested((await writes.remember({**zoe, "subject": "Mikesh"}))[1]) == {makesh, mukesh}
