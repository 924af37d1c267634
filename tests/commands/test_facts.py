"""Facts are told by name: whom they make known, what repeats, what ends, and who is meant."""

from collections.abc import Sequence
from uuid import UUID, uuid4

import pytest

from mnemolog.adapters.operations.facts import add_fact, end_fact
from mnemolog.commands.fact_changes import EndFact, ForgetFact, RestoreFact, RetireFact
from mnemolog.commands.naming import Seen
from mnemolog.domain.errors import AmbiguousEntity, Erased, InvalidInput, NotFound, TransitionRefused
from mnemolog.domain.memory import Status
from mnemolog.domain.predicates import Predicate
from mnemolog.events.event import Event
from mnemolog.events.fields import validated
from mnemolog.events.graph import (
    EntityObserved,
    RelationAsserted,
    RelationEnded,
    RelationErased,
    RelationForgotten,
    RelationObserved,
    RelationRestored,
    RelationRetired,
)
from tests.testkit.clock import START
from tests.testkit.graph import Told, on, remembering, year


def kinds(payloads: Sequence[Event]) -> list[str]:
    return [type(one).__name__ for one in payloads]


@pytest.mark.spec("A08")
def test_a_fact_creates_each_entity_it_names_once() -> None:
    told = Told()
    told.remember("Alice", "lives_in", "Berlin")
    told.remember("alice ", "works_at", "Acme")

    assert kinds(told.payloads()) == [
        "EntityObserved",
        "EntityObserved",
        "RelationAsserted",
        "EntityObserved",
        "RelationAsserted",
    ]
    names = [(one.name, one.category) for one in told.payloads() if isinstance(one, EntityObserved)]
    assert names == [("Alice", "Person"), ("Berlin", "Location"), ("Acme", "Organization")]


@pytest.mark.spec("X13")
def test_a_later_place_ends_the_earlier_one_in_one_event_and_undo_gives_it_back() -> None:
    told = Told()
    berlin = told.remember("Alice", "lives_in", "Berlin", since="2020-01-01")
    porto = told.remember("Alice", "lives_in", "Porto", since="2024-01-01")
    assert (told.held(berlin), told.held(porto)) == ([(2020, 2024)], [(2024, None)])

    told.undo(told.events()[-1])

    assert (told.held(berlin), told.held(porto)) == ([(2020, None)], [])


@pytest.mark.spec("X13")
def test_repeating_a_value_is_an_observation_that_makes_it_surer() -> None:
    told = Told()
    first = told.remember("Alice", "allergy", "nuts", confidence=0.5)
    again = told.remember("ALICE", "Allergy", "nuts", confidence=1.0)

    assert first == again
    observed = told.payloads()[-1]
    assert isinstance(observed, RelationObserved)
    assert observed.confidence == pytest.approx(0.65)


@pytest.mark.parametrize("name", ["since", "until"])
def test_how_exactly_a_date_is_known_is_refused_without_the_date(name: str) -> None:
    said = {"user_id": "ana", "subject": "me", "predicate": "lives_in", "object": "Rome", f"{name}_precision": "year"}
    ends = {"user_id": "ana", "relation_id": str(uuid4()), "until_precision": "month"}
    for model, fields in ((add_fact.request, said), (end_fact.request, ends)):
        with pytest.raises(InvalidInput, match="which is not set") as refused:
            validated(model, fields)
        assert refused.value.field in fields
        assert refused.value.fix.startswith("set ")
    assert validated(add_fact.request, {**said, name: "2019"})


@pytest.mark.parametrize(("predicate", "literal"), [("lives_in", None), ("has", False)])
def test_an_object_that_is_too_long_for_a_name_is_no_entity(predicate: str, literal: bool | None) -> None:
    told = Told()
    told.remember("Alice", predicate, "a" * 255, literal=literal)

    with pytest.raises(InvalidInput) as refused:
        told.remember("Alice", predicate, "a" * 256, literal=literal)

    assert (refused.value.field, refused.value.fix) == ("object", "use a shorter name, or set `literal`")


