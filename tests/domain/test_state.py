"""Of several statements about one state, the latest counts; an end counts for what it says is over."""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from mnemolog.domain import state

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def current(question: str, *said: str) -> list[str]:
    """What is not superseded of things that were said a day after the other."""
    asked = state.asked_states(question)
    told = [state.statement(text, "", text, BEGAN + timedelta(days=at), asked) for at, text in enumerate(said)]
    gone = state.superseded([one for one in told if one], asked)
    return [text for text in said if text not in gone]


def test_the_latest_statement_about_a_state_is_current() -> None:
    said = ("I live in Porto.", "I joined Acme on Monday.", "We relocated to Ghent", "I live in Oslo now.")
    assert current("Where do I live?", *said) == [said[1], said[3]]
    assert current("Where do I work?", *said) == list(said)


def test_what_is_said_again_in_other_words_still_holds() -> None:
    said = ("I moved to Porto.", "I live in Porto.", "I joined Acme on Monday.", "I work for Acme as a welder.")
    assert current("Where do I live?", *said) == list(said)
    assert current("Where do I work?", *said) == list(said)
    there_and_back = ("I moved to Porto.", "I live in Ghent now.", "I've moved back to Porto.")
    assert current("Where do I live?", *there_and_back) == [there_and_back[0], there_and_back[2]]
    assert current("Where do I work?", "I work at Acme.", "I joined Acme.", "I left Acme.") == ["I left Acme."]


def test_an_end_supersedes_what_ended_and_nothing_else() -> None:
    left, joined, quit_ = "I left Acme last month.", "I joined Globex.", "I quit my job."
    assert current("Where do I work?", "I work at Acme.", left) == [left]
    assert current("Where do I work?", "I work at Acme.", joined, left) == [joined]
    assert current("Where do I work?", "I work at Acme.", joined, quit_) == [quit_]


def test_a_plan_to_move_does_not_supersede_a_home() -> None:
    said = ("I live in Porto.", "I'm moving to Ghent next month.", "If I moved to Rome, I would need a car.")
    assert current("Where do I live?", *said) == list(said)


def test_an_occupation_says_nothing_about_an_employer() -> None:
    said = ("I work at Acme.", "I'm a nurse.")
    assert current("Where do I work?", *said) == list(said)


@pytest.mark.parametrize(
    "other",
    [
        "My sister Julia moved from Salzburg to Zurich.",
        "In 2019 I lived in Lisbon.",
        "Until 2023 I lived in Rome.",
        "My address is 1 Elm Road.",
    ],
)
def test_what_the_rules_know_to_be_something_else_says_nothing_about_a_home(other: str) -> None:
    said = ("I live in Porto.", other)
    assert current("Where do I live?", *said) == list(said)


def test_a_question_may_ask_for_a_time_that_is_over() -> None:
    asked = partial(state.asked_past, asked_at=BEGAN)
    assert asked("Who was my dentist before?") == state.Past()
    assert asked("Where did I live before Leipzig?") == state.Past("leipzig")
    assert asked("Where do I live?") is asked("What did I say?") is None
    then = asked("Where did I live in 2019?")
    assert then
    assert then.fits(datetime(2018, 3, 1, tzinfo=UTC), datetime(2019, 2, 1, tzinfo=UTC))
    assert not then.fits(datetime(2020, 3, 1, tzinfo=UTC), None)
    assert then.apart(datetime(2019, 3, 1, tzinfo=UTC), None) == timedelta()
    assert then.apart(datetime(2020, 1, 2, tzinfo=UTC), None) == timedelta(days=1)
    assert then.apart(datetime(2017, 1, 1, tzinfo=UTC), datetime(2018, 12, 30, tzinfo=UTC)) == timedelta(days=2)


def test_a_summary_that_repeats_a_former_value_is_outdated() -> None:
    asked = state.asked_states("Where do I live?")
    home = state.statement("new", "", "I moved to Ghent.", BEGAN, asked)
    assert home
    now = {(home.subject, home.state): home}
    assert state.outdated("Extract: I live in Porto. I love tea.", BEGAN, now, asked) == home
    dated = "Extract: Ana, 2026-01-02: I saw Dr. Silva. 2026-01-03: I live in Porto. 2026-01-09: I love tea."
    assert state.outdated(dated, BEGAN, now, asked) == home
    assert state.outdated("PROFILE\n- I moved to Ghent.", BEGAN, now, asked) is None


def test_when_somebody_went_asks_for_the_last_date_of_it() -> None:
    past = state.asked_past("When did I go to Tokyo?", BEGAN)
    assert past
    assert past.last
    assert state.asked_past("When did I move to Tokyo?", BEGAN) is None


