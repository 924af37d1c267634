"""The inference envelope: four slots, validated, with the gate's decision and marked losers (A02, A03, A13, A15)."""

from datetime import UTC, datetime
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine, new_id, now
from mnemolog.commands.attention import SetAffect, SetFocus
from mnemolog.commands.documents import UndoDocument
from mnemolog.domain.errors import EnvelopeInvalid, NestedTooDeep
from mnemolog.domain.gate import Signal
from mnemolog.events.fields import validated
from mnemolog.projections.envelope import Assembled
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import ClaimsRequest, EnvelopeRequest
from mnemolog.projections.slots import validated_envelope
from tests.engine.teller import Teller
from tests.engine.test_knowledge import Librarian

PASSAGE = {
    "id": "p-1",
    "document_id": "01942b6e-7c00-7000-8000-000000000000",
    "source": "docs/boats.md",
    "place": "Boats",
    "text": "Boats are painted in May.",
    "score": 0.5,
    "similarity": None,
}


async def asked(ana: Teller, message: str, **fields: Any) -> Assembled:
    request = EnvelopeRequest(message=message, thread_id=ana.thread, **fields)
    return await ana.engine.reads.envelope(ana.viewer, request, now(), await ana.caught_up())


def facts(found: Assembled) -> list[str]:
    return [one.text for one in found.envelope.GRAPH.relations if one.overruled_by is None]


async def test_the_four_slots_say_who_they_are(engine: Engine, user: str) -> None:
    ana = Teller(engine, user, thread="tg:1")
    await ana.tells("me", "lives_in", "Leipzig")
    feels = {**ana._who, "label": "stressed", "confidence": 0.8, "at": now()}
    await engine.writes.handle(validated(SetAffect, feels))

    found = await asked(ana, "Do you remember where I live?")

    shown = found.envelope.model_dump(mode="json")
    assert [shown[name] for name in ("slot_contract_version", "user_id", "agent_id", "chat_id")] == [
        "1.0",
        user,
        ana.agent,
        "tg:1",
    ]
    slots = {name: (shown[name]["authority"], shown[name]["stability"]) for name in shown if name.isupper()}
    assert slots == {
        "AFFECT": ("non-factual", "volatile"),
        "GRAPH": ("authoritative", "persistent"),
        "EPISODE": ("historical", "historical"),
        "KNOWLEDGE": ("static", "static"),
    }
    assert found.envelope.AFFECT.affect.label == "stressed"
    assert facts(found) == [f"{user} lives in Leipzig"]
    assert validated_envelope(shown) == found.envelope


