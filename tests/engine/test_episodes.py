"""Threads, sessions and episodes, end to end: found by jobs, read in every way, undone, erased (D07, D13, E01, E02)."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy.event import listen

from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.jobs.job import JobStatus
from mnemolog.adapters.maintenance.segmenting import THREAD, enqueue_due, segment
from mnemolog.commands.erasure import EraseThread, EraseUser
from mnemolog.domain.errors import ModelMissing, NotFound
from mnemolog.events.envelope import StreamId
from mnemolog.events.episodes import EpisodeClosed, EpisodeStarted, SessionEnded, SessionStarted
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.episodes.reader import of_messages
from mnemolog.projections.reads.moment import Moment
from tests.engine.equality import assert_live_equals_rebuilt, assert_live_equals_replayed
from tests.engine.person import Person
from tests.testkit.eventually import eventually
from tests.testkit.settings import settings_in

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
# So lately that no sweep of the engine ends the last session.
LATELY = 12 * HOUR + 10 * MINUTE
DIVIDED = (SessionStarted, SessionEnded, EpisodeStarted, EpisodeClosed)


@pytest.fixture(scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """An engine of their own: a sweep goes over all users."""
    async with open_engine(settings_in(tmp_path_factory.mktemp("episodes"))) as opened:
        yield opened


async def talks(ana: Person, *texts: str, at: datetime, every: timedelta = MINUTE) -> None:
    """The user says these, and the agent nods after each."""
    for number, text in enumerate(texts):
        said = at + number * every
        await ana.says(text, occurred_at=said)
        await ana.says("I see.", role="assistant", speaker="Bot", occurred_at=said + timedelta(seconds=10))


async def divided(ana: Person, at: datetime | None = None) -> None:
    await segment(ana.engine, ana.stream, ana.agent, ana.thread, at)


async def episodes(ana: Person, **fields: Any) -> Sequence[dict[str, Any]]:
    return list(await ana.engine.reads.episodes(ana.viewer, moment=await ana.caught_up(), **fields))


async def sessions(ana: Person) -> Sequence[dict[str, Any]]:
    return list(await ana.engine.reads.sessions(ana.viewer, moment=await ana.caught_up()))


async def events_of(ana: Person) -> Sequence[str]:
    return [one.header.type for one in await ana.engine.log.read(ana.stream) if isinstance(one.payload, DIVIDED)]


async def three_days(ana: Person, ago: timedelta = 2 * DAY) -> datetime:
    """An evening, the next morning, and an announced topic. Returns when the last turn was said."""
    start = now() - ago
    await talks(ana, "How long does rice take?", "And lentils?", at=start)
    await talks(ana, "Which train goes to Porto?", "Is there a later one?", at=start + 12 * HOUR)
    last = start + 12 * HOUR + 5 * MINUTE
    await talks(ana, "Let's talk about something else. Who wrote Emma?", at=last)
    return last


@pytest.mark.spec("E01", "E02", "D07")
async def test_a_thread_is_divided_where_it_was_silent_and_where_another_topic_was_announced(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    last = await three_days(ana, LATELY)
    await divided(ana, last + MINUTE)

    third, second, first = await episodes(ana)
    assert [(one["starts_by"], one["closed_by"], one["turns"], one["status"]) for one in (first, second, third)] == [
        ("first", "time_gap", 4, "closed"),
        ("time_gap", "marker", 4, "closed"),
        ("marker", None, 2, "active"),
    ]
    assert (second["previous_id"], third["previous_id"]) == (first["episode_id"], second["episode_id"])
    assert (third["marker_kind"], third["marker_language"]) == ("change", "en")
    later, earlier = await sessions(ana)
    assert (earlier["turns"], earlier["status"], later["turns"], later["status"]) == (4, "closed", 6, "active")
    [thread] = await engine.reads.threads(ana.viewer, await ana.caught_up())
    assert (thread["turns"], thread["active_episode_id"], thread["active_session_id"]) == (
        10,
        third["episode_id"],
        later["session_id"],
    )
    assert thread["last_user_message_at"] == third["last_user_message_at"] == last
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec("E02")
async def test_deciding_again_changes_nothing_and_silence_closes_what_is_open(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    last = await three_days(ana)
    await divided(ana, last + MINUTE)
    head = await engine.log.head(ana.stream)
    await asyncio.gather(*(divided(ana, last + MINUTE) for _ in range(4)))
    assert await engine.log.head(ana.stream) == head

    await divided(ana)
    assert {one["status"] for one in (*await episodes(ana), *await sessions(ana))} == {"closed"}
    [thread] = await engine.reads.threads(ana.viewer, await ana.caught_up())
    assert (thread["active_episode_id"], thread["active_session_id"]) == (None, None)
    head = await engine.log.head(ana.stream)
    await divided(ana, now() + 9 * DAY)
    assert await engine.log.head(ana.stream) == head


async def test_many_deciders_at_once_record_each_boundary_once(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await three_days(ana)
    await asyncio.gather(*(divided(ana) for _ in range(6)))
    kinds = await events_of(ana)
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "SessionStarted": 2,
        "SessionEnded": 2,
        "EpisodeStarted": 3,
        "EpisodeClosed": 3,
    }


@pytest.mark.spec("D07", "E02")
async def test_a_turn_of_a_clock_that_is_ahead_keeps_no_session_and_no_episode_open(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    sent = now()
    await ana.says("Book a table for six", occurred_at=sent + 70 * 365 * DAY)
    await ana.says("At eight o'clock", occurred_at=sent)

    await divided(ana, now() + 9 * HOUR)

    [episode], [session] = await episodes(ana), await sessions(ana)
    assert (episode["closed_by"], session["closed_by"]) == ("time_gap", "time_gap")
    [thread] = await engine.reads.threads(ana.viewer, await ana.caught_up())
    assert sent <= thread["last_activity_at"] <= now()


@pytest.mark.spec("D13")
async def test_a_return_just_after_a_session_carries_its_last_turns_over(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    start = now() - 3 * HOUR
    await talks(ana, "Book a table for six", at=start)
    await talks(ana, "Make it seven", at=start + 32 * MINUTE)
    await divided(ana, start + 33 * MINUTE)

    later, earlier = await sessions(ana)
    found = await engine.reads.session_of_id(ana.viewer, later["session_id"], await ana.caught_up())
    assert found["previous_id"] == earlier["session_id"]
    assert [one["text"] for one in found["carried_over"]] == ["Book a table for six", "I see."]
    assert len(await episodes(ana)) == 1, "an episode goes on over sessions"


@pytest.mark.spec("X02")
async def test_reads_as_of_a_moment_show_what_was_decided_then(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    last = await three_days(ana)
    undecided = await engine.log.head(ana.stream)
    await divided(ana, last + MINUTE)
    open_ = await engine.log.head(ana.stream)
    await divided(ana)

    assert list(await engine.reads.episodes(ana.viewer, moment=Moment(as_of=undecided))) == []
    assert [one["status"] for one in await engine.reads.episodes(ana.viewer, moment=Moment(as_of=open_))] == [
        "active",
        "closed",
        "closed",
    ]
    [thread] = await engine.reads.threads(ana.viewer, Moment(as_of=3))
    assert (thread["turns"], thread["active_episode_id"]) == (1, None)


async def test_lists_have_cursors_and_a_thread_to_narrow_them(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await three_days(ana)
    await divided(ana)
    other = replace(ana, thread="other")
    await talks(other, "Hello there", at=now())
    await divided(other)

    everything = await episodes(ana)
    first = await engine.reads.episodes(ana.viewer, moment=await ana.caught_up(), limit=3)
    rest = await engine.reads.episodes(ana.viewer, moment=await ana.caught_up(), limit=3, cursor=first.next_cursor)
    assert [*first, *rest] == list(everything)
    assert rest.next_cursor is None
    assert [one["thread_id"] for one in await episodes(ana, thread_id="other")] == ["other"]
    assert [one["thread_id"] for one in await engine.reads.threads(ana.viewer, await ana.caught_up())] == [
        "other",
        "main",
    ]


@pytest.mark.spec("A01", "C01")
async def test_another_agent_and_another_user_see_none_of_it(engine: Engine, user: str) -> None:
    ana = Person(engine, user, agent="coach")
    await three_days(ana)
    await divided(ana)
    episode, session = (await episodes(ana))[0], (await sessions(ana))[0]
    for other in (replace(ana, agent="chef"), Person(engine, f"{user}-2", agent="coach")):
        assert list(await episodes(other)) == list(await sessions(other)) == []
        assert list(await engine.reads.threads(other.viewer)) == []
        with pytest.raises(NotFound):
            await engine.reads.episode(other.viewer, episode["episode_id"])
        with pytest.raises(NotFound):
            await engine.reads.session_of_id(other.viewer, session["session_id"])
        with pytest.raises(NotFound):
            await engine.reads.thread(other.viewer, "main")


async def test_two_agents_in_one_thread_have_episodes_of_their_own(engine: Engine, user: str) -> None:
    coach, chef = Person(engine, user, agent="coach"), Person(engine, user, agent="chef")
    start = now() - DAY
    await talks(coach, "One", "Two", at=start)
    await talks(chef, "Three", at=start + HOUR)
    for person in (coach, chef):
        await divided(person)
    assert [[one["turns"] for one in await episodes(person)] for person in (coach, chef)] == [[4], [2]]


@pytest.mark.spec("X03")
async def test_undoing_a_start_joins_the_episodes_in_every_read(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    last = await three_days(ana, LATELY)
    await divided(ana, last + MINUTE)
    third, second, _ = await episodes(ana)
    start = await event_of(ana, EpisodeStarted, third["episode_id"])

    undone = await engine.writes.undo_event(ana.stream, start, agent_id=ana.agent)
    assert not undone.already
    [joined, _] = await episodes(ana)
    assert (joined["episode_id"], joined["turns"], joined["status"]) == (second["episode_id"], 6, "active")
    merged = await engine.reads.episode(ana.viewer, third["episode_id"], await ana.caught_up())
    assert (merged["status"], merged["merged_into"], merged["turns"]) == ("merged", second["episode_id"], 0)
    [thread] = await engine.reads.threads(ana.viewer, await ana.caught_up())
    assert thread["active_episode_id"] == second["episode_id"]
    await divided(ana, last + MINUTE)
    assert len(await episodes(ana)) == 2, "what was undone is not decided again"
    why = await engine.reads.why(ana.viewer, str(third["episode_id"]), await ana.caught_up())
    assert why.merged_into == str(second["episode_id"])
    rows = await engine.reads.history(ana.viewer, third["episode_id"], moment=await ana.caught_up())
    assert [row["event"] for row in rows] == ["UPDATE", "ADD"]
    assert [(one["field"], one["new"]) for one in rows[0]["changes"]] == [
        ("status", "merged"),
        ("merged_into", str(second["episode_id"])),
    ]

    await engine.writes.undo_event(ana.stream, undone.event_ids[0], agent_id=ana.agent)
    assert [one["turns"] for one in await episodes(ana)] == [2, 4, 4]
    await assert_live_equals_replayed(engine, ana.stream)


async def event_of(ana: Person, kind: type[Any], episode_id: UUID) -> UUID:
    return next(
        one.event_id
        for one in await ana.engine.log.read(ana.stream)
        if isinstance(one.payload, kind) and one.payload.episode_id == episode_id
    )


@pytest.mark.spec("X07")
async def test_an_erased_thread_is_not_listed_and_what_follows_begins_anew(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await three_days(ana)
    await divided(ana)
    kept = (await episodes(ana))[0]["episode_id"]
    await erase(engine, EraseThread(user_id=user, thread_id="main"))
    assert list(await episodes(ana)) == list(await sessions(ana)) == []
    assert list(await engine.reads.threads(ana.viewer, await ana.caught_up())) == []
    with pytest.raises(NotFound):
        await engine.reads.episode(ana.viewer, kept, await ana.caught_up())

    await talks(ana, "Hello again", at=now())
    await divided(ana)
    [episode], [session] = await episodes(ana), await sessions(ana)
    assert (episode["starts_by"], episode["previous_id"], episode["turns"]) == ("first", None, 2)
    assert (session["previous_id"], session["carried_turn_ids"]) == (None, [])
    [thread] = await engine.reads.threads(ana.viewer)
    assert thread["turns"] == (await engine.reads.thread(ana.viewer, "main"))["turns"] == 2
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec("X07")
async def test_what_was_open_when_it_was_erased_is_closed_as_erased(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await talks(ana, "My secret", at=now())
    await divided(ana)
    await erase(engine, EraseThread(user_id=user, thread_id="main"))
    await divided(ana)
    closings = [
        one.payload.closed_by
        for one in await engine.log.read(ana.stream)
        if isinstance(one.payload, EpisodeClosed | SessionEnded)
    ]
    assert closings == ["erased", "erased"]
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec("X07")
async def test_an_erased_user_has_no_threads_and_can_come_back(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await three_days(ana)
    await divided(ana)
    await erase(engine, EraseUser(user_id=user))
    assert list(await engine.reads.threads(ana.viewer, await ana.caught_up())) == []
    assert list(await episodes(ana)) == []
    await divided(ana)
    await talks(ana, "Hello again", at=now())
    await divided(ana)
    assert [one["turns"] for one in await episodes(ana)] == [2]
    await assert_live_equals_replayed(engine, ana.stream)


async def test_the_episodes_of_messages_are_asked_for_with_as_many_parameters_for_many_as_for_one(
    engine: Engine, user: str
) -> None:
    ana, ben = Person(engine, user), Person(engine, f"{user}-2")
    last = await three_days(ana)
    await divided(ana)
    await talks(ben, "How long does rice take?", at=last)
    await divided(ben)

    (of_three, asked), (of_one, asked_of_one) = await within(ana), await within(ben)

    assert (len(of_three), len(set(of_three.values()))) == (10, 3)
    assert (len(of_one), len(set(of_one.values()))) == (2, 1)
    assert asked == asked_of_one


async def within(ana: Person) -> tuple[dict[str, UUID], list[int]]:
    """The episode of each message; and how many parameters each statement had."""
    asked = list[int]()
    await ana.engine.settled()
    async with ana.engine.projections.live.connect() as connection:
        said = await conversation.newest(connection, ana.viewer, ana.thread, 100, None)
        listen(connection.sync_connection, "before_cursor_execute", lambda *given: asked.append(len(given[3])))
        return await of_messages(connection, ana.viewer, said), asked


async def test_a_sweep_enqueues_a_job_for_each_thread_that_is_due_once(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await three_days(ana)
    await engine.settled()
    quiet = now() + 2 * MINUTE
    assert await enqueue_due(engine, quiet) >= 1
    await enqueue_due(engine, quiet)
    jobs = [one for one in await engine.jobs.list(kind=THREAD, limit=1000) if one.stream == ana.stream.name]
    assert len(jobs) == 1
    await eventually(lambda: _succeeded(engine, ana.stream))
    assert [one["turns"] for one in await episodes(ana)] == [2, 4, 4]
    assert {one["status"] for one in await episodes(ana)} == {"closed"}
    await engine.settled()
    before = len(await engine.jobs.list(kind=THREAD, limit=1000))
    await enqueue_due(engine, now() + DAY)
    jobs_of_ana = [one for one in await engine.jobs.list(kind=THREAD, limit=1000) if one.stream == ana.stream.name]
    assert len(jobs_of_ana) == 1, "nothing of it is open any more"
    assert len(await engine.jobs.list(kind=THREAD, limit=1000)) >= before


async def test_a_thread_that_is_spoken_in_is_left_alone_for_a_minute(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await talks(ana, "Hello", at=now())
    await engine.settled()
    await enqueue_due(engine, now() + timedelta(seconds=50))
    assert [one for one in await engine.jobs.list(kind=THREAD, limit=1000) if one.stream == ana.stream.name] == []
    await enqueue_due(engine, now() + timedelta(seconds=70))
    [job] = [one for one in await engine.jobs.list(kind=THREAD, limit=1000) if one.stream == ana.stream.name]
    assert job.status in (JobStatus.QUEUED, JobStatus.RUNNING, JobStatus.SUCCEEDED)


async def test_without_a_model_silence_and_announced_topics_decide(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = (await engine.projections.embedder()).calibration

    class Missing:
        model, calibration = "none", known

        async def embed(self, texts: Sequence[str]) -> None:
            raise ModelMissing("no model", fix="install it")

    async def missing() -> Missing:
        return Missing()

    ana = Person(engine, user)
    last = await three_days(ana)
    monkeypatch.setattr(engine.projections, "embedder", missing)
    await divided(ana, last)
    assert [one["starts_by"] for one in await episodes(ana)] == ["marker", "time_gap", "first"]


async def test_live_episodes_equal_their_rebuild(engine: Engine) -> None:
    await assert_live_equals_rebuilt(engine, "episodes")


async def _succeeded(engine: Engine, stream: StreamId) -> bool:
    jobs = [one for one in await engine.jobs.list(kind=THREAD, limit=1000) if one.stream == stream.name]
    return all(one.status is JobStatus.SUCCEEDED for one in jobs)