def test_what_a_relative_does_is_not_what_the_user_does() -> None:
    asked = state.asked_states("Where do I work?")
    brother = state.statement("1", "", "my brother dave got a new job, he's at network rail now", BEGAN, asked)
    assert brother
    assert brother.subject == "me brother"
    own = state.statement("2", "", "my brother and i got a new job at asda", BEGAN, asked)
    assert own
    assert own.subject == "me"


@pytest.mark.parametrize(
    "other",
    ["My ex-husband Kai works at Siemens", "our lodger lives in the annex", "The man who sold my bike works at Ikea"],
)
def test_what_another_does_whom_the_rules_do_not_know_is_not_what_the_user_does(other: str) -> None:
    for question, own in (("Where do I work?", "I work at Acme."), ("Where do I live?", "I live in Porto.")):
        assert current(question, own, other) == [own, other]


def test_trips_and_diets_have_a_current_one_as_well() -> None:
    trips = ("I'm planning a trip to Crete.", "Change of plans, the next trip is Malta.")
    assert current("Where does my next trip go?", *trips) == [trips[1]]
    assert current("Where does my next trip go?", *trips[::-1]) == list(trips[::-1])
    flights = ("We're flying to Lisbon on 14 May.", "We're going to Crete on 3 August.", "Lisbon is moved to 28 May.")
    assert current("When do I fly to Lisbon?", *flights) == list(flights[1:])
    assert current("What is my diet?", "I'm vegan now.", "I eat meat again.") == ["I eat meat again."]
    assert current("What is my diet?", "I'm gluten-free now.", "I eat fish again.") == ["I'm gluten-free now."]


@pytest.mark.parametrize(
    "said",
    [
        "Eva said: I live in Graz.",
        'Eva told me: "I moved to Graz".',
        '"I moved to Graz," said Eva.',
        "“I live in Graz”, Eva wrote.",
        "Eva told me that she lives in Graz.",
        "Lunch was nice. Eva said: I live in Graz.",
    ],
)
def test_what_somebody_else_is_quoted_with_is_about_them(said: str) -> None:
    told = state.statement("", "Ana", said, BEGAN, state.asked_states("Where does Eva live?"))

    assert told
    assert (told.subject, told.state) == ("eva", "home")
    assert current("Where do I live?", said, "I live in Porto now.") == [said, "I live in Porto now."]


@pytest.mark.parametrize(
    "said", ["I said: I live in Graz.", "I told Eva: I live in Graz", "I live in Graz, I told you."]
)
def test_who_quotes_themselves_speaks_of_themselves(said: str) -> None:
    told = state.statement("", "Ana", said, BEGAN, state.asked_states("Where do I live?"))

    assert told
    assert told.subject == "ana"


@pytest.mark.parametrize(
    ("text", "values", "only"),
    [
        ("I live in Porto", ["Lisbon"], True),
        ("My wedding is on 3 May", ["2026-05-03"], True),
        ("Hi! I live in Berlin, near the canal.", ["Berlin"], True),
        ("I'm a nurse at St. Mary's, and I take metformin.", ["St. Mary's", "metformin"], True),
        ("I've got diabetes type 2, on metformin twice a day. And I'm allergic to penicillin", ["penicillin"], False),
        ("Mum died on Saturday evening. The funeral is on 27 October in Gouda.", ["2026-10-27"], False),
    ],
)
def test_a_message_says_only_what_facts_with_these_values_tell(text: str, values: list[str], only: bool) -> None:
    assert state.says_only(text, values) is only


@pytest.mark.parametrize(
    "other",
    [
        "Gran left the farm and is moving to Bath, close to my cousin.",
        "Nina lives in Hull, next door to my brother",
        "Omar moved in with me for a month, he is in Leeds on a course.",
        "I like Ghent. Petra moved to Liege with my bike.",
    ],
)
def test_where_somebody_else_lives_is_no_news_of_the_speaker(other: str) -> None:
    said = ("I live in Porto.", other)
    assert current("Where do I live?", *said) == list(said)


@pytest.mark.parametrize(
    "own",
    ["Nan and me are living in Ghent now.", "Tom left and I moved to Ghent.", "Finally moved to Ghent, my back!"],
)
def test_where_the_speaker_lives_is_news_whoever_else_is_named(own: str) -> None:
    assert current("Where do I live?", "I live in Porto.", own) == [own]


def test_a_new_colleague_is_no_news_of_the_job_of_the_speaker() -> None:
    said = ("I was promoted today.", "Mia joined my team.")
    assert current("Where do I work?", *said) == list(said)


def test_who_hired_the_speaker_tells_a_job_of_theirs() -> None:
    said = ("I quit my job.", "Globex hired me.")
    assert current("Where do I work?", *said) == [said[1]]


@pytest.mark.parametrize(
    "other",
    [
        "I joined the sea swimming club at Myrtleville.",
        "I joined a gym too.",
        "I joined the choir in Leeds.",
        "We joined in at the end.",
    ],
)
def test_who_joins_a_club_has_no_other_job(other: str) -> None:
    assert "I work at Acme." in current("Where do I work?", "I work at Acme.", other)


