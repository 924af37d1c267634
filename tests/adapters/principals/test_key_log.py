"""What was done to API keys cannot be taken back, cut away or forged by who has the database alone (X08)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from typing import Any

import pytest

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.operations.artifacts import AddArtifact, add_artifact
from mnemolog.adapters.postgres.api_keys import KeyTable, api_keys
from mnemolog.commands.api_keys import ApiKey
from mnemolog.commands.erasure import EraseUser
from mnemolog.commands.writes.api_keys import ApiKeys
from mnemolog.domain.errors import Conflict, DatabaseRolledBack, Tampered, Unauthenticated
from mnemolog.domain.principal import Role
from mnemolog.events.access import API_KEYS, ApiKeyCreated, ApiKeyRevoked
from mnemolog.events.envelope import StreamId
from mnemolog.projections.seal import MAC, RowSeal
from tests.adapters.principals.keys import calling_with, other_process, principal
from tests.engine.person import Person
from tests.tamper.attacker import Attacker, attacking
from tests.testkit.settings import settings_in

pytestmark = pytest.mark.spec("X08")


@pytest.fixture(scope="module")
async def guarded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """An engine of their own: with a stream that was cut, it never settles."""
    async with open_engine(settings_in(tmp_path_factory.mktemp("keys"))) as opened:
        yield opened


@pytest.fixture
def stream(user: str) -> StreamId:
    """Keys of their own, so that what a test damages is nobody else's."""
    return StreamId("*", f"engine:keys-of-{user}")


@pytest.fixture
async def mallory(guarded: Engine, stream: StreamId) -> AsyncIterator[Attacker]:
    """Of these keys alone."""
    async with attacking(guarded, stream) as attacker:
        yield attacker


async def test_every_change_of_a_key_is_an_event_with_its_actor(guarded: Engine, stream: StreamId) -> None:
    keys = other_process(guarded, stream)
    key, _ = await keys.create(principal("app"), by="ops")
    revoked = await keys.revoke(key.key_id, by="ops")
    assert await keys.revoke(key.key_id) == revoked
    events = await guarded.log.read(stream)
    assert [type(event.payload) for event in events] == [ApiKeyCreated, ApiKeyRevoked]
    assert {event.meta.actor for event in events} == {"ops"}


async def test_two_processes_give_a_producers_name_once(guarded: Engine, stream: StreamId) -> None:
    one, two = other_process(guarded, stream), other_process(guarded, stream)
    producer = principal("juno", roles=[Role.PUBLISH])
    await one.create(producer)
    with pytest.raises(Conflict, match="juno"):
        await two.create(producer)
    [key] = await two.list()
    await two.revoke(key.key_id)
    await one.create(producer)
    assert await two.producer("juno") == producer


Attack = Callable[[Attacker], Awaitable[Any]]


async def cut(mallory: Attacker) -> None:
    await mallory.removes(2)
    await mallory.tidies()


async def erase_all(mallory: Attacker) -> None:
    await mallory.forgets_everything()


async def widen(mallory: Attacker) -> None:
    event = await mallory.event(1)
    await mallory.changes(1, "data", bytes(event["data"]).replace(b'"write"', b'"admin"'))


async def drop_the_middle(mallory: Attacker) -> None:
    await mallory.removes(1)


async def forge(mallory: Attacker) -> None:
    event, last = await mallory.event(1), await mallory.event(2)
    data = bytes(event["data"]).replace(b'"write"', b'"admin"')
    await mallory.inserts({**event, "seq": 3, "event_id": str(last["event_id"])[:-4] + "ffff", "data": data})


@pytest.mark.parametrize("attack", [cut, erase_all, forge], ids=lambda attack: attack.__name__)
async def test_a_process_with_cached_keys_admits_nobody_with_a_damaged_key_log(
    guarded: Engine, stream: StreamId, mallory: Attacker, attack: Attack
) -> None:
    keys = other_process(guarded, stream)
    key, text = await keys.create(principal(roles=[Role.WRITE]))
    await keys.revoke(key.key_id)
    keys._read_at = float("-inf")
    await attack(mallory)
    for ask in (lambda: keys.principal(text), keys.any, keys.list, lambda: keys.producer("juno")):
        with pytest.raises(Tampered):
            await ask()
    with pytest.raises(Tampered):
        await keys.create(principal())


@pytest.mark.parametrize("attack", [widen, drop_the_middle, forge], ids=lambda attack: attack.__name__)
async def test_a_new_process_admits_nobody_with_a_damaged_key_log(
    guarded: Engine, stream: StreamId, mallory: Attacker, attack: Attack
) -> None:
    before = other_process(guarded, stream)
    key, text = await before.create(principal(roles=[Role.WRITE]))
    await before.revoke(key.key_id)
    await attack(mallory)
    with pytest.raises(Tampered):
        await other_process(guarded, stream).principal(text)
    found = (await guarded.verifier.verify(stream)).damages
    assert stream in {damage.stream for damage in found}


