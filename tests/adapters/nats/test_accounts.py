"""Producers of the embedded NATS: turns on a subject of one's own in, receipts of one's own out, and nothing else."""

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import bcrypt
import nats
import pytest
from nats.aio.client import Client
from nats.errors import Error as NatsError

from mnemolog import AsyncTurnProducer
from mnemolog.adapters.embedded.binaries import require
from mnemolog.adapters.embedded.producers import Producer, Producers, accounts
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.nats.connection import connect
from mnemolog.adapters.nats.streams import StreamLimits, Streams
from mnemolog.adapters.nats.subjects import DEAD_LETTERS, EVENTS, TURNS
from mnemolog.events.envelope import Receipt, StreamId
from tests.adapters.nats.login import admitted
from tests.adapters.nats.own_server import OwnServer, own_server
from tests.adapters.nats.test_turns import message
from tests.docs.pages import ROOT, blocks
from tests.testkit.eventually import eventually
from tests.testkit.settings import PATIENCE

AT = datetime(2026, 1, 3, tzinfo=UTC)
SUBJECT = "mnemolog.events.p0.MemoryCreated"


def added(producers: Producers, name: str, tenant: str = "acme", key_id: str = "0123456789abcdef") -> str:
    """The password of a new producer."""
    password = secrets.token_urlsafe(32)
    producers.put(Producer.of(name, tenant, AT, password, key_id))
    return password


class Guarded:
    """A server with producers of two tenants, and what they were refused."""

    def __init__(self, data_dir: Path) -> None:
        self.producers = Producers(data_dir)
        names = (("juno", "acme"), ("nova", "acme"), ("vega", "beta"))
        self.passwords = {name: added(self.producers, name, tenant) for name, tenant in names}
        self.server = OwnServer(data_dir)
        self.refused: list[str] = []

    async def as_producer(self, name: str) -> Client:
        address = self.server.url.rpartition("@")[2]
        return await nats.connect(
            f"nats://{name}:{self.passwords[name]}@{address}",
            error_cb=self._note,
            allow_reconnect=False,
            inbox_prefix=f"_INBOX.{name}",
        )

    async def admits(self, name: str) -> bool:
        return await admitted(f"nats://{name}:{self.passwords[name]}@{self.server.url.rpartition('@')[2]}")

    async def refusals(self, attempt: Callable[[], Awaitable[object]]) -> list[str]:
        """What the server says to an attempt."""
        self.refused.clear()
        with suppress(NatsError, TimeoutError):
            await attempt()
        async with asyncio.timeout(PATIENCE):
            while not self.refused:  # noqa: ASYNC110  It is told by a task of the client's own.
                await asyncio.sleep(0.01)
        return list(self.refused)

    async def _note(self, error: Exception) -> None:
        self.refused.append(str(error))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path_factory.mktemp("guarded"))
    guarded.server.start()
    yield guarded
    guarded.server.kill()


@pytest.fixture
async def engine_side(guarded: Guarded) -> AsyncIterator[Client]:
    client = await connect(guarded.server.url, "engine")
    await Streams(client.jetstream(), StreamLimits()).ensure()
    yield client
    await client.close()


@pytest.fixture
async def juno(guarded: Guarded, engine_side: Client) -> AsyncIterator[Client]:
    client = await guarded.as_producer("juno")
    yield client
    await client.close()


async def cut_off(client: Client) -> bool:
    return not client.is_connected


async def count(client: Client, stream: str) -> int:
    return (await client.jetstream().stream_info(stream)).state.messages


async def test_turns_on_its_own_subject_are_taken_and_acknowledged(engine_side: Client, juno: Client) -> None:
    before = await count(engine_side, TURNS)
    assert (await juno.jetstream().publish("mnemolog.turns.acme.juno", b"a turn")).stream == TURNS
    assert await count(engine_side, TURNS) == before + 1


async def test_who_was_added_before_there_were_keys_publishes_as_nobody_too(
    guarded: Guarded, engine_side: Client
) -> None:
    guarded.passwords["old"] = added(guarded.producers, "old", key_id="")
    await eventually(lambda: guarded.admits("old"))
    old = await guarded.as_producer("old")

    for subject in ("mnemolog.turns.acme", "mnemolog.turns.acme.old"):
        assert (await old.jetstream().publish(subject, b"a turn")).stream == TURNS
    said = await guarded.refusals(lambda: old.request("mnemolog.turns.acme.juno", b"{}", timeout=0.3))

    assert [one for one in said if "permissions violation for publish" in one.lower()]
    guarded.producers.remove("old")
    await old.close()


