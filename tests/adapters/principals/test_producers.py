"""Producers over NATS: whom a turn may speak of follows from the subject that it came on, whatever stands in it."""

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import nats
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nats.aio.client import Client
from nats.errors import Error as NatsError

from mnemolog import AsyncTurnProducer
from mnemolog.adapters import producers
from mnemolog.adapters.embedded.producers import Producer, Producers
from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.adapters.nats.dead_letters import DeadLetter, DeadLetters
from mnemolog.adapters.nats.producer import TurnSender
from mnemolog.adapters.nats.subjects import Address
from mnemolog.commands.erasure import EraseThread
from mnemolog.domain.errors import (
    AmbiguousEntity,
    Conflict,
    InvalidInput,
    MnemologError,
    NotFound,
    NotPermitted,
    Unauthenticated,
)
from mnemolog.domain.principal import ALL, OPERATOR, Principal, Role
from mnemolog.events.artifacts import ArtifactStored
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Receipt, StreamId
from tests.adapters.nats.login import admitted, refused
from tests.adapters.nats.test_turns import message
from tests.adapters.principals.keys import calling, calling_with, principal
from tests.testkit.eventually import eventually
from tests.testkit.examples import examples
from tests.testkit.turns import as_request


def publisher(name: str, tenant: str, users: Collection[str] = (ALL,), agents: Collection[str] = (ALL,)) -> Principal:
    return principal(name, tenant=tenant, users=users, agents=agents, roles=[Role.PUBLISH])


@pytest.fixture
def tenant(user: str) -> str:
    """A tenant of its own, so that its dead letters can be told from others."""
    return f"acme.{user}"


class Published:
    """Turns on a producer's subject, as NATS lets them through from the producer alone."""

    def __init__(self, engine: Engine, tenant: str, name: str) -> None:
        self.engine, self.tenant, self.address = engine, tenant, Address.of(tenant, name)

    async def __call__(self, user: str, **fields: Any) -> Receipt | MnemologError:
        async with TurnSender(self.engine.nats, self.address) as sender:
            outcome = await sender.send(json.dumps(message(user, **fields)).encode())
        assert outcome is not None
        return outcome

    async def turn_ids(self, user: str) -> Sequence[str]:
        events = await self.engine.log.read(StreamId.of_user(user, self.tenant))
        return [event.payload.turn_id for event in events if isinstance(event.payload, TurnRecorded)]

    async def letters(self) -> Sequence[DeadLetter]:
        found = DeadLetters(self.engine.nats).all(self.tenant)
        return [letter async for letter in found if letter.address == self.address]


async def cut_off(client: Client) -> bool:
    return not client.is_connected


async def producer(guarded: Engine, who: Principal) -> Published:
    await guarded.api_keys.create(who)
    return Published(guarded, who.tenant, who.name)


@asynccontextmanager
async def added(engine: Engine, who: Principal) -> AsyncIterator[str]:
    """The URL of a producer that the embedded NATS knows."""
    made = await producers.add(engine, who)
    url = f"nats://{who.name}:{made.password}@{engine.endpoints.nats_url.rpartition('@')[2]}"
    await eventually(lambda: admitted(url))
    yield url
    await producers.remove(engine, who.name)


@pytest.mark.spec("X14")
@pytest.mark.spec_part("A10")
async def test_a_turn_is_recorded_in_the_name_of_the_producer(guarded: Engine, user: str, tenant: str) -> None:
    drawn = {"memories": [{"text": "Ana lives in Lisbon", "category": "goals"}],
             "facts": [{"subject": "Ana", "predicate": "lives_in", "object": "Lisbon"}]}  # fmt: skip
    who = publisher(f"p-{user}", tenant, [user], ["planner"])
    async with added(guarded, who) as url, AsyncTurnProducer(url, tenant=tenant) as opened:
        receipt = await opened.publish(message(user, agent_id="planner", speaker="Ana", **drawn))
        again = await opened.publish(message(user, agent_id="planner", speaker="Ana", **drawn))

    events = await guarded.log.read(StreamId.of_user(user, tenant))
    assert receipt is not None
    assert again is not None
    assert again.already
    assert receipt.event_ids == again.event_ids == tuple(event.event_id for event in events)
    assert {event.meta.actor for event in events} == {f"p-{user}/planner"}
    assert len(events) > 4
    assert await Published(guarded, tenant, "").turn_ids(user) == [f"p-{user}/msg-1"]


