"""Entities are made known once, get further names, are merged and parted, forgotten and restored."""

from uuid import UUID

import pytest

from mnemolog.commands.entities import AddAlias, ForgetEntity, MergeEntities, RestoreEntity, UpdateEntity
from mnemolog.commands.turns import TURNS
from mnemolog.domain.errors import AmbiguousEntity, InvalidInput, NotFound, TransitionRefused
from mnemolog.domain.memory import Status
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.graph import EntitiesMerged, EntityAliased, EntityErased, EntityObserved, EntityUpdated
from tests.commands.test_turns import turn
from tests.testkit.decider import given
from tests.testkit.graph import Told, on


@pytest.mark.spec("A07")
def test_a_name_in_any_spelling_makes_one_entity() -> None:
    told = Told()

    assert told.entity("Zoë", category="Person") == told.entity("ZOE")
    assert [type(one) for one in told.payloads()] == [EntityObserved]


@pytest.mark.spec("A07")
def test_new_details_of_a_known_entity_are_added() -> None:
    told = Told()
    zoe = told.entity("Zoe")
    told.entity("zoe", category="Person", aliases=["Zo", "ZOE"], attributes={"pets": 2})

    traits = told.graph.entities[zoe].traits
    assert (traits.category, traits.aliases, traits.attributes) == ("Person", ("Zo",), {"pets": 2})
    updated = told.payloads()[-1]
    assert isinstance(updated, EntityUpdated)
    assert updated.changed == ("aliases", "attributes", "category")


@pytest.mark.spec("A07")
@pytest.mark.parametrize("category", ["person", "PERSON", "Sister"])
def test_the_spelling_of_a_category_makes_no_second_entity(category: str) -> None:
    told = Told()
    marta = told.entity("Marta", category=category)

    assert told.entity("Marta", category=category.swapcase()) == marta
    assert [type(one) for one in told.payloads()] == [EntityObserved]


@pytest.mark.spec("A07")
def test_a_fact_is_about_the_entity_whose_category_was_spelled_otherwise() -> None:
    told = Told()
    marta = told.entity("Marta", category="person")
    home = told.remember("Marta", "lives_in", "Porto")

    assert told.graph.entities[marta].traits.category == "Person"
    assert told.graph.relations[home].subject_id == marta


@pytest.mark.spec("A07")
def test_several_of_one_name_can_be_made_known() -> None:
    told = Told()
    first, second = told.entity("Marta"), told.entity("Marta", another=True)

    assert first != second
    with pytest.raises(AmbiguousEntity):
        told.entity("Marta")


@pytest.mark.spec("A20")
def test_the_answer_to_a_question_is_stored_as_an_alias() -> None:
    told = Told()
    marta = told.entity("Marta")
    told.asked(on(AddAlias, marta, alias="work Marta", question="work Marta or family Marta?"))

    aliased = told.payloads()[-1]
    assert isinstance(aliased, EntityAliased)
    assert (aliased.aliases, aliased.question) == (("work Marta",), "work Marta or family Marta?")
    assert told.entity("work marta") == marta
    assert told.asked(on(AddAlias, marta, alias="WORK MARTA")).already


def test_a_name_that_is_replaced_stays_as_an_alias() -> None:
    told = Told()
    marta = told.entity("Marta")
    told.asked(on(UpdateEntity, marta, name="Martha", confidence=0.5))

    traits = told.graph.entities[marta].traits
    assert (traits.name, traits.aliases, traits.confidence) == ("Martha", ("Marta",), 0.5)
    assert told.entity("marta") == marta
    assert told.asked(on(UpdateEntity, marta, name="Martha")).already


@pytest.mark.spec_part("D13")
def test_merged_variants_are_one_and_can_be_parted() -> None:
    told = Told()
    one, other = told.entity("Makesh", attributes={"team": "red"}), told.entity("Mukesh", attributes={"age": 40})
    berlin = told.remember("Makesh", "lives_in", "Berlin", since="2020-01-01")
    porto = told.remember("Mukesh", "lives_in", "Porto", since="2024-01-01")
    before = told.graph
    told.asked(on(MergeEntities, one, absorbed_ids=(other,)))

    merged = told.events()[-1]
    assert isinstance(merged.payload, EntitiesMerged)
    assert (merged.payload.aliases, merged.payload.attributes) == (("Mukesh",), {"team": "red", "age": 40})
    assert (told.held(berlin), told.held(porto)) == ([(2020, 2024)], [(2024, None)])
    assert told.entity("mukesh") == one
    assert told.remember("Mukesh", "lives_in", "Porto") == porto
    assert told.asked(on(MergeEntities, one, absorbed_ids=(other,))).already

    told.undo(merged)

    assert told.graph.entities == before.entities
    assert told.held(berlin) == [(2020, None)]
    assert told.entity("mukesh") == other