@pytest.mark.spec("X08", "X14")
@pytest.mark.parametrize(
    "subject",
    [
        "mnemolog.turns.acme",
        "mnemolog.turns.acme.nova",
        "mnemolog.turns.acme.engine",
        "mnemolog.turns.acme.juno.more",
        "mnemolog.turns.beta",
        "mnemolog.turns.beta.juno",
        "mnemolog.turns.beta.vega",
        SUBJECT,
        "mnemolog.dead.turns.acme.juno",
        "mnemolog.receipts.acme.juno.1",
        "mnemolog.receipts.acme.nova.1",
        "$JS.API.STREAM.PURGE.MNEMOLOG_EVENTS",
        "$JS.API.STREAM.MSG.GET.MNEMOLOG_EVENTS",
        "$SYS.REQ.SERVER.PING",
    ],
)
async def test_publishing_anywhere_else_is_refused(
    guarded: Guarded, engine_side: Client, juno: Client, subject: str
) -> None:
    before = [await count(engine_side, stream) for stream in (EVENTS, TURNS, DEAD_LETTERS)]

    said = await guarded.refusals(lambda: juno.request(subject, b"{}", timeout=0.3))

    assert [one for one in said if "permissions violation for publish" in one.lower()]
    assert [await count(engine_side, stream) for stream in (EVENTS, TURNS, DEAD_LETTERS)] == before


@pytest.mark.spec("X08")
@pytest.mark.parametrize(
    "subject",
    [">", "mnemolog.>", "mnemolog.events.>", "mnemolog.turns.acme.>", "mnemolog.turns.acme.juno", "_INBOX.>",
     "_INBOX.vega.>", "mnemolog.receipts.>", "mnemolog.receipts.acme.>", "mnemolog.receipts.*.juno.>",
     "mnemolog.receipts.acme.nova.>", "mnemolog.receipts.beta.vega.>", "mnemolog.dead.>"],
)  # fmt: skip
async def test_listening_anywhere_else_is_refused(guarded: Guarded, juno: Client, subject: str) -> None:
    said = await guarded.refusals(lambda: juno.subscribe(subject))
    assert [one for one in said if "permissions violation for subscription" in one.lower()]


async def test_a_receipt_reaches_its_producer_and_nobody_else(
    guarded: Guarded, engine_side: Client, juno: Client
) -> None:
    nova = await guarded.as_producer("nova")
    own = await juno.subscribe("mnemolog.receipts.acme.juno.run.*")
    other = await nova.subscribe("mnemolog.receipts.acme.nova.>")
    await juno.flush()
    await nova.flush()

    await engine_side.publish("mnemolog.receipts.acme.juno.run.1", b"receipt")

    assert (await own.next_msg(60)).data == b"receipt"
    with pytest.raises(TimeoutError):
        await other.next_msg(0.2)
    await nova.close()


@pytest.mark.spec("X08")
@pytest.mark.parametrize("reply", [SUBJECT, "$JS.API.STREAM.PURGE.MNEMOLOG_EVENTS", "mnemolog.turns.beta"])
async def test_what_a_producer_gives_as_reply_reaches_nothing_of_the_engine(
    engine_side: Client, juno: Client, reply: str
) -> None:
    """JetStream answers there, with rights that the producer has not."""
    await engine_side.jetstream().publish(SUBJECT, b"an event")
    before = await count(engine_side, EVENTS), await count(engine_side, TURNS)

    with suppress(NatsError):
        await juno.publish("mnemolog.turns.acme.juno", b"a turn", reply=reply)
        await juno.flush()
    await asyncio.sleep(0.1)

    assert await count(engine_side, EVENTS) == before[0]
    assert await count(engine_side, TURNS) <= before[1] + 1


async def test_a_running_server_learns_of_added_and_removed_users(guarded: Guarded, engine_side: Client) -> None:
    guarded.passwords["late"] = added(guarded.producers, "late")
    await eventually(lambda: guarded.admits("late"))
    late = await guarded.as_producer("late")
    assert (await late.jetstream().publish("mnemolog.turns.acme.late", b"a turn")).stream == TURNS

    guarded.producers.remove("late")

    await eventually(lambda: cut_off(late))
    assert not await guarded.admits("late")
    assert await guarded.admits("juno")
    assert engine_side.is_connected
    assert engine_side.stats["reconnects"] == 0


async def test_a_restart_keeps_producers_their_port_and_what_waits(tmp_path: Path) -> None:
    password = added(Producers(tmp_path), "juno")
    with own_server(tmp_path) as server:
        url = server.url.replace("engine:token", f"juno:{password}")
        client = await connect(server.url, "engine")
        await Streams(client.jetstream(), StreamLimits()).ensure()
        await client.close()
    with own_server(tmp_path) as server:
        client = await connect(url, "juno", inbox_prefix="_INBOX.juno")
        assert (await client.jetstream().publish("mnemolog.turns.acme.juno", b"a turn")).seq == 1
        await client.close()