@pytest.mark.spec_part("E05")
async def test_a_file_of_a_turn_is_stored_in_the_name_of_the_producer_unless_the_turn_is_refused(
    guarded: Engine, user: str, tenant: str
) -> None:
    publish = await producer(guarded, publisher(f"p-{user}", tenant, [user], ["planner"]))
    text = "word " * 60_000

    refused = await publish(user, agent_id="stylist", text=text)
    assert isinstance(refused, NotPermitted)
    assert await guarded.log.read(StreamId.of_user(user, tenant)) == []
    receipt = await publish(user, agent_id="planner", text=text)
    assert isinstance(receipt, Receipt)

    events = await guarded.log.read(StreamId.of_user(user, tenant))
    assert {event.meta.actor for event in events} == {f"p-{user}/planner"}
    assert sum(isinstance(event.payload, ArtifactStored) for event in events) == 1


@pytest.mark.spec("X14", "A01")
@pytest.mark.parametrize(
    ("fields", "error", "field"),
    [
        ({"user_id": "somebody-else"}, NotFound, "user_id"),
        ({"agent_id": "stylist"}, NotPermitted, "agent_id"),
        ({"agent_id": "default"}, NotPermitted, "agent_id"),
    ],
)
async def test_a_turn_beyond_its_producer_is_set_aside_with_the_reason_and_nothing_is_stored(
    guarded: Engine, user: str, tenant: str, fields: dict[str, str], error: type[MnemologError], field: str
) -> None:
    publish = await producer(guarded, publisher(f"p-{user}", tenant, [user], ["planner"]))
    meant = {"agent_id": "planner", **fields}
    whose = meant.pop("user_id", user)

    refused, good = await asyncio.gather(
        publish(whose, message_id="outside", **meant), publish(user, message_id="inside", agent_id="planner")
    )

    assert type(refused) is error
    assert refused.field == field
    assert isinstance(good, Receipt), "its neighbour in the batch is recorded"
    [letter] = await publish.letters()
    assert letter.reason == refused.as_dict()
    assert json.loads(letter.body) == message(whose, message_id="outside", **meant)
    assert letter.as_dict()["producer"] == f"p-{user}"
    assert await publish.turn_ids(user) == [f"p-{user}/inside"]
    assert await guarded.log.head(StreamId.of_user("somebody-else", tenant)) == 0


USERS, AGENTS, TENANTS = ("a", "b"), ("x", "y"), ("tenant-1", "tenant-2")
_numbers = count()


def some(values: Sequence[str]) -> st.SearchStrategy[Collection[str]]:
    return st.sampled_from([(ALL,), *((one,) for one in values), values])


@pytest.mark.spec("X14", "A01")
@settings(max_examples=examples(50), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(TENANTS), some(USERS), some(AGENTS),
    st.sampled_from(TENANTS), st.sampled_from(USERS), st.sampled_from(AGENTS),
)  # fmt: skip
async def test_a_turn_is_recorded_if_its_producer_reaches_tenant_user_and_agent_and_not_otherwise(
    guarded: Engine, tenant: str, users: Collection[str], agents: Collection[str], of: str, user: str, agent: str
) -> None:
    name = f"random-{next(_numbers)}"
    await guarded.api_keys.create(publisher(name, tenant, users, agents))
    publish, stream = Published(guarded, of, name), StreamId.of_user(user, of)
    before = await guarded.log.head(stream)

    outcome = await publish(user, agent_id=agent)

    reached = of == tenant and not {ALL, user}.isdisjoint(users) and not {ALL, agent}.isdisjoint(agents)
    assert isinstance(outcome, Receipt) == reached
    assert (await guarded.log.head(stream) > before) == reached
    assert len(await publish.letters()) == (not reached)


@pytest.mark.spec("X14")
@pytest.mark.parametrize("claim", ["tenant", "actor", "principal", "producer"])
async def test_what_a_turn_says_of_its_sender_is_not_listened_to(
    guarded: Engine, user: str, tenant: str, claim: str
) -> None:
    publish = await producer(guarded, publisher(f"p-{user}", tenant, [user]))

    refused = await publish(user, **{claim: "other"})

    assert isinstance(refused, InvalidInput)
    assert refused.field == claim
    assert await publish.turn_ids(user) == []


