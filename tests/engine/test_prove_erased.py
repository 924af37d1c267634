"""The proof of an erasure: a phrase that stood everywhere can be read nowhere, and put back anywhere it is found."""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from redis.asyncio import Redis
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure import stores, tables
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.erasure.messages import Message, TurnSelection
from mnemolog.adapters.erasure.proof import Proof
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject, Target
from mnemolog.adapters.nats.subjects import DEAD_LETTERS, TURNS, Address
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.commands.erasure import Erase, EraseMemory, EraseThread, EraseUser
from mnemolog.domain.session import key
from mnemolog.events.envelope import StreamId
from mnemolog.projections.owner import owner_of
from mnemolog.projections.reads.moment import Moment
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.engine.teller import Teller
from tests.testkit.own_engine import own_engine  # noqa: F401

SECRET = "Zanzibarquux"


async def planted(ana: Person, phrase: str = SECRET) -> UUID:
    """A phrase in every place where one can be: the memory of a turn, and what happened to it."""
    other = await ana.creates(f"Ana loves {phrase}")
    shown = [{"type": "image", "caption": f"{phrase} at night"}]
    memory_id = await ana.remembers(f"I hide in {phrase}", turn_id=f"{ana.user}-turn", attachments=shown)
    await ana.engine.settled(60)  # So that the text that is replaced has an embedding, which is kept.
    await ana.updates(memory_id, text=f"Ana hides in {phrase}")
    await ana.deletes(memory_id, reason=f"{phrase} must go")
    await ana.restores(memory_id)
    await ana.merges(memory_id, other, text=f"Ana hides in {phrase} and loves it")
    await ana.links(memory_id, await ana.creates("Ana travels"))
    await set_aside(ana, phrase)
    await ana.finds(phrase)
    return memory_id


async def set_aside(ana: Person, phrase: str = SECRET) -> None:
    """The same turn once more, as one that could not be recorded."""
    letter = {
        "message_id": f"{ana.user}-turn",
        "user_id": ana.user,
        "thread_id": ana.thread,
        "text": phrase,
        "role": "?",
    }
    await ana.engine.nats.jetstream().publish(Address.of(ana.tenant).dead_letters, json.dumps(letter).encode())


async def proof_of(ana: Person, memory_id: UUID | None = None, phrase: str | None = SECRET) -> Proof:
    return await prove(ana.engine, ProofSubject(ana.stream, memory_id), phrase)


def readable(proof: Proof) -> dict[str, int]:
    return {place.name: place.readable for place in proof.places if place.readable}


