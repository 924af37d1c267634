"""The intake of turns, with recorders that tell what they were given: order, lookups, and what comes again."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import redis.exceptions
import sqlalchemy.exc
from nats.aio.client import Client
from nats.aio.msg import Msg

from mnemolog.adapters.nats.connection import connect
from mnemolog.adapters.nats.dead_letters import DeadLetter, DeadLetters
from mnemolog.adapters.nats.streams import StreamLimits, Streams
from mnemolog.adapters.nats.subjects import TURNS, Address
from mnemolog.adapters.nats.turns import Commands, TurnIntake
from mnemolog.commands.heard import HearTurn
from mnemolog.domain.errors import ReadTimeout, ServerFailed, Unauthenticated
from mnemolog.domain.principal import Role
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.events.fields import validated
from mnemolog.events.log import Outcome
from tests.adapters.nats.own_server import own_server
from tests.adapters.nats.test_turns import message


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """Of a JetStream from which no engine takes turns."""
    with own_server(tmp_path) as server:
        client = await connect(server.url, "tests")
        await Streams(client.jetstream(), StreamLimits()).ensure()
        yield client
        await client.close()


async def arrived(client: Client, *turns: tuple[str, str], users: Sequence[str] = ()) -> Sequence[Msg]:
    """The messages of producers, by name and message id, as JetStream took them; by default, all are of one user."""
    for (name, message_id), user in zip(turns, users or ["ana"] * len(turns), strict=True):
        body = json.dumps(message(user, message_id=message_id)).encode()
        await client.jetstream().publish(Address.of("acme", name).turns, body)
    consumer = await client.jetstream().pull_subscribe("mnemolog.turns.>", "tests", TURNS)
    return await consumer.fetch(len(turns))


class Recorders:
    """One for each name. With `fault`, none records; with `full`, none stores the files of these users."""

    def __init__(self, fault: Exception | None = None, full: Mapping[str, Exception] | None = None) -> None:
        self.fault, self.full, self.asked, self.taken = fault, full or {}, list[str](), list[str]()

    async def of(self, name: str) -> "Recorder":
        self.asked.append(name)
        if name == "unknown":
            raise Unauthenticated("no producer has this subject", field="subject")
        return Recorder(self)


class Recorder:
    def __init__(self, beside: Recorders) -> None:
        self._beside = beside

    def may(self, role: Role) -> bool:
        return role is Role.PUBLISH

    async def turn(self, fields: Mapping[str, Any]) -> HearTurn:
        if fault := self._beside.full.get(fields["user_id"]):
            raise fault
        return validated(HearTurn, {**fields, "entity_id": uuid4()})

    async def record_turns(self, stream: StreamId, commands: Commands) -> Sequence[Outcome]:
        if self._beside.fault:
            raise self._beside.fault
        self._beside.taken += [turn.turn_id for turn, _ in commands]
        return [Receipt(stream, (uuid4(),), 1, 1, already=False) for _ in commands]


def intake(client: Client, recorders: Recorders) -> TurnIntake:
    return TurnIntake(recorders.of, client, client.jetstream())


async def letters(client: Client) -> Sequence[DeadLetter]:
    return [letter async for letter in DeadLetters(client).all()]


@pytest.mark.spec("X14")
async def test_turns_of_one_user_keep_their_order_between_producers(client: Client) -> None:
    recorders = Recorders()
    sent = [("juno", "1"), ("nova", "2"), ("nova", "3"), ("juno", "4")]

    await intake(client, recorders).take(await arrived(client, *sent))

    assert recorders.taken == ["1", "2", "3", "4"]


async def test_a_turn_is_read_after_an_earlier_one_of_its_id_is_recorded(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are stored only if its id is not recorded."""
    recorders, before, turn = Recorders(), list[tuple[str, list[str]]](), Recorder.turn

    async def noted(self: Recorder, fields: Mapping[str, Any]) -> HearTurn:
        before.append((fields["turn_id"], list(recorders.taken)))
        return await turn(self, fields)

    monkeypatch.setattr(Recorder, "turn", noted)
    await intake(client, recorders).take(await arrived(client, ("juno", "1"), ("juno", "2"), ("juno", "1")))

    assert before == [("1", []), ("2", []), ("1", ["1", "2"])]


