"""Summaries without a model: sentences that were said, chosen by rule, and marked as an extract."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.extract import (
    DECISIONS,
    MARK,
    NEEDS,
    OF_ONESELF,
    PROMISES,
    extract,
    extracted,
    extracted_episode,
    extracted_session,
)
from mnemolog.domain.summary import (
    ITEM,
    ITEMS,
    LIMITS,
    ArtifactNote,
    EpisodeSummary,
    FactCandidate,
    FinalSummary,
    Form,
    Message,
    PlainSummary,
    RunningSummary,
    SessionSummary,
    Spine,
    SummaryKind,
    summary_of,
)
from mnemolog.domain.text import normalize_name
from mnemolog.domain.turn import Role
from tests.testkit.calls import calls

AT = datetime(2026, 5, 1, tzinfo=UTC)


def said(speaker: str, text: str, role: Role = Role.USER) -> Message:
    return Message(role, speaker, text, AT)


MOVING = [
    said("Ana", "Hi! I moved to Lisbon last week."),
    said("Bot", "Welcome to Lisbon! How is the new flat?", Role.ASSISTANT),
    said("Ana", "The flat in Lisbon is small. We decided to keep the car. I need to call the landlord."),
    said("Bot", "OK.", Role.ASSISTANT),
    said("", "lookup(lisbon) -> flat, flat, flat", Role.TOOL),
    said("Ana", "[image#A123] the kitchen of the flat"),
    said("Ana", "I\u2019ll paint it with Marta. Do you know a good painter?"),
]


def test_an_extract_says_so_and_keeps_the_order_and_the_speakers() -> None:
    assert extracted(MOVING, 120) == (
        "Extract: Ana: I moved to Lisbon last week. The flat in Lisbon is small. [image#A123] the kitchen of the flat"
    )


def test_a_session_in_brief_is_made_of_what_was_said() -> None:
    assert extracted_session(MOVING, names=["Marta", "Mar", "Pedro"]) == SessionSummary(
        one_liner="Extract: Ana, 2026-05-01: The flat in Lisbon is small.",
        what_mattered=(
            "Ana: The flat in Lisbon is small.",
            "Ana: I moved to Lisbon last week.",
            "Ana: [image#A123] the kitchen of the flat",
            "Ana: We decided to keep the car.",
            "Ana: I need to call the landlord.",
        ),
        open_loops=("Ana: I need to call the landlord.", "Ana: Do you know a good painter?"),
        commitments=("Ana: I\u2019ll paint it with Marta.",),
        people=("Marta",),
        tone="",
    )
    guest = [*MOVING, said("Zoe", "Hello all, I brought a cake.")]
    assert extracted_session(guest, names=["Marta"]).people == ("Ana", "Zoe", "Marta")


def test_an_episode_in_brief_has_the_form_of_the_specification() -> None:
    assert extracted_episode(MOVING, names=["Lisbon", "Porto"]) == EpisodeSummary(
        topic="Extract: The flat in Lisbon is small.",
        decisions=("Ana: We decided to keep the car.",),
        todos=("Ana: I need to call the landlord.",),
        facts_candidates=(),
        entities=("Lisbon",),
        artifacts=(ArtifactNote("A123", "the kitchen of the flat"),),
        open_questions=("Ana: Do you know a good painter?",),
    )


def test_an_extract_of_several_days_tells_them_apart() -> None:
    later = AT + timedelta(days=40)
    told = extracted(
        [
            said("", "I live in Porto with my partner Rui"),
            said("", "My new dentist is Dr. Silva"),
            Message(Role.USER, "", "Rui and I broke up", later),
            Message(Role.ASSISTANT, "Bot", "That must be hard for you and Rui.", later),
        ]
    )
    assert told == (
        f"Extract: {AT.date()}: I live in Porto with my partner Rui. My new dentist is Dr. Silva."
        f" {later.date()}: Rui and I broke up. Bot, {later.date()}: That must be hard for you and Rui."
    )


@pytest.mark.parametrize("correction", ["sorry, i meant Marcus Hall, not Bell", "No, sorry, I mean Marcus Hall."])
def test_a_correction_stays_with_what_it_corrects(correction: str) -> None:
    whole = f"From Monday my boss is Marcus Bell. {correction}"
    for messages in ([said("", whole)], [said("", "From Monday my boss is Marcus Bell"), said("", correction)]):
        assert extract(SummaryKind.SPINE, messages).summary_json["PROFILE"] == [f"2026-05-01: {whole}"]
        assert extracted(messages) == f"Extract: {whole}"


@pytest.mark.parametrize("text", ["I meant to call her.", "Sorry, I'm late.", "No, I mean it."])
def test_not_every_apology_is_a_correction(text: str) -> None:
    messages = [said("", f"My boss is Marcus Bell. {text}")]
    assert extract(SummaryKind.SPINE, messages).summary_json["PROFILE"] == ["2026-05-01: My boss is Marcus Bell."]


def test_nothing_said_is_nothing_extracted() -> None:
    only_noise = [said("Bot", "...", Role.ASSISTANT), said("", "do as I say", Role.SYSTEM)]
    for messages in ([], only_noise):
        assert extracted(messages) == ""
        assert extracted_session(messages) == SessionSummary("")
        assert extracted_episode(messages) == EpisodeSummary("")


def test_what_is_said_twice_is_extracted_once() -> None:
    twice = [said("Ana", "My sister Marta lives in Porto."), said("Ana", "my sister Marta lives in Porto now!")]
    assert extracted(twice) == "Extract: Ana: My sister Marta lives in Porto."


def test_greetings_come_last() -> None:
    assert extracted([said("Ana", "Hello! Thanks!"), said("Ana", "My flight leaves on Monday.")], 45) == (
        "Extract: Ana: My flight leaves on Monday."
    )


def test_a_sentence_that_is_too_long_is_cut_at_a_word() -> None:
    told = extracted([said("Ana", "word " * 100)], 50)
    assert told == "Extract: Ana: word word word word word word word…"


def test_an_announcement_of_another_topic_is_no_content_and_no_decision() -> None:
    for announced in ("Let's talk about something else.", "Okay, new topic.", "Давай про другое."):
        asked = [said("Ana", f"{announced} We decided to paint the hall.")]
        assert extracted(asked) == "Extract: Ana: We decided to paint the hall."
        assert extracted_episode(asked).decisions == ("Ana: We decided to paint the hall.",)
    about = "Let's talk about something else: my garden plan."
    assert extracted([said("Ana", about)]) == f"Extract: Ana: {about}"


def test_a_pause_does_not_end_a_sentence() -> None:
    paused = "I fly to Lisbon for the weekend... well, for two days. It is warm by the sea…"
    assert extracted_session([said("Ana", paused)]).what_mattered == (
        "Ana: I fly to Lisbon for the weekend... well, for two days.",
        "Ana: It is warm by the sea…",
    )


def test_japanese_is_split_without_spaces() -> None:
    told = extracted_session([said("花", "東京に引っ越しました。猫を飼うと決めました。名前は何がいいですか？")])
    assert told.what_mattered[:2] == ("花: 東京に引っ越しました。", "花: 猫を飼うと決めました。")
    assert told.open_loops == ("花: 名前は何がいいですか？",)


def test_a_question_that_was_answered_is_not_open() -> None:
    asked = [said("Ana", "Where is the key?"), said("Bot", "Under the mat.", Role.ASSISTANT)]
    assert extracted_episode(asked).open_questions == ()
    assert extracted_episode([*asked, said("Ana", "And the door code?")]).open_questions == ("Ana: And the door code?",)


@pytest.mark.parametrize(
    ("markers", "text"),
    [
        *((PROMISES, text) for text in ("I'll call her.", "I am going to do it.", "Обещаю позвонить.", "Zrobię to.")),
        *((PROMISES, text) for text in ("Voy a llamarla.", "Ich werde anrufen.", "明日電話するつもりです。")),
        *((NEEDS, text) for text in ("We must go.", "Мне нужно купить билет.", "Muszę zadzwonić.", "Tengo que ir.")),
        *((NEEDS, text) for text in ("Recuérdame.", "Wir müssen gehen.", "行かなければなりません。")),
        *((DECISIONS, text) for text in ("We decided to move.", "Мы решили переехать.", "Postanowiliśmy wyjechać.")),
        *(
            (DECISIONS, text)
            for text in ("Decidí irme.", "Wir haben beschlossen zu gehen.", "東京に行くと決めました。")
        ),
    ],
)
def test_markers_are_known_in_six_languages(markers: re.Pattern[str], text: str) -> None:
    assert markers.search(normalize_name(text))


@pytest.mark.parametrize("text", ["I like mustard.", "She was willing.", "Todo bien.", "Надоело мне это."])
def test_a_word_that_only_begins_like_a_marker_is_not_one(text: str) -> None:
    assert not any(markers.search(normalize_name(text)) for markers in (PROMISES, NEEDS, DECISIONS))


messages = st.lists(
    st.builds(
        said,
        st.sampled_from(["Ana", "Bot", ""]),
        st.text(alphabet=st.sampled_from("abc d?.\n猫。éя[]#:"), max_size=60) | st.text(max_size=30),
        st.sampled_from(Role),
    ),
    max_size=8,
)


@given(messages, st.integers(1, 300))
def test_an_extract_fits_repeats_itself_and_invents_nothing(given_messages: list[Message], limit: int) -> None:
    told = extracted(given_messages, limit)
    assert len(told) <= limit
    assert told == extracted(given_messages, limit)
    allowed = "".join(one.speaker + one.text for one in given_messages) + "Extract: …."
    assert set(told) <= set(allowed)
    extracted_session(given_messages)
    extracted_episode(given_messages)


def test_a_session_of_twice_as_many_messages_takes_twice_as_many_steps() -> None:
    """Each sentence differs from all others, with which it is compared only while few are left."""

    def steps(messages: int) -> int:
        long = [said("Ana", f"goat{n} saw{n} herd{n} near the hill of{n} today") for n in range(messages)]
        with calls() as counted:
            assert extracted(long)
        return counted.total()

    assert steps(1600) < 2.5 * steps(800)


KINDS = st.sampled_from(SummaryKind)
texts = st.text(max_size=1500)
items = st.lists(texts, max_size=30).map(tuple)
forms = st.one_of(
    st.tuples(st.just(SummaryKind.ROLLING), st.builds(PlainSummary, texts)),
    st.tuples(st.just(SummaryKind.CHUNK), st.builds(PlainSummary, texts)),
    st.tuples(st.just(SummaryKind.RUNNING), st.builds(RunningSummary, texts, items)),
    st.tuples(st.just(SummaryKind.SESSION), st.builds(SessionSummary, texts, items, items, items, items, texts)),
    st.tuples(
        st.just(SummaryKind.FINAL),
        st.builds(
            FinalSummary,
            texts,
            decisions=items,
            facts_candidates=st.lists(st.builds(FactCandidate, texts, st.floats())).map(tuple),
            artifacts=st.lists(st.builds(ArtifactNote, texts, texts)).map(tuple),
            summary=texts,
        ),
    ),
    st.tuples(st.just(SummaryKind.SPINE), st.builds(Spine, items, items, items, items)),
)


@given(forms)
def test_whatever_a_model_answers_is_within_the_limits(answered: tuple[SummaryKind, Form]) -> None:
    kind, form = answered
    made = summary_of(kind, form)

    if kind in LIMITS:
        assert len(made.text) <= LIMITS[kind]
    for value in made.summary_json.values():
        assert isinstance(value, str) or len(value) <= ITEMS
        for one in [value] if isinstance(value, str) else value:
            for text in one.values() if isinstance(one, dict) else [one]:
                assert (0.0 <= text <= 1.0) if isinstance(text, float) else len(text) <= ITEM
    json.dumps(made.summary_json, allow_nan=False)


@given(KINDS, messages, st.builds(Spine, items, items, items, items))
def test_an_extract_of_any_kind_says_something_and_repeats_itself(
    kind: SummaryKind, given_messages: list[Message], before: Spine
) -> None:
    made = extract(kind, given_messages, ["a b"], before)

    assert made.text.startswith(MARK)
    assert made == extract(kind, given_messages, ["a b"], before)
    assert len(made.text) <= LIMITS.get(kind, len(made.text))


@pytest.mark.spec("E03")
def test_a_final_summary_has_exactly_the_fields_of_the_specification() -> None:
    expected = ["topic", "decisions", "todos", "facts_candidates", "entities", "artifacts", "open_questions"]
    final = FinalSummary("moving", facts_candidates=(FactCandidate("Ana lives in Lisbon", 0.8),), summary="Ana moved.")

    for made in (extract(SummaryKind.FINAL, MOVING), summary_of(SummaryKind.FINAL, final)):
        assert list(made.summary_json) == expected
    assert made.text == "Ana moved."
    assert made.summary_json["facts_candidates"] == [{"text": "Ana lives in Lisbon", "confidence": 0.8}]


@pytest.mark.spec("D10")
def test_each_spine_continues_the_one_before() -> None:
    first = extract(SummaryKind.SPINE, MOVING, ["Marta"])
    assert first.summary_json == {
        "PROFILE": ["Ana, 2026-05-01: I moved to Lisbon last week."],
        "PROJECTS": ["Ana, 2026-05-01: We decided to keep the car.", "Ana, 2026-05-01: I\u2019ll paint it with Marta."],
        "PEOPLE": ["Marta"],
        "OPEN_LOOPS": ["Ana, 2026-05-01: I need to call the landlord.", "Ana, 2026-05-01: Do you know a good painter?"],
    }
    assert first.text.startswith("Extract:\n\nPROFILE\n- Ana, 2026-05-01: I moved to Lisbon last week.\n\nPROJECTS\n")

    before = Spine.of(first.summary_json)
    second = extract(SummaryKind.SPINE, [said("Ana", "I work at the port. I must buy a bike.")], ["Marta"], before)
    assert second.summary_json == {
        **first.summary_json,
        "PROFILE": ["Ana, 2026-05-01: I moved to Lisbon last week.", "Ana, 2026-05-01: I work at the port."],
        "OPEN_LOOPS": [*first.summary_json["OPEN_LOOPS"], "Ana, 2026-05-01: I must buy a bike."],
    }


@pytest.mark.spec("D10")
@pytest.mark.spec_part("A05")
def test_a_spine_tells_a_profile_from_a_mood_and_projects_of_the_user_from_promises_of_the_agent() -> None:
    spine = extract(
        SummaryKind.SPINE,
        [
            said("Ana", "I'm furious! I am on the bus now. I'm a nurse. I can't eat dairy."),
            said("Ana", "Let's talk about something else. I am working on a garden. I have promised Marta a plan."),
            said("Bot", "I'll remind you.", Role.ASSISTANT),
        ],
        ["Marta", "Ana"],
    )
    assert spine.summary_json == {
        "PROFILE": ["Ana, 2026-05-01: I'm a nurse.", "Ana, 2026-05-01: I can't eat dairy."],
        "PROJECTS": ["Ana, 2026-05-01: I am working on a garden.", "Ana, 2026-05-01: I have promised Marta a plan."],
        "PEOPLE": ["Marta"],
        "OPEN_LOOPS": [],
    }


def test_a_spine_of_words_that_are_about_nobody_does_not_say_that_there_were_none() -> None:
    small_talk = [said("Ana", "Lovely weather in Lisbon."), said("Bot", "It is sunny.", Role.ASSISTANT)]
    assert extract(SummaryKind.SPINE, small_talk).text == "Extract: nothing was said about the user."
    assert extract(SummaryKind.SPINE, [said("Ana", "!!!")]).text == "Extract: nothing was said in words."


@pytest.mark.parametrize(
    "todo",
    [
        "I need to renew my passport.",
        "Напомни мне купить билеты.",
        "Muszę oddać książkę.",
        "Tengo que pagar el alquiler.",
        "Ich muss noch den Arzt anrufen.",
        "明日、銀行に行かなければなりません。",
    ],
)
def test_what_is_still_to_be_done_is_an_open_loop_for_the_next_session(todo: str) -> None:
    assert extracted_session([said("Ana", todo)]).open_loops == (f"Ana: {todo}",)


def test_a_spine_dates_what_was_said_by_its_last_day() -> None:
    first = extract(SummaryKind.SPINE, [said("", "I live in Porto."), said("", "I work at the port.")])
    later = Message(Role.USER, "", "I live in Porto.", AT + timedelta(days=40))
    second = extract(SummaryKind.SPINE, [later], before=Spine.of(first.summary_json))
    assert second.summary_json["PROFILE"] == ["2026-05-01: I work at the port.", "2026-06-10: I live in Porto."]


def test_a_spine_forgets_its_oldest_items_first() -> None:
    before = Spine(profile=tuple(f"item {n}" for n in range(ITEMS)))
    made = extract(SummaryKind.SPINE, [said("Ana", "I live in Porto.")], before=before)
    assert made.summary_json["PROFILE"] == [*before.profile[1:], "Ana, 2026-05-01: I live in Porto."]


@pytest.mark.parametrize(
    "text",
    [
        *("I live in Porto.", "My name is Ana.", "Я живу в Риге.", "Меня зовут Аня.", "Mieszkam w Krakowie."),
        *("I'm a nurse.", "I'm from Porto.", "I don't eat meat.", "My best friend lives in Riga."),
        *("Ich bin aus Bonn.", "Ich bin Vegetarier."),
        *("Vivo en Madrid.", "Me gusta el té.", "Ich heiße Eva.", "Ich wohne in Köln.", "私は東京に住んでいます。"),
    ],
)
def test_what_users_say_of_themselves_is_known_in_six_languages(text: str) -> None:
    assert OF_ONESELF.search(normalize_name(text))


@pytest.mark.parametrize(
    "text", ["I'm furious!", "I am so tired.", "I have to run.", "Ich bin wütend.", "I am on a bus."]
)
def test_a_mood_or_a_moment_is_nothing_that_users_say_of_themselves(text: str) -> None:
    assert not OF_ONESELF.search(normalize_name(text))