@pytest.mark.spec("X14")
async def test_a_producer_of_one_tenant_is_unknown_in_another(guarded: Engine, user: str, tenant: str) -> None:
    """NATS lets it publish in its own alone; an operator's NATS may be less strict."""
    await producer(guarded, publisher(f"p-{user}", tenant))
    elsewhere = Published(guarded, f"{tenant}-other", f"p-{user}")

    refused = await elsewhere(user)

    assert isinstance(refused, NotFound)
    assert await elsewhere.turn_ids(user) == []
    assert len(await elsewhere.letters()) == 1


@pytest.mark.spec("X14")
async def test_with_a_key_turns_without_a_producer_are_refused_but_not_the_engines(
    guarded: Engine, user: str, tenant: str
) -> None:
    await guarded.api_keys.create(principal())
    for name in ("", f"unknown-{user}"):
        nobody = Published(guarded, tenant, name)
        refused = await nobody(user)
        assert isinstance(refused, Unauthenticated)
        assert refused.fix
        assert len(await nobody.letters()) == 1
    assert isinstance(await Published(guarded, tenant, OPERATOR)(user, message_id="ours"), Receipt)
    assert await nobody.turn_ids(user) == ["ours"]


@pytest.mark.spec("X01", "X14")
async def test_two_producers_may_count_their_messages_alike(guarded: Engine, user: str, tenant: str) -> None:
    one, two = [await producer(guarded, publisher(f"{name}-{user}", tenant)) for name in ("one", "two")]

    outcomes = [await publish(user, text=text) for publish, text in ((one, "tea"), (two, "coffee"), (one, "tea"))]

    assert [isinstance(outcome, Receipt) and outcome.already for outcome in outcomes] == [False, False, True]
    assert await one.turn_ids(user) == [f"one-{user}/msg-1", f"two-{user}/msg-1"]


@pytest.mark.spec("X14")
async def test_a_producer_is_one_over_http_and_over_nats(guarded: Engine, user: str, tenant: str) -> None:
    who = publisher(f"p-{user}", tenant, [user])
    _, text = await guarded.api_keys.create(who)
    receipt = await Published(guarded, tenant, who.name)(user)
    async with calling_with(guarded, text) as client:
        again = await client.post("/v1/turns", json=as_request(message(user)))
        outside = await client.post("/v1/turns", json=as_request(message("somebody")))
        others = [await client.get("/v1/memories", params={"user_id": user}),
                  await client.post("/v1/memories", json={"user_id": user, "text": "x"})]  # fmt: skip

    assert isinstance(receipt, Receipt)
    assert (again.status_code, again.json()["already"], again.json()["token"]) == (201, True, receipt.token)
    assert outside.status_code == 404
    assert {one.status_code for one in others} == {403}


@pytest.mark.spec("X14")
async def test_no_receipt_is_sent_to_the_place_of_another(guarded: Engine, user: str, tenant: str) -> None:
    juno, nova = Address.of(tenant, f"juno-{user}"), Address.of(tenant, f"nova-{user}")
    await producer(guarded, publisher(juno.producer, tenant))
    heard = await guarded.nats.subscribe(f"{nova.receipts}.>")

    body = json.dumps(message(user)).encode()
    for reply in (f"{nova.receipts}.1", nova.receipts, f"{juno.receipts}x.1"):
        await guarded.nats.publish(juno.turns, body, headers={"Mnemolog-Reply-To": reply})
    assert isinstance(await Published(guarded, tenant, juno.producer)(user, message_id="last"), Receipt)

    with pytest.raises(TimeoutError):
        await heard.next_msg(0.2)
    await heard.unsubscribe()


@pytest.mark.spec("X14")
async def test_who_is_removed_is_cut_off_and_what_he_left_is_set_aside(guarded: Engine, user: str, tenant: str) -> None:
    name = f"p-{user}"
    async with added(guarded, publisher(name, tenant)) as url:
        client = await nats.connect(url, allow_reconnect=False, inbox_prefix=f"_INBOX.{name}")
        await client.flush()
    await eventually(lambda: cut_off(client))
    with pytest.raises(NatsError):
        await client.publish(Address.of(tenant, name).turns, b"{}")

    left = Published(guarded, tenant, name)
    assert isinstance(await left(user), Unauthenticated)
    assert await left.turn_ids(user) == []
    assert len(await left.letters()) == 1


