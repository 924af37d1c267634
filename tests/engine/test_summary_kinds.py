"""Running, chunk, session and final summaries and the spine: when they are written, of what, and how they go."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mnemolog.adapters.config import Settings
from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.maintenance import segmenting, summarizing
from mnemolog.adapters.maintenance.segmenting import segment
from mnemolog.adapters.maintenance.summarizing import (
    ENDED,
    enqueue_due,
    enqueue_ended,
    summarize,
    summarize_ended,
)
from mnemolog.commands.erasure import Erase, EraseMessages, EraseThread
from mnemolog.domain.errors import Erased, NotFound
from mnemolog.domain.extract import EXTRACTIVE
from mnemolog.domain.memory import Cause
from mnemolog.domain.summary import SummaryKind
from mnemolog.domain.text import count_tokens
from mnemolog.events.summaries import SummaryWritten
from mnemolog.projections.context import AgentContext
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.memories.due import pages
from mnemolog.projections.operations.counted import Node, Period, Wanted
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import ContextRequest
from tests.engine.engine_process import another
from tests.engine.equality import assert_live_equals_rebuilt, assert_live_equals_replayed
from tests.engine.person import Person
from tests.testkit.eventually import eventually
from tests.testkit.model_server import Json, ModelServer, model_server, schema_of
from tests.testkit.settings import settings_in

HOUR = timedelta(hours=1)
ENDS = (SummaryKind.SESSION, SummaryKind.FINAL)


@pytest.fixture(scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """An engine of their own, whose sweeps leave these users alone."""
    async with without_sweeps(settings_in(tmp_path_factory.mktemp("summaries"))) as opened:
        yield opened


@asynccontextmanager
async def without_sweeps(settings: Settings) -> AsyncIterator[Engine]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (summarizing, segmenting):
            patch.setattr(module, "EVERY_SECONDS", 24 * 3600.0)
        async with open_engine(settings) as opened:
            yield opened


@asynccontextmanager
async def model_engine(directory: Path, server: ModelServer) -> AsyncIterator[Engine]:
    server.chat = answers
    settings = settings_in(directory, model_url=server.url, model_api_key="sk-1", chat_model="m-1")
    async with without_sweeps(settings) as opened:
        yield opened


@pytest.fixture
def ana(engine: Engine, user: str) -> Person:
    return Person(engine, user)


async def talks(ana: Person, *texts: str) -> list[str]:
    """In one append. Returns the ids of the messages."""
    ids = [f"{await ana.engine.log.head(ana.stream)}-{number:03}" for number in range(len(texts))]
    who = {"user_id": ana.user, "agent_id": ana.agent, "thread_id": ana.thread, "speaker": "Ana"}
    turns = [{**who, "turn_id": id_, "text": text} for id_, text in zip(ids, texts, strict=True)]
    await ana.engine.writes.add(turns, keyed=False)
    return ids


def trains(number: int, first: int = 1) -> list[str]:
    return [f"Train {n} to Porto leaves from platform {n}" for n in range(first, first + number)]


async def summarized(ana: Person, after: timedelta = timedelta()) -> None:
    """The thread is divided as it is after so long, and what is due is written."""
    await ana.engine.settled(60)
    await segment(ana.engine, ana.stream, ana.agent, ana.thread, now() + after)
    await ana.engine.settled(60)
    await summarize(ana.engine, ana.stream, ana.agent, ana.thread)
    await ended(ana)


async def ended(ana: Person) -> None:
    """The summaries of the person's sessions and episodes that are due."""
    for kind, table in summarizing.STRETCHES.items():
        async with ana.engine.projections.live.connect() as connection:
            async for page in pages(connection, table.c.summary_due_at.is_not(None), table):
                for row in page:
                    if row["user_id"] == ana.user:
                        id_ = row["session_id" if kind is SummaryKind.SESSION else "episode_id"]
                        await connection.commit()
                        await summarize_ended(ana.engine, ana.stream, kind, id_)
    await ana.engine.settled(60)


