"""A user is exported and imported whole: every projection then reads as the source's (X17)."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.export.exporting import head_of, lines
from mnemolog.adapters.export.importing import checked, imported
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.commands.entities import MergeEntities
from mnemolog.commands.erasure import EraseMemory
from mnemolog.commands.fact_changes import EndFact
from mnemolog.domain.errors import Conflict, InvalidInput, MnemologError, NotFound, NotPermitted, UnknownEvent
from mnemolog.domain.principal import Principal, Role
from mnemolog.events.envelope import Receipt
from mnemolog.projections.reads.moment import Moment
from tests.engine.person import Person
from tests.engine.story import tell
from tests.engine.teller import Teller


async def exported(person: Person, path: Path) -> Path:
    head = await head_of(person.engine, person.stream)
    pieces = [piece async for _, piece in lines(person.engine, person.stream, head)]
    await asyncio.to_thread(path.write_bytes, b"".join(pieces))
    return path


async def taken_in(person: Person, path: Path) -> Receipt:
    return await imported(person.engine, checked(path, now()), person.user)


async def rows(person: Person) -> dict[str, list[str]]:
    """The rows of every projection's tables, but for whose they are and what seals them to him."""
    await person.engine.settled(60)
    found: dict[str, list[str]] = {}
    async with person.engine.projections.live.connect() as connection:
        for name, store in person.engine.projections.stores.items():
            if not isinstance(store, PostgresStore):
                continue
            for table in store.projector.tables.sorted_tables:
                wanted = select(table).where(table.c.tenant == person.tenant, table.c.user_id == person.user)
                kept = (await connection.execute(wanted)).mappings()
                found[f"{name}.{table.name}"] = sorted(repr(_shown(dict(row))) for row in kept)
    return found