def test_a_text_that_is_too_long_for_a_name_is_a_value_where_nobody_says_what_it_is() -> None:
    told = Told()
    told.remember("Alice", "wrote", "b" * 255)
    told.remember("Alice", "wrote", "a" * 256)

    stated = [one for one in told.payloads() if isinstance(one, RelationAsserted)]
    assert [(one.literal, one.value) for one in stated] == [(False, "b" * 255), (True, "a" * 256)]


@pytest.mark.spec("X13")
@pytest.mark.parametrize(
    ("one", "other"), [("Penicillin", "penicillin"), ("ward sister", "Ward  Sister."), ("34", 34), ("B-", "b-")]
)
def test_a_value_in_another_spelling_is_a_repetition(one: str, other: str | int) -> None:
    told = Told()
    first = told.remember("Alice", "has", one, literal=True)

    assert told.remember("Alice", "has", other, literal=True) == first
    assert isinstance(told.payloads()[-1], RelationObserved)
    assert told.remember("Alice", "has", "B", literal=True) != first


@pytest.mark.spec("X13")
@pytest.mark.parametrize(("one", "other"), [("hunter2", "Hunter2"), ("12 mW", "12 MW"), ("iphone", "iPhone")])
def test_a_value_whose_case_says_something_is_corrected(one: str, other: str) -> None:
    told = Told()
    first = told.remember("Alice", "password", one, literal=True)

    assert told.remember("Alice", "password", other, literal=True) != first


@pytest.mark.spec("X14")
def test_the_same_turn_is_no_second_observation() -> None:
    told = Told()
    told.remember("Alice", "likes", "tea", source_turn_ids=["t1"])
    told.remember("Alice", "likes", "tea", source_turn_ids=["t2"])
    before = len(told.events())

    receipt = told.asked(remembering("Alice", "likes", "tea", source_turn_ids=["t1"]))

    assert receipt.already
    assert len(told.events()) == before


@pytest.mark.spec("X13")
def test_a_retired_fact_stays_retired_when_its_turn_is_repeated() -> None:
    told = Told()
    tea = told.remember("Alice", "likes", "tea", source_turn_ids=["t1"])
    told.asked(on(RetireFact, tea))

    assert told.asked(remembering("Alice", "likes", "tea", source_turn_ids=["t1"])).already
    assert told.held(tea) == []
    told.remember("Alice", "likes", "tea", since="2025-01-01")
    assert told.held(tea) == [(2025, None)]


@pytest.mark.spec("A08")
def test_an_object_is_a_value_unless_it_names_a_known_entity() -> None:
    told = Told()
    told.entity("Rex", category="Animal")
    rex = told.remember("Alice", "cares_for", "Rex")
    job = told.remember("Alice", "cares_for", "the garden")
    text = told.remember("Alice", "cares_for", "Rex", literal=True)
    number = told.remember("Alice", "shoe_size", 42.0)

    relations = told.graph.relations
    assert relations[rex].object_id
    assert relations[rex].value is None
    assert (relations[job].object_id, relations[job].value) == (None, "the garden")
    assert relations[text].value == "Rex"
    assert told.remember("Alice", "shoe_size", 42) == number


def test_a_value_where_a_name_is_due_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        Told().remember("Alice", "lives_in", 5, literal=False)
    assert caught.value.field == "object"


def test_the_user_is_me() -> None:
    told = Told()
    told.remember("me", "knows", "Ana")
    [fact] = told.graph.relations.values()
    [ana] = told.graph.entities.values()

    assert (ana.traits.name, ana.traits.category) == ("ana", "Person")
    assert fact.subject_id == fact.object_id == ana.entity_id