@pytest.mark.spec("X14")
async def test_a_letter_is_sent_again_in_the_name_of_its_producer_and_reaches_no_further(
    guarded: Engine, user: str, tenant: str
) -> None:
    name, letters = f"p-{user}", DeadLetters(guarded.nats)
    publish = await producer(guarded, publisher(name, tenant, ["somebody"]))
    await publish(user)
    [letter] = await publish.letters()

    again = await letters.replay(letter.id)
    corrected = await letters.replay(letter.id, json.dumps(message(user, text="corrected")).encode())

    assert isinstance(again, NotFound)
    assert isinstance(corrected, NotFound)
    assert [one.id for one in await publish.letters()] == [letter.id]
    assert await publish.turn_ids(user) == []

    await producers.remove(guarded, name)
    assert isinstance(await letters.replay(letter.id), Unauthenticated)
    await guarded.api_keys.create(publisher(name, tenant, [user]))
    assert isinstance(await letters.replay(letter.id), Receipt), "once the producer reaches the user"
    assert await publish.turn_ids(user) == [f"{name}/msg-1"]
    assert await publish.letters() == []


async def test_a_name_is_that_of_one_producer_and_free_again_once_he_is_gone(
    guarded: Engine, user: str, tenant: str
) -> None:
    who = publisher(f"p-{user}", tenant)
    made = await asyncio.gather(*(guarded.api_keys.create(who) for _ in range(4)), return_exceptions=True)
    keys = [one for one in made if not isinstance(one, BaseException)]
    assert len(keys) == 1
    assert [type(one) for one in made if isinstance(one, BaseException)] == [Conflict] * 3
    with pytest.raises(Conflict):
        await producers.add(guarded, publisher(f"p-{user}", f"{tenant}-other"))

    await guarded.api_keys.revoke(keys[0][0].key_id)
    await guarded.api_keys.create(who)
    await guarded.api_keys.create(principal(who.name, tenant=tenant)), "who calls over HTTP alone may be named alike"

    with pytest.raises(InvalidInput):
        await guarded.api_keys.create(publisher("a.b", tenant))


async def test_another_key_of_the_name_widens_no_producer(guarded: Engine, user: str, tenant: str) -> None:
    publish = await producer(guarded, publisher(f"p-{user}", tenant, ["somebody"]))
    async with calling(guarded, principal(f"p-{user}", tenant=tenant, roles=list(set(Role) - {Role.PUBLISH}))):
        assert isinstance(await publish(user), NotFound)


@pytest.mark.spec("X08", "X14")
async def test_the_password_of_a_revoked_producer_opens_nothing_also_once_another_bears_its_name(
    guarded: Engine, user: str, tenant: str
) -> None:
    name = f"p-{user}"
    first = await producers.add(guarded, publisher(name, tenant))
    former = f"nats://{name}:{first.password}@{guarded.endpoints.nats_url.rpartition('@')[2]}"
    await eventually(lambda: admitted(former))

    await producers.revoke_key(guarded, first.key.key_id)
    await eventually(lambda: refused(former))

    async with added(guarded, publisher(name, tenant)) as url:
        await producers.revoke_key(guarded, first.key.key_id)  # Once more takes nothing from who came after.
        await asyncio.sleep(0.5)
        assert await admitted(url)
        assert await refused(former)


@pytest.mark.spec("X08", "X14")
async def test_a_key_for_http_lets_in_no_password_that_a_version_before_left_with_nats(
    guarded: Engine, user: str, tenant: str
) -> None:
    name = f"p-{user}"
    left = await producers.add(guarded, publisher(name, tenant))
    await guarded.api_keys.revoke(left.key.key_id)

    with pytest.raises(InvalidInput) as error:
        await producers.create_key(guarded, publisher(name, tenant))
    key, _ = await producers.create_key(guarded, principal(name, tenant=tenant, roles=[Role.PUBLISH, Role.READ]))
    assert (error.value.field, "producer add" in error.value.fix) == ("roles", True)
    former = f"nats://{name}:{left.password}@{guarded.endpoints.nats_url.rpartition('@')[2]}"
    await eventually(lambda: refused(former))
    await guarded.api_keys.revoke(key.key_id)