def _shown(row: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(
        (name, str(value)) for name, value in row.items() if name not in {"tenant", "user_id", "mac", "embedding_mac"}
    )


async def told(person: Person) -> Person:
    await tell(person)
    secret = await person.creates("The number is 555-0199")
    await erase(person.engine, EraseMemory.model_validate({**person._who, "memory_id": secret}))
    await known(person)
    return person


async def known(person: Person) -> None:
    """Facts that ended and were corrected, entities that were merged, a profile, a todo."""
    writes, who = person.engine.writes, person._who
    for city, since in (("Porto", "2024-03-01"), ("Lisbon", "2026-01-10"), ("Braga", "2025-01-01")):
        await writes.remember({**who, "subject": "Ana", "predicate": "lives_in", "object": city, "since": since})
    coffee, _ = await writes.remember({**who, "subject": "Ana", "predicate": "likes", "object": "coffee"})
    await writes.handle(EndFact.model_validate({**who, "relation_id": coffee, "at": now()}))
    makesh, _ = await writes.observe_entity({**who, "name": "Makesh", "category": "Person"})
    mukesh, _ = await writes.observe_entity({**who, "name": "Mukesh", "category": "Person"})
    merge = {**who, "entity_id": mukesh, "absorbed_ids": (makesh,)}
    await writes.handle(MergeEntities.model_validate(merge))
    await writes.propose({**who, "field": "city", "value": "Lisbon"})
    await person.says("Book a table", metadata={"source": "crm", "score": 0.5})
    await writes.open_todo({**who, "kind": "commitment", "text": "call Makesh"})


@pytest.mark.spec("X17")
async def test_after_an_import_every_projection_holds_the_rows_of_the_source(
    engine: Engine, user: str, tmp_path: Path
) -> None:
    ana = await told(Person(engine, user))
    other = Person(engine, f"{user}-again")

    receipt = await taken_in(other, await exported(ana, tmp_path / "ana.jsonl"))

    source, copy = await rows(ana), await rows(other)
    assert sum(map(len, source.values())) > 20
    assert copy == source
    assert receipt.last_seq == await engine.log.head(ana.stream)


@pytest.mark.spec("X17", "X02")
async def test_after_an_import_an_earlier_moment_reads_as_in_the_source(
    engine: Engine, user: str, tmp_path: Path
) -> None:
    ana = await told(Person(engine, user))
    other = Person(engine, f"{user}-again")
    await taken_in(other, await exported(ana, tmp_path / "ana.jsonl"))
    recorded = [event.recorded_at for event in await engine.log.read(ana.stream)]

    for at in (*recorded[::6], recorded[-1]):
        there, here = [await everything(person, Moment(as_of=at)) for person in (ana, other)]
        assert here == there


async def everything(person: Person, moment: Moment) -> str:
    """All that reads tell of a person, but his name."""
    reads, viewer = person.engine.reads, person.viewer
    told = [await person.everything(moment), await reads.facts(viewer, moment=moment)]
    told += [await reads.profile(viewer, moment), await reads.todos(viewer, moment=moment)]
    return repr(told).replace(person.user, "X")


async def test_under_another_id_facts_continue_once_the_user_is_renamed(
    engine: Engine, user: str, tmp_path: Path
) -> None:
    ana, other = Teller(engine, user), Teller(engine, f"{user}-again")
    await ana.tells("me", "lives_in", "Lisbon")
    await taken_in(other, await exported(ana, tmp_path / "ana.jsonl"))
    [me] = await other.entities(user)

    await other.renames(me["entity_id"], other.user)
    await other.tells("me", "lives_in", "Porto")

    assert await other.told() == {f"{other.user} lives_in Porto"}


@pytest.mark.spec("X17", "X07")
async def test_what_was_erased_leaves_and_arrives_as_a_shape(engine: Engine, user: str, tmp_path: Path) -> None:
    ana = await told(Person(engine, user))
    other = Person(engine, f"{user}-again")
    path = await exported(ana, tmp_path / "ana.jsonl")

    await taken_in(other, path)

    assert "555-0199" not in path.read_text(encoding="utf-8")
    shapes = [[event.erased for event in await engine.log.read(one.stream)] for one in (ana, other)]
    assert shapes[0] == shapes[1]
    assert any(shapes[1])


@pytest.mark.spec("X17", "X08")
async def test_an_imported_stream_is_sealed_chained_and_written_to_like_any_other(
    engine: Engine, user: str, tmp_path: Path
) -> None:
    ana = await told(Person(engine, user))
    other = Person(engine, f"{user}-again")
    await taken_in(other, await exported(ana, tmp_path / "ana.jsonl"))

    tea = await other.creates("Ana drinks tea, still")
    await other.updates(tea, text="Ana drinks coffee")
    await other.undoes(tea)
    await engine.settled(60)
    await engine.anchoring.flush()
    report = await engine.verifier.verify(other.stream)

    assert report.clean, report.as_dict()
    assert "Ana drinks tea, still" in await other.finds("tea")
    stored = [event async for batch in engine.log.scan(other.stream) for event in batch]
    assert not any(b"Lisbon" in event.data for event in stored)


@pytest.mark.spec("X17")
async def test_the_same_file_again_changes_nothing(engine: Engine, user: str, tmp_path: Path) -> None:
    ana = await told(Person(engine, user))
    other = Person(engine, f"{user}-again")
    path = await exported(ana, tmp_path / "ana.jsonl")
    first = await taken_in(other, path)

    again = await taken_in(other, path)

    assert (again.already, again.last_seq) == (True, first.last_seq)
    assert await engine.log.head(other.stream) == first.last_seq


@pytest.mark.spec("X17")
async def test_the_same_file_twice_at_once_is_imported_once(engine: Engine, user: str, tmp_path: Path) -> None:
    ana = await told(Person(engine, user))
    other = Person(engine, f"{user}-again")
    path = await exported(ana, tmp_path / "ana.jsonl")

    receipts = await asyncio.gather(*(taken_in(other, path) for _ in range(3)))

    assert sorted(one.already for one in receipts) == [False, True, True]
    assert {one.last_seq for one in receipts} == {await engine.log.head(other.stream)}


@pytest.mark.spec("X17")
async def test_a_user_with_a_memory_of_his_own_is_left_alone(engine: Engine, user: str, tmp_path: Path) -> None:
    ana = await told(Person(engine, user))
    path = await exported(ana, tmp_path / "ana.jsonl")
    other = Person(engine, f"{user}-again")
    await other.creates("mine")

    with pytest.raises(Conflict, match="already exists"):
        await taken_in(other, path)
    with pytest.raises(Conflict):
        await engine.log.append_whole(other.stream, checked(path, now()).batches())

    assert await engine.log.head(other.stream) == 1


@pytest.mark.spec("X17")
async def test_an_import_that_fails_on_its_way_leaves_nothing(
    engine: Engine, user: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemolog.adapters.export.importing.BATCH", 3)
    ana = await told(Person(engine, user))
    other = Person(engine, f"{user}-again")
    path = await exported(ana, tmp_path / "ana.jsonl")
    file = checked(path, now())
    path.write_bytes(path.read_bytes()[:-40])  # It changed after it was checked.

    with pytest.raises(MnemologError):
        await imported(engine, file, other.user)

    assert await engine.log.head(other.stream) == 0
    assert await engine.log.read(other.stream) == []


def cut(text: Sequence[bytes]) -> Sequence[bytes]:
    return text[:-1]


def swapped(text: Sequence[bytes]) -> Sequence[bytes]:
    return [text[0], text[2], text[1], *text[3:]]


def changed(text: Sequence[bytes], number: int, **fields: Any) -> Sequence[bytes]:
    line = {**json.loads(text[number - 1]), **fields}
    return [*text[: number - 1], json.dumps(line).encode() + b"\n", *text[number:]]


@pytest.mark.spec("X17")
@pytest.mark.parametrize(
    ("change", "kind", "field"),
    [
        (cut, InvalidInput, "path"),
        (swapped, InvalidInput, "line 2 seq"),
        (lambda text: [b"{}\n", *text[1:]], InvalidInput, "line 1 user_id"),
        (lambda text: [text[0], b"no json\n", *text[2:]], InvalidInput, "line 2"),
        (lambda text: changed(text, 3, type="Unheard"), UnknownEvent, "line 3 type"),
        (lambda text: changed(text, 3, version=99), UnknownEvent, "line 3 version"),
        (lambda text: changed(text, 3, data={"no": "such"}), InvalidInput, "line 3 data"),
        (lambda text: changed(text, 3, meta={"no": "such"}), InvalidInput, "line 3 meta"),
        (lambda text: changed(text, 3, recorded_at="2020-01-01T00:00:00Z"), InvalidInput, "recorded_at"),
        (lambda text: changed(text, len(text), recorded_at="2999-01-01T00:00:00Z"), InvalidInput, "recorded_at"),
    ],
)
async def test_a_file_with_a_fault_is_refused_before_anything_is_written(
    engine: Engine, user: str, tmp_path: Path, change: Any, kind: type[MnemologError], field: str
) -> None:
    ana = Person(engine, user)
    for text in ("tea", "trams", "Lisbon"):
        await ana.creates(text)
    path = await exported(ana, tmp_path / "ana.jsonl")
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))

    with pytest.raises(kind) as refused:
        checked(path, now())

    assert refused.value.field.startswith(field)
    assert "Lisbon" not in str(refused.value)


@pytest.mark.spec("X17")
async def test_only_administrators_export_and_import_users(engine: Engine, user: str, tmp_path: Path) -> None:
    ana = Person(engine, user)
    await ana.creates("tea")
    path = await exported(ana, tmp_path / "ana.jsonl")
    every = frozenset({"*"})
    reader = Principal("app", ana.tenant, every, every, frozenset({Role.READ, Role.WRITE, Role.ERASE}))
    stranger = Principal("ops", ana.tenant, every, frozenset({"somebody"}), frozenset({Role.ADMIN}))

    for principal, refused in ((reader, NotPermitted), (stranger, NotFound)):
        bound = engine.by(principal)
        with pytest.raises(refused):
            await head_of(bound, ana.stream)
        with pytest.raises(refused):
            await imported(bound, checked(path, now()), f"{user}-again")


async def test_an_unknown_user_cannot_be_exported(engine: Engine, user: str) -> None:
    with pytest.raises(NotFound):
        await head_of(engine, Person(engine, user).stream)