async def test_streams_of_the_time_before_accounts_are_the_engines(tmp_path: Path) -> None:
    with own_server(tmp_path) as server:
        client = await connect(server.url, "engine")
        await Streams(client.jetstream(), StreamLimits()).ensure()
        await client.jetstream().publish("mnemolog.turns.acme", b"waits")
        await client.close()
    store = tmp_path / "nats" / "jetstream"
    (store / "MNEMOLOG").rename(store / "$G")

    with own_server(tmp_path) as server:
        client = await connect(server.url, "engine")
        assert await count(client, TURNS) == 1
        await client.close()


async def test_without_any_key_a_producer_of_before_publishes_through_its_account_and_hears_the_receipt(
    engine: Engine, user: str
) -> None:
    producers = Producers(engine.settings.directory)
    password = added(producers, f"p-{user}", key_id="")
    url = f"nats://p-{user}:{password}@{engine.endpoints.nats_url.rpartition('@')[2]}"
    await eventually(lambda: admitted(url))

    async with AsyncTurnProducer(url, tenant="acme") as producer:
        receipt = await producer.publish(message(user))
    async with AsyncTurnProducer(url, tenant="acme", receipts=False) as producer:
        assert await producer.publish(message(user, message_id="msg-2")) is None

    producers.remove(f"p-{user}")
    assert isinstance(receipt, Receipt)
    assert receipt.stream == StreamId.of_user(user, "acme")


async def test_the_configuration_for_a_nats_of_ones_own_keeps_producers_where_the_embedded_one_does(
    tmp_path: Path,
) -> None:
    [shown] = [one.text for one in blocks(ROOT / "docs/how-to/use-your-own-servers.md") if "accounts {" in one.text]
    juno = Producer.of("juno", "acme", AT, "secret", "0123456789abcdef")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    own_store = shown.replace("/var/lib/nats", str(tmp_path / "store"))
    (tmp_path / "own.conf").write_text(own_store.replace("$2a$11$...", juno.password))
    options = ("-a", "127.0.0.1", "-p", str(port), "-c", str(tmp_path / "own.conf"))
    process = await asyncio.create_subprocess_exec(require("nats"), *options)
    said: list[str] = []

    async def note(error: Exception) -> None:
        said.append(str(error).lower())

    engine = await connect(f"nats://engine:secret@127.0.0.1:{port}", "engine")
    await Streams(engine.jetstream(), StreamLimits()).ensure()
    own = await nats.connect(f"nats://juno:secret@127.0.0.1:{port}", inbox_prefix="_INBOX.juno", error_cb=note)
    heard = await own.subscribe("mnemolog.receipts.acme.juno.run.*")
    ack = await own.jetstream().publish("mnemolog.turns.acme.juno", b"a turn")
    await engine.publish("mnemolog.receipts.acme.juno.run.1", b"receipt")
    receipt = await heard.next_msg(60)
    for subject in ("mnemolog.turns.acme", "mnemolog.turns.acme.nova", "mnemolog.turns.acme.engine", SUBJECT):
        await own.publish(subject, b"{}")
    await own.subscribe("mnemolog.receipts.acme.nova.>")
    async with asyncio.timeout(60):
        while len(said) < 5:  # noqa: ASYNC110  Told by the client's own tasks.
            await asyncio.sleep(0.01)
    for client in (own, engine):
        await client.close()
    process.kill()
    await process.wait()

    assert (ack.stream, receipt.data) == (TURNS, b"receipt")
    assert len([one for one in said if "permissions violation for publish" in one]) == 4
    assert len([one for one in said if "permissions violation for subscription" in one]) == 1
    imported = accounts("secret", [juno])["PRODUCERS"]
    for subject in juno.user()["permissions"]["publish"] + juno.user()["permissions"]["subscribe"]:
        assert subject in shown
    assert all(one[kind]["subject"] in shown for one in imported["imports"] for kind in one)


def test_no_password_is_kept(tmp_path: Path) -> None:
    password = added(Producers(tmp_path), "juno")

    written = (tmp_path / "producers.json").read_text()

    assert password not in written
    [producer] = Producers(tmp_path).all()
    assert bcrypt.checkpw(password.encode(), producer.password.encode())
    assert (tmp_path / "producers.json").stat().st_mode & 0o077 == 0


def test_a_name_belongs_to_the_last_one_added_and_only_existing_ones_can_be_removed(tmp_path: Path) -> None:
    producers = Producers(tmp_path)
    added(producers, "juno", "beta")
    password = added(producers, "juno")
    assert producers.remove("nova") is None
    [juno] = producers.all()
    assert juno.tenant == "acme"
    assert bcrypt.checkpw(password.encode(), juno.password.encode())