async def test_large_turns_are_answered_before_the_whole_batch_is_recorded(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    acknowledged, turn = list[list[bool]](), Recorder.turn
    text = "tram " * 50_000
    for number in range(6):
        body = json.dumps(message("ana", message_id=str(number), text=text)).encode()
        await client.jetstream().publish(Address.of("acme", "juno").turns, body)
    batch = await (await client.jetstream().pull_subscribe("mnemolog.turns.>", "tests", TURNS)).fetch(6)

    async def noted(self: Recorder, fields: Mapping[str, Any]) -> HearTurn:
        acknowledged.append([one.is_acked for one in batch])
        return await turn(self, fields)

    monkeypatch.setattr(Recorder, "turn", noted)
    await intake(client, Recorders()).take(batch)

    assert [sum(one) for one in acknowledged] == [0, 0, 0, 0, 4, 4]
    assert all(one.is_acked for one in batch)


async def test_a_producer_is_looked_up_once_per_batch_even_if_unknown(client: Client) -> None:
    recorders = Recorders()
    sent = [(name, str(number)) for number in range(5) for name in ("unknown", "juno")]

    await intake(client, recorders).take(await arrived(client, *sent))

    assert sorted(recorders.asked) == ["juno", "unknown"]
    assert len(recorders.taken) == len(await letters(client)) == 5


async def test_others_run_between_two_turns_of_a_batch(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ran, seen, turn = 0, list[int](), Recorder.turn

    async def run() -> None:
        nonlocal ran
        while True:
            ran += 1
            await asyncio.sleep(0)

    async def noted(self: Recorder, fields: Mapping[str, Any]) -> HearTurn:
        seen.append(ran)
        return await turn(self, fields)

    monkeypatch.setattr(Recorder, "turn", noted)
    batch = await arrived(client, *(("juno", str(number)) for number in range(5)))
    task = asyncio.create_task(run())
    await intake(client, Recorders()).take(batch)
    task.cancel()

    assert len(set(seen)) == 5


@pytest.mark.spec("X14")
@pytest.mark.parametrize(
    "fault",
    [
        psycopg.OperationalError("the server closed the connection"),
        sqlalchemy.exc.OperationalError("SELECT", {}, psycopg.OperationalError()),
        sqlalchemy.exc.TimeoutError(),
        redis.exceptions.ConnectionError(),
        ServerFailed(),
        ReadTimeout(),
    ],
    ids=lambda fault: f"{type(fault).__module__}.{type(fault).__name__}",
)
async def test_what_a_server_that_went_away_refused_comes_again_and_is_not_set_aside(
    client: Client, fault: Exception
) -> None:
    messages = await arrived(client, ("juno", "1"))

    with pytest.raises(type(fault)):
        await intake(client, Recorders(fault)).take(messages)

    assert await letters(client) == []
    assert not messages[0].is_acked


async def test_turns_whose_files_cannot_be_stored_come_again_and_those_of_others_are_recorded(client: Client) -> None:
    messages = await arrived(client, ("juno", "1"), ("juno", "2"), users=("ana", "ben"))
    recorders = Recorders(full={"ana": ServerFailed()})

    with pytest.raises(ServerFailed):
        await intake(client, recorders).take(messages)

    assert recorders.taken == ["2"]
    assert [one.is_acked for one in messages] == [False, True]
    assert await letters(client) == []


@pytest.mark.spec("X16")
async def test_the_letter_of_a_turn_whose_files_were_the_fault_has_no_message(client: Client) -> None:
    recorders = Recorders(full={"ana": ValueError("cannot read 'Zanzibarquux'")})
    await intake(client, recorders).take(await arrived(client, ("juno", "1")))

    [letter] = await letters(client)
    assert "ValueError in turn, line" in letter.reason["message"]
    assert "Zanzibarquux" not in json.dumps(letter.as_dict())


@pytest.mark.spec("X16")
async def test_the_letter_of_an_unexpected_error_has_its_location_but_no_message(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """They may quote what other turns told, and no erasure of those would find the letter."""
    await intake(client, Recorders(ValueError("cannot read 'Zanzibarquux'"))).take(await arrived(client, ("juno", "1")))

    [letter] = await letters(client)
    assert letter.reason["code"] == "unreadable_turn"
    assert "ValueError in record_turns, line" in letter.reason["message"]
    assert "Zanzibarquux" not in json.dumps(letter.as_dict()) + caplog.text


async def test_a_turn_whose_subject_is_too_long_for_a_letter_is_set_aside_under_its_beginning(client: Client) -> None:
    place = "x" * 4060
    await client.publish(f"mnemolog.turns.{place}", b"{}")
    await client.flush()
    consumer = await client.jetstream().pull_subscribe("mnemolog.turns.>", "tests", TURNS)

    await intake(client, Recorders()).take(await consumer.fetch(1))

    [letter] = await letters(client)
    assert letter.tenant
    assert place.startswith(letter.tenant)
    assert letter.body == b"{}"
