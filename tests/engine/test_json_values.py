"""Whatever JSON is accepted reads as it was told, live, at an earlier moment and rebuilt; nothing stands in an
erasure's or an export's way."""

import json
from collections.abc import AsyncIterator, Mapping
from itertools import count
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.adapters.export.exporting import head_of, lines
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.commands.erasure import EraseMemory, EraseThread, EraseUser
from mnemolog.domain.errors import InvalidInput, NestedTooDeep, NotFound, Unstorable
from mnemolog.domain.json_value import MAX_DEPTH
from mnemolog.domain.turn import Role
from mnemolog.events.codec import PLAIN, Cipher, Codec, Sealed
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import NewEvent, Position, Receipt, StreamId
from mnemolog.events.event import Event, memory_tag
from mnemolog.events.log import Append
from mnemolog.projections.reads.moment import Moment
from tests.engine.equality import assert_live_equals_rebuilt
from tests.engine.teller import Teller
from tests.testkit.events import created, new
from tests.testkit.json_values import ODD_NUMBERS, json_objects, json_values, nested
from tests.testkit.settings import settings_in

_users = count(1)


def same(one: Any, other: Any) -> bool:
    """To the letter: 1 is not 1.0, and names stand in their order."""
    return json.dumps(one) == json.dumps(other)


@pytest.mark.spec("X08", "X09")
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(json_values.filter(lambda value: value is not None), json_objects), min_size=1, max_size=6))
async def test_a_fact_with_any_json_is_read_as_it_was_written(engine: Engine, told: list[tuple[Any, Any]]) -> None:
    ana, kept = Teller(engine, f"json-{next(_users)}"), {}
    for number, (value, metadata) in enumerate(told):
        try:
            id_ = await ana.tells("Ana", f"p{number}", value, literal=True, metadata=metadata)
        except InvalidInput:
            continue  # Such as an empty text: nothing was written.
        kept[id_] = (value.strip() if isinstance(value, str) else value, metadata)

    head = await engine.log.head(ana.stream)
    for moment in (None, Moment(head)) if head else ():
        found = {row["relation_id"]: row for row in await ana.facts(moment=moment)}
        assert found.keys() == kept.keys()
        for id_, (value, metadata) in kept.items():
            assert same(found[id_]["value"], value)
            assert same(found[id_]["metadata"], metadata)


@pytest.mark.spec("X08")
@pytest.mark.spec_part("X05")
async def test_rows_with_odd_numbers_verify_and_equal_their_rebuild(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    for number, value in enumerate(ODD_NUMBERS):
        await ana.tells("Ana", f"measures_{number}", value, metadata={"also": [value]})
    await ana.knows_of("Ana", attributes={"numbers": list(ODD_NUMBERS), "deep": nested(MAX_DEPTH - 1)})

    assert {json.dumps(row["value"]) for row in await ana.facts()} == set(map(json.dumps, ODD_NUMBERS))
    await assert_live_equals_rebuilt(engine, "graph")


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 200, 480])
async def test_what_is_too_deep_is_refused_by_its_field_and_nothing_is_written(
    engine: Engine, user: str, depth: int
) -> None:
    ana, deep = Teller(engine, user), nested(depth)
    turn: dict[str, Any] = {"text": "hello", "facts": [{"subject": "Ana", "predicate": "likes", "object": deep}]}

    for asked, field in (
        (ana.tells("Ana", "likes", deep), "object"),
        (ana.tells("Ana", "likes", "tea", metadata={"a": deep}), "metadata.a"),
        (ana.knows_of("Ana", attributes={"a": deep}), "attributes.a"),
        (ana.says(**turn), "object"),
    ):
        with pytest.raises(NestedTooDeep) as refused:
            await asked
        assert field in refused.value.field
    assert await engine.log.head(ana.stream) == 0