@pytest.mark.spec("A13")
async def test_the_gate_decides_whether_episodes_are_searched(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.creates("Booked a table at the Harbour Grill")

    shut, opened = await asked(ana, "Book a table"), await asked(ana, "Book a table like last time")

    assert (shut.gate.search, shut.envelope.EPISODE.hits) == (False, [])
    assert opened.gate.signals == (Signal.CONTINUITY,)
    assert [one.text for one in opened.envelope.EPISODE.hits] == ["Booked a table at the Harbour Grill"]


async def test_the_message_to_answer_does_not_push_out_what_answers_it(engine: Engine, user: str) -> None:
    memory = "Ana booked a table for two at the Harbour Grill on Sunday evening"
    ana, message = Teller(engine, user), "Do you remember the Harbour Grill?"
    await ana.creates(memory)
    said = {"user_id": user, "agent_id": ana.agent, "thread_id": ana.thread, "role": "user"}
    await engine.writes.record_turn({**said, "turn_id": f"{user}-1", "text": message, "actor": "user"})
    message_id = engine.writes.handler.turn_id(f"{user}-1")

    request = EnvelopeRequest(message=message, thread_id=ana.thread)
    found = await engine.reads.envelope(ana.viewer, request, now(), await ana.caught_up(), {message_id})

    assert [one.text for one in found.envelope.EPISODE.hits] == [memory]


@pytest.mark.spec("A13", "A21")
async def test_a_question_that_documents_tell_of_searches_them_alone(engine: Engine, user: str) -> None:
    library = Librarian(engine)
    added = await library.adds("# Sleep\n\n## Caffeine\n\nNo coffee in the six hours before bed.", domain="health")
    coach = Teller(engine, user, agent=library.agent)
    await coach.creates("Ana drinks no coffee in the hours before bed")
    before = await coach.caught_up()
    await library.adds("# Sleep\n\nBeds are for sleep.")

    found = await asked(coach, "How many hours before bed may I drink no coffee?")
    assert [one.text for one in found.envelope.KNOWLEDGE.hits] == ["Beds are for sleep."]
    await engine.writes.handle(validated(UndoDocument, {"agent_id": library.agent, "document_id": added.document_id}))
    found = await asked(coach, "How many hours before bed may I drink no coffee?")

    assert [(one.signal, one.found) for one in found.gate.reasons] == [(Signal.ASKING, "bed")]
    [passage] = found.envelope.KNOWLEDGE.hits
    assert (passage.place, passage.domain, passage.source) == ("Sleep > Caffeine", "health", "docs/sleep.md")
    assert passage.headed == "docs/sleep.md, Sleep > Caffeine"
    assert found.envelope.EPISODE.hits == []
    for message in ("Ana drinks coffee before bed.", "Which hat fits?"):
        assert not (await asked(coach, message)).gate.search
    trusted = await asked(coach, "How many hours before bed may I drink no coffee?", trusted_only=True)
    other = await asked(Teller(engine, user), "How many hours before bed may I drink no coffee?")
    assert not trusted.gate.search
    assert not other.gate.search
    request = EnvelopeRequest(message="How many hours before bed may I drink no coffee?")
    then = await engine.reads.envelope(
        coach.viewer, request, now(), Moment(as_of=before.after.seq if before.after else 0)
    )
    assert [one.place for one in then.envelope.KNOWLEDGE.hits] == ["Sleep > Caffeine"]


@pytest.mark.spec("A13")
async def test_a_name_opens_the_gate_and_brings_its_facts(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.knows_of("Marta")
    await ana.tells("Marta", "lives_in", "Porto")
    await ana.tells("Bob", "lives_in", "Berlin")

    found = await asked(ana, "Marta called")

    assert [(one.signal, one.found) for one in found.gate.reasons] == [(Signal.ENTITY, "Marta")]
    assert facts(found) == ["Marta lives in Porto"]


@pytest.mark.spec("A12", "A13")
async def test_a_pronoun_opens_the_gate_for_the_active_entity_and_an_ellipsis_for_its_topic(
    engine: Engine, user: str
) -> None:
    ana = Teller(engine, user)
    await ana.knows_of("Helena")
    await ana.creates("Helena teaches the cello")
    await ana.creates("Flights to Berlin leave at noon")
    await ana.caught_up()
    await engine.settled(60)
    shut = await asked(ana, "What does she teach?")
    await ana.says("I called Helena", speaker="")

    found = await asked(ana, "What does she teach?")
    await engine.writes.handle(validated(SetFocus, {**ana._who, "topic_focus": "flights", "at": now()}))
    topic = await asked(ana, "What about noon?")

    assert not shut.gate.search
    assert [(one.signal, one.found) for one in found.gate.reasons] == [(Signal.ENTITY, "Helena")]
    assert "Helena teaches the cello" in [one.text for one in found.envelope.EPISODE.hits]
    assert [(one.signal, one.found) for one in topic.gate.reasons] == [(Signal.CONTINUITY, "what about")]
    assert topic.envelope.EPISODE.hits[0].text == "Flights to Berlin leave at noon"


@pytest.mark.spec("A15")
async def test_critical_facts_are_never_cut(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    for number in range(40):
        await ana.tells("me", "likes", f"dish {number}", literal=True)
    for number in range(3):
        await ana.tells("me", "allergy", f"nut {number}", literal=True, confidence=0.1)
    await ana.tells("Bob", "medication", "Aspirin", literal=True)

    found = await asked(ana, "What should I cook?", edges=30)

    critical = {one.text for one in found.envelope.GRAPH.relations if one.critical}
    assert critical == {*(f"{user} is allergic to nut {number}" for number in range(3)), "Bob takes Aspirin"}
    assert 30 <= len(found.envelope.GRAPH.relations) <= 34


@pytest.mark.spec("A03")
async def test_what_contradicts_the_graph_stays_and_is_marked(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "lives_in", "Berlin", since=datetime(2025, 1, 1, tzinfo=UTC))
    await ana.tells("me", "lives_in", "Leipzig", since=datetime(2026, 1, 1, tzinfo=UTC))
    old = await ana.creates("Ana lives in a flat in Berlin")
    new = await ana.creates("Ana found a flat in Leipzig")

    found = await asked(ana, "Do you remember Ana's flat?")

    hits = {one.id: one for one in found.envelope.EPISODE.hits}
    loser = hits[str(old)].overruled_by
    assert loser is not None
    assert (loser.slot, loser.because, loser.statement) == ("GRAPH", "former_value", f"{user} lives in Leipzig")
    assert hits[str(new)].overruled_by is None
    assert facts(found) == [f"{user} lives in Leipzig"]


@pytest.mark.spec("A03")
async def test_what_the_user_said_before_a_fact_of_which_no_earlier_value_is_known_is_marked(
    engine: Engine, user: str
) -> None:
    ana = Teller(engine, user)
    since = datetime(2026, 1, 1, tzinfo=UTC)
    fact = await ana.tells("me", "lives_in", "Leipzig", since=since)
    old = await ana.says("I live in Berlin, in the old town.", speaker="", occurred_at=datetime(2020, 5, 3, tzinfo=UTC))
    new = await ana.says("I live in Graz, in the old town.", speaker="", occurred_at=datetime(2026, 5, 3, tzinfo=UTC))
    same = await ana.says(
        "I live in Leipzig, in the old town.", speaker="", occurred_at=datetime(2025, 5, 3, tzinfo=UTC)
    )
    other = await ana.says(
        "She lives in Berlin, in the old town.", speaker="", occurred_at=datetime(2020, 5, 3, tzinfo=UTC)
    )

    found = await asked(ana, "Remember? I live in a city, in the old town.")

    hits = {one.text: one.overruled_by for one in found.envelope.EPISODE.hits}
    assert len(hits) == len({old, new, same, other}) == 4
    assert {text for text, loser in hits.items() if loser} == {"I live in Berlin, in the old town."}
    loser = hits["I live in Berlin, in the old town."]
    assert loser is not None
    assert (loser.slot, loser.id, loser.because) == ("GRAPH", str(fact), "former_value")


@pytest.mark.spec("A03")
async def test_a_claim_is_not_supported_by_what_was_so_before_a_fact(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "lives_in", "Leipzig", since=datetime(2026, 1, 1, tzinfo=UTC))
    await ana.says("I live in Berlin", speaker="", occurred_at=datetime(2020, 5, 3, tzinfo=UTC))
    request = ClaimsRequest(text="You live in Berlin.", thread_id=ana.thread)

    [claim] = await engine.reads.claims(ana.viewer, request, engine.writes.now(), await ana.caught_up())

    assert claim.support == "contradicted"


@pytest.mark.spec("A03")
async def test_a_document_yields_to_an_allergy(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "allergy", "peanuts", literal=True)
    library = Librarian(engine)
    await library.adds("Peanut porridge is a good breakfast before a run.", "breakfast.md")
    coach = Teller(engine, user, agent=library.agent)

    found = await asked(coach, "Which breakfast did we discuss last time, porridge before a run?")

    [passage] = found.envelope.KNOWLEDGE.hits
    assert (passage.source, passage.text) == ("breakfast.md", "Peanut porridge is a good breakfast before a run.")
    assert passage.overruled_by is not None
    assert passage.overruled_by.because == "exception"
    assert passage.overruled_by.statement == f"{user} is allergic to peanuts"
    assert (await asked(ana, "Which breakfast did we discuss last time?")).envelope.KNOWLEDGE.hits == []


@pytest.mark.spec("A03")
async def test_what_was_said_yields_to_a_document_and_a_mood_states_nothing(engine: Engine, user: str) -> None:
    library = Librarian(engine)
    await library.adds("The marathon begins at 9:00 at the harbour.", "marathon.md")
    coach = Teller(engine, user, agent=library.agent)
    said = await coach.creates("The marathon begins at 8:00 at the harbour.")
    feels = {**coach._who, "label": "stressed", "confidence": 0.8, "at": now()}
    await engine.writes.handle(validated(SetAffect, feels))

    found = (await asked(coach, "Do you remember when the marathon begins at the harbour?")).envelope

    [passage] = found.KNOWLEDGE.hits
    [hit] = [one for one in found.EPISODE.hits if one.id == str(said)]
    assert passage.overruled_by is None
    assert hit.overruled_by is not None
    assert (hit.overruled_by.slot, hit.overruled_by.statement) == ("KNOWLEDGE", passage.text)
    assert found.AFFECT.affect.label == "stressed"
    assert not any("stressed" in text for _, _, text, _ in found.statements)


@pytest.mark.spec("A15")
async def test_the_facts_around_seeds_are_cut_by_the_priority_of_the_specification(engine: Engine, user: str) -> None:
    ana = Teller(engine, user, agent="coach")
    marta = await ana.knows_of("Marta")
    await ana.knows_of("Bob")
    await ana.tells("Bob", "likes", "chess", literal=True)
    allergy = await ana.tells("Marta", "allergy", "nuts", literal=True, confidence=0.1)
    own = await ana.tells("Marta", "meal_plan", "keto", literal=True, scope="agent", confidence=0.1)
    unsure = await ana.tells("Marta", "likes", "jazz", literal=True, confidence=0.2)
    old = [await ana.tells("Marta", "likes", f"dish {number}", literal=True) for number in range(35)]

    async def kept(message: str, edges: int) -> list[str]:
        found = await asked(ana, message, edges=edges)
        return [str(one.relation_id) for one in found.envelope.GRAPH.relations]

    cut = await kept("Marta called", 30)
    assert len(cut) == 30
    assert cut[:2] == [str(own), str(allergy)]
    assert cut[2:] == [str(one) for one in reversed(old)][:28], "the certain ones, the newest first"
    whole = await kept("Marta called", 60)
    assert whole[-1] == str(unsure)
    assert len(whole) == 38, "nothing of Bob, who is no seed"
    focus = {**ana._who, "active_entity_ids": [str(marta)], "at": now()}
    await engine.writes.handle(validated(SetFocus, focus))
    assert await kept("And now?", 60) == whole, "who is active is a seed, too"


@pytest.mark.spec_part("A03", "A15")
async def test_what_a_fact_of_another_scope_overrules_counts_towards_the_cap(engine: Engine, user: str) -> None:
    ana = Teller(engine, user, agent="coach")
    await ana.knows_of("Marta")
    for number in range(20):
        for scope in ("global", "agent"):
            await ana.tells("Marta", "likes", f"dish {number}", literal=True, scope=scope)

    shown = (await asked(ana, "Marta called", edges=30)).envelope.GRAPH.relations

    assert len(shown) == 30
    overruled = [one.overruled_by.id for one in shown if one.overruled_by]
    assert sorted(overruled) == sorted(str(one.relation_id) for one in shown if one.overruled_by is None)


async def test_another_agent_sees_neither_facts_nor_hits(engine: Engine, user: str) -> None:
    ana, other = Teller(engine, user, agent="coach"), Teller(engine, user, agent="chef")
    await ana.tells("me", "meal_plan", "keto", scope="agent")
    await ana.creates("Ana said that keto works", scope="agent")

    assert facts(await asked(ana, "How does my plan go?")) == [f"{user}'s meal plan is keto"]
    found = await asked(other, "How does my plan go?")
    assert (facts(found), found.envelope.EPISODE.hits) == ([], [])


async def test_the_envelope_of_an_earlier_moment(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "lives_in", "Berlin")
    await ana.creates("Ana paints boats")
    then = await engine.log.head(ana.stream)
    await ana.tells("me", "lives_in", "Leipzig")
    await ana.creates("Ana paints boats and trains")

    request = EnvelopeRequest(message="Remember what I paint?")
    found = await engine.reads.envelope(ana.viewer, request, now(), Moment(as_of=then))

    assert facts(found) == [f"{user} lives in Berlin"]
    assert [one.text for one in found.envelope.EPISODE.hits] == ["Ana paints boats"]


@pytest.mark.spec("A02")
@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (("GRAPH", "relations", 0, "predicate"), None, "GRAPH.relations[0].predicate"),
        (("GRAPH", "relations", 0, "predicate"), 7, "GRAPH.relations[0].predicate"),
        (
            ("GRAPH", "relations", 0, "subject_id"),
            "00000000-0000-0000-0000-000000000001",
            "GRAPH.relations[0].subject_id",
        ),
        (("GRAPH", "authority"), "static", "GRAPH.authority"),
        (("slot_contract_version",), "2.0", "slot_contract_version"),
        (("AFFECT", "affect", "confidence"), 1.5, "AFFECT.affect.confidence"),
        (("AFFECT", "user_id"), "bob", "AFFECT.user_id"),
        (("EPISODE", "hits"), [{}], "EPISODE.hits[0].id"),
        (("KNOWLEDGE",), None, "KNOWLEDGE"),
        (("MOOD",), {}, "MOOD"),
        (("GRAPH", "relations", 0, "text"), " ", "GRAPH.relations[0].text"),
        (("EPISODE", "hits", 0, "text"), "", "EPISODE.hits[0].text"),
        (("EPISODE", "hits", 0, "text"), "\n", "EPISODE.hits[0].text"),
        (("KNOWLEDGE", "hits"), [{**PASSAGE, "text": ""}], "KNOWLEDGE.hits[0].text"),
        (("KNOWLEDGE", "hits"), [PASSAGE, PASSAGE], "KNOWLEDGE.hits[1].id"),
    ],
)
async def test_a_fault_is_refused_with_its_path(
    engine: Engine, user: str, path: tuple[str | int, ...], value: Any, field: str
) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "lives_in", "Berlin")
    await ana.creates("Ana paints boats")
    given = (await asked(ana, "Do you remember what I paint?")).envelope.model_dump(mode="json")
    part: Any = given
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value

    with pytest.raises(EnvelopeInvalid) as refused:
        validated_envelope(given)

    assert refused.value.field == field
    assert refused.value.fix