async def test_a_producer_without_a_key_can_be_added_again_and_a_refused_one_leaves_no_key(
    guarded: Engine, user: str, tenant: str
) -> None:
    name = f"p-{user}"
    users = Producers(guarded.settings.directory)
    users.put(Producer.of(name, tenant, now(), "secret", ""))

    async with added(guarded, publisher(name, tenant)) as url:
        assert await admitted(url)
        with pytest.raises(Conflict):
            await producers.add(guarded, publisher(name, tenant))
        assert len([one for one in await guarded.api_keys.list() if one.principal.name == name]) == 1


@pytest.mark.spec("X07", "X16")
async def test_an_erasure_takes_what_a_producer_has_waiting_and_set_aside(
    guarded: Engine, user: str, tenant: str
) -> None:
    one, two = [await producer(guarded, publisher(f"{name}-{user}", tenant)) for name in ("one", "two")]
    for publish in (one, two):
        assert isinstance(await publish(user, thread_id=f"of {publish.address.producer}"), Receipt)
        assert isinstance(await publish(user, text="I hide in Zanzibarquux", thread_id="elsewhere"), MnemologError)

    stream = StreamId.of_user(user, tenant)
    thread = f"of one-{user}"
    erased = await erase(guarded, EraseThread(tenant=tenant, user_id=user, thread_id=thread))

    assert erased.messages == 1
    assert await one.letters() == []
    assert len(await two.letters()) == 1, "the message of another that is counted alike stays"
    proof = await prove(guarded, ProofSubject(stream, thread_id=thread), None)
    assert proof.holds


@pytest.mark.spec("X07", "X16")
async def test_erasing_a_turn_without_producer_keeps_a_producers_message_with_the_same_number(
    guarded: Engine, user: str, tenant: str
) -> None:
    """Which was never recorded; of the operator the id is recorded as it is."""
    kira, gone = [await producer(guarded, publisher(f"{name}-{user}", tenant, ["ben"])) for name in ("kira", "gone")]
    await producers.remove(guarded, gone.address.producer)
    operator = Published(guarded, tenant, OPERATOR)
    turn = {"user_id": user, "tenant": tenant, "turn_id": "msg-1", "thread_id": "said", "text": "I hide"}
    await guarded.writes.record_turn(turn)
    for publish in (kira, gone, operator):
        assert isinstance(await publish(user, text="I hide elsewhere", thread_id="elsewhere"), MnemologError)

    erased = await erase(guarded, EraseThread(tenant=tenant, user_id=user, thread_id="said"))

    assert [len(await one.letters()) for one in (kira, gone, operator)] == [1, 1, 0]
    assert erased.messages == 1
    assert (await prove(guarded, ProofSubject(StreamId.of_user(user, tenant), thread_id="said"), None)).holds


async def two_called_marta(engine: Engine, user: str, tenant: str) -> dict[str, Any]:
    """Of whom a turn's fact tells something without saying which; one is known by a secret."""
    about, at = {"user_id": user, "tenant": tenant, "name": "Marta", "category": "Person", "thread_id": "other"}, now()
    with pytest.MonkeyPatch.context() as patch:  # Of two who were seen at one moment neither is the latest.
        patch.setattr(engine.writes._handler, "now", lambda: at)
        for alias in ("Zanzibarquux", "Neighbour"):
            await engine.writes.observe_entity({**about, "aliases": [alias], "another": True})
    return {"facts": [{"subject": "Marta", "predicate": "lives_in", "object": "Lisbon"}]}


@pytest.mark.spec("X16")
@pytest.mark.spec_part("A10")
async def test_a_producers_receipt_and_dead_letter_reveal_nothing_of_the_graph(
    guarded: Engine, user: str, tenant: str
) -> None:
    drawn = await two_called_marta(guarded, user, tenant)
    who = publisher(f"p-{user}", tenant)
    _, text = await guarded.api_keys.create(who)
    publish, reader = Published(guarded, tenant, who.name), principal(tenant=tenant)

    refused = await publish(user, **drawn)
    async with calling_with(guarded, text) as client, calling(guarded, reader) as other:
        answer = await client.post("/v1/turns", json=as_request(message(user, **drawn)))
        readable = await other.post("/v1/turns", json=as_request(message(user, **drawn)))

    assert isinstance(refused, AmbiguousEntity)
    assert (refused.question, list(refused.candidates)) == ("", [])
    assert (answer.status_code, set(answer.json()["error"])) == (409, {"code", "message", "field", "fix"})
    assert "Zanzibarquux" in readable.text
    [letter] = await publish.letters()
    error = answer.json()["error"]
    assert letter.reason == {**error, "field": error["field"].removeprefix("messages[0].")}