@pytest.mark.spec("X07", "X17")
@pytest.mark.parametrize("depth", [190, 200, 240])
async def test_what_was_taken_in_before_there_was_a_limit_is_read_exported_and_erased(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch, depth: int
) -> None:
    ana, deep = Teller(engine, user), nested(depth)
    with monkeypatch.context() as before:
        before.setattr("mnemolog.commands.facts.checked_json", lambda value, path: value)
        before.setattr("mnemolog.events.fields.require_depth", lambda *args: None)
        id_ = await ana.tells("Ana", "likes", deep)

    head = await engine.log.head(ana.stream)
    assert [row["value"] for row in await ana.facts()] == [deep]
    assert [row["value"] for row in await ana.facts(moment=Moment(head))] == [deep]
    await ana.hides(id_)
    assert await ana.facts() == []
    assert len(await exported(ana)) == 1 + await engine.log.head(ana.stream)
    assert (await erase(engine, EraseUser(user_id=user))).held_up == {}
    assert await ana.entities() == []


# What cannot be read


class Spoiling:
    """A cipher that seals something else than it is given."""

    def __init__(self, cipher: Cipher) -> None:
        self._cipher, self.open = cipher, cipher.open

    def seal(self, stream: StreamId, key_scope: str, fields: Mapping[str, Any]) -> Sealed:
        return self._cipher.seal(stream, key_scope, {name: {"spoilt": True} for name in fields})


class Spoilt(Codec):
    """What this writes fits no type."""

    def encode(self, stream: StreamId, event: NewEvent, cipher: Cipher = PLAIN) -> bytes:
        return super().encode(stream, event, Spoiling(cipher))


class Unchecked(Spoilt):
    """And is written all the same, as by a program with a defect."""

    def require_readable(self, stream: StreamId, event: NewEvent) -> None:
        return None


class Unreadable(Unchecked):
    """And even its open fields are not there."""

    def encode(self, stream: StreamId, event: NewEvent, cipher: Cipher = PLAIN) -> bytes:
        return super().encode(stream, event, cipher).replace(b'{"open":', b'{"Open":', 1)


def log_with(engine: Engine, codec: Codec) -> PostgresLog:
    return PostgresLog(engine.log.pool, codec, engine.log._secrets.roots, now)


async def test_an_unstorable_event_is_never_appended_and_affects_no_other(engine: Engine, user: str) -> None:
    class SpoiltMemories(Codec):
        def encode(self, stream: StreamId, event: NewEvent, cipher: Cipher = PLAIN) -> bytes:
            spoil = getattr(event.payload, "text", "") == "spoilt"
            return super().encode(stream, event, Spoiling(cipher) if spoil else cipher)

    stream, log = StreamId.of_user(user), log_with(engine, SpoiltMemories())
    good, bad = (Append(stream, (new(created(text=text)),)) for text in ("fine", "spoilt"))

    refused, receipt = await log.append([bad, good])

    assert isinstance(refused, Unstorable)
    assert not isinstance(receipt, Exception)
    assert (receipt.first_seq, await log.head(stream)) == (1, 1)
    with pytest.raises(Unstorable):
        await log.append_whole(StreamId.of_user(f"{user}-whole"), [bad.events])


@pytest.mark.spec("X07", "X17")
async def test_a_user_with_an_event_that_cannot_be_read_is_exported_and_erased_by_headers_and_keys(
    engine: Engine, user: str
) -> None:
    ana = Teller(engine, user)
    first = await ana.creates("Ana lives in Lisbon")
    payload: Event = created(text="nobody reads this")
    [receipt] = await log_with(engine, Unchecked()).append([Append(ana.stream, (new(payload),))])
    assert not isinstance(receipt, Exception)

    head, *events = await exported(ana)
    erasure = await erase(engine, EraseUser(user_id=user))

    assert (head["events"], [bool(event["unreadable"]) for event in events]) == (2, [False, True])
    assert (events[0]["data"]["text"], events[1]["data"]) == ("Ana lives in Lisbon", {})
    assert set(erasure.extent.memories) == {first, payload.memory_id}  # type: ignore[attr-defined]
    assert erasure.held_up == {}
    assert [event.erased for event in await engine.log.read(ana.stream)] == [True, True, False]
    assert (await erase(engine, EraseUser(user_id=user))).receipt.already