@pytest.mark.spec("A02", "A03")
async def test_what_is_listed_twice_and_what_nothing_overrules_is_refused(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "lives_in", "Berlin")
    await ana.creates("Ana paints boats")
    whole = (await asked(ana, "Do you remember what I paint?")).envelope.model_dump(mode="json")
    [fact], [hit] = whole["GRAPH"]["relations"], whole["EPISODE"]["hits"]
    nobody = str(new_id())

    def refused(**slots: Any) -> str:
        with pytest.raises(EnvelopeInvalid) as found:
            validated_envelope({**whole, **{slot: {**whole[slot], **changed} for slot, changed in slots.items()}})
        assert found.value.fix
        return found.value.field

    def hits(slot: str, id_: str, statement: str = "", because: str = "contradicts") -> dict[str, Any]:
        by = {"slot": slot, "id": id_, "because": because, "statement": statement}
        return {"hits": [{**hit, "overruled_by": by}]}

    assert refused(GRAPH={"relations": [fact, fact]}) == "GRAPH.relations[1].relation_id"
    assert refused(EPISODE={"hits": [hit, hit]}) == "EPISODE.hits[1].id"
    named_by = "EPISODE.hits[0].overruled_by.id"
    for given in (
        hits("GRAPH", ""),
        hits("GRAPH", "nothing", "Ana sails"),
        hits("GRAPH", nobody),
        hits("GRAPH", hit["id"]),
        hits("KNOWLEDGE", nobody, "Boats are painted in May"),
        hits("EPISODE", hit["id"], hit["text"]),
    ):
        assert refused(EPISODE=given) == named_by
    itself = {"slot": "GRAPH", "id": fact["relation_id"], "because": "scope", "statement": fact["text"]}
    named_by = "GRAPH.relations[0].overruled_by.id"
    assert refused(GRAPH={"relations": [{**fact, "overruled_by": itself}]}) == named_by

    for given in (
        hits("GRAPH", fact["relation_id"], fact["text"]),
        hits("GRAPH", nobody, "Ana sailed", "former_value"),
        hits("EPISODE", nobody),
    ):
        assert validated_envelope({**whole, "EPISODE": {**whole["EPISODE"], **given}}).EPISODE.hits[0].overruled_by


