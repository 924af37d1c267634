"""Turns from producers: recorded once, answered, and set aside whole when they cannot be read."""

import asyncio
import json
from base64 import b64encode
from collections.abc import Sequence
from typing import Any, NoReturn
from uuid import uuid4

import pytest
from nats.aio.msg import Msg
from nats.js.api import RawStreamMsg
from nats.js.errors import NotFoundError

from mnemolog.adapters.artifacts.content import load
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.nats import subscribers
from mnemolog.adapters.nats.streams import StreamLimits
from mnemolog.adapters.nats.subjects import DEAD_LETTERS, EVENTS, TURNS, Address
from mnemolog.adapters.nats.turns import TurnIntake
from mnemolog.domain.artifact import named_by
from mnemolog.domain.viewer import Viewer
from mnemolog.events.artifacts import ArtifactStored
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Recorded, StreamId
from mnemolog.projections.reads.moment import Moment
from tests.adapters.nats.conftest import Apart
from tests.testkit.eventually import eventually
from tests.testkit.json_values import nested

TENANT = "acme"


def message(user: str, **fields: Any) -> dict[str, Any]:
    plain = {"message_id": "msg-1", "user_id": user, "text": "I moved to Lisbon", "occurred_at": "2026-01-03T01:02:10Z"}
    return {**plain, **fields}


@pytest.fixture
def tenant(user: str) -> str:
    """A tenant of its own, so that its dead letters can be told from others."""
    return f"acme.{user}"


async def publish(engine: Engine, tenant: str, body: bytes, headers: dict[str, str] | None = None) -> None:
    sent = {"Nats-Msg-Id": str(uuid4()), **(headers or {})}
    await engine.nats.jetstream().publish(Address.of(tenant).turns, body, headers=sent, timeout=60)


async def recorded(engine: Engine, user: str, tenant: str) -> Sequence[Recorded]:
    return await engine.log.read(StreamId.of_user(user, tenant))


async def ask(engine: Engine, tenant: str, body: bytes) -> dict[str, Any]:
    """Publish with a reply subject, and the answer that comes."""
    inbox = engine.nats.new_inbox()
    subscription = await engine.nats.subscribe(inbox)
    await publish(engine, tenant, body, {"Mnemolog-Reply-To": inbox})
    answer: Msg = await subscription.next_msg(60)
    await subscription.unsubscribe()
    said: dict[str, Any] = json.loads(answer.data)
    return said


async def dead_letter(engine: Engine, tenant: str) -> RawStreamMsg:
    """The newest dead letter of a tenant, once there is one."""
    subject = Address.of(tenant).dead_letters
    async with asyncio.timeout(60):
        while True:
            try:
                return await engine.nats.jetstream().get_last_msg(DEAD_LETTERS, subject)
            except NotFoundError:
                await asyncio.sleep(0.02)


async def all_taken(engine: Engine) -> None:
    """Until no turn waits: each is recorded or set aside."""
    async with asyncio.timeout(60):
        while (await engine.nats.jetstream().stream_info(TURNS)).state.messages:  # noqa: ASYNC110  Told by none.
            await asyncio.sleep(0.02)


@pytest.mark.spec_part("E05")
async def test_files_of_a_turn_become_artifacts_once(engine: Engine, user: str, tenant: str) -> None:
    text, picture = ("The minutes of the meeting. " * 20_000).strip(), b"GIF89a of a tram"
    data_url = f"data:image/gif;base64,{b64encode(picture).decode()}"
    body = json.dumps(message(user, text=text, attachments=[{"type": "image", "url": data_url}])).encode()

    first, again = [await ask(engine, tenant, body) for _ in range(2)]

    assert again["receipt"] == {**first["receipt"], "already": True}
    stream = StreamId.of_user(user, tenant)
    events = [one.payload for one in await recorded(engine, user, tenant)]
    assert sum(isinstance(one, ArtifactStored) for one in events) == 2
    [turn] = [one for one in events if isinstance(one, TurnRecorded)]
    named = [named_by(one.url) for one in turn.attachments]
    assert [await load(engine, stream, one) for one in named if one] == [picture, text.encode()]
    assert turn.text.startswith("[file#A")
    assert "] the whole message\nThe minutes of the meeting." in turn.text


async def test_a_picture_without_words_is_a_turn(engine: Engine, user: str, tenant: str) -> None:
    turn = message(user, attachments=[{"type": "image", "caption": "a tram"}])
    del turn["text"]
    body = json.dumps(turn).encode()

    first, again = [await ask(engine, tenant, body) for _ in range(2)]
    neither = await ask(engine, tenant, json.dumps({**turn, "message_id": "msg-2", "attachments": []}).encode())

    assert again["receipt"] == {**first["receipt"], "already": True}
    assert (neither["error"]["code"], neither["error"]["field"]) == ("invalid_input", "text")
    found = await engine.reads.message(Viewer(tenant, user, "default"), "msg-1", Moment())
    assert (found["text"], found["line"]) == ("[image]", "[image: a tram]")