@pytest.fixture(scope="module")
async def apart(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """An engine that no other test rebuilds: events that cannot be read stand in the way until they are erased."""
    async with open_engine(settings_in(tmp_path_factory.mktemp("apart"))) as opened:
        yield opened


@pytest.mark.spec("X07")
@pytest.mark.parametrize("whole", [False, True], ids=["its text fits no type", "nothing of it can be read"])
async def test_a_memory_and_a_thread_with_events_that_cannot_be_read_are_erased_by_headers_and_keys(
    apart: Engine, user: str, whole: bool
) -> None:
    engine, ana = apart, Teller(apart, user)
    stays = await ana.creates("Ana lives in Lisbon")
    await ana.remembers("This is heard", thread_id="kept")
    log = log_with(engine, Unreadable() if whole else Unchecked())
    spoilt = created(text="nobody reads this")
    turns = [TurnRecorded(turn_id=f"turn-{number}", thread_id="gone", role=Role.USER, text="nor") for number in (1, 2)]
    drawn = created(text="nor that", source_turn_ids=("turn-2",))
    for payload in (spoilt, *turns, drawn):
        [receipt] = await log.append([Append(ana.stream, (new(payload),))])
        assert isinstance(receipt, Receipt)

    of_memory = await erase(engine, EraseMemory(user_id=user, memory_id=spoilt.memory_id))
    of_thread = await erase(engine, EraseThread(user_id=user, thread_id="gone"))

    assert of_memory.extent.memories == (spoilt.memory_id,)
    assert (of_thread.extent.turns, of_thread.extent.memories) == (("turn-1", "turn-2"), (drawn.memory_id,))
    scopes = {memory_tag(spoilt.memory_id), memory_tag(drawn.memory_id), *(one.key_scope() for one in turns)}
    async with engine.log.pool.connection() as connection:
        kept = await connection.execute(
            "SELECT scope FROM mnemolog_keys.data_keys WHERE stream = %s", [ana.stream.name]
        )
        left = {row["scope"] for row in await kept.fetchall()}
    assert left.isdisjoint(scopes)
    assert {memory_tag(stays)} <= left
    assert any(scope.startswith("thread:kept/") for scope in left)
    with pytest.raises(NotFound):
        await erase(engine, EraseMemory(user_id=user, memory_id=uuid4()))

    texts = ["Ana: This is heard", "Ana lives in Lisbon"]
    assert await told(ana) == await told(ana, Moment(await log.head(ana.stream))) == texts
    assert await told(ana, Moment(4)) == texts
    assert len(await exported(ana)) == 1 + await log.head(ana.stream)
    for subject in (ProofSubject(ana.stream, memory_id=spoilt.memory_id), ProofSubject(ana.stream, thread_id="gone")):
        if not whole:
            assert (await prove(engine, subject)).holds
    assert [one.name for one in await engine.projections.rebuild_all() if not one.equal] == []
    report = await engine.verifier.verify(ana.stream)
    assert report.as_dict()["found"] == []


@pytest.mark.spec("X07", "X17")
async def test_an_erased_user_with_undecodable_events_affects_nobody(apart: Engine, user: str) -> None:
    ana = Teller(apart, user)
    await ana.creates("Ana lives in Lisbon")
    [receipt] = await log_with(apart, Unreadable()).append([Append(ana.stream, (new(created(text="nor this")),))])
    assert isinstance(receipt, Receipt)
    await ana.creates("Bruno plays chess")  # So unlike that no link comes of it.

    erasure = await erase(apart, EraseUser(user_id=user))
    await ana.creates("Ana is back")

    assert erasure.held_up == {}
    assert await told(ana) == await told(ana, Moment(await apart.log.head(ana.stream))) == ["Ana is back"]
    assert await told(ana, Moment(3)) == []
    assert len(await exported(ana)) == 6
    assert (await prove(apart, ProofSubject(ana.stream))).holds
    assert [one.name for one in await apart.projections.rebuild_all() if not one.equal] == []
    assert (await apart.verifier.verify(ana.stream)).as_dict()["found"] == []


async def told(ana: Teller, moment: Moment | None = None) -> list[str]:
    """The texts that are known, live or as they were."""
    now_ = Moment(after=Position(ana.stream, await ana.engine.log.head(ana.stream)))
    return [one["text"] for one in await ana.engine.reads.newest(ana.viewer, 100, moment or now_)]


async def exported(ana: Teller) -> list[dict[str, Any]]:
    pieces = [piece async for _, piece in lines(ana.engine, ana.stream, await head_of(ana.engine, ana.stream))]
    return [json.loads(line) for line in b"".join(pieces).splitlines()]