def test_an_envelope_of_any_depth_is_refused() -> None:
    deep: Any = {}
    for _ in range(2000):
        deep = {"GRAPH": deep}
    with pytest.raises(NestedTooDeep):
        validated_envelope(deep)


@pytest.mark.spec("A03")
async def test_a_claim_is_checked_against_what_is_known_of_the_user_and_of_nobody_else(
    engine: Engine, user: str
) -> None:
    ana = Teller(engine, user, agent="coach")
    await ana.tells("me", "lives_in", "Berlin", since=datetime(2025, 1, 1, tzinfo=UTC))
    await ana.tells("me", "lives_in", "Leipzig", since=datetime(2026, 1, 1, tzinfo=UTC))
    await ana.tells("Marta", "lives_in", "Rome")
    await ana.creates(f"{user} has a dog called Bello")
    said = "Hello! You live in Leipzig. You live in Berlin. You live in Rome. Your dog is called Bello. Shall we walk?"

    async def checked(teller: Teller) -> list[tuple[str, str, str]]:
        request = ClaimsRequest(text=said, thread_id=teller.thread)
        found = await engine.reads.claims(teller.viewer, request, engine.writes.now(), await teller.caught_up())
        return [(one.text, one.support, one.question) for one in found]

    assert await checked(ana) == [
        ("You live in Leipzig.", "supported", ""),
        ("You live in Berlin.", "contradicted", "You live in Berlin?"),
        ("You live in Rome.", "contradicted", "You live in Rome?"),
        ("Your dog is called Bello.", "supported", ""),
    ]
    stranger = Teller(engine, f"{user}-other", agent="coach")
    assert [(support, question) for _, support, question in await checked(stranger)] == [
        ("unsupported", "You live in Leipzig?"),
        ("unsupported", "You live in Berlin?"),
        ("unsupported", "You live in Rome?"),
        ("unsupported", "Your dog is called Bello?"),
    ]