@pytest.mark.spec("A20")
def test_an_ambiguous_name_means_the_active_entity_else_the_last_seen_else_a_question() -> None:
    told = Told()
    work = told.entity("Marta", attributes={"team": "design"}, aliases=["work Marta"])
    family = told.entity("Marta", another=True)

    with pytest.raises(AmbiguousEntity) as caught:
        told.remember("marta", "likes", "tea")
    assert caught.value.question == "work Marta or Marta (Thing)?"
    assert [one["entity_id"] for one in caught.value.candidates] == [str(work), str(family)]
    assert "Marta" not in str(caught.value), "an error's text ends in logs"

    seen = [Seen(entity_id=work, last_seen=START), Seen(entity_id=family, last_seen=year(2027))]
    assert subject_of(told, told.remember("Marta", "likes", "tea", seen=seen)) == family
    active = [seen[0].model_copy(update={"active": True}), seen[1]]
    assert subject_of(told, told.remember("Marta", "likes", "milk", seen=active)) == work
    assert subject_of(told, told.remember("work marta", "likes", "soy")) == work
    assert subject_of(told, told.remember(str(family), "likes", "rum")) == family


def subject_of(told: Told, fact: UUID) -> UUID:
    return told.graph.relations[fact].subject_id


@pytest.mark.spec("A01")
def test_global_facts_never_refer_to_a_private_entity() -> None:
    told = Told()
    private = told.remember("Marta", "likes", "tea", scope="agent", agent_id="coach")
    shared = told.remember("Marta", "likes", "tea", agent_id="coach")
    other = told.remember("Marta", "likes", "tea", scope="agent", agent_id="planner")

    subjects = {told.graph.relations[one].subject_id for one in (private, shared)}
    assert len(subjects) == 2
    assert told.graph.relations[other].subject_id == told.graph.relations[shared].subject_id
    with pytest.raises(NotFound):
        told.asked(on(RetireFact, private, agent_id="planner"))


@pytest.mark.spec("X13")
def test_an_end_is_recorded_once() -> None:
    told = Told()
    fact = told.remember("Alice", "lives_in", "Berlin", since="2020-01-01")
    told.asked(on(EndFact, fact, until="2024-01-01"))

    assert told.held(fact) == [(2020, 2024)]
    assert isinstance(told.payloads()[-1], RelationEnded)
    assert told.asked(on(EndFact, fact, until="2024-01-01")).already
    assert told.asked(on(EndFact, fact)).already
    with pytest.raises(InvalidInput, match="does not hold before"):
        told.asked(on(EndFact, fact, until="2019-01-01"))


@pytest.mark.spec("X13")
def test_a_retired_fact_never_held_and_what_it_ended_holds_again() -> None:
    told = Told()
    berlin = told.remember("Alice", "lives_in", "Berlin", since="2020-01-01")
    porto = told.remember("Alice", "lives_in", "Porto", since="2024-01-01")
    told.asked(on(RetireFact, porto))

    assert (told.held(berlin), told.held(porto)) == ([(2020, None)], [])
    retired = told.payloads()[-1]
    assert isinstance(retired, RelationRetired)
    assert [one.relation_id for one in retired.validity] == [porto, berlin]
    assert told.asked(on(RetireFact, porto)).already


@pytest.mark.spec("A19")
def test_a_deleted_fact_can_be_restored_or_recorded_again() -> None:
    told = Told()
    fact = told.remember("Alice", "likes", "tea", since="2020-01-01")
    told.asked(on(ForgetFact, fact, reason="asked"))
    assert isinstance(told.payloads()[-1], RelationForgotten)
    with pytest.raises(TransitionRefused):
        told.asked(on(RetireFact, fact))
    told.asked(on(RestoreFact, fact))
    assert isinstance(told.payloads()[-1], RelationRestored)

    told.asked(on(ForgetFact, fact))
    assert told.remember("Alice", "likes", "tea", since="2025-01-01") == fact
    assert told.graph.relations[fact].status is Status.ACTIVE
    assert told.held(fact) == [(2025, None)], "only what was told since is known"


