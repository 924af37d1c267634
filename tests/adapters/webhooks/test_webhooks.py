"""Webhooks on real servers and a real receiver: signed, at least once, never twice by id, to nobody who may not see."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from mnemolog.adapters.cli.doctor import _running
from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.adapters.nats.subjects import EVENTS, WEBHOOKS
from mnemolog.adapters.operations import webhooks as operations
from mnemolog.adapters.operations.webhooks import CreateWebhook, DeliveryView, WebhookCreated
from mnemolog.adapters.webhooks import sender as sending
from mnemolog.adapters.webhooks.sender import Sender
from mnemolog.adapters.webhooks.webhook import Webhook
from mnemolog.commands.erasure import EraseUser
from mnemolog.domain.errors import Conflict, IdempotencyConflict, InvalidInput, MnemologError, NotFound, NotPermitted
from mnemolog.domain.principal import ALL, Role
from mnemolog.domain.viewer import Viewer
from mnemolog.domain.webhook import PAUSE_AFTER
from mnemolog.events.envelope import StreamId
from mnemolog.events.fields import validated
from tests.adapters.principals.keys import principal
from tests.adapters.webhooks.receiver import NEVER, Receiver, receiving
from tests.engine.person import Person
from tests.testkit.eventually import eventually
from tests.testkit.settings import settings_in

HERE = ["127.0.0.0/8"]


@pytest.fixture(scope="module")
async def hooking(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """An engine that may call this machine."""
    async with open_engine(settings_in(tmp_path_factory.mktemp("hooks"), webhook_networks=HERE)) as opened:
        yield opened


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as opened:
        yield opened


@pytest.fixture
def ana(hooking: Engine, user: str) -> Person:
    return Person(hooking, f"hook-{user}")


async def create(engine: Engine, url: str, user: str, **more: Any) -> WebhookCreated:
    request = validated(CreateWebhook, {"url": url, "user_id": user, **more})
    return await operations.create_webhook.run(engine, request)


async def call(engine: Engine, name: str, hook: WebhookCreated, **more: Any) -> Any:
    operation: Any = getattr(operations, name)
    fields = {"user_id": hook.user_id, "agent_id": hook.agent_id, "webhook_id": str(hook.webhook_id), **more}
    return await operation.run(engine, validated(operation.request, fields))


async def deliveries(engine: Engine, hook: WebhookCreated, **more: Any) -> list[DeliveryView]:
    return list((await call(engine, "list_deliveries", hook, **more)).items)


async def stored(engine: Engine, hook: WebhookCreated) -> Webhook:
    return await engine.webhooks.store.get("default", hook.user_id, hook.agent_id, hook.webhook_id)


def state_is(engine: Engine, hook: WebhookCreated, wanted: str) -> Callable[[], Awaitable[bool]]:
    async def reached() -> bool:
        found = await operations.list_webhooks.run(
            engine, validated(operations.ListWebhooks, {"user_id": hook.user_id, "agent_id": hook.agent_id})
        )
        return {one.webhook_id: one.state for one in found.items}[hook.webhook_id] == wanted

    return reached


async def test_each_change_is_sent_once_signed_with_ids_and_no_text(ana: Person, receiver: Receiver) -> None:
    await ana.creates("Ana kept rabbits before.")
    hook = await create(ana.engine, receiver.url, ana.user)
    head = await ana.engine.log.head(ana.stream)
    for number in range(5):
        await ana.creates(f"Ana likes tea number {number}.")
    watched = await ana.engine.reads.changes_after(Viewer("default", ana.user, "default"), head)
    got = await receiver.until(len(watched.changes))
    assert {one.id for one in got} == {str(change["id"]) for change in watched.changes}
    assert len(got) == len(watched.changes) >= 5
    assert all(one.verified(hook.secret) for one in got)
    assert not any(one.verified(f"{hook.secret[:-5]}AAAA=") for one in got)
    first = min(got, key=lambda one: one.message["data"]["seq"]).message
    assert (first["type"], first["data"]["user_id"], first["data"]["seq"]) == ("memory.add", ana.user, head + 1)
    assert not any(b"tea" in one.body for one in got)
    await eventually(lambda: _all(ana.engine, hook, "delivered"))
    assert len(await deliveries(ana.engine, hook)) == len(got)


async def _all(engine: Engine, hook: WebhookCreated, status: str) -> bool:
    return all(one.status == status for one in await deliveries(engine, hook))


async def test_what_fails_is_sent_again_under_the_same_id_and_no_other_twice(
    ana: Person, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "TIMEOUT_SECONDS", 0.3)
    receiver.statuses.extend([500, NEVER, 204])
    hook = await create(ana.engine, receiver.url, ana.user)
    await ana.creates("Ana likes green tea.")
    await receiver.until(1)
    await eventually(lambda: _all(ana.engine, hook, "delivered"))
    assert [one.status for one in receiver.received] == [500, NEVER, 204]
    assert len({one.id for one in receiver.received}) == 1
    assert all(one.verified(hook.secret) for one in receiver.received)
    [delivery] = await deliveries(ana.engine, hook)
    assert (delivery.attempts, delivery.response_status, delivery.error) == (3, 204, None)
    assert await state_is(ana.engine, hook, "active")()
    await call(ana.engine, "redeliver", hook, delivery_id=str(delivery.delivery_id))
    again = await receiver.until(2)
    assert again[0].id == again[1].id


@pytest.mark.parametrize("status", [429, 503])
async def test_a_receiver_that_asks_for_time_is_given_it(ana: Person, receiver: Receiver, status: int) -> None:
    receiver.statuses.append(status)
    receiver.retry_after = "1800"
    began = now()
    hook = await create(ana.engine, receiver.url, ana.user)
    await ana.creates("Ana likes green tea.")
    await eventually(state_is(ana.engine, hook, "failing"))
    waiting = await stored(ana.engine, hook)
    assert waiting.retry_at is not None
    assert began + timedelta(seconds=1800) <= waiting.retry_at <= now() + timedelta(seconds=1800)
    assert [one.status for one in receiver.received] == [status]
    assert await ana.engine.webhooks.store.next(waiting) is None


async def test_a_secret_that_is_replaced_stays_valid_for_a_while(ana: Person, receiver: Receiver) -> None:
    hook = await create(ana.engine, receiver.url, ana.user)
    rotated = await call(ana.engine, "rotate_secret", hook, keep_hours=2)
    assert rotated.secret != hook.secret
    assert timedelta(hours=1) < rotated.former_until - now() <= timedelta(hours=2)
    await call(ana.engine, "test_webhook", hook)
    [both] = await receiver.until(1)
    assert both.verified(rotated.secret)
    assert both.verified(hook.secret)
    known = await stored(ana.engine, hook)
    assert known.secrets(rotated.former_until) == (rotated.secret,)
    ended = await call(ana.engine, "rotate_secret", hook, keep_hours=0)
    await call(ana.engine, "test_webhook", hook)
    last = (await receiver.until(2))[1]
    assert [last.verified(one.secret) for one in (ended, rotated, hook)] == [True, False, False]
    with pytest.raises(Conflict, match="meanwhile"):
        await ana.engine.webhooks.store.rotate(known, timedelta(0))
    assert (await stored(ana.engine, hook)).secret == ended.secret


async def test_a_write_that_is_repeated_with_its_key_changes_nothing(ana: Person, receiver: Receiver) -> None:
    """As a client repeats one whose answer was lost."""
    engine, url = ana.engine, receiver.url
    hook = await create(engine, url, ana.user, idempotency_key="first")
    assert await create(engine, url, ana.user, idempotency_key="first") == hook
    other = await create(engine, url, ana.user, agent_id="other", idempotency_key="first")
    assert other.webhook_id != hook.webhook_id
    with pytest.raises(IdempotencyConflict):
        await create(engine, f"{url}/other", ana.user, idempotency_key="first")

    rotated = [await call(engine, "rotate_secret", hook, idempotency_key="turn") for _ in range(2)]
    at = now()
    assert rotated[0] == rotated[1] != hook
    assert (await stored(engine, hook)).secrets(at) == (rotated[0].secret, hook.secret)
    with pytest.raises(IdempotencyConflict):
        await call(engine, "rotate_secret", hook, keep_hours=0, idempotency_key="turn")

    tested = await asyncio.gather(*(call(engine, "test_webhook", hook, idempotency_key="try") for _ in range(3)))
    await receiver.until(1)
    assert {one.delivery_id for one in tested} == {one.delivery_id for one in await deliveries(engine, hook)}
    with pytest.raises(IdempotencyConflict):
        await call(engine, "resume_webhook", hook, idempotency_key="try")
    again = {"delivery_id": str(tested[0].delivery_id), "idempotency_key": "again"}
    await eventually(lambda: _all(engine, hook, "delivered"))
    sent = await call(engine, "redeliver", hook, **again)
    await receiver.until(2)
    await eventually(lambda: _all(engine, hook, "delivered"))
    assert await call(engine, "redeliver", hook, **again) == sent
    assert [one.status for one in await deliveries(engine, hook)] == ["delivered"]

    deleted = [await call(engine, "delete_webhook", hook, idempotency_key="end") for _ in range(2)]
    assert deleted[0] == deleted[1]
    with pytest.raises(NotFound):
        await call(engine, "test_webhook", hook, idempotency_key="late")
    assert len(receiver.received) == 2


async def test_a_key_belongs_to_its_principal_and_ends_after_a_week_or_with_the_user(
    hooking: Engine, user: str, receiver: Receiver
) -> None:
    engines = [hooking, *(hooking.by(principal(name)) for name in ("a", "b"))]
    hooks = [await create(engine, receiver.url, user, idempotency_key="k") for engine in engines]
    assert len({one.webhook_id for one in hooks}) == 3
    await hooking.webhooks.store.delete_finished(now() - timedelta(days=7))
    assert [await create(engine, receiver.url, user, idempotency_key="k") for engine in engines] == hooks

    everyone = await create(hooking, receiver.url, ALL, idempotency_key=user)
    await hooking.webhooks.store.forget(StreamId.of_user(user))
    assert await create(hooking, receiver.url, ALL, idempotency_key=user) == everyone
    assert await create(hooking, receiver.url, user, idempotency_key="k") != hooks[0]
    await hooking.webhooks.store.delete_finished(now() + timedelta(seconds=1))
    late = await create(hooking, receiver.url, ALL, idempotency_key=user)
    assert late.webhook_id != everyone.webhook_id
    for hook in (everyone, late):
        await call(hooking, "delete_webhook", hook)


async def test_redirects_are_not_followed(ana: Person, receiver: Receiver) -> None:
    async with receiving() as inner:
        receiver.statuses.append(302)
        receiver.location = inner.url
        hook = await create(ana.engine, receiver.url, ana.user)
        await call(ana.engine, "test_webhook", hook)
        await receiver.until(1)
        assert not inner.received
    assert [one.status for one in receiver.received] == [302, 204]


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "[::1]", "localhost"])
async def test_an_inner_address_is_never_called(ana: Person, receiver: Receiver, host: str) -> None:
    hook = await create(ana.engine, receiver.url, ana.user)
    delivery = await ana.engine.webhooks.store.add(await stored(ana.engine, hook), "webhook.test", lambda id_: b"{}")
    strict = Sender([], now)
    for scheme in ("http", "https"):
        url = f"{scheme}://{host}:{receiver.port}/x"
        target = await stored(ana.engine, hook)
        answer = await strict.send(_to(target, url), delivery)
        assert answer.status is None
        assert "is not" in answer.error
        if host != "localhost":
            with pytest.raises(InvalidInput):
                await create(_unallowed(ana.engine), url, ana.user)
    assert not receiver.received


async def test_a_name_that_is_not_found_is_said_to_be(ana: Person, receiver: Receiver) -> None:
    hook = await stored(ana.engine, await create(ana.engine, receiver.url, ana.user))
    delivery = await ana.engine.webhooks.store.add(hook, "webhook.test", lambda id_: b"{}")

    async def unknown(host: str, port: int) -> list[Any]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    answer = await Sender([], now, unknown).send(_to(hook, "https://hooks.example/x"), delivery)
    assert answer.error == "cannot be reached: its name is not found"


def _to(hook: Webhook, url: str) -> Webhook:
    return replace(hook, url=url)


def _unallowed(engine: Engine) -> Engine:
    """The same engine without any network that is allowed beside public ones."""
    bound = engine.by(principal("strict", roles=(Role.READ, Role.WRITE)))
    bound.webhooks = type(engine.webhooks)(
        engine.webhooks.store, engine.webhooks.jobs, engine.webhooks.feed, Sender([], now), engine.webhooks.nats
    )
    return bound


async def test_a_name_that_changes_its_address_is_called_at_the_one_that_was_checked(
    ana: Person, receiver: Receiver
) -> None:
    hook = await stored(ana.engine, await create(ana.engine, receiver.url, ana.user))
    delivery = await ana.engine.webhooks.store.add(hook, "webhook.test", lambda id_: b"{}")
    asked = list[str]()

    async def rebinding(host: str, port: int) -> list[Any]:
        asked.append(host)
        return [ip_address("127.0.0.1" if len(asked) == 1 else "169.254.169.254")]

    sender = Sender([ip_network("127.0.0.1/32")], now, rebinding)
    rebound = _to(hook, f"http://rebinding.example:{receiver.port}/x")
    assert (await sender.send(rebound, delivery)).status == 204
    assert (asked, receiver.received[0].headers["host"]) == (
        ["rebinding.example"],
        f"rebinding.example:{receiver.port}",
    )
    assert "169.254.169.254" in (await sender.send(rebound, delivery)).error

    async def mixed(host: str, port: int) -> list[Any]:
        return [ip_address("127.0.0.1"), ip_address("10.0.0.1")]

    refused = await Sender([ip_network("127.0.0.1/32")], now, mixed).send(rebound, delivery)
    assert "10.0.0.1" in refused.error
    assert len(receiver.received) == 1


async def test_nothing_of_another_user_agent_or_tenant_is_sent(hooking: Engine, user: str, receiver: Receiver) -> None:
    ana, bo = Person(hooking, f"hook-{user}"), Person(hooking, f"hook-{user}-bo")
    await create(hooking, receiver.url, ana.user, agent_id="coach")
    elsewhere = hooking.by(principal("elsewhere", tenant="other"))
    hidden = [
        await ana.creates("Only the cook knows.", scope="agent", agent_id="cook"),
        await bo.creates("Bo likes coffee."),
        (await elsewhere.writes.create({"tenant": "other", "user_id": ana.user, "text": "Elsewhere."}))[0],
    ]
    seen = [
        await ana.creates("Only the coach knows.", scope="agent", agent_id="coach"),
        await ana.creates("Everybody knows."),
    ]
    got = {one.message["data"]["subject_id"] for one in await receiver.until(2)}
    assert got == {str(one) for one in seen}
    assert not got & {str(one) for one in hidden}


async def test_a_webhook_for_all_users_takes_the_role_admin(hooking: Engine, user: str, receiver: Receiver) -> None:
    admin = principal(f"admin-{user}", tenant=f"t-{user}", roles=(Role.ADMIN,))
    writer = principal(f"writer-{user}", tenant=f"t-{user}")
    await hooking.api_keys.create(admin)
    with pytest.raises(NotPermitted):
        await create(hooking.by(writer), receiver.url, ALL)
    await hooking.by(admin).writes.create({"tenant": f"t-{user}", "user_id": "old", "text": "Before."})
    await create(hooking.by(admin), receiver.url, ALL)
    for who in ("old", "new"):
        await hooking.by(admin).writes.create({"tenant": f"t-{user}", "user_id": who, "text": "Tea."})
    await hooking.writes.create({"tenant": "default", "user_id": f"hook-{user}", "text": "Elsewhere."})
    got = await receiver.until(2)
    assert {one.message["data"]["user_id"] for one in got} == {"old", "new"}


async def test_a_key_makes_and_sees_only_webhooks_of_its_scope(hooking: Engine, user: str, receiver: Receiver) -> None:
    ana = f"hook-{user}"
    bound = hooking.by(principal(f"bound-{user}", users=(ana,), agents=("coach",)))
    for user_id, agent_id in ((ana, "cook"), (f"{ana}-bo", "coach"), (ALL, "coach")):
        with pytest.raises(MnemologError) as refused:
            await create(bound, receiver.url, user_id, agent_id=agent_id)
        assert isinstance(refused.value, (NotPermitted, NotFound))
    with pytest.raises(NotPermitted):
        await create(hooking.by(principal("reader", roles=(Role.READ,))), receiver.url, ana)
    others = await create(hooking, receiver.url, ana, agent_id="cook")
    own = await create(bound, receiver.url, ana, agent_id="coach")
    listed = await operations.list_webhooks.run(
        bound, validated(operations.ListWebhooks, {"user_id": ana, "agent_id": "coach"})
    )
    assert [one.webhook_id for one in listed.items] == [own.webhook_id]
    assert "secret" not in type(listed.items[0]).model_fields
    for name in ("delete_webhook", "resume_webhook", "rotate_secret", "test_webhook", "list_deliveries"):
        with pytest.raises(NotFound):
            await call(bound, name, others, agent_id="coach")


async def test_a_webhook_whose_key_was_revoked_is_paused(hooking: Engine, user: str, receiver: Receiver) -> None:
    ana, owner = Person(hooking, f"hook-{user}"), principal(f"owner-{user}", users=(f"hook-{user}",))
    key, _ = await hooking.api_keys.create(owner)
    hook = await create(hooking.by(owner), receiver.url, ana.user)
    await ana.creates("Ana likes tea.")
    await receiver.until(1)
    await hooking.api_keys.revoke(key.key_id)
    await ana.creates("Ana likes green tea.")
    await eventually(state_is(hooking, hook, "paused"))
    assert len(receiver.received) == 1
    await hooking.api_keys.create(owner)  # The key was replaced.
    await call(hooking, "resume_webhook", hook)
    await receiver.until(2)


async def test_a_receiver_that_is_gone_pauses_it_and_nothing_is_lost(ana: Person, receiver: Receiver) -> None:
    receiver.statuses.append(410)
    hook = await create(ana.engine, receiver.url, ana.user)
    await ana.creates("Ana likes tea.")
    await eventually(state_is(ana.engine, hook, "paused"))
    await ana.creates("Ana likes green tea.")
    with pytest.raises(Conflict, match="HTTP 410"):
        await call(ana.engine, "test_webhook", hook)
    found = {one.part: one async for one in _running(ana.engine)}["webhooks"]
    assert not found.good
    assert str(hook.webhook_id) in found.found
    await call(ana.engine, "resume_webhook", hook)
    got = await receiver.until(2)
    assert len({one.id for one in got}) == 2


async def test_a_webhook_that_failed_for_a_day_is_paused(ana: Person, receiver: Receiver) -> None:
    receiver.statuses.extend([500] * 3)
    hook = await create(ana.engine, receiver.url, ana.user)
    await ana.creates("Ana likes tea.")
    await eventually(state_is(ana.engine, hook, "failing"))
    async with ana.engine.webhooks.store._connection() as connection:
        long_ago = now() - PAUSE_AFTER - timedelta(minutes=1)
        await connection.execute(
            "UPDATE mnemolog.webhooks SET failing_since = %s WHERE webhook_id = %s", [long_ago, hook.webhook_id]
        )
    await eventually(state_is(ana.engine, hook, "paused"))


async def test_what_jetstream_lost_is_found_in_the_log(ana: Person, receiver: Receiver) -> None:
    hook = await create(ana.engine, receiver.url, ana.user)
    await ana.creates("Ana likes tea.")
    await receiver.until(1)
    jetstream = ana.engine.nats.jetstream()
    await jetstream.purge_stream(EVENTS)
    store = ana.engine.webhooks.store
    async with store._connection() as connection:  # As if the message had been lost: nothing was made of it.
        await connection.execute(
            "UPDATE mnemolog.webhook_progress SET seq = seq - 1 WHERE webhook_id = %s", [hook.webhook_id]
        )
        await connection.execute("DELETE FROM mnemolog.webhook_deliveries WHERE webhook_id = %s", [hook.webhook_id])
    await ana.engine.webhooks.feed.catch_up()
    got = await receiver.until(2)
    assert got[0].id == got[1].id
    assert (await jetstream.consumer_info(EVENTS, WEBHOOKS)).config.durable_name == WEBHOOKS


async def test_a_forged_message_that_names_no_place_does_not_end_the_feed(ana: Person, receiver: Receiver) -> None:
    await create(ana.engine, receiver.url, ana.user)
    await ana.creates("Ana likes tea.")
    await receiver.until(1)

    place = {"Mnemolog-Tenant": "default", "Mnemolog-Stream": "user:a\0b", "Mnemolog-Seq": "1"}
    await ana.engine.nats.jetstream().publish("mnemolog.events.p0.Forged", b"{}", headers=place)
    await ana.creates("Ana likes coffee.")

    await receiver.until(2)


async def test_several_sweeps_at_once_make_each_delivery_once(ana: Person, receiver: Receiver) -> None:
    hook = await create(ana.engine, receiver.url, ana.user)
    for number in range(10):
        await ana.creates(f"Ana likes tea number {number}.")
    feed, known = ana.engine.webhooks.feed, await stored(ana.engine, hook)
    await asyncio.gather(*(feed.feed(known, ana.stream) for _ in range(5)))
    watched = await ana.engine.reads.changes_after(Viewer("default", ana.user, "default"), 0)
    got = await receiver.until(len(watched.changes))
    await eventually(lambda: _all(ana.engine, hook, "delivered"))
    assert sorted(one.id for one in got) == sorted(str(change["id"]) for change in watched.changes)


async def test_what_was_put_off_by_a_clock_that_was_ahead_is_sent_after_it_was_set_back(
    ana: Person, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = await create(ana.engine, receiver.url, ana.user)
    with monkeypatch.context() as ahead:
        ahead.setattr(ana.engine.webhooks.store, "now", lambda: now() + timedelta(days=30))
        await ana.creates("Ana likes tea.")
        await eventually(lambda: _any(ana.engine, hook))
    assert await deliveries(ana.engine, hook, status="pending")

    await ana.engine.jobs.enqueue("sweep-webhooks", {}, stream=ana.stream)

    await receiver.until(len(await deliveries(ana.engine, hook)))
    await eventually(lambda: _all(ana.engine, hook, "delivered"))


async def _any(engine: Engine, hook: WebhookCreated) -> bool:
    return bool(await deliveries(engine, hook))


async def test_urls_and_secrets_are_sealed_and_a_changed_row_is_not_used(ana: Person, receiver: Receiver) -> None:
    hook = await create(ana.engine, receiver.url, ana.user)
    async with ana.engine.webhooks.store._connection() as connection:
        wanted = "SELECT * FROM mnemolog.webhooks WHERE webhook_id = %s"
        row = await (await connection.execute(wanted, [hook.webhook_id])).fetchone()
        assert row is not None
        shown = " ".join(str(one) for one in row.values()) + bytes(row["data"]).decode("latin-1")
        assert hook.secret not in shown
        assert receiver.url not in shown
        moved = "UPDATE mnemolog.webhooks SET agent_id = 'thief' WHERE webhook_id = %s"
        await connection.execute(moved, [hook.webhook_id])
    await ana.creates("Ana likes tea.")
    await ana.engine.webhooks.feed.catch_up()
    with pytest.raises(NotFound):
        await ana.engine.webhooks.store.get("default", ana.user, "thief", hook.webhook_id)
    assert not receiver.received
    async with ana.engine.webhooks.store._connection() as connection:
        await connection.execute("DELETE FROM mnemolog.webhooks WHERE webhook_id = %s", [hook.webhook_id])


async def test_webhooks_go_with_their_user(ana: Person, receiver: Receiver) -> None:
    engine, subject = ana.engine, ProofSubject(StreamId.of_user(ana.user))
    hook = await create(engine, receiver.url, ana.user)
    await ana.creates("Ana likes tea.")
    await receiver.until(1)
    await erase(engine, EraseUser(user_id=ana.user))
    with pytest.raises(NotFound):
        await call(engine, "list_deliveries", hook)
    await engine.settled(60)
    proof = await prove(engine, subject)
    assert {place.name for place in proof.places} >= {
        "postgres mnemolog.webhooks",
        "postgres mnemolog.webhook_deliveries",
    }
    assert proof.holds
    await create(engine, receiver.url, ana.user)
    left = [place.name for place in (await prove(engine, subject)).places if place.readable]
    assert left == ["postgres mnemolog.webhooks"]


async def test_a_delivery_that_was_interrupted_is_sent_again_by_the_next_engine(tmp_path: Path, user: str) -> None:
    async with receiving() as receiver:
        receiver.statuses.append(NEVER)
        async with open_engine(settings_in(tmp_path, webhook_networks=HERE)) as engine:
            ana = Person(engine, f"hook-{user}")
            hook = await create(engine, receiver.url, ana.user)
            await ana.creates("Ana likes tea.")
            await receiver.attempted(1)
        async with open_engine(settings_in(tmp_path, webhook_networks=HERE)) as engine:
            await receiver.until(1)
            await eventually(lambda: _all(engine, hook, "delivered"))
    assert [one.status for one in receiver.received] == [NEVER, 204]
    assert receiver.received[0].id == receiver.received[1].id