@pytest.mark.spec("A20")
@pytest.mark.spec_part("A14")
async def test_of_two_with_one_name_the_described_the_active_or_the_last_seen_one_is_meant(
    engine: Engine, user: str
) -> None:
    ana = Teller(engine, user)
    family, work = [await ana.knows_of("Marta", another=True) for _ in range(2)]
    for one, drink, place in ((family, "wine", "the lake"), (work, "tea", "the office")):
        await ana.tells(str(one), "drinks", drink)
        await ana.creates(f"Marta planned a dinner at {place}", kind="episode", entity_ids=[one])
    dinner = "Do you remember the dinner that Marta planned?"

    async def shown(message: str) -> tuple[list[str], list[str]]:
        found = await asked(ana, message)
        return facts(found), [one.text for one in found.envelope.EPISODE.hits]

    assert await shown(dinner) == (["Marta drinks tea"], ["Marta planned a dinner at the office"])
    await engine.writes.handle(validated(SetFocus, {**ana._who, "active_entity_ids": (family,), "at": now()}))
    assert await shown(dinner) == (["Marta drinks wine"], ["Marta planned a dinner at the lake"])
    assert (await shown("What does she drink again?"))[0] == ["Marta drinks wine"]
    await ana.tells("me", "boss", str(work))
    drinks, _ = await shown("What does my boss Marta drink?")
    assert "Marta drinks tea" in drinks
    assert "Marta drinks wine" not in drinks
    await ana.tells("me", "sister", str(family))
    drinks, _ = await shown("What do my boss Marta and my sister Marta drink?")
    assert {"Marta drinks tea", "Marta drinks wine"} <= set(drinks)
    for one in (family, work):
        await ana.tells("me", "neighbour", str(one))
    drinks, _ = await shown("What does my neighbour Marta drink?")
    assert "Marta drinks wine" in drinks, "both are described, and one is active"
    assert "Marta drinks tea" not in drinks
