"""A pronoun stands for an active entity that it suits, the most recent one (A §6.1, A12)."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from mnemolog.domain.anaphora import Candidate, Resolved, resolve, ties_of
from mnemolog.domain.pronouns import Pronouns
from mnemolog.domain.session import Session
from mnemolog.domain.text import normalize_name

AT = datetime(2026, 1, 3, 1, 2, tzinfo=UTC)
EMPTY = Session("u", "deanna", "tg:1")


def entity(number: int, name: str, category: str = "Person", *aliases: str, **attributes: Any) -> Candidate:
    id_ = UUID(int=number)
    names = frozenset(map(normalize_name, (name, *aliases)))
    return Candidate(id_, name, category, names, frozenset({str(id_)}), attributes)


ANA, BOB, MARTA = entity(1, "Ana"), entity(2, "Bob"), entity(3, "Marta")
LISBON, BERLIN, REX, PROJECT = (
    entity(4, "Lisbon", "Location"),
    entity(5, "Berlin", "Location"),
    entity(6, "Rex", "Pet"),
    entity(7, "Apollo", "Project"),
)
KNOWN = (ANA, BOB, MARTA, LISBON, BERLIN, REX, PROJECT)


def said(*turns: tuple[str, list[Candidate]], before: Session = EMPTY, role: str = "user") -> Session:
    session = before
    for number, (text, entities) in enumerate(turns, session.msg_count):
        session = session.heard(role, text, f"t{number}", [str(one.entity_id) for one in entities], AT)
    return session


def asked(text: str, session: Session, known: tuple[Candidate, ...] = KNOWN) -> Resolved:
    return resolve(text, Pronouns().found_in(text), session, known)


def meant(text: str, session: Session, known: tuple[Candidate, ...] = KNOWN) -> Mapping[str, str]:
    return {one.text: one.name for one in asked(text, session, known).references if one.entity_id}


def test_she_is_who_was_spoken_of() -> None:
    found = asked("Where does she live?", said(("I met Ana yesterday", [ANA])))

    assert found.text == "Where does Ana live?"
    [reference] = found.references
    assert (reference.text, reference.entity_id, reference.name) == ("she", ANA.entity_id, "Ana")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("And her brother?", "Ana"),
        ("Where do I stay there?", "Lisbon"),
        ("How far along is it?", "Apollo"),
        ("Где она живёт?", "Ana"),
        ("¿Dónde vive su hermano?", "Ana"),
    ],
)
def test_each_pronoun_stands_for_its_kind(text: str, name: str) -> None:
    session = said(("Ana works on Apollo in Lisbon", [ANA, PROJECT, LISBON]))

    assert list(meant(text, session, (LISBON, PROJECT, ANA)).values()) == [name]


@pytest.mark.parametrize("text", ["Where does she live?", "What did he say?", "¿Dónde vive su hermano?"])
def test_a_person_is_never_a_place_or_a_project(text: str) -> None:
    session = said(("Apollo moves to Lisbon", [PROJECT, LISBON]))

    assert asked(text, session) == Resolved(text)


def test_nor_is_a_thing_a_person() -> None:
    session = said(("Ana called", [ANA]))

    assert not meant("How much did it cost?", session)
    assert not meant("How long do I stay there?", session)


def test_a_category_that_says_nothing_is_meant_only_if_nothing_suits_better() -> None:
    thing = entity(8, "Kim", "Thing")
    session = said(("I met Ana", [ANA]), ("and Kim", [thing]))

    assert meant("Where does she live?", session, (ANA, thing)) == {"she": "Ana"}
    assert meant("Where does she live?", said(("I met Kim", [thing])), (thing,)) == {"she": "Kim"}


def test_of_two_the_most_recent_is_meant() -> None:
    session = said(("I met Ana", [ANA]), ("Marta called", [MARTA]), ("It rains", []))

    assert meant("Where does she live?", session) == {"she": "Marta"}
    assert meant("Where does she live?", said(("Ana again", [ANA]), before=session)) == {"she": "Ana"}


def test_what_is_known_of_the_gender_decides() -> None:
    ana, bob = entity(1, "Ana", gender="female"), entity(2, "Bob", pronouns="he/him")
    session = said(("I met Ana", [ana]), ("and Bob", [bob]))

    assert meant("Where does she live?", session, (ana, bob)) == {"she": "Ana"}
    assert meant("Does he know her?", session, (ana, bob)) == {"he": "Bob", "her": "Ana"}
    mom = entity(9, "Eva", "Person", "Mom")
    assert not meant("What does he want?", said(("Mom called", [mom])), (mom,))


@pytest.mark.parametrize(
    ("tie", "she"),
    [
        *((one, "Ana") for one in ("brother", "husband", "uncle", "stepson", "father_in_law")),
        *((one, "Bob") for one in ("sister", "girlfriend", "partner_of", "fiance")),
    ],
)
def test_what_somebody_is_to_another_tells_the_gender(tie: str, she: str) -> None:
    bob = replace(BOB, ties=ties_of(tie, {}))
    assert ties_of("married_to", {"relation": tie}) == bob.ties
    session = said(("I met Ana", [ANA]), ("and Bob", [bob]))

    assert meant("Where does she live?", session, (ANA, bob)) == {"she": she}


def test_ties_that_disagree_tell_nothing_and_attributes_outweigh_them() -> None:
    both = replace(BOB, ties=frozenset({"sister", "husband"}))
    session = said(("I met Bob", [BOB]))
    assert meant("Where does she live?", session, (both,)) == {"she": "Bob"}
    told = replace(BOB, ties=frozenset({"husband"}), attributes={"pronouns": "she/her"})
    assert meant("Where does she live?", session, (told,)) == {"she": "Bob"}


def test_of_those_whom_a_turn_names_together_who_is_known_to_be_a_she_is_meant() -> None:
    eva = replace(MARTA, ties=frozenset({"aunt"}))
    together = said(("Ana met Marta", [ANA, eva]))
    assert meant("Where does she live?", together, (ANA, eva)) == {"she": "Marta"}
    later = said(("Ana called", [ANA]), before=together)
    assert meant("Where does she live?", later, (ANA, eva)) == {"she": "Ana"}


def test_two_pronouns_are_two_people() -> None:
    session = said(("I met Ana", [ANA]), ("and Bob", [BOB]))

    assert meant("Does he know her?", session) == {"he": "Bob", "her": "Ana"}
    assert meant("Does he like his job?", session) == {"he": "Bob", "his": "Bob"}


def test_they_are_all_of_the_last_turn_that_names_some() -> None:
    session = said(("I met Marta", [MARTA]), ("Ana and Bob moved to Lisbon", [ANA, BOB, LISBON]), ("Really?", []))

    found = asked("What do they drink?", session)

    assert found.text == "What do Ana, Bob drink?"
    assert [one.name for one in found.references] == ["Ana", "Bob"]


def test_whoever_speaks_is_not_who_they_speak_of() -> None:
    session = said(("I met Marta", [ANA, MARTA]), ("She was late", [ANA]))

    assert meant("Where does she live?", session) == {"she": "Marta"}
    assert meant("Where does she live?", said(("Hello", [ANA]))) == {"she": "Ana"}


def test_a_name_in_the_question_is_what_its_pronoun_is_about() -> None:
    session = said(("Marta called", [MARTA]))

    assert not meant("Does Ana like her job?", session)
    assert not meant("What does Ada take for her asthma?", session)  # Nothing is known of Ada yet.
    assert meant("Did Ada call her?", session) == {"her": "Marta"}
    assert meant("Does she know Ana?", session) == {"she": "Marta"}
    assert meant("Does Berlin suit her?", session) == {"her": "Marta"}


def test_what_was_merged_is_meant_under_its_new_name() -> None:
    merged = Candidate(UUID(int=3), "Marta Silva", "Person", frozenset({"marta silva"}), frozenset({str(UUID(int=9))}))

    session = said(("I met Marta", [entity(9, "Marta")]))
    assert meant("Where does she live?", session, (merged,)) == {"she": "Marta Silva"}


@pytest.mark.parametrize("text", ["what about Berlin?", "And tomorrow?", "А завтра?"])
def test_an_elliptic_question_continues_the_topic(text: str) -> None:
    session = said(("Hello", [])).focused({"topic_focus": "flights"}, None, AT)

    found = asked(text, session)

    assert found.text == f"{text} (flights)"
    assert [one.topic for one in found.references] == ["flights"]


@pytest.mark.parametrize(
    ("text", "word"),
    [("When did it open?", "it"), ("Who teaches there?", "there")],
)
def test_a_pronoun_that_suits_nothing_active_is_about_the_topic_that_was_set(text: str, word: str) -> None:
    session = said(("I met Marta", [MARTA])).focused({"topic_focus": "the flight school"}, None, AT)

    found = asked(text, session)

    assert found.text == f"{text} (the flight school)"
    assert [(one.text, one.entity_id, one.topic) for one in found.references] == [(word, None, "the flight school")]
    assert asked(text, said(("I met Marta", [MARTA]))) == Resolved(text)
    assert asked("Where does she live?", session).text == "Where does Marta live?"
    assert asked("When did Apollo start, and is it over?", session).references == ()


def test_without_a_topic_it_continues_the_last_question() -> None:
    session = said(("How long is the flight to Lisbon?", [LISBON]), ("Thanks.", []))
    session = said(("Shall I book it?", []), before=session, role="assistant")
    session = said(("what about Berlin?", []), before=session)

    assert asked("what about Berlin?", session).text == "what about Berlin? (How long is the flight to Lisbon?)"
    assert asked("what about Berlin?", said(("Thanks.", []))) == Resolved("what about Berlin?")


def test_a_pronoun_and_an_ellipsis_in_one_question() -> None:
    session = said(("I met Ana", [ANA])).focused({"topic_focus": "family"}, None, AT)

    found = asked("And her brother?", session)

    assert found.text == "And Ana brother? (family)"
    assert [(one.text, one.name, one.topic) for one in found.references] == [("her", "Ana", ""), ("and", "", "family")]


def test_entities_that_were_put_in_focus_are_meant_too() -> None:
    session = said(("Hello", [])).focused({}, [str(MARTA.entity_id)], AT)

    assert meant("Where does she live?", session) == {"she": "Marta"}


def test_whoever_a_turn_introduced_is_meant_once_they_are_known() -> None:
    introduced = said(("My sister Marta teaches piano", [ANA]), ("It rains", [ANA]))
    assert meant("Where does she live?", introduced) == {"she": "Marta"}
    assert meant("Where does she live?", introduced, (ANA, BOB)) == {"she": "Ana"}


def test_of_two_that_were_introduced_the_later_one_is_meant_and_one_in_focus_before_both() -> None:
    introduced = said(("Marta teaches piano", []), ("Bob is a baker", [ANA]), ("It rains", [ANA]))
    assert meant("What does he do?", introduced) == {"he": "Bob"}
    later = said(("Marta is here", []), before=introduced)
    assert meant("Where does she live?", later) == {"she": "Marta"}
    focused = introduced.focused({}, [str(MARTA.entity_id)], AT)
    assert meant("Where does she live?", focused) == {"she": "Marta"}


def test_they_are_all_that_a_turn_introduced() -> None:
    introduced = said(("Bob and Marta are coming", [ANA]))
    assert asked("When do they come?", introduced).text in ("When do Bob, Marta come?", "When do Marta, Bob come?")
