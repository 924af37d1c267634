"""The affect and the focus of a chat, in Redis as A §3 has them: read, faded, forgotten, undone, erased, rebuilt."""

import json
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from redis.asyncio import Redis

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.erasure import erasing
from mnemolog.commands.attention import SetAffect, SetFocus
from mnemolog.commands.erasure import EraseThread, EraseUser
from mnemolog.commands.sessions import ForgetSession
from mnemolog.domain.affect import moment_text
from mnemolog.events.envelope import Receipt
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import EnvelopeRequest
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person


async def feels(person: Person, label: str, confidence: float = 0.85, **fields: Any) -> Receipt:
    who = {"user_id": person.user, "agent_id": person.agent, "thread_id": person.thread, "at": now()}
    command = SetAffect.model_validate({**who, "label": label, "confidence": confidence, **fields})
    return await person.engine.writes.handle(command)


async def focuses(person: Person, **fields: Any) -> Receipt:
    who = {"user_id": person.user, "agent_id": person.agent, "thread_id": person.thread, "at": now()}
    return await person.engine.writes.handle(SetFocus.model_validate({**who, **fields}))


async def affect(person: Person, moment: Moment | None = None) -> dict[str, Any]:
    return await person.engine.reads.affect(person.viewer, person.thread, now(), moment or await person.caught_up())


async def in_redis(engine: Engine, key: str) -> dict[str, Any] | None:
    client = Redis.from_url(engine.endpoints.redis_url)
    try:
        blob = await client.get(key)
        return json.loads(blob) if blob is not None else None
    finally:
        await client.aclose()


@pytest.mark.spec_part("A05", "X05")
@pytest.mark.parametrize("fields", [{}, {"topic_focus": ""}, {"pending_questions": []}], ids=str)
async def test_a_blank_focus_in_a_chat_that_had_none_is_accepted_once(
    engine: Engine, user: str, fields: dict[str, Any]
) -> None:
    ana = Person(engine, user)
    first = await focuses(ana, **fields)
    again = await focuses(ana, **fields)
    assert (again.already, again.event_ids) == (True, first.event_ids)
    assert (await affect(ana))["topic_focus"] == ""


@pytest.mark.spec_part("A04", "A05")
async def test_an_affect_is_one_key_that_ends_by_itself(engine: Engine, user: str) -> None:
    ana = Person(engine, user, agent="deanna")
    assert (await affect(ana))["affect"]["label"] == "neutral"

    await feels(ana, "stressed", markers=["rapid-fire messages"], interaction_mode="reflective")
    await focuses(ana, topic_focus="family", active_entity_ids=[str(UUID(int=7))])

    shown = await affect(ana)
    assert (shown["affect"]["label"], shown["interaction_mode"]) == ("stressed", "reflective")
    assert (shown["topic_focus"], shown["active_entity_ids"]) == ("family", [str(UUID(int=7))])
    assert await in_redis(engine, f"affect:{user}:deanna:main") == shown
    client = Redis.from_url(engine.endpoints.redis_url)
    left = await client.pttl(f"affect:{user}:deanna:main")
    await client.aclose()
    assert 0 < left <= timedelta(minutes=90).total_seconds() * 1000