async def listed(ana: Person, kind: str, moment: Moment | None = None) -> list[Mapping[str, Any]]:
    found = await ana.engine.reads.summaries(ana.viewer, kind=SummaryKind(kind), moment=moment or await ana.caught_up())
    return list(found)


async def given_to_next(ana: Person, moment: Moment | None = None) -> Any:
    session = await ana.engine.reads.session(ana.viewer, ana.thread, moment or await ana.caught_up())
    return session.scratch.get("last_session")


async def erases(ana: Person, command: type[Erase], **fields: Any) -> None:
    await erase(ana.engine, command.model_validate({"user_id": ana.user, **fields}))


@pytest.mark.spec("E04")
async def test_an_open_episode_has_a_running_summary_every_ten_messages_and_one_of_each_chunk(ana: Person) -> None:
    await talks(ana, *trains(8), "Is there a bar on it?")
    await summarized(ana)
    assert await listed(ana, "running") == []

    await talks(ana, "I need to buy the ticket")
    await summarized(ana)
    await summarized(ana)

    [running] = await listed(ana, "running")
    assert (running["messages"], running["mechanical"], running["version"]) == (10, True, 1)
    assert running["summary_json"] == {"open_loops": ["Ana: I need to buy the ticket", "Ana: Is there a bar on it?"]}
    [episode] = await ana.engine.reads.episodes(ana.viewer)
    assert running["episode_id"] == episode["episode_id"]

    await talks(ana, *trains(78, 20))
    await summarized(ana)
    assert [one["messages"] for one in await listed(ana, "running")] == [88, 10]
    later, earlier = await listed(ana, "chunk")
    assert (earlier["messages"], later["messages"]) == (40, 40)
    assert earlier["last_turn_id"] < later["first_turn_id"]
    await summarized(ana)
    assert len(await listed(ana, "chunk")) == 2
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.spec("E01")
@pytest.mark.spec_part("B14")
async def test_a_thread_an_episode_its_messages_and_its_summaries_name_each_other_in_the_form_of_the_specification(
    ana: Person,
) -> None:
    ids = await talks(ana, "The night train to Porto is full", "Is there a bus to Porto?")
    await summarized(ana)
    [active] = await ana.engine.reads.episodes(ana.viewer)
    [thread] = await ana.engine.reads.threads(ana.viewer)
    assert (thread["active_episode_id"], active["status"], active["topic_label"]) == (
        active["episode_id"],
        "active",
        None,
    )

    await summarized(ana, 9 * HOUR)

    [episode] = await ana.engine.reads.episodes(ana.viewer, moment=await ana.caught_up())
    assert (episode["status"], episode["topic_label"]) == ("closed", "Extract: The night train to Porto is full")
    assert episode["started_at"] <= episode["last_user_message_at"] == episode["ended_at"]
    assert await ana.engine.reads.episode(ana.viewer, episode["episode_id"]) == {**episode, "carried_over": []}
    [final] = await listed(ana, "final")
    assert (final["episode_id"], final["summary_json"]["topic"]) == (episode["episode_id"], episode["topic_label"])
    await talks(ana, "Good morning")  # No episode has it yet.
    found = await ana.engine.reads.messages(ana.viewer, None, 10, await ana.caught_up())
    assert [(one["message_id"], one["episode_id"]) for one in found[1:]] == [
        (id_, episode["episode_id"]) for id_ in reversed(ids)
    ]
    assert found[0]["episode_id"] is None
    other = Person(ana.engine, ana.user, agent="coach")
    assert (await ana.engine.reads.message(other.viewer, ids[0]))["episode_id"] is None

    counts = await ana.engine.reads.operations(ana.viewer, Wanted(by=Period.TOTAL, node=Node.EPISODIC), 100)
    assert {(one["op"], one["subject"]): one["count"] for one in counts} == {
        ("create", "episode"): 1,
        ("update", "episode"): 1,
        ("create", "summary"): 2,  # Of the session and of the episode.
    }

    await erases(ana, EraseMessages, message_ids=(ids[0],))
    [episode] = await ana.engine.reads.episodes(ana.viewer, moment=await ana.caught_up())
    assert episode["topic_label"] is None