@pytest.mark.spec("X07")
def test_an_erased_fact_keeps_its_periods_and_can_be_recorded_again() -> None:
    told = Told()
    fact = told.remember("Alice", "job_title", "cook", since="2020-01-01")
    told.happened(RelationErased(relation_id=fact))

    again = told.remember("Alice", "job_title", "cook", since="2024-01-01")

    assert again != fact
    assert told.held(fact) == [(2020, 2024)]
    with pytest.raises(Erased):
        told.asked(on(RetireFact, fact))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"subject": ""}, "subject"),
        ({"subject": "x" * 256}, "subject"),
        ({"subject": "\u200b"}, "subject"),
        ({"predicate": "!!"}, "predicate"),
        ({"predicate": "x" * 65}, "predicate"),
        ({"object": None}, "object"),
        ({"object": ""}, "object"),
        ({"object": ["nul \0"]}, "object"),
        ({"object": float("nan")}, "object"),
        ({"object": ["x" * 40_000]}, "object"),
        ({"metadata": {"nul \0": 1}}, "metadata"),
        ({"since": "yesterday"}, "since"),
        ({"since": "2026-02-30"}, "since"),
        ({"until": START.replace(tzinfo=None)}, "until"),
        ({"since": "2026-01-02", "until": "2026-01-02"}, "until"),
        ({"confidence": 1.5}, "confidence"),
        ({"source_turn_ids": [""]}, "source_turn_ids[0]"),
        ({"subject": str(uuid4())}, "subject"),
    ],
)
def test_a_fact_that_cannot_be_stored_names_its_field(fields: dict[str, object], field: str) -> None:
    given = {"subject": "Alice", "predicate": "likes", "object": "tea", **fields}
    with pytest.raises((InvalidInput, NotFound)) as caught:
        Told().asked(remembering(**given))  # type: ignore[arg-type]
    assert caught.value.field == field


def test_asserted_is_what_was_said_and_validity_what_follows() -> None:
    told = Told()
    told.remember("Alice", "lives_in", "Porto", since="2024-01-01")
    told.remember("Alice", "lives_in", "Berlin", since="2020-01-01")

    fact = told.payloads()[-1]
    assert isinstance(fact, RelationAsserted)
    assert (fact.valid_from, fact.valid_to) == (year(2020), None)
    assert [one.valid_to for one in fact.validity[0].periods] == [year(2024)]


@pytest.mark.spec("X03", "X13")
def test_an_undo_gives_back_whether_the_predicate_was_single_valued() -> None:
    told = Told()
    coffee = told.remember("Ana", "likes", "coffee", since=year(2017), literal=True)
    tea = told.remember("Ana", "likes", "tea", since=year(2018), until=year(2019), literal=True)
    before = told.graph.relations
    told.remember("Ana", "likes", "tea", since=year(2021), literal=True, rule=Predicate("likes", single=True))
    assert told.held(coffee) == [(2017, 2018)]

    told.undo(told.events()[-1])

    assert (told.held(coffee), told.held(tea)) == ([(2017, None)], [(2018, 2019)])
    assert told.graph.relations == before
    told.undo(told.events()[-1])
    assert told.held(coffee) == [(2017, 2018)]


@pytest.mark.spec_part("X13")
def test_another_value_of_what_is_timeless_means_that_the_former_never_held() -> None:
    told = Told()
    wrong = told.remember("Alice", "birthday", "3 May", since="2020-01-01")
    right = told.remember("Alice", "birthday", "5 May", since="2024-01-01")

    assert told.held(wrong) == []
    assert told.held(right) == [(2020, None)]
    assert kinds(told.payloads()[-2:]) == ["RelationRetired", "RelationAsserted"]
    again = told.remember("Alice", "birthday", "3 May", since="2025-01-01")
    assert (again, told.held(wrong), told.held(right)) == (wrong, [(2020, None)], [])


@pytest.mark.spec_part("X13")
def test_what_was_told_earlier_of_what_is_timeless_does_not_retire_what_was_told_later() -> None:
    told = Told()
    later = told.remember("Alice", "birthday", "5 May", since="2024-01-01")
    told.remember("Alice", "birthday", "3 May", since="2020-01-01")

    assert told.held(later) == [(2024, None)]