@pytest.mark.spec_part("A06")
async def test_short_messages_let_an_affect_fade_and_nothing_raises_it(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await feels(ana, "stressed", 0.5, every_n_messages=2)
    await ana.says("I do not know what to do about work")
    assert (await affect(ana))["affect"]["confidence"] == 0.5

    await ana.says("ok")
    assert (await affect(ana))["affect"]["confidence"] == pytest.approx(0.5 * 0.7 * 0.95)
    for _ in range(2):
        await ana.says("fine")

    faded = (await affect(ana))["affect"]
    assert (faded["label"], faded["confidence"]) == ("neutral", 0.0)
    assert faded["markers"] == ["forced_flush_low_conf"]
    await assert_live_equals_replayed(engine, ana.stream)


async def test_a_session_shows_its_focus_and_the_next_speaker_becomes_active(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    marta = str(uuid4())
    await focuses(ana, topic_focus="family", mode="reflective", pending_questions=["Which Marta?"])
    await focuses(ana, active_entity_ids=[marta])
    await ana.says("She called again")

    session = await engine.reads.session(ana.viewer, ana.thread, await ana.caught_up())

    scratch = dict(session.scratch)
    del scratch["said"]
    assert scratch == {"topic_focus": "family", "mode": "reflective", "pending_questions": ["Which Marta?"]}
    assert list(session.active_entity_ids)[1:] == [marta]
    await assert_live_equals_replayed(engine, ana.stream)


async def test_it_is_undone_and_read_as_it_was(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    first = await feels(ana, "calm", 0.6)
    second = await feels(ana, "stressed")

    await engine.writes.undo_event(ana.stream, second.event_ids[0])
    assert (await affect(ana))["affect"]["label"] == "calm"
    await engine.writes.undo_event(ana.stream, first.event_ids[0])
    assert (await affect(ana))["affect"]["label"] == "neutral"

    assert (await affect(ana, Moment(as_of=second.last_seq)))["affect"]["label"] == "stressed"
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec_part("A05", "A19")
async def test_a_focus_that_was_forgotten_is_set_again_and_does_not_come_back_by_itself(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    for fields, topic in (({"mode": "reflective"}, ""), ({"topic_focus": "family"}, "family")):
        await ana.says("hello")
        await focuses(ana, topic_focus="family")
        await _end(ana, "session")
        assert (await affect(ana))["topic_focus"] == ""
        assert not (await focuses(ana, **fields)).already
        assert (await affect(ana))["topic_focus"] == topic
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec_part("A04", "X02")
async def test_a_neutral_affect_as_of_a_seq_begins_then(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    seq = (await ana.says("hello")).last_seq
    [event] = await engine.log.read(ana.stream, after=seq - 1, until=seq)

    read = await affect(ana, Moment(as_of=seq))

    assert (read["affect"]["label"], read["ts"]) == ("neutral", moment_text(event.recorded_at))
    assert read == await affect(ana, Moment(as_of=seq)) == await affect(ana, Moment(as_of=event.recorded_at))
    request = EnvelopeRequest(message="hello")
    whole = await engine.reads.envelope(ana.viewer, request, now(), Moment(as_of=seq))
    assert whole.envelope == (await engine.reads.envelope(ana.viewer, request, now(), Moment(as_of=seq))).envelope


async def _end(person: Person, what: str) -> None:
    who = {"user_id": person.user, "agent_id": person.agent, "thread_id": person.thread}
    if what == "session":
        await person.engine.writes.handle(ForgetSession.model_validate(who))
    elif what == "thread":
        await erasing.erase(person.engine, EraseThread.model_validate(who))
    else:
        await erasing.erase(person.engine, EraseUser(user_id=person.user))


@pytest.mark.spec_part("A19")
async def test_it_is_erased_with_its_session_its_thread_and_its_user(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    key = f"affect:{user}:default:main"
    for ends in ("session", "thread", "user"):
        await ana.says("hello")
        receipt = await feels(ana, "stressed")
        await affect(ana)
        assert await in_redis(engine, key)
        await _end(ana, ends)
        assert (await affect(ana))["affect"]["label"] == "neutral"
        assert await in_redis(engine, key) is None
        if ends == "thread":
            [event] = await engine.log.read(ana.stream, after=receipt.first_seq - 1, until=receipt.last_seq)
            assert event.payload.label == ""  # type: ignore[attr-defined]
    await assert_live_equals_replayed(engine, ana.stream)


async def test_nobody_else_reads_it(engine: Engine, user: str) -> None:
    ana = Person(engine, user, agent="coach")
    await feels(ana, "stressed")

    for other in (Person(engine, user, agent="rival"), Person(engine, f"{user}-2", agent="coach")):
        assert (await affect(other))["affect"]["label"] == "neutral"
    assert (await affect(Person(engine, user, agent="coach", thread="other")))["affect"]["label"] == "neutral"