@pytest.mark.spec_part("X07")
async def test_an_erasure_goes_on_with_a_damaged_key_log_and_names_it(
    guarded: Engine, user: str, stream: StreamId, mallory: Attacker, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, ana = other_process(guarded, stream), Person(guarded, user)
    await keys.revoke((await keys.create(principal("juno", roles=[Role.PUBLISH])))[0].key_id)
    monkeypatch.setattr(guarded, "api_keys", keys)
    await add_artifact(guarded, AddArtifact(user_id=user, name="note.txt"), b"Ana hides in Zanzibar")
    await ana.remembers("Ana hides in Zanzibar")
    assert [name async for name in guarded.blobs.names(ana.stream)]
    await cut(mallory)
    with pytest.raises(Tampered, match="the log of API keys is damaged"):
        await erase(guarded, EraseUser(user_id=user))
    assert [name async for name in guarded.blobs.names(ana.stream)] == []
    assert await guarded.reads.newest(ana.viewer, 10) == []


async def test_a_cut_revocation_is_named_by_verify_and_refused_at_the_start(tmp_path: Any) -> None:
    settings = load(
        data_dir=tmp_path, durable=False, embedder="lexical", http_port=0, recall_seconds=0, http_token="off"
    )
    async with open_engine(settings) as engine:
        key, text = await engine.api_keys.create(principal())
        await engine.api_keys.revoke(key.key_id)
        await engine.settled()
        await engine.anchoring.flush()
        async with attacking(engine, API_KEYS) as mallory, calling_with(engine, text) as client:
            await cut(mallory)
            engine.api_keys._read_at = float("-inf")
            for headers in ({}, {"Authorization": ""}):
                refused = await client.get("/v1/memories", params={"user_id": "ana"}, headers=headers)
                assert (refused.status_code, refused.json()["error"]["code"]) == (503, "server_failed")
            assert (await client.get("/health")).status_code == 200
        report = await engine.verifier.verify()
        assert {damage.stream for damage in report.damages} == {API_KEYS}
    with pytest.raises(DatabaseRolledBack, match="api-keys"):
        async with open_engine(settings):
            pass


def older(key_id: str, name: str, **fields: Any) -> dict[str, Any]:
    """A key's row as versions before kept it."""
    at = "2026-01-03T01:02:10Z"
    ids = {"agents": ["planner"], "users": ["*"], "roles": ["read", "publish"]}
    plain = {"key_id": key_id, "name": name, "tenant": "acme", **ids, "created_at": at, "revoked_at": None}
    return {**plain, **fields}


async def test_the_keys_of_an_older_version_are_taken_over_once(tmp_path: Any) -> None:
    settings = load(data_dir=tmp_path, durable=False, embedder="lexical", http_port=0, recall_seconds=0)
    async with open_engine(settings) as engine:
        assert not await engine.api_keys.any()
        texts = await as_an_older_version_left_them(engine)
    async with open_engine(settings) as engine:
        found = {key.key_id: key for key in await engine.api_keys.list()}
        assert {id_: key.valid for id_, key in found.items()} == {"aa" * 8: True, "bb" * 8: False}
        assert found["aa" * 8].created_at.isoformat() == "2026-01-03T01:02:10+00:00"
        genuine = await engine.api_keys.principal(texts["aa" * 8])
        assert (genuine.name, genuine.tenant, genuine.agents) == ("juno", "acme", frozenset({"planner"}))
        assert await engine.api_keys.producer("juno") == genuine
        for key_id in ("bb" * 8, "cc" * 8):
            with pytest.raises(Unauthenticated):
                await engine.api_keys.principal(texts[key_id])
        # A row that is put back, in a table that is put back, is none.
        async with engine.projections.live.begin() as connection:
            assert not await connection.run_sync(lambda sync: sync.dialect.has_table(sync, "api_keys", "mnemolog"))
        await as_an_older_version_left_them(engine)
        table = KeyTable(engine.projections.live, engine.api_keys._key)
        await engine.api_keys.take_over(await table.keys())
        await table.drop()
        assert len(await other_process(engine).list()) == 2


async def as_an_older_version_left_them(engine: Engine) -> dict[str, str]:
    """A valid key, a revoked one, and one that somebody forged; the texts of all."""
    keys, seal = engine.api_keys, RowSeal(engine.api_keys._key)
    revoked = {"revoked_at": "2026-01-04T01:02:10Z"}
    rows = [older("aa" * 8, "juno"), older("bb" * 8, "old", **revoked), older("cc" * 8, "boss")]
    texts = {}
    async with engine.projections.live.begin() as connection:
        await connection.run_sync(lambda sync: api_keys.create(sync, checkfirst=True))
        for row in rows:
            secret = row["key_id"] * 2
            texts[row["key_id"]] = f"mnk_{row['key_id']}_{secret}"
            full = {**row, **instants(row), "secret_mac": keys._secret_mac(row["key_id"], secret)}
            mac = seal.mac(api_keys, full) if row["name"] != "boss" else bytes(32)
            await connection.execute(api_keys.insert(), {**full, MAC: mac})
    return texts


def instants(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] and datetime.fromisoformat(row[name]) for name in ("created_at", "revoked_at")}


async def test_reading_the_keys_of_a_process_costs_one_query_of_the_head(
    guarded: Engine, stream: StreamId, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys: ApiKeys = other_process(guarded, stream)
    monkeypatch.setattr(keys, "_clock", lambda: 0.0)  # No time passes, however slow this machine is.
    made: list[ApiKey] = [(await keys.create(principal(f"app-{number}")))[0] for number in range(3)]
    asked: list[str] = []
    head, scan = guarded.log.head, guarded.log.scan

    async def counted_head(stream: StreamId) -> int:
        asked.append("head")
        return await head(stream)

    def counted_scan(stream: StreamId, **named: Any) -> Any:
        asked.append("scan")
        return scan(stream, **named)

    monkeypatch.setattr(guarded.log, "head", counted_head)
    monkeypatch.setattr(guarded.log, "scan", counted_scan)
    for _ in range(5):
        assert await keys.any()
    assert asked == []
    keys._read_at = float("-inf")
    assert {key.key_id for key in await keys.list()} == {key.key_id for key in made}
    assert asked == ["head"]