@pytest.mark.spec_part("A10")
async def test_who_may_read_is_asked_the_question_over_nats_and_its_letter_holds_none(
    guarded: Engine, user: str, tenant: str
) -> None:
    drawn = await two_called_marta(guarded, user, tenant)
    publish = await producer(guarded, principal(f"p-{user}", tenant=tenant, roles=[Role.PUBLISH, Role.READ]))

    refused = await publish(user, **drawn)

    assert isinstance(refused, AmbiguousEntity)
    assert refused.question
    assert "Zanzibarquux" in json.dumps(list(refused.candidates))
    [letter] = await publish.letters()
    assert letter.reason.keys() == {"code", "message", "field", "fix"}


async def test_a_message_id_leaves_room_for_the_name_of_its_producer(guarded: Engine, user: str, tenant: str) -> None:
    publish = await producer(guarded, publisher(f"p-{user}", tenant))
    room = 200 - len(f"p-{user}/")
    fact = {"facts": [{"subject": "Ana", "predicate": "lives_in", "object": "Lisbon"}]}

    assert isinstance(await publish(user, message_id="m" * room, **fact), Receipt)
    refused = await publish(user, message_id="n" * (room + 1))

    assert isinstance(refused, InvalidInput)
    assert (refused.field, str(room) in refused.message, bool(refused.fix)) == ("message_id", True, True)


@pytest.mark.spec("X14")
async def test_a_letter_without_a_producer_is_sent_for_the_one_the_operator_names(
    guarded: Engine, user: str, tenant: str
) -> None:
    await guarded.api_keys.create(principal())
    nobody, narrow = Published(guarded, tenant, ""), await producer(guarded, publisher(f"p-{user}", tenant, ["ben"]))
    for number in range(2):
        assert "--as" in getattr(await nobody(user, message_id=f"msg-{number}"), "fix", "")
    await narrow(user, message_id="narrow")
    (one, two), [own] = await nobody.letters(), await narrow.letters()
    letters = DeadLetters(guarded.nats)

    assert isinstance(await letters.replay(one.id, producer=f"p-{user}"), NotFound), "no further than he reaches"
    assert isinstance(await letters.replay(one.id, producer=f"unknown-{user}"), Unauthenticated)
    assert isinstance(await letters.replay(own.id, producer=OPERATOR), InvalidInput), "one of somebody is his"
    assert await nobody.turn_ids(user) == []
    assert isinstance(await letters.replay(one.id, producer=OPERATOR), Receipt)
    await producer(guarded, publisher(f"wide-{user}", tenant, [user]))
    assert isinstance(await letters.replay(two.id, producer=f"wide-{user}"), Receipt)

    assert await nobody.turn_ids(user) == ["msg-0", f"wide-{user}/msg-1"]
    assert await nobody.letters() == []
    assert await narrow.letters() == [own]


@pytest.mark.spec("X14")
@pytest.mark.parametrize("claim", ["1", "mnemolog.turns.{tenant}.engine", "mnemolog.turns.{tenant}"])
async def test_who_says_himself_that_his_turn_is_sent_again_loses_no_letter_and_is_nobody_else(
    guarded: Engine, user: str, tenant: str, claim: str
) -> None:
    publish = await producer(guarded, publisher(f"p-{user}", tenant, ["ben"]))
    said = claim.format(tenant=Address.of(tenant).tenant_token)

    async with TurnSender(guarded.nats, publish.address) as sender:
        refused = await sender.send(json.dumps(message(user)).encode(), {"Mnemolog-Replay": said})

    assert isinstance(refused, NotFound)
    [letter] = await publish.letters()
    assert letter.headers == {}
    assert await publish.turn_ids(user) == []