async def test_an_open_episode_is_only_read_again_when_a_summary_of_it_is_due(
    ana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    await talks(ana, *trains(80))
    await summarized(ana)
    read = list[int]()
    between = conversation.between

    async def counted(*given: Any) -> Any:
        rows = await between(*given)
        if ana.stream in given:  # Jobs for users of earlier tests read, too.
            read.append(len(rows))
        return rows

    monkeypatch.setattr(conversation, "between", counted)
    for first in (81, 85):
        await talks(ana, *trains(4, first))
        await summarized(ana)
    assert read == []

    await talks(ana, *trains(4, 89))
    await summarized(ana)
    assert read == [92]
    assert [one["messages"] for one in await listed(ana, "running")] == [92, 80]


@pytest.mark.spec("E04")
async def test_every_chunk_of_a_long_episode_is_summarized_however_late(ana: Person) -> None:
    await talks(ana, *trains(450))
    await summarized(ana)
    await talks(ana, *trains(50, 451))

    await summarized(ana, 9 * HOUR)

    [final] = await listed(ana, "final")
    chunks = (await listed(ana, "chunk"))[::-1]
    assert [one["messages"] for one in chunks] == [40] * 12
    assert all(one["last_turn_id"] < later["first_turn_id"] for one, later in pairwise(chunks))
    assert {one["episode_id"] for one in chunks} == {final["episode_id"]}
    await summarized(ana, 10 * HOUR)
    assert len(await listed(ana, "chunk")) == 12


@pytest.mark.spec("E04")
async def test_a_message_that_is_deleted_at_the_end_of_a_chunk_lets_no_chunk_be_summarized_again(ana: Person) -> None:
    await talks(ana, *trains(80))
    await summarized(ana)
    [last, _] = await listed(ana, "chunk")
    await ana.deletes_message(last["last_turn_id"])
    await talks(ana, *trains(41, 81))

    await summarized(ana)

    assert [one["messages"] for one in await listed(ana, "chunk")] == [40, 40, 40]


@pytest.mark.spec("E04")
async def test_an_episode_that_closed_before_its_chunks_were_written_has_them(ana: Person) -> None:
    await talks(ana, *trains(90))
    await summarized(ana, 9 * HOUR)
    assert [one["messages"] for one in await listed(ana, "chunk")] == [40, 40]


async def test_long_messages_make_a_running_summary_due_sooner(ana: Person) -> None:
    await talks(ana, *[f"{text}. {'It is a long way to Porto. ' * 90}" for text in trains(4)])
    await summarized(ana)
    assert [one["messages"] for one in await listed(ana, "running")] == [4]


@pytest.mark.spec("D09")
async def test_an_ended_session_is_summarized_for_the_next_one(ana: Person) -> None:
    ids = await talks(ana, "I moved to Lisbon in May", "I'll call the landlord", "Is the flat in Lisbon dry?")
    await summarized(ana)
    assert (await listed(ana, "session"), await given_to_next(ana)) == ([], None)
    before = Moment(as_of=await ana.engine.log.head(ana.stream))

    await summarized(ana, HOUR)
    await summarized(ana, HOUR)

    [summary] = await listed(ana, "session")
    assert summary["summary_json"] == {
        "one_liner": f"Extract: Ana, {now().date()}: I moved to Lisbon in May",
        "what_mattered": [
            "Ana: I moved to Lisbon in May",
            "Ana: I'll call the landlord",
            "Ana: Is the flat in Lisbon dry?",
        ],
        "open_loops": ["Ana: Is the flat in Lisbon dry?"],
        "commitments": ["Ana: I'll call the landlord"],
        "people": [],
        "tone": "",
    }
    assert (summary["text"], summary["messages"]) == (summary["summary_json"]["one_liner"], 3)
    [session] = await ana.engine.reads.sessions(ana.viewer)
    assert summary["session_id"] == session["session_id"]
    await talks(ana, "Good morning!")
    assert await given_to_next(ana) == summary["summary_json"]
    assert await given_to_next(ana, before) is None
    await assert_live_equals_replayed(ana.engine, ana.stream)

    await ana.deletes_message(ids[0])
    assert await given_to_next(ana) is None
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.spec_part("E03")
async def test_a_closed_episode_has_a_final_summary(ana: Person) -> None:
    await talks(ana, "We decided to go to Porto", "[image#A12345] the station in Porto", "Remind me to call Marta")
    await ana.engine.writes.observe_entity({"user_id": ana.user, "name": "Marta", "category": "Person"})
    await summarized(ana, 9 * HOUR)
    await summarized(ana, 9 * HOUR)

    [summary] = await listed(ana, "final")
    assert summary["summary_json"] == {
        "topic": "Extract: [image#A12345] the station in Porto",
        "decisions": ["Ana: We decided to go to Porto"],
        "todos": ["Ana: Remind me to call Marta"],
        "facts_candidates": [],
        "entities": ["Marta"],
        "artifacts": [{"artifact_id": "A12345", "note": "the station in Porto"}],
        "open_questions": [],
    }
    assert (summary["mechanical"], summary["model"], summary["messages"]) == (True, EXTRACTIVE, 3)
    [episode] = await ana.engine.reads.episodes(ana.viewer)
    assert (summary["episode_id"], summary["session_id"]) == (episode["episode_id"], None)


@pytest.mark.spec("D10")
async def test_the_spine_goes_over_all_threads_and_each_version_builds_on_the_one_before(ana: Person) -> None:
    other = Person(ana.engine, ana.user, agent="coach", thread="other")
    await talks(ana, "I live in Lisbon", *trains(10))
    await talks(other, "I must call the landlord", *trains(7, 20))
    await summarized(ana)
    assert await listed(ana, "spine") == []

    await talks(other, "We decided to take the train")
    await summarized(ana)
    await summarized(other)
    [first] = await listed(ana, "spine")
    assert (first["version"], first["messages"], first["agent_id"], first["thread_id"]) == (1, 20, "", "")
    by = f"Ana, {now().date()}"
    assert first["summary_json"] == {
        "PROFILE": [f"{by}: I live in Lisbon"],
        "PROJECTS": [f"{by}: We decided to take the train"],
        "PEOPLE": [],
        "OPEN_LOOPS": [f"{by}: I must call the landlord"],
    }
    before = Moment(as_of=await ana.engine.log.head(ana.stream))
    await talks(ana, "I work at the port", *trains(19, 40))
    await summarized(ana)

    second, _ = await listed(ana, "spine")
    assert (second["version"], second["messages"]) == (2, 20)
    assert second["summary_json"] == {
        **first["summary_json"],
        "PROFILE": [f"{by}: I live in Lisbon", f"{by}: I work at the port"],
    }
    assert await listed(ana, "spine", before) == [first]
    assert await listed(other, "spine") == [second, first]
    assert await listed(Person(ana.engine, f"{ana.user}-2"), "spine") == []
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.spec("X07")
async def test_an_erased_message_takes_every_summary_of_its_thread_and_the_spine_along(ana: Person) -> None:
    other = Person(ana.engine, ana.user, agent="coach", thread="other")
    first, *_ = await talks(ana, "I am called quetzal", *trains(45))
    await talks(other, "Good morning, is Faro nice?")
    await summarized(ana)
    await summarized(ana, 9 * HOUR)
    await summarized(other, 9 * HOUR)
    kinds = ("rolling", "running", "chunk", "session", "final", "spine")
    told = [one for kind in kinds for one in await listed(ana, kind)]
    assert {one["kind"] for one in told} == set(kinds)
    assert "quetzal" in json.dumps([one["summary_json"] for one in told])
    before = Moment(as_of=await ana.engine.log.head(ana.stream))

    await erases(ana, EraseMessages, message_ids=[first])

    for moment in (None, before):
        assert [one for kind in kinds for one in await listed(ana, kind, moment)] == []
    for one in told:
        with pytest.raises(Erased):
            await ana.engine.reads.summary(ana.viewer, one["summary_id"], await ana.caught_up())
    assert await given_to_next(ana) is None
    assert {one["kind"] for kind in kinds for one in await listed(other, kind)} == {"session", "final"}
    await summarized(ana)
    again = [one for kind in ("session", "final", "spine") for one in await listed(ana, kind)]
    assert [(one["kind"], one["version"]) for one in again] == [("session", 2), ("final", 2), ("spine", 2)]
    assert "quetzal" not in json.dumps([[one["text"], one["summary_json"]] for one in again])
    assert await given_to_next(ana) == again[0]["summary_json"]
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.spec("X07")
async def test_retention_takes_the_extracts_and_they_are_not_written_again(ana: Person) -> None:
    first, *_ = await talks(ana, *trains(20))
    await summarized(ana, 9 * HOUR)

    await erases(ana, EraseMessages, message_ids=[first], cause=Cause.TTL, keep_memories=True)

    assert [one for kind in SummaryKind for one in await listed(ana, kind)] == []
    await ended(ana)
    assert [one for kind in ENDS for one in await listed(ana, kind)] == []
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_an_erased_thread_leaves_the_summaries_of_others_and_no_spine(ana: Person) -> None:
    other = Person(ana.engine, ana.user, thread="other")
    await talks(other, *trains(10))
    await talks(ana, *trains(10))
    await summarized(other, 9 * HOUR)
    await summarized(ana, 9 * HOUR)
    assert len(await listed(ana, "spine")) == 1

    await erases(ana, EraseThread, thread_id="other")

    assert await listed(ana, "spine") == []
    assert [one["thread_id"] for one in await listed(ana, "final")] == [ana.thread]
    await ended(ana)
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_a_hidden_message_is_not_carried_on_by_the_spine(ana: Person) -> None:
    first, *_ = await talks(ana, "I am called quetzal", *trains(19))
    await summarized(ana)
    await ana.deletes_message(first)
    await talks(ana, *trains(20, 30))
    await summarized(ana)

    second, _ = await listed(ana, "spine")
    assert (second["version"], "quetzal" in second["text"]) == (2, False)


async def test_each_agent_has_its_own(ana: Person) -> None:
    await talks(ana, *trains(10))
    await summarized(ana, 9 * HOUR)
    coach = Person(ana.engine, ana.user, agent="coach")
    for kind in ENDS:
        [summary] = await listed(ana, kind)
        assert await listed(coach, kind) == []
        with pytest.raises(NotFound):
            await ana.engine.reads.summary(coach.viewer, summary["summary_id"])


async def test_a_conversation_without_words_is_summarized_once(ana: Person) -> None:
    await talks(ana, *["👍"] * 20)
    for _ in range(2):
        await summarized(ana, 9 * HOUR)
    found = [one for kind in SummaryKind for one in await listed(ana, kind)]
    assert sorted(one["kind"] for one in found) == ["final", "rolling", "session", "spine"]
    texts = {one["text"] for one in found}
    assert texts == {"Extract: nothing was said in words."}


SAID: Mapping[str, Json] = {
    "rolling_summary": {"summary": "Ana looks for a train."},
    "chunk_summary": {"summary": "Ana looked at forty trains."},
    "running_summary": {"summary": "Ana looks for a train.", "open_loops": ["Which one?"]},
    "session_summary": {
        "one_liner": "Ana looked for a train.",
        "what_mattered": ["trains"],
        "open_loops": ["Which one?"],
        "commitments": [],
        "people": [],
        "tone": "calm",
    },
    "final_summary": {
        "summary": "Ana went to Porto by train.",
        "topic": "a trip",
        "decisions": ["the train"],
        "todos": [],
        "facts_candidates": [{"text": "Ana likes trains.", "confidence": 0.8}],
        "entities": ["Porto"],
        "artifacts": [],
        "open_questions": [],
    },
    "spine_summary": {"profile": ["Likes trains"], "projects": [], "people": [], "open_loops": []},
}
BY_FIELDS = {frozenset(fields): name for name, fields in SAID.items() if name != "chunk_summary"}


def answers(request: Json) -> str:
    """What a model says, whose prompt is known by the fields that it asks for."""
    name = BY_FIELDS[frozenset(schema_of(request)["properties"])]
    chunk = name == "rolling_summary" and "a part of a long conversation" in request["messages"][0]["content"]
    return json.dumps(SAID["chunk_summary" if chunk else name])


def asked_for(server: ModelServer, *fields: str) -> int:
    return sum(set(schema_of(one.json)["properties"]) == set(fields) for one in server.requests)


async def test_a_model_writes_each_kind_once_though_its_server_is_killed_meanwhile(tmp_path: Path) -> None:
    async with model_server() as server, model_engine(tmp_path, server) as engine:
        ana = Person(engine, "ana")
        await talks(ana, *trains(90))
        await engine.settled(60)
        server.free.clear()
        await enqueue_due(engine, now())
        await segment(engine, ana.stream, ana.agent, ana.thread, now() + 9 * HOUR)
        await engine.settled(60)
        await enqueue_ended(engine, now())
        await eventually(lambda: _asked(server, 3))
        await server.stop()
        assert not await _kinds(ana)
        await server.start()

        await eventually(lambda: _has(ana, "final", "rolling", "session", "spine"))
        await eventually(lambda: _all_done(engine))

        assert await _kinds(ana) == ["chunk", "chunk", "final", "rolling", "session", "spine"]
        made = {kind: (await listed(ana, kind))[0] for kind in ("rolling", "session", "final", "spine")}
        for kind, summary in made.items():
            assert (summary["model"], summary["prompt"], summary["prompt_version"]) == ("m-1", f"{kind}_summary", 1)
            assert (summary["mechanical"], summary["input_tokens"], summary["output_tokens"]) == (False, 100, 20)
        assert made["session"]["summary_json"] == SAID["session_summary"]
        expected = {name: one for name, one in SAID["final_summary"].items() if name != "summary"}
        assert made["final"]["summary_json"] == expected
        assert made["final"]["text"] == "Ana went to Porto by train."
        assert made["spine"]["text"] == "PROFILE\n- Likes trains"
        asked = server.asked
        await assert_live_equals_rebuilt(engine, "summaries", "episodes", "working")
        assert (server.asked, await enqueue_ended(engine, now())) == (asked, 0)


async def test_long_episodes_are_read_by_their_chunks(tmp_path: Path) -> None:
    async with model_server() as server, model_engine(tmp_path, server) as engine:
        ana = Person(engine, "ana")
        ids = await talks(ana, *trains(90))
        await summarized(ana)
        assert len(await listed(ana, "chunk")) == 2
        await ana.deletes_message(ids[3])
        await summarized(ana, 9 * HOUR)

    [final] = [one for one in server.requests if "topic" in schema_of(one.json)["properties"]]
    read = final.json["messages"][1]["content"].splitlines()
    # The first chunk said what is hidden now, so its messages are read themselves.
    assert read[0] == "Ana: Train 1 to Porto leaves from platform 1"
    assert read[39] == "[summary of 40 messages] Ana looked at forty trains."
    assert (len(read), any("Train 4 " in line for line in read)) == (50, False)


@pytest.mark.faults
async def test_a_job_whose_engine_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    """The first of its summaries is there; it was waiting for the second."""
    async with model_server() as server, open_engine(settings_in(tmp_path / "servers"), passive=True) as servers:
        server.chat = answers
        ana = Person(servers, "ana")
        models = {"MNEMOLOG_MODEL_URL": server.url, "MNEMOLOG_MODEL_API_KEY": "sk-1", "MNEMOLOG_CHAT_MODEL": "m-1"}
        async with another(servers, tmp_path / "first", **models) as process:
            await talks(ana, *trains(10))
            await servers.settled(60)
            await segment(servers, ana.stream, ana.agent, ana.thread)
            await servers.settled(60)
            server.free.clear()
            server.hold = lambda request: "open_loops" in schema_of(request)["properties"]
            await enqueue_due(servers, now())
            await eventually(lambda: _running_asked(server))
            process.kill()
            await process.wait()
        assert await _kinds(ana) == ["rolling"]

        server.hold = lambda request: False
        async with another(servers, tmp_path / "second", **models):
            await eventually(lambda: _has(ana, "running"))
            await eventually(lambda: _all_done(servers))

        assert await _kinds(ana) == ["rolling", "running"]
        assert asked_for(server, "summary") == 1


async def _kinds(ana: Person) -> list[str]:
    """Of the summaries in the log."""
    events = await ana.engine.log.read(ana.stream)
    return sorted(one.payload.kind.value for one in events if isinstance(one.payload, SummaryWritten))


async def _has(ana: Person, *kinds: str) -> bool:
    return set(kinds) <= set(await _kinds(ana))


async def _all_done(engine: Engine) -> bool:
    jobs = [one for kind in (ENDED, summarizing.THREAD) for one in await engine.jobs.list(kind=kind)]
    return {one.status.value for one in jobs} == {"succeeded"}


async def _asked(server: ModelServer, times: int) -> bool:
    return server.asked >= times


async def _running_asked(server: ModelServer) -> bool:
    return asked_for(server, "summary", "open_loops") > 0


async def context(ana: Person, moment: Moment | None = None, **fields: Any) -> AgentContext:
    request = ContextRequest.model_validate({"query": "What next?", "thread_id": ana.thread, **fields})
    return await ana.engine.reads.context(ana.viewer, request, moment or await ana.caught_up())


@pytest.mark.spec("D09", "D10")
async def test_a_context_begins_with_the_summaries_of_the_conversation(ana: Person) -> None:
    ids = await talks(ana, *trains(20))
    await summarized(ana, 9 * HOUR)
    before = await ana.engine.log.head(ana.stream)

    found = await context(ana)

    assert [hit.row["details"]["kind"] for hit in found.conversation] == ["rolling", "session"]
    assert found.text.startswith("The conversation so far:\n- ")
    assert not {hit.id for hit in found.conversation} & {hit.id for hit in found.known}
    other = await context(ana, thread_id="another")
    assert [hit.row["details"]["kind"] for hit in other.conversation] == ["session"]
    planner = Person(ana.engine, ana.user, agent="planner")  # Which may not read messages.
    assert not (await context(planner, thread_id=ana.thread)).conversation
    assert not (await context(ana, categories=("profile",))).conversation
    small = await context(ana, budget_tokens=12)
    assert sum(count_tokens(hit.bullet) for hit in small.conversation) <= 3

    await ana.deletes_message(ids[0])
    assert not (await context(ana)).conversation, "each may contain words of the hidden message"
    then = Moment(as_of=before, deadline=60)
    assert [hit.text for hit in (await context(ana, then)).conversation] == [hit.text for hit in found.conversation]


@pytest.mark.spec("D10")
async def test_a_context_has_the_spine_that_a_model_wrote_and_not_an_extract(ana: Person, tmp_path: Path) -> None:
    await talks(ana, "My boss is Denise", *trains(20))
    await summarized(ana)
    [extract] = await listed(ana, "spine")
    assert "my boss is denise" in extract["text"].lower()
    assert "PROFILE" not in (await context(ana)).text

    async with model_server() as server, model_engine(tmp_path, server) as engine:
        eva = Person(engine, "eva")
        await talks(eva, *trains(20))
        await summarized(eva, 9 * HOUR)
        found = await context(eva)
        assert [hit.row["details"]["kind"] for hit in found.conversation] == ["rolling", "session", "spine"]
        other = await context(eva, thread_id="another")
        assert [hit.row["details"]["kind"] for hit in other.conversation] == ["session", "spine"]