@pytest.mark.spec("X16")
async def test_before_an_erasure_the_proof_fails_in_every_place_that_holds_the_text(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    memory_id = await planted(ana)

    for phrase in (None, SECRET):
        proof = await proof_of(ana, memory_id, phrase)
        places = {name.rpartition(".")[2] for name in readable(proof)}
        assert not proof.holds
        assert places >= {
            "log",
            "data_keys",
            "memories",
            "history",
            "links",
            "vectors",
            "embeddings",
            "jetstream MNEMOLOG_EVENTS",
            "jetstream MNEMOLOG_DEAD_LETTERS",
            "redis",
        }


@pytest.mark.spec("X16", "X07")
@pytest.mark.parametrize("what", ["memory", "thread", "user"])
async def test_after_an_erasure_the_text_can_be_read_nowhere(engine: Engine, user: str, what: str) -> None:
    ana = Person(engine, user, thread=f"thread of {user}")
    memory_id = await planted(ana)
    commands: dict[str, Erase | EraseUser] = {
        "memory": EraseMemory(user_id=user, memory_id=memory_id),
        "thread": EraseThread(user_id=user, thread_id=ana.thread),
        "user": EraseUser(user_id=user),
    }
    subject = {
        "memory": ProofSubject(ana.stream, memory_id=memory_id),
        "thread": ProofSubject(ana.stream, thread_id=ana.thread),
        "user": ProofSubject(ana.stream),
    }[what]

    await erase(engine, commands[what])

    for phrase in (None, SECRET):
        proof = await prove(engine, subject, phrase)
        assert readable(proof) == {}
        assert proof.holds
    looked_at = {place.name: place.looked_at for place in proof.places}
    assert looked_at["log"] >= 6, "the events are still there, and closed"
    assert looked_at["jetstream MNEMOLOG_EVENTS"] >= 6
    assert any("backups" in line for line in proof.unseen)


@pytest.mark.spec("X07")
@pytest.mark.parametrize(
    ("fields", "meant"),
    [
        ({"message_id": "7"}, True),
        ({"message_id": 7}, True),
        ({"user_id": "42", "message_id": "7"}, True),
        ({"message_id": "8", "thread_id": 12}, True),
        ({"message_id": "8"}, False),
        ({"message_id": ["7"], "thread_id": {}}, False),
        ({"user_id": 43, "message_id": "7"}, False),
    ],
)
def test_a_message_is_selected_by_its_ids_however_they_are_written(fields: dict[str, object], meant: bool) -> None:
    named = TurnSelection(StreamId.of_user("42"), threads=frozenset({"12"}), turns=frozenset({"7"}))
    body = json.dumps({"user_id": 42, **fields}).encode()
    assert named.matches(Message(TURNS, Address.of("default").turns, 1, body, {})) is meant


@pytest.mark.spec("X07")
@pytest.mark.parametrize(
    ("producer", "headers", "meant"),
    [
        ("", {}, "7"),
        ("engine", {}, "7"),
        ("old", {}, "7"),
        ("juno", {}, "juno/7"),
        ("juno", {"Mnemolog-Replay": "mnemolog.turns.default"}, "juno/7"),
        ("engine", {"Mnemolog-Replay": "mnemolog.turns.default.juno"}, "juno/7"),
        ("engine", {"Mnemolog-Replay": "mnemolog.turns.default"}, "7"),
    ],
)
def test_a_message_is_the_turn_of_its_sender(producer: str, headers: dict[str, str], meant: str) -> None:
    """As it is recorded: `old` has no key. What is sent again from the dead letters stays its sender's."""
    body = json.dumps({"user_id": "42", "message_id": "7"}).encode()
    sent = Message(TURNS, Address.of("default", producer).turns, 1, body, headers)
    found = [
        id_
        for id_ in ("7", "juno/7", "old/7", "engine/7")
        if TurnSelection(StreamId.of_user("42"), turns=frozenset({id_}), keyed=frozenset({"juno", "nova"})).matches(
            sent
        )
    ]
    assert found == [meant]


Sabotage = Callable[[Person, UUID], Awaitable[None]]


def schemas(engine: Engine) -> dict[str, str]:
    """By projection, where its live tables are."""
    return {name: store.schema for name, store in engine.projections.stores.items() if isinstance(store, PostgresStore)}


async def _execute(ana: Person, statement: str, **values: object) -> None:
    async with ana.engine.projections.live.begin() as connection:
        await connection.execute(text(statement.format(**schemas(ana.engine))), values)


async def a_row_of_a_memory(ana: Person, memory_id: UUID) -> None:
    await _execute(ana, "UPDATE {memories}.memories SET text = 'x' WHERE memory_id = :id", id=memory_id)


async def a_search_document(ana: Person, memory_id: UUID) -> None:
    put_back = "UPDATE {memories}.memories SET document = :words WHERE memory_id = :id"
    await _execute(ana, put_back, id=memory_id, words=SECRET.lower())


async def a_link(ana: Person, memory_id: UUID) -> None:
    put_back = (
        "INSERT INTO {memories}.links"
        " (tenant, stream_kind, user_id, from_id, to_id, relation_type, strength, created_at, mac)"
        " VALUES ('default', 'user', :user, :id, gen_random_uuid(), 'related_to', 1, now(), '')"
    )
    await _execute(ana, put_back, id=memory_id, user=ana.user)


async def a_reason(ana: Person, memory_id: UUID) -> None:
    put_back = "UPDATE {history}.history SET meta = meta || :meta WHERE memory_id = :id AND meta ? 'reason'"
    await _execute(ana, put_back, id=memory_id, meta=json.dumps({"reason": "because"}))


async def an_embedding(ana: Person, memory_id: UUID) -> None:
    put_back = (
        "INSERT INTO mnemolog.embeddings"
        " (tenant, stream_kind, user_id, subject_id, model, content_hash, embedding_mac, embedding)"
        " VALUES ('default', 'user', :user, :id, 'm', '', '', '[1, 2]')"
    )
    await _execute(ana, put_back, id=memory_id, user=ana.user)


async def a_row_in_a_shadow(ana: Person, memory_id: UUID) -> None:
    await _execute(ana, "CREATE SCHEMA IF NOT EXISTS mnemolog_memories_v1_shadow")
    await _execute(ana, "CREATE TABLE mnemolog_memories_v1_shadow.things (tenant text, user_id text, note text)")
    row = "INSERT INTO mnemolog_memories_v1_shadow.things VALUES ('default', :user, :note)"
    await _execute(ana, row, user=ana.user, note=f"once more {SECRET}")


async def a_session(ana: Person, memory_id: UUID) -> None:
    redis = Redis.from_url(ana.engine.endpoints.redis_url)
    blob = {"turns": [{"role": "user", "text": "x"}], "scratch": {"said": [[f"{ana.user}-turn", None]]}}
    await redis.set("shadow:" + key("sess", "default", ana.user, "default", "main"), json.dumps(blob))
    await redis.aclose()


async def a_dead_letter(ana: Person, memory_id: UUID) -> None:
    await set_aside(ana)


async def a_key(ana: Person, memory_id: UUID) -> None:
    events = await ana.engine.log.read(ana.stream, tags=[f"memory:{memory_id}"])
    async for batch in ana.engine.log.scan(ana.stream, until=events[0].seq):
        sealed = json.loads(batch[-1].data)["sealed"]
    put_back = (
        "INSERT INTO mnemolog_keys.data_keys (tenant, stream, scope, key_id, wrapped)"
        " VALUES ('default', :stream, 'elsewhere', decode(:key, 'hex'), '')"
    )
    await _execute(ana, put_back, stream=ana.stream.name, key=sealed["key"])


@pytest.fixture
async def clean(engine: Engine, user: str) -> AsyncIterator[Person]:
    """Takes back what a sabotage left that would harm other tests."""
    yield Person(engine, user)
    ana = Person(engine, user)
    await _execute(ana, "DROP SCHEMA IF EXISTS mnemolog_memories_v1_shadow, mnemolog_memories_v1 CASCADE")
    await _execute(ana, "DELETE FROM mnemolog_keys.data_keys WHERE scope = 'elsewhere'")
    await _execute(ana, "DELETE FROM {memories}.links WHERE mac = ''")
    await engine.projections.running["memories"].heal(ana.stream)
    await engine.projections.running["history"].heal(ana.stream)
    redis = Redis.from_url(engine.endpoints.redis_url)
    await redis.delete("shadow:" + key("sess", "default", user, "default", "main"))
    await redis.aclose()


@pytest.mark.spec("X16")
@pytest.mark.parametrize(
    ("sabotage", "place"),
    [
        (a_row_of_a_memory, "postgres {memories}.memories"),
        (a_search_document, "postgres {memories}.memories"),
        (a_link, "postgres {memories}.links"),
        (a_reason, "postgres {history}.history"),
        (an_embedding, "postgres mnemolog.embeddings"),
        (a_key, "postgres mnemolog_keys.data_keys"),
        (a_session, "redis"),
        (a_dead_letter, f"jetstream {DEAD_LETTERS}"),
    ],
)
async def test_what_is_put_back_somewhere_is_found_there(clean: Person, sabotage: Sabotage, place: str) -> None:
    memory_id = await planted(clean)
    await erase(clean.engine, EraseMemory(user_id=clean.user, memory_id=memory_id))
    assert (await proof_of(clean, memory_id, None)).holds

    await sabotage(clean, memory_id)

    assert readable(await proof_of(clean, memory_id, None)).keys() == {place.format(**schemas(clean.engine))}


@pytest.mark.spec("X16")
async def test_a_phrase_is_found_in_unknown_tables(clean: Person) -> None:
    memory_id = await planted(clean)
    await erase(clean.engine, EraseMemory(user_id=clean.user, memory_id=memory_id))

    await a_row_in_a_shadow(clean, memory_id)

    assert readable(await proof_of(clean, memory_id)) == {"postgres mnemolog_memories_v1_shadow.things": 1}
    assert (await proof_of(clean, memory_id, "another phrase")).holds


@pytest.mark.spec_part("X16", "X05")
@pytest.mark.parametrize(
    ("meanwhile", "found"),
    [
        ("ALTER SCHEMA mnemolog_memories_v1_shadow RENAME TO mnemolog_memories_v1", 1),
        ("DROP SCHEMA mnemolog_memories_v1_shadow CASCADE", 0),
    ],
    ids=["renames", "drops"],
)
async def test_tables_that_a_rebuild_renames_or_drops_meanwhile_are_listed_again(
    clean: Person, meanwhile: str, found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory_id = await planted(clean)
    await erase(clean.engine, EraseMemory(user_id=clean.user, memory_id=memory_id))
    await a_row_in_a_shadow(clean, memory_id)
    listed = tables._tables

    async def listed_before(connection: AsyncConnection) -> Sequence[tables.Columns]:
        monkeypatch.setattr(tables, "_tables", listed)
        found = await listed(connection)
        await connection.commit()
        await _execute(clean, meanwhile)
        return found

    monkeypatch.setattr(tables, "_tables", listed_before)

    proof = await proof_of(clean, memory_id)

    assert readable(proof) == ({"postgres mnemolog_memories_v1.things": 1} if found else {})
    names = [place.name for place in proof.places]
    assert len(names) == len(set(names))
    assert "postgres {memories}.memories".format(**schemas(clean.engine)) in names


@pytest.mark.spec("X16")
@pytest.mark.parametrize(
    ("kept", "phrase", "found"),
    [
        ('He said "tea at ten"', 'said "tea at ten"', True),
        ("Über den ÄRGER in Köln", "Ärger in KÖLN", True),
        ("back\\slash and tab", "back\\slash", True),
        ("The tea is cold", "The tea was hot", False),
        ("Tea", "the tea", False),
        ("Ana drinks tea", "tea drinks", False),
    ],
)
async def test_a_phrase_is_matched_as_it_is_given_and_its_place_is_named(
    engine: Engine, user: str, kept: str, phrase: str, found: bool
) -> None:
    ana = Person(engine, user)
    memory_id = await ana.creates(kept, metadata={"note": kept}, topics=[kept])
    other = await ana.creates("Another one")
    await erase(engine, EraseMemory(user_id=user, memory_id=other))

    places = {place.name: place for place in (await prove(engine, ProofSubject(ana.stream, other), phrase)).places}

    memories = places[f"postgres {schemas(engine)['memories']}.memories"]
    assert memories.readable == found
    if found:
        [row] = memories.found
        assert row.startswith(f"row memory_id={memory_id}, ")
        assert {"text", "metadata", "topics"} <= set(row.partition(", ")[2].split(", "))


def test_a_file_is_named_with_the_place_in_it(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"x" * (stores.CHUNK - 3) + b'said "tea" \n' + b"y" * stores.CHUNK)
    (tmp_path / "other").write_text("tea")

    [place] = stores.files(tmp_path, 'said "tea"')

    assert (place.looked_at, place.readable) == (2, 1)
    assert place.found == (f"{tmp_path / 'log'} at byte {stores.CHUNK - 3:,}",)


def test_a_directory_may_disappear_while_its_files_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, scandir = tmp_path / "postgres" / "temporary", os.scandir
    folder.mkdir(parents=True)
    (tmp_path / "postgres" / "log").write_text("tea")

    def gone(path: str | Path) -> Any:
        if Path(path) == folder:
            folder.rmdir()
        return scandir(path)

    monkeypatch.setattr(os, "scandir", gone)
    [place] = stores.pages(tmp_path, "tea")

    assert not folder.exists()
    assert (place.looked_at, place.readable) == (1, 1)


@pytest.mark.spec("X16")
async def test_turns_after_the_erasure_of_a_user_are_not_part_of_it(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await planted(ana)
    await erase(engine, EraseUser(user_id=user))
    await ana.says("I am back")

    assert (await prove(engine, ProofSubject(ana.stream, thread_id=ana.thread))).holds
    await ana.caught_up()
    other = Person(engine, user, thread="other")
    await other.says("And here")
    assert not (await prove(engine, ProofSubject(ana.stream, thread_id="other"))).holds


@pytest.mark.spec("X07", "X16", "A19")
async def test_an_alias_from_an_erased_turn_is_gone_and_the_rest_stays(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    turns = [{"user_id": user, "turn_id": f"{user}-{n}", "thread_id": f"{user}-{n}", "text": "hello"} for n in (1, 2)]
    for turn in turns:
        await engine.writes.record_turn({**turn, "speaker": "Ana"})
    marta = await ana.knows_of("Marta", source_turn_ids=[f"{user}-1"])
    attributes = {"lives": SECRET, "job": "baker"}
    await ana.knows_of("Marta", source_turn_ids=[f"{user}-2"], aliases=[SECRET], attributes=attributes)
    await ana.knows_of("Marta", source_turn_ids=[f"{user}-1"], attributes={"job": "baker"})
    before = Moment(as_of=await engine.log.head(ana.stream))
    subject = ProofSubject(ana.stream, thread_id=f"{user}-2")
    assert not (await prove(engine, subject)).holds

    await erase(engine, EraseThread(user_id=user, thread_id=f"{user}-2"))

    for phrase in (None, SECRET):
        proof = await prove(engine, subject, phrase)
        assert readable(proof) == {}
    entity = (await ana.entity(marta)).entity
    assert (entity["name"], entity["aliases"], entity["attributes"]) == ("Marta", [], {"job": "baker"})
    assert {row["name"] for row in await ana.entities()} == {"Ana", "Marta"}
    assert SECRET not in repr([await ana.history(marta), await ana.entities(moment=before)])
    assert [row["event"] for row in await ana.history(marta)][-2:] == ["UPDATE", "UPDATE"]
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec("X16")
async def test_an_affect_that_outlives_its_thread_or_its_user_is_found(clean: Person) -> None:
    await clean.says("a hard day")
    left = f"shadow:{key('affect', 'default', clean.user, 'default', 'main')}"
    redis = Redis.from_url(clean.engine.endpoints.redis_url)
    for erasure, chat in (
        (EraseThread(user_id=clean.user, thread_id="main"), "main"),
        (EraseUser(user_id=clean.user), None),
    ):
        await erase(clean.engine, erasure)
        subject = ProofSubject(clean.stream, thread_id=chat)
        assert (await prove(clean.engine, subject)).holds

        await redis.set(left, json.dumps({"affect": {"label": "sad"}}))

        assert readable(await prove(clean.engine, subject)) == {"redis": 1}
        await redis.delete(left)
    await redis.aclose()


async def test_a_user_may_have_more_memories_than_a_statement_has_parameters(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    memory_id = await planted(ana)
    found = await prove(engine, ProofSubject(ana.stream, memory_id))
    many = frozenset(UUID(int=number) for number in range(70_000))
    target = Target(ProofSubject(ana.stream, memory_id), many | {memory_id}, key_ids={id_.bytes for id_ in many})

    async with engine.projections.live.connect() as connection:
        looked = [place async for place in tables.look_through(connection, "postgres", target, None)]
        shown = {place.name: place.readable for place in looked if place.readable}
        await engine.projections.index.remove(connection, [(*owner_of(ana.stream), one) for one in target.memory_ids])
        gone = [place async for place in tables.look_through(connection, "postgres", target, None)]

    assert shown.keys() <= {place.name for place in found.places if place.readable}
    vectors = [name for name in shown if name.endswith((".vectors", ".embeddings"))]
    assert vectors
    assert not {place.name for place in gone if place.readable} & {*vectors}