@pytest.mark.spec_part("D13")
def test_what_points_to_the_absorbed_is_what_points_to_the_survivor() -> None:
    told = Told()
    one, other = told.entity("Makesh"), told.entity("Mukesh")
    fact = told.remember("me", "knows", "Mukesh")
    told.asked(on(MergeEntities, one, absorbed_ids=(other,)))

    assert told.remember("me", "knows", "Makesh") == fact


def test_a_merge_is_refused_where_it_makes_no_sense() -> None:
    told = Told()
    one, own = told.entity("Makesh"), told.entity("Mukesh", scope="agent", agent_id="coach")
    gone = told.entity("Gone")
    told.asked(on(ForgetEntity, gone))

    for absorbed, error in (((), InvalidInput), ((one,), InvalidInput), ((gone,), TransitionRefused)):
        with pytest.raises(error):
            told.asked(on(MergeEntities, one, absorbed_ids=absorbed))
    with pytest.raises(InvalidInput, match="different scopes"):
        told.asked(on(MergeEntities, one, absorbed_ids=(own,), agent_id="coach"))
    with pytest.raises(NotFound):
        told.asked(on(MergeEntities, one, absorbed_ids=(own,)))


@pytest.mark.spec("A19")
def test_a_deleted_entity_can_be_restored_and_is_not_found_meanwhile() -> None:
    told = Told()
    marta = told.entity("Marta")
    told.asked(on(ForgetEntity, marta, reason="asked"))

    assert told.graph.entities[marta].status is Status.SOFT_DELETED
    assert told.asked(on(ForgetEntity, marta)).already
    assert told.entity("Marta") != marta
    told.asked(on(RestoreEntity, marta))
    assert told.graph.entities[marta].active
    with pytest.raises(AmbiguousEntity):
        told.remember("Marta", "likes", "tea")


def test_an_absorbed_entity_is_restored_by_undoing_its_merge() -> None:
    told = Told()
    one, other = told.entity("Makesh"), told.entity("Mukesh")
    told.asked(on(MergeEntities, one, absorbed_ids=(other,)))

    with pytest.raises(TransitionRefused) as caught:
        told.asked(on(RestoreEntity, other))
    assert caught.value.fix == "undo their merge"


def spoken_by(told: Told, speaker: str) -> UUID | None:
    """Whose turn it is, as a turn of this speaker is recorded."""
    [recorded] = [
        one
        for one in given(TURNS, *told.payloads()).when(turn(speaker=speaker)).events()
        if isinstance(one, TurnRecorded)
    ]
    return recorded.speaker_entity_id


@pytest.mark.spec("A07")
def test_a_speaker_is_found_by_alias_and_through_a_merge() -> None:
    told = Told()
    one, other = told.entity("Makesh", aliases=["Mak"]), told.entity("Mukesh")
    told.asked(on(MergeEntities, one, absorbed_ids=(other,)))

    assert spoken_by(told, "mak") == spoken_by(told, "Mukesh") == one


@pytest.mark.spec("A20")
def test_an_ambiguous_speaker_is_not_guessed() -> None:
    told = Told()
    told.entity("Marta")
    told.entity("Marta", another=True)

    assert spoken_by(told, "Marta") is None


@pytest.mark.spec("X07")
def test_a_deleted_or_erased_speaker_is_created_again() -> None:
    told = Told()
    marta = told.entity("Marta")
    told.asked(on(ForgetEntity, marta))
    assert spoken_by(told, "Marta") not in (None, marta)

    told.asked(on(RestoreEntity, marta))
    assert spoken_by(told, "Marta") == marta
    told.happened(EntityErased(entity_id=marta))
    assert spoken_by(told, "Marta") not in (None, marta)
