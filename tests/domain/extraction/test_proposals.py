"""What may be remembered of a model's proposals (B09, E06), and which messages it is shown (B13)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from mnemolog.domain.extraction.candidate import Action
from mnemolog.domain.extraction.policy import ExtractionPolicy
from mnemolog.domain.extraction.proposals import Judged, Proposal, Sort, judge
from mnemolog.domain.extraction.times import absolute
from mnemolog.domain.extraction.validation import LONGEST, Fault, checked, is_filler
from mnemolog.domain.extraction.windows import MOST_MESSAGES, Trigger, Utterance, seems_lasting, windows
from mnemolog.domain.turn import Role

pytestmark = pytest.mark.spec_part("B13", "E06")

AT = datetime(2026, 5, 13, 9, tzinfo=UTC)
POLICY = ExtractionPolicy()


def said(*texts: str, role: Role = Role.USER) -> list[Utterance]:
    return [
        Utterance(number, f"t{number}", role, "", text, AT + timedelta(minutes=number))
        for number, text in enumerate(texts, 1)
    ]


def proposal(text: str = "The user plays the oboe.", sort: Sort = Sort.FACT, **fields: object) -> Proposal:
    return replace(Proposal(sort, text, (1,), 0.9, 2), **fields)  # type: ignore[arg-type]


def judged(one: Proposal, *texts: str, role: Role = Role.USER) -> Judged:
    heard = said(*(texts or ("I play the oboe in Porto",)), role=role)
    return judge([one], heard, (), categories={"preferences", "note"}, profile_fields={"preferred_name"})


@pytest.mark.spec("B09")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The user lives in Porto.", "The user lives in Porto."),
        ('  - "The user lives\n in Porto."', "The user lives in Porto."),
        ("One is. Two is. Three is.", "One is. Two is."),
        (f"{'a' * 200} ends. {'b' * 200} ends.", f"{'a' * 200} ends."),
        ("The user decided that this week is free.", "The user decided that this week is free."),
        ("The user moved to the US and works in IT.", "The user moved to the US and works in IT."),
        ("", Fault.EMPTY),
        ("...", Fault.EMPTY),
        ("a" * (LONGEST + 1), Fault.TOO_LONG),
        ("I live in Porto.", Fault.PRONOUN),
        ("Ana told us of it.", Fault.PRONOUN),
        ("The user lives with her sister.", Fault.PRONOUN),
        ("The user likes that.", Fault.PRONOUN),
    ],
)
def test_a_text_is_trimmed_or_refused_with_a_reason(text: str, expected: str | Fault) -> None:
    assert checked(text) == expected


@pytest.mark.spec("B09")
@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("The user moved to Porto.", True),
        ("The user and Clara were in Porto.", True),
        ("Tadhg dug the garden.", True),
        ("The user is moving to Porto.", False),
        ("The user will move to Porto.", False),
        ("Der Nutzer zog nach Porto.", True),
    ],
)
def test_an_episode_is_told_in_the_past(text: str, passes: bool) -> None:
    assert isinstance(checked(text, episodic=True), Fault) is not passes


@pytest.mark.parametrize(
    ("one", "fault"),
    [
        (proposal(messages=()), Fault.UNSTATED),
        (proposal(messages=(0, 2, -1)), Fault.UNSTATED),
        (proposal(confidence=0.5), Fault.SPECULATION),
        (proposal(confidence=float("nan")), Fault.SPECULATION),
        (proposal(confidence=7.0), Fault.SPECULATION),
        (proposal("The user probably plays the oboe."), Fault.SPECULATION),
        (proposal("The user greeted the oboe."), Fault.FILLER),
        (proposal("The user plays the oboe in Madrid."), Fault.UNGROUNDED),
        (proposal("Bruno plays the oboe."), Fault.UNGROUNDED),
        (proposal("The user owns 3 oboes."), Fault.UNGROUNDED),
        (proposal("The user plays the oboe.", Sort.EVENT), Fault.NOT_PAST),
        (proposal("Play the oboe", Sort.PROCEDURE), Fault.NOT_STEPS),
        (proposal("The user follows a diet.", predicate="diet_plan", object="vegan"), Fault.UNGROUNDED),
        (proposal("The user lives in Rome.", predicate="lives_in", object="Porto"), Fault.UNGROUNDED),
        (proposal("The user may buy another oboe."), Fault.SPECULATION),
        (proposal(predicate="plays", object="x"), Fault.IMPLAUSIBLE),
        (proposal(predicate="plays", object="oboe", since="1850-01-01"), Fault.IMPLAUSIBLE),
    ],
)
def test_what_is_not_stated_plainly_is_left_out(one: Proposal, fault: Fault) -> None:
    assert judged(one) == Judged((), (fault,))


def test_what_only_the_assistant_says_is_left_out() -> None:
    assert judged(proposal(), role=Role.ASSISTANT).faults == (Fault.UNSTATED,)


def test_only_five_of_an_answer_are_considered() -> None:
    many = judge([proposal()] * 7, said("I play the oboe"), (), categories=(), profile_fields=())
    assert (len(many.accepted), many.faults) == (5, (Fault.OVER_LIMIT, Fault.OVER_LIMIT))


def test_a_fact_about_a_subject_becomes_a_candidate_with_its_dates() -> None:
    [one] = judged(proposal(predicate="Lives in", object="Porto", since="last week", change="changes")).accepted
    assert one.fact is not None
    assert (one.fact.predicate, one.fact.object, one.fact.changes) == ("lives_in", "Porto", True)
    assert one.fact.since == datetime(2026, 5, 4, tzinfo=UTC)


def test_a_profile_field_is_proposed_and_not_stated() -> None:
    bea = proposal("The user is called Bea.", predicate="preferred_name", object="Bea")
    [one] = judged(bea, "Call me Bea").accepted
    assert one.fact is not None
    assert one.fact.action is Action.PROPOSE


def test_an_unknown_category_and_importance_are_brought_into_range() -> None:
    [one] = judged(proposal(sort=Sort.PREFERENCE, category="secrets", importance=99)).accepted
    assert (one.category, one.importance) == ("preferences", 5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The user moved last week.", "The user moved in the week of 2026-05-04."),
        ("The user starts tomorrow.", "The user starts on 2026-05-14."),
        ("The user came two days ago.", "The user came on 2026-05-11."),
        ("The user lives in Porto since March 2024.", "The user lives in Porto since March 2024."),
        ("The user swims on Monday.", "The user swims on Monday."),
        ("The user slept for two hours.", "The user slept for two hours."),
    ],
)
def test_relative_times_become_dates(text: str, expected: str) -> None:
    assert absolute(text, AT) == expected


def test_a_weekday_is_a_date_where_something_happened_once() -> None:
    assert absolute("The user sold the boat on Monday.", AT, once=True) == "The user sold the boat on 2026-05-11."


def closed(texts: list[str], *, ends: tuple[str, ...] = (), quiet: bool = False) -> list[tuple[int, Trigger | None]]:
    return [(len(one.messages), one.trigger) for one in windows(said(*texts), ends, POLICY, quiet=quiet)]


def test_a_window_closes_when_it_is_full_or_the_thread_is_quiet_or_the_episode_ends() -> None:
    plain, lasting = ["Look at the sky"], ["I moved to Porto"]
    assert closed(lasting) == []
    assert closed(lasting, quiet=True) == [(1, Trigger.CLASSIFIER)]
    assert closed(plain, quiet=True) == []
    assert closed(plain, ends=("t1",)) == [(1, Trigger.EPISODE)]
    assert closed(["Hello!"], ends=("t1",)) == [(1, None)]
    assert closed(plain * (MOST_MESSAGES + 1)) == [(MOST_MESSAGES, None)]
    assert closed([*plain * MOST_MESSAGES, *lasting], quiet=True) == [(MOST_MESSAGES, None), (1, Trigger.CLASSIFIER)]
    assert closed(["x" * POLICY.long_message], quiet=True) == [(1, Trigger.LENGTH)]


def test_filler_is_told_from_what_says_something() -> None:
    assert all(map(is_filler, ("Hi!", "Ok, thanks a lot.", "Good morning :)", "", "haha yes", "Sounds good!")))
    assert not any(map(is_filler, ("Hi, I moved to Porto", "No peanuts", "Yes, on Friday")))


def test_what_the_model_rates_trivial_is_chatter_unless_it_is_a_preference_an_end_or_to_be_done() -> None:
    trivial = proposal(importance=1)
    assert judged(trivial).faults == (Fault.FILLER,)
    assert judged(replace(trivial, sort=Sort.EVENT, text="The user played the oboe.")).faults == (Fault.FILLER,)
    for kept in ({"sort": Sort.PREFERENCE}, {"sort": Sort.DECISION}, {"change": "ends"}, {"importance": 2}):
        assert judged(replace(trivial, **kept)).accepted, kept


def test_what_is_to_be_done_may_begin_with_any_verb() -> None:
    [one] = judged(proposal("Get the oboe to Porto.", Sort.TODO)).accepted
    assert one.text == "Get the oboe to Porto."
    assert judged(proposal("Get the oboe of Bruno.", Sort.TODO)).faults == (Fault.UNGROUNDED,)


def test_the_object_of_a_fact_was_said_even_if_its_sentence_has_other_words() -> None:
    diet = proposal("The user follows a vegetarian diet.", predicate="diet_plan", object="vegetarian")
    [one] = judged(diet, "I've gone vegetarian").accepted
    assert one.fact is not None
    assert (one.fact.predicate, one.fact.object) == ("diet_plan", "vegetarian")


@pytest.mark.parametrize(
    ("text", "began"),
    [
        ("Leila is changing schools in January, she'll be at the Oboe College.", "2027-01-01"),
        ("Leila changed schools in January, she is at the Oboe College.", "2026-01-01"),
        ("Leila signed with the Oboe College! Starts in January.", "2027-01-01"),
        ("The Oboe College took Leila, first day is in January", "2027-01-01"),
        ("Leila was to start at the Oboe College in January.", "2026-01-01"),
    ],
)
def test_a_month_is_the_next_one_in_a_sentence_about_what_is_to_come(text: str, began: str) -> None:
    works = proposal("Leila works at the Oboe College.", subject="Leila", predicate="works_at", object="Oboe College")
    [one] = judged(replace(works, since="in January"), text).accepted
    assert one.fact is not None
    assert one.fact.since is not None
    assert one.fact.since.date().isoformat() == began


@pytest.mark.spec_part("E06")
@pytest.mark.parametrize(
    ("text", "imagined"),
    [
        ("If I won the lottery I'd buy a farm in Wales.", True),
        ("I told Mia I live in Wales, as a joke.", True),
        ("I keep dreaming of a house in Wales", True),
        ("Hypothetically, say I live in Wales.", True),
        ("If I were rich I'd have a farm in Wales. Anyway, I moved to Wales in May.", False),
        ("No kidding, I live in Wales now!", False),
        ("I'm not joking: I've moved to Wales.", False),
        ("My dream job at the library in Wales came through, I live in Wales now.", False),
        ("If you visit, I live in Wales now.", False),
    ],
)
def test_what_is_only_imagined_is_no_fact(text: str, imagined: bool) -> None:
    lives = proposal("The user lives in Wales.", predicate="lives_in", object="Wales")
    found = judged(lives, text)
    assert (found.faults == (Fault.SPECULATION,)) is imagined
    assert bool(found.accepted) is not imagined


@pytest.mark.parametrize(
    "text",
    [
        "Rhys proposed!",
        "We're getting married in June.",
        "I handed in my notice today.",
        "I don't work there any more.",
        "My nan died on Friday.",
        "Jonah and I have been together since June.",
        "We found a flat.",
        "The exam has been moved to 4 April.",
        "I've gone freelance!",
        "He left the bank and works for a start-up.",
        "The doctor has put me on ramipril.",
    ],
)
def test_a_message_that_tells_of_a_change_in_a_life_seems_lasting(text: str) -> None:
    assert seems_lasting(text)
