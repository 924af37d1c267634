"""What a model proposes about windows of messages: decided like what people write, once, and undone as one batch."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.maintenance import extracting, extracting_by_model
from mnemolog.adapters.maintenance.extracting import WINDOWS
from mnemolog.adapters.maintenance.segmenting import segment
from mnemolog.adapters.maintenance.summarizing import enqueue_ended
from mnemolog.commands.erasure import EraseMessages
from mnemolog.commands.extraction_requests import MODEL_ACTOR
from mnemolog.commands.rollback import Rollback
from mnemolog.domain.extraction.policy import ExtractionPolicy
from mnemolog.domain.facts import State
from mnemolog.domain.summary import SummaryKind
from mnemolog.events.envelope import Receipt
from mnemolog.events.extraction import MessagesExtracted
from mnemolog.events.fields import validated
from mnemolog.events.generation import Generation
from mnemolog.events.memory import MemoryCreated, MemoryObserved, MemoryUpdated
from mnemolog.events.summaries import SummaryWritten
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.model_life import FAULTS, Life, extracted, reading_engine, state
from tests.engine.teller import Teller, sentence
from tests.testkit.eventually import eventually
from tests.testkit.model_server import Json, ModelServer, filled, schema_of
from tests.testkit.settings import PATIENCE

INES = Life.of("ines")
PLAIN: Json = {
    "sort": "fact",
    "messages": [1],
    "confidence": 0.9,
    "importance": 2,
    "category": "",
    "single": False,
    "subject": "",
    "predicate": "",
    "object": "",
    "change": "states",
    "since": "",
    "until": "",
}
pytestmark = pytest.mark.spec_part("B13", "E06", "B09")


@pytest.fixture(scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory, server: ModelServer) -> AsyncIterator[Engine]:
    async with reading_engine(tmp_path_factory.mktemp("model"), server) as opened:
        yield opened


@pytest.fixture
def ines(engine: Engine, server: ModelServer, user: str) -> Teller:
    server.chat = INES.answer
    server.replies.clear()
    server.requests.clear()
    server.free.set()
    return Teller(engine, user)


def proposes(server: ModelServer, *candidates: dict[str, Any]) -> None:
    """What the model answers, whatever it is asked."""
    server.chat = lambda request: json.dumps({"candidates": [{**PLAIN, **one} for one in candidates]})


async def hears(ines: Teller, *texts: str) -> list[str]:
    head = await ines.engine.log.head(ines.stream)
    ids = [f"{ines.user}-{head}-{number}" for number in range(len(texts))]
    for turn_id, text in zip(ids, texts, strict=True):
        await ines.says(text, turn_id=turn_id, speaker="", occurred_at=now())
    await extracted(ines.engine)
    return ids


async def texts(ines: Teller) -> list[str]:
    return [row["text"] for row in await ines.engine.reads.newest(ines.viewer, 100, await ines.caught_up())]


async def windows(ines: Teller) -> list[MessagesExtracted]:
    log = await ines.engine.log.read(ines.stream)
    return [one.payload for one in log if isinstance(one.payload, MessagesExtracted)]


async def undoes(ines: Teller) -> Receipt:
    [run] = {one.meta.run_id for one in await ines.engine.log.read(ines.stream) if one.meta.actor == MODEL_ACTOR}
    command = validated(Rollback, {"user_id": ines.user, "of_run": run, "at": now()})
    return await ines.engine.writes.rollback(command)


async def test_a_life_is_remembered_as_it_was_told(ines: Teller, server: ModelServer) -> None:
    await INES.told(ines)
    assert await state(ines, "ines") == INES.after
    assert server.asked == len(INES.answers)
    await assert_live_equals_replayed(ines.engine, ines.stream)
    assert server.asked == len(INES.answers)


@pytest.mark.parametrize("call", range(len(FAULTS)))
async def test_a_model_that_fails_at_one_call_loses_and_doubles_nothing(
    call: int, ines: Teller, server: ModelServer
) -> None:
    good = INES.answer

    def fails_once(request: dict[str, Any]) -> str:
        if server.asked == call:  # The next one is the call that fails.
            server.replies.extend(FAULTS[call])
        return good(request)

    server.chat = fails_once
    if call == 0:
        server.replies.extend(FAULTS[0])
    await INES.told(ines)
    assert await state(ines, "ines") == INES.after
    assert server.asked == len(INES.answers) + len(FAULTS[call])


async def test_a_model_that_fails_at_every_call_before_it_answers_loses_and_doubles_nothing(
    ines: Teller, server: ModelServer
) -> None:
    """One job reads all windows: how often one could not be used does not count for the next."""
    failures = INES.fails_before_each_answer(server)
    await INES.told(ines)
    assert await state(ines, "ines") == INES.after
    assert server.asked == len(INES.answers) + failures


async def test_a_run_is_undone_as_one_batch_and_its_messages_are_not_read_again(
    ines: Teller, server: ModelServer
) -> None:
    said = {"sort": "todo", "text": "Call the landlord of the user about the heating.", "messages": [1]}
    keeps = {"subject": "user", "predicate": "keeps", "object": "bees", "text": "The user keeps bees."}
    decision = {"sort": "decision", "text": "The user decided to sell the honey."}
    proposes(server, said, keeps, decision)
    await hears(ines, "I have to call the landlord about the heating. I keep bees, and decided to sell the honey.")
    assert (await texts(ines), await ines.told()) == (
        ["The user decided to sell the honey."],
        {f"{ines.user} keeps bees"},
    )

    await undoes(ines)
    assert (await texts(ines), await ines.told()) == ([], set())
    [todo] = await ines.engine.reads.todos(ines.viewer, moment=await ines.caught_up())
    assert todo["status"] == "dropped"
    await ines.engine.jobs.forget(ines.stream)  # As if the last jobs had never been.
    await extracted(ines.engine)
    assert (await texts(ines), server.asked) == ([], 1)
    await assert_live_equals_replayed(ines.engine, ines.stream)


async def test_what_the_event_records_tells_how_it_was_extracted(ines: Teller, server: ModelServer) -> None:
    proposes(server, {"text": "The user plays the oboe."}, {"text": "She plays the oboe."})
    [turn_id] = await hears(ines, "I want to play the oboe again, which I learnt at school.")
    [window] = await windows(ines)
    assert (window.turn_ids, window.trigger, window.proposals) == ((turn_id,), "classifier", 2)
    assert window.faults == ("pronoun",)
    assert window.generation == Generation(
        model="m-1", prompt="extraction", prompt_version=2, input_tokens=100, output_tokens=20
    )
    [memory] = await ines.engine.reads.newest(ines.viewer, 100, await ines.caught_up())
    assert memory["metadata"] == {"extractor": "m-1 extraction-2"}
    assert (memory["source"], tuple(memory["source_turn_ids"])) == ("shadow_extraction", (turn_id,))


async def test_what_contradicts_the_word_of_somebody_is_asked_about(ines: Teller, server: ModelServer) -> None:
    await ines.tells("me", "lives_in", "Porto")
    proposes(server, {"text": "The user lives in Ghent.", "predicate": "lives_in", "object": "Ghent"})
    await hears(ines, "Ghent is where my dog and I sleep.", "Ghent is where my dog sleeps.")
    assert await ines.told() == {f"{ines.user} lives_in Porto"}
    [todo] = await ines.engine.reads.todos(ines.viewer, moment=await ines.caught_up())
    assert todo["text"] == (
        "Ask which is right: the user lives in Porto, as recorded, or the user lives in Ghent, as said later?"
    )


async def test_what_was_said_later_counts_although_the_rules_read_it_before_the_model(
    ines: Teller, server: ModelServer
) -> None:
    """They cannot end a trip that only the model finds in an earlier message, until it has."""
    trip = {"text": "The user goes to Lanzarote.", "predicate": "next_trip", "object": "Lanzarote"}
    proposes(server, {**trip, "single": True, "change": "changes"})
    await hears(ines, "We're going to Lanzarote in May.", "Lanzarote is cancelled, Tadhg got the shingles.")
    [row] = await ines.facts(valid_at="any", predicate="next_trip")
    assert sentence(row) == f"{ines.user} next_trip Lanzarote"
    assert row["valid_to"] is not None
    assert await ines.told() == set()
    await undoes(ines)
    [row] = await ines.facts(valid_at="any", predicate="next_trip")
    assert row["state"] is State.RETIRED
    assert await ines.told() == set()
    await assert_live_equals_replayed(ines.engine, ines.stream)


async def test_a_change_ends_what_somebody_recorded_with_its_date(ines: Teller, server: ModelServer) -> None:
    await ines.tells("me", "lives_in", "Porto", told_at="2026-01-01")
    new = {"text": "The user lives in Ghent.", "predicate": "lives_in", "object": "Ghent", "change": "changes"}
    proposes(server, {**new, "since": "1 May 2026"})
    await hears(ines, "Since 1 May 2026 my home is a boat in Ghent, and my dog loves the water.")
    rows = {row["object"]: row for row in await ines.facts(valid_at="any", predicate="lives_in")}
    assert rows["Porto"]["valid_to"] == rows["Ghent"]["valid_from"]
    assert f"{rows['Ghent']['valid_from']:%Y-%m-%d}" == "2026-05-01"


@pytest.mark.spec("B13")
@pytest.mark.parametrize(
    ("old", "new", "band"),
    [
        ("Clara plays the oboe.", "Clara plays  the oboe.", "auto"),
        ("The user runs in the park.", "The user is running in the park.", "update"),
        ("Clara runs in the park.", "Clara runs in the park with a neighbour.", "recreate"),
        ("Clara runs in the park.", "Clara never runs in the park.", "conflict"),
        ("Clara runs in the park.", "Clara walks in the park with a dog.", "fallback"),
    ],
)
async def test_a_proposal_meets_what_is_known_in_each_band(
    old: str, new: str, band: str, ines: Teller, server: ModelServer
) -> None:
    """And what is known of somebody is written anew where the old memory refers to nobody, and undone with the run."""
    await ines.knows_of("Clara")
    before = await ines.creates(old)
    proposes(server, {"text": new, "subject": "Clara" if "Clara" in new else "user"})
    await hears(ines, f"I always say: {new}")

    log = await ines.engine.log.read(ines.stream)
    written = [one.payload for one in log if one.meta.actor == MODEL_ACTOR]
    [match, *_] = [one.match for one in written if isinstance(one, MemoryCreated | MemoryUpdated | MemoryObserved)]
    assert match
    assert (match.band, match.candidate_id) == (band, before)
    found = await ines.engine.reads.newest(ines.viewer, 100, await ines.caught_up())
    kept = {"auto": {old}, "update": {new}, "recreate": {new}}.get(band, {old, new})
    assert {row["text"] for row in found} == kept
    referring = {row["text"]: row["entity_refs"] for row in found}
    assert referring.get(new, []) == (["person:clara"] if band in ("recreate", "conflict", "fallback") else [])
    await assert_live_equals_replayed(ines.engine, ines.stream)

    await undoes(ines)
    assert await texts(ines) == [old]


async def test_a_message_leaves_three_writes_and_a_day_has_a_limit(
    ines: Teller, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "I always cook on Sunday, swim on Monday, paint on Tuesday, sing on Thursday and rest on Friday."
    verbs = ("cooks on Sunday", "swims on Monday", "paints on Tuesday", "sings on Thursday", "rests on Friday")
    proposes(server, *({"text": f"The user {one}."} for one in verbs))
    await hears(ines, said)
    assert sorted(await texts(ines)) == sorted(f"The user {one}." for one in verbs[:3])
    assert (await windows(ines))[0].faults == ("over_limit", "over_limit")

    limited = replace(ines.engine.policy, extraction=ExtractionPolicy(writes_per_day=3))
    monkeypatch.setattr(ines.engine, "policy", limited)
    asked = server.asked
    proposes(server, {"text": "The user plays the oboe."})
    await hears(ines, "I want to play the oboe again, which I learnt at school.")
    assert server.asked == asked
    monkeypatch.undo()
    await hears(ines, "Hello!")
    assert "The user plays the oboe." in await texts(ines)


@pytest.mark.spec("B13")
async def test_the_facts_of_a_message_are_extracted_on_a_trigger_and_within_the_limits(
    ines: Teller, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    things = ("bees", "hens", "rye", "oboes", "kites", "stamps")
    kept = [{"text": f"The user keeps {one}.", "importance": 4, "category": "interests"} for one in things]
    proposes(server, *kept)
    other = replace(ines, thread="other")
    await hears(ines, "Nobody was at the station.")
    assert (server.asked, await windows(ines)) == (0, [])

    words = " and ".join(things)
    await hears(ines, f"It fills the whole house: {words}. {'There is hardly any room left. ' * 6}")
    await hears(other, f"We decided against more {words}.")
    assert [(one.trigger, one.proposals, one.faults) for one in await windows(ines)] == [
        ("length", 6, ("over_limit", "over_limit", "over_limit")),
        ("classifier", 6, ("over_limit", "over_limit", "over_limit")),
    ]
    found = await ines.engine.reads.newest(ines.viewer, 100, await ines.caught_up())
    assert {(row["text"], row["category"], row["importance"]) for row in found} == {
        (f"The user keeps {one}.", "interests", 0.75 + 0.05)
        for one in things[:3]  # Told once more.
    }

    asked, jobs = (
        server.asked,
        [one for one in await ines.engine.jobs.list(limit=1000) if one.stream == ines.stream.name],
    )
    spent = ExtractionPolicy(writes_per_day=sum(one.progress.get("written", 0) for one in jobs))
    monkeypatch.setattr(ines.engine, "policy", replace(ines.engine.policy, extraction=spent))
    await hears(replace(ines, thread="third"), "I want to play the oboe again, which I learnt at school.")
    assert server.asked == asked


@pytest.mark.spec("B13")
async def test_no_receipt_and_no_question_waits_for_the_model(ines: Teller, server: ModelServer) -> None:
    """They come while its first answer is still held back; `tests.bench.extraction` measures how fast."""
    proposes(server, {"text": "The user plays the oboe."})
    server.free.clear()
    await ines.says("I want to play the oboe again.", speaker="", occurred_at=now())
    await ines.engine.settled(60)
    await extracting.enqueue_due(ines.engine, now())
    await eventually(lambda: _asked(server))
    async with asyncio.timeout(PATIENCE):
        for number in range(20):
            text = f"I want to play the oboe again, for the {number}th time."
            await ines.says(text, turn_id=f"{ines.user}-{number}", speaker="", occurred_at=now())
            found = await ines.asks("What do I want to play?")
            assert text in {hit.text for hit in found.hits}
    assert (server.asked, await texts(ines)) == (1, [])
    server.free.set()
    await extracted(ines.engine)
    assert await texts(ines) == ["The user plays the oboe."]


async def _asked(server: ModelServer) -> bool:
    return server.asked == 1


async def test_an_answer_that_is_never_usable_is_passed_over(ines: Teller, server: ModelServer) -> None:
    server.chat = lambda request: "no JSON"
    await hears(ines, "I want to play the oboe again, which I learnt at school.")
    [window] = await windows(ines)
    assert (window.faults, window.proposals, server.asked) == (("unreadable",), 1, 6)
    proposes(server, {"text": "The user paints."})
    await hears(ines, "I want to paint more, which I always loved.")
    assert await texts(ines) == ["The user paints."]


async def test_a_job_that_dies_after_its_append_doubles_nothing(
    ines: Teller, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, died = extracting_by_model.record, list[int]()

    async def dies_once(*given: Any) -> int:
        written = await record(*given)
        if not died:
            died.append(written)
            raise RuntimeError("killed")
        return written

    monkeypatch.setattr(extracting_by_model, "record", dies_once)
    proposes(server, {"text": "The user plays the oboe."})
    await hears(ines, "I want to play the oboe again, which I learnt at school.")
    assert (died, await texts(ines), len(await windows(ines))) == ([1], ["The user plays the oboe."], 1)


async def test_a_message_that_is_hidden_while_the_model_reads_it_leaves_nothing(
    ines: Teller, server: ModelServer
) -> None:
    proposes(server, {"text": "The user plays the oboe."})
    server.free.clear()
    await ines.says("I want to play the oboe again.", turn_id=f"{ines.user}-1", speaker="", occurred_at=now())
    await ines.engine.settled(60)
    await extracting.enqueue_due(ines.engine, now())

    async def reads() -> bool:
        return server.asked == 1

    await eventually(reads)
    await ines.deletes_message(f"{ines.user}-1")
    server.free.set()
    await extracted(ines.engine)
    assert (await texts(ines), [one.faults for one in await windows(ines)]) == ([], [("hidden",)])


async def test_small_talk_is_not_sent_to_the_model(ines: Teller, server: ModelServer) -> None:
    await hears(ines, "Good morning!", "What's the weather like?", "Ok, thanks!")
    assert (server.asked, await windows(ines)) == (0, [])


@pytest.mark.spec("E06")
async def test_only_what_lasts_is_written_of_an_episode(ines: Teller, server: ModelServer) -> None:
    """Preferences, facts, decisions and the final summary; no greeting, filler, guess or chatter."""
    said = {
        "Good morning!": "The user greeted the assistant.",
        "Ok, thanks!": "The user thanked the assistant.",
        "I prefer tea to coffee.": "The user prefers tea to coffee.",
        "I always keep my bees by the river.": "The user keeps bees by the river.",
        "We decided to sell the honey in Ghent.": "The user decided to sell the honey in Ghent.",
        "Maybe I'll move to Ghent some day.": "The user might move to Ghent.",
        "I think the neighbour is a spy.": "The neighbour is a spy.",
        "My tram was late again today.": "The tram of the user was late.",
    }
    sorts = {"prefers": "preference", "decided": "decision"}

    def answers(request: Json) -> str:
        asked = schema_of(request)["properties"]
        if "facts_candidates" in asked:
            return json.dumps(final)
        if "candidates" not in asked:
            return filled(schema_of(request))
        shown = request["messages"][1]["content"].rpartition("Messages:\n")[2].splitlines()
        numbers = {text: n for n, line in enumerate(shown, 1) for text in said if line.endswith(text)}
        found = [
            {
                **PLAIN,
                "sort": next((sort for word, sort in sorts.items() if word in told), "fact"),
                "text": told,
                "messages": [numbers[text]],
                "confidence": 0.3 if "spy" in told else 0.9,
                "importance": 1 if "tram" in told else 2,
            }
            for text, told in said.items()
            if text in numbers
        ]
        return json.dumps({"candidates": found})

    final: dict[str, object] = {
        "topic": "bees",
        "summary": "Bees, honey and tea.",
        **{name: [] for name in ("decisions", "todos", "entities", "artifacts", "open_questions", "facts_candidates")},
    }
    server.chat = answers
    for number, text in enumerate(said):
        await ines.says(text, turn_id=f"{ines.user}-{number}", speaker="")
        if number % 4 == 3:
            await extracted(ines.engine)
    await segment(ines.engine, ines.stream, ines.agent, ines.thread, now() + timedelta(hours=9))
    await ines.engine.settled(60)
    await enqueue_ended(ines.engine, now())

    async def summed_up() -> list[str]:
        log = await ines.engine.log.read(ines.stream)
        written = [one.payload for one in log if isinstance(one.payload, SummaryWritten)]
        return [one.text for one in written if one.kind is SummaryKind.FINAL]

    async def is_summed_up() -> bool:
        return bool(await summed_up())

    await eventually(is_summed_up)
    await extracted(ines.engine)
    assert (set(await summed_up()), await ines.told()) == ({"Bees, honey and tea."}, {f"{ines.user} prefers tea"})
    lasting = ["The user decided to sell the honey in Ghent.", "The user keeps bees by the river."]
    assert sorted(await texts(ines)) == lasting
    assert Counter(fault for one in await windows(ines) for fault in one.faults) == {
        "filler": 3,
        "speculation": 2,
        "known": 1,
    }


async def test_without_a_model_nothing_is_enqueued_for_it(ines: Teller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ines.engine, "models", replace(ines.engine.models, chat=None))
    before = len(await ines.engine.jobs.list(kind=WINDOWS, limit=1000))
    await hears(ines, "I live in Porto. I want to play the oboe again.")
    assert await ines.told() == {f"{ines.user} lives_in Porto"}
    assert len(await ines.engine.jobs.list(kind=WINDOWS, limit=1000)) == before


@pytest.mark.spec_part("E03")
async def test_the_facts_that_a_final_summary_proposes_become_memories(ines: Teller, server: ModelServer) -> None:
    facts = (
        ("The user plays the oboe in a quartet with Clara.", 0.9),
        ("The user plays the tuba.", 0.9),
        ("The quartet probably plays in Ghent.", 0.9),
        ("The quartet plays in Ghent.", 0.2),
    )
    final: dict[str, object] = {
        "summary": "A quartet.",
        "topic": "music",
        "decisions": [],
        "todos": [],
        "entities": [],
        "artifacts": [],
    }
    candidates = [{"text": text, "confidence": confidence} for text, confidence in facts]
    final = {**final, "open_questions": [], "facts_candidates": candidates}

    def answers(request: Json) -> str:
        asked = schema_of(request)["properties"]
        if "facts_candidates" in asked:
            return json.dumps(final)
        return json.dumps({"candidates": []}) if "candidates" in asked else filled(schema_of(request))

    server.chat = answers
    said = ("The oboe is out of tune", "Our quartet meets in Ghent", "Clara brings the scores")
    ids = [f"{ines.user}-{number}" for number in range(len(said))]
    for turn_id, text in zip(ids, said, strict=True):
        await ines.says(text, turn_id=turn_id, speaker="")
    await extracted(ines.engine)
    await segment(ines.engine, ines.stream, ines.agent, ines.thread, now() + timedelta(hours=9))
    await ines.engine.settled(60)
    await enqueue_ended(ines.engine, now())

    async def remembered() -> bool:
        return any(one.summary_id for one in await windows(ines))

    await eventually(remembered)
    [read] = [one for one in await windows(ines) if one.trigger == "episode"]
    [summary] = [one for one in await windows(ines) if one.trigger == "summary"]
    assert read.turn_ids == tuple(ids)
    assert summary.faults == ("unstated", "speculation", "speculation")
    assert (summary.generation.prompt, set(summary.turn_ids)) == ("final_summary", set(ids))
    [memory] = await ines.engine.reads.newest(ines.viewer, 100, await ines.caught_up())
    assert (memory["text"], set(memory["source_turn_ids"])) == (facts[0][0], set(ids))

    await erase(ines.engine, EraseMessages.model_validate({"user_id": ines.user, "message_ids": (ids[2],)}))
    assert await texts(ines) == []