@pytest.mark.spec("X01", "X14")
async def test_a_turn_that_is_published_three_times_is_recorded_once(engine: Engine, user: str, tenant: str) -> None:
    body = json.dumps(message(user)).encode()

    for _ in range(3):
        await publish(engine, tenant, body)
    await all_taken(engine)

    events = await recorded(engine, user, tenant)
    assert [type(event.payload).__name__ for event in events] == ["TurnRecorded"]


async def test_turns_of_one_producer_keep_their_order(engine: Engine, user: str, tenant: str) -> None:
    names = [f"msg-{number}" for number in range(300)]

    await asyncio.gather(
        *(publish(engine, tenant, json.dumps(message(user, message_id=name)).encode()) for name in names)
    )
    await all_taken(engine)

    turns = [event.payload for event in await recorded(engine, user, tenant)]
    assert [turn.turn_id for turn in turns if isinstance(turn, TurnRecorded)] == names


async def test_metadata_of_a_turn_is_kept_with_it(engine: Engine, user: str, tenant: str) -> None:
    await ask(engine, tenant, json.dumps(message(user, metadata={"source": "crm", "score": 0.5})).encode())

    [turn] = [event.payload for event in await recorded(engine, user, tenant)]
    assert isinstance(turn, TurnRecorded)
    assert turn.metadata == {"source": "crm", "score": 0.5}


@pytest.mark.spec("X14")
async def test_a_producer_that_asks_gets_the_receipt_once_the_turn_is_in_the_log(
    engine: Engine, user: str, tenant: str
) -> None:
    body = json.dumps(message(user, speaker="Ana", role="user", attachments=[{"type": "image"}])).encode()

    answer = await ask(engine, tenant, body)
    again = await ask(engine, tenant, body)

    events = await recorded(engine, user, tenant)
    assert answer["ok"]
    assert answer["receipt"]["event_ids"] == [str(event.event_id) for event in events]
    assert answer["receipt"]["token"] == f"{tenant}/user:{user}@2"
    assert (again["receipt"]["already"], again["receipt"]["token"]) == (True, answer["receipt"]["token"])