def test_who_joins_a_team_has_another_job() -> None:
    assert current("Where do I work?", "I work at Acme.", "I joined the data team at Globex.")[-1].endswith("Globex.")


@pytest.mark.parametrize(
    "other",
    [
        "My job is killing me.",
        "I love my job sometimes",
        "Been working for hours, I'm done",
        "I worked at home today",
        "I told Mandy about my new job",
        "Right: new job 1 June, new car.",
    ],
)
def test_who_speaks_of_a_job_has_no_other(other: str) -> None:
    said = ("I work at Acme.", other)
    assert current("Where do I work?", *said) == list(said)


@pytest.mark.parametrize("other", ["I got a new job at Globex", "My job at Globex is fun", "My employer is Globex"])
def test_who_names_an_employer_has_another_job(other: str) -> None:
    assert current("Where do I work?", "I work at Acme.", other) == [other]


@pytest.mark.parametrize(
    "other",
    [
        "we need to paint our house",
        "My house is freezing",
        "New house 16 May!",
        'A patient told me "I live in a caravan with four parrots".',
    ],
)
def test_who_speaks_of_a_house_has_no_other_home(other: str) -> None:
    said = ("I live in Hull.", other)
    assert current("Where do I live?", *said) == list(said)


@pytest.mark.parametrize("other", ["We love our new flat", "Our place in Leith is lovely"])
def test_a_new_home_is_another(other: str) -> None:
    assert current("Where do I live?", "I live in Hull.", other) == [other]


def test_what_is_supposed_of_another_is_theirs() -> None:
    said = ("I'm vegan.", "Eve eats fish now so I suppose she's a pescatarian")
    assert current("Am I vegan?", *said) == list(said)


def test_who_mentions_a_husband_has_married_nobody_else() -> None:
    said = ("I'm married to Tom.", "I told my husband off")
    assert current("Who is my husband?", *said) == list(said)
    assert current("Who is my boyfriend?", "I'm dating Tom.", "I have a boyfriend, Max") == ["I have a boyfriend, Max"]


def test_a_role_of_which_no_name_is_said_is_whose_it_was() -> None:
    said = ("My boss is Dana.", "My boss is a pain today.")
    assert current("Who is my boss?", *said) == list(said)
    assert current("Who is my boss?", "My boss is Dana.", "My boss is now Eve.") == ["My boss is now Eve."]


@pytest.mark.parametrize(
    ("question", "value", "remark"),
    [
        ("What car do I drive?", "My car is a Fiat Panda", "My car is filthy"),
        ("What car do I drive?", "My car is a Fiat Panda", "My car is still making me late and it's old"),
        ("What car do I drive?", "My car is a Fiat Panda", "My car is in the garage"),
        ("What car do I drive?", "My car is a Fiat Panda", "My car is nearly 12 years old"),
        ("What car do I drive?", "My car is a Fiat Panda", "My car is sold"),
        ("What is my dog called?", "My dog is called Rex", "My dog is limping"),
        ("What's my rent?", "My rent is 550", "My rent is too expensive"),
        ("What's my rent?", "My rent is 550", "My rent is due on Friday"),
        ("What's my rent?", "My rent is 550", "My rent is going up to 600"),
        ("What's my rent?", "My rent is 550", "My workshop rent is 240"),
        ("Who is my boss?", "My boss is Eve", "My old boss is Dana"),
        ("Who is my boss?", "My boss is Eve", "My brother's boss is Dana"),
        ("What car do I drive?", "My car is a Fiat Panda", "My other car is a Skoda"),
        ("Who is our landlord?", "Our landlord is Mr Hale", "Our landlord is a total nightmare at the moment"),
        ("What's my favourite tea?", "My favourite tea is oolong", "My favourite tea is lovely with milk"),
    ],
)
def test_what_something_is_like_leaves_what_it_is(question: str, value: str, remark: str) -> None:
    assert current(question, f"{value}.", f"{remark}.") == [f"{value}.", f"{remark}."]


@pytest.mark.parametrize(
    ("question", "former", "now"),
    [
        ("What car do I drive?", "My car is a Fiat Panda", "My car is an old Skoda"),
        ("What colour is my door?", "My door is blue", "My door is red"),
        ("What's my shoe size?", "My shoe size is 5", "My shoe size is 5.5"),
        ("When is my exam?", "My exam is on 2 May", "My exam is on Friday"),
        ("What's my favourite drink?", "My favourite drink is tea", "My favourite drink is cold brew"),
    ],
)
def test_another_value_replaces_it_whatever_it_begins_with(question: str, former: str, now: str) -> None:
    assert current(question, f"{former}.", f"{now}.") == [f"{now}."]