BAD: dict[str, tuple[bytes | dict[str, Any], str]] = {
    "not JSON": (b"{not json", "message"),
    "not UTF-8": (b"\xff\xfe\xfd\xfc\xfb", "message"),
    "no object": (b"[1, 2]", "message"),
    "too deep": (b"[" * 100_000, "message"),
    "nested deep in a fact": (
        {"facts": [{"subject": "Ana", "predicate": "likes", "object": nested(200)}]},
        "facts[0].object",
    ),
    "nested a little too deep in a fact": (
        {"facts": [{"subject": "Ana", "predicate": "likes", "object": nested(65)}]},
        "facts[0].object",
    ),
    "a huge number": (b"9" * 10_000, "message"),
    "no text": ({"text": None}, "text"),
    "wrong type": ({"text": 7}, "text"),
    "empty text": ({"text": " "}, "text"),
    "unknown field": ({"mood": "calm"}, "mood"),
    "a field with an endless name": ({"x" * 100_000: 1}, "x" * 200),
    "NUL": ({"text": "nul \0"}, "text"),
    "NUL in a caption": ({"attachments": [{"type": "image", "caption": "nul \0"}]}, "attachments[0].caption"),
    "metadata that is no object": ({"metadata": ["crm"]}, "metadata"),
    "long metadata": ({"metadata": {"source": "x" * 40_000}}, "metadata"),
    "half an emoji": (
        b'{"message_id":"1","user_id":"u","occurred_at":"2026-01-03T01:02:10Z","text":"\\ud83d"}',
        "text",
    ),
    "naive time": ({"occurred_at": "2026-01-03T01:02:10"}, "occurred_at"),
    "no time": ({"occurred_at": "yesterday"}, "occurred_at"),
    "empty id": ({"message_id": ""}, "message_id"),
    "unknown role": ({"role": "narrator"}, "role"),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_turn_that_cannot_be_read_is_set_aside_with_the_reason(
    engine: Engine, user: str, tenant: str, name: str
) -> None:
    bad, field = BAD[name]
    body = bad if isinstance(bad, bytes) else json.dumps(message(user, **bad)).encode()

    answer = await ask(engine, tenant, body)
    good = await ask(engine, tenant, json.dumps(message(user)).encode())

    letter = await dead_letter(engine, tenant)
    assert letter.data == body[: engine.settings.dead_letter_bytes]
    reason = json.loads((letter.headers or {})["Mnemolog-Reason"])
    assert (reason["field"], bool(reason["fix"]), bool(reason["message"])) == (field, True, True)
    assert answer == {"ok": False, "error": reason}
    assert good["ok"], "the next turn is recorded"
    assert len(await recorded(engine, user, tenant)) == 1


async def test_bad_turns_in_a_crowd_harm_no_other(engine: Engine, user: str, tenant: str) -> None:
    good = [json.dumps(message(user, message_id=f"msg-{number}")).encode() for number in range(20)]

    await asyncio.gather(*(publish(engine, tenant, body) for one in good for body in (one, b"{not json")))
    await all_taken(engine)

    assert len(await recorded(engine, user, tenant)) == 20


async def test_a_tenant_that_cannot_be_is_set_aside(engine: Engine, user: str) -> None:
    subject = "mnemolog.turns.%2F"

    await engine.nats.jetstream().publish(subject, json.dumps(message(user)).encode())
    await all_taken(engine)

    letter = await engine.nats.jetstream().get_last_msg(DEAD_LETTERS, "mnemolog.dead.turns.%2F")
    assert json.loads((letter.headers or {})["Mnemolog-Reason"])["field"] == "tenant"


async def test_a_dead_letter_of_maximum_size_keeps_its_beginning_and_the_reason(
    engine: Engine, user: str, tenant: str
) -> None:
    body = b"x" * (engine.nats.max_payload - 200)

    await publish(engine, tenant, body)
    letter = await dead_letter(engine, tenant)

    headers = letter.headers or {}
    assert headers["Mnemolog-Cut"] == str(len(body))
    assert letter.data == body[: engine.settings.dead_letter_bytes]
    assert "Mnemolog-Reason" in headers
    assert (await ask(engine, tenant, json.dumps(message(user)).encode()))["ok"]


@pytest.mark.parametrize("reply_to", ["a b c", "a.>", "$JS.API.STREAM.PURGE.MNEMOLOG_EVENTS", "mnemolog.turns.acme"])
async def test_a_reply_subject_that_would_do_something_is_not_used(
    engine: Engine, user: str, tenant: str, reply_to: str
) -> None:
    before = (await engine.nats.jetstream().stream_info(EVENTS)).state.messages

    await publish(engine, tenant, json.dumps(message(user)).encode(), {"Mnemolog-Reply-To": reply_to})
    await all_taken(engine)

    assert len(await recorded(engine, user, tenant)) == 1
    assert (await engine.nats.jetstream().stream_info(EVENTS)).state.messages >= before


@pytest.mark.spec("X08")
@pytest.mark.parametrize("description", ["Idle Heartbeat", "FlowControl Request"])
async def test_a_turn_with_the_headers_of_a_control_message_is_a_turn(
    engine: Engine, user: str, tenant: str, description: str
) -> None:
    """nats-py would publish where the last header says, with the engine's rights, and hand the turn to nobody."""
    place = f"reached.{user}"
    reached = await engine.nats.subscribe(place)
    control = {"Status": "100", "Description": description, "Nats-Consumer-Stalled": place}

    await publish(engine, tenant, b"", control)

    assert not (await dead_letter(engine, tenant)).data
    await engine.nats.publish(place, b"sent by the test")
    assert (await reached.next_msg(60)).data == b"sent by the test"
    await reached.unsubscribe()


@pytest.mark.spec("X08", "X14")
@pytest.mark.parametrize("headers", [b"N", b"NATS/1.0"])
async def test_a_turn_whose_headers_are_none_does_not_stop_the_intake(
    engine: Engine, user: str, tenant: str, headers: bytes
) -> None:
    subject, turn = Address.of(tenant).turns, json.dumps(message(user)).encode()
    command = f"HPUB {subject} {len(headers)} {len(headers) + len(turn)}\r\n".encode()

    await engine.nats._send_command(command + headers + turn + b"\r\n")

    async def taken() -> bool:
        return bool(await recorded(engine, user, tenant))

    await eventually(taken)


async def test_the_streams_keep_their_configuration_when_the_subscribers_start(apart: Apart) -> None:
    """FastStream overwrites the configuration of a stream that it may declare (facts.md)."""
    names = [config.name or "" for config in StreamLimits().configs()]
    ours = [await apart.jetstream.stream_info(name) for name in names]
    for info in ours:
        await apart.jetstream.update_stream(info.config.evolve(max_age=365 * 24 * 3600.0, description="ours"))
    before = [(await apart.jetstream.stream_info(name)).config for name in names]

    async def nobody(name: str) -> NoReturn:
        raise AssertionError("no turn is sent")

    turns = subscribers.Turns(TurnIntake(nobody, apart.nats, apart.jetstream))
    broker = subscribers.broker(apart.nats.connected_url.geturl() if apart.nats.connected_url else "")

    turns.subscribe(broker)
    await broker.start()
    await broker.stop()

    assert [(await apart.jetstream.stream_info(name)).config for name in names] == before
    assert {config.max_age for config in before} == {365 * 24 * 3600.0}
