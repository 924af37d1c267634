"""Anchors: written when heads changed, only ever appended to, chained, and compacted from themselves."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.verify import anchoring
from mnemolog.adapters.verify.anchor import Anchor, AnchoredHead, mac_of, pack, unpack
from mnemolog.adapters.verify.anchor_file import AnchorFile
from mnemolog.adapters.verify.anchor_stream import AnchorStream
from mnemolog.adapters.verify.anchoring import Anchoring
from mnemolog.adapters.verify.damage import DamageKind, Part
from mnemolog.domain.errors import MalformedEvent
from mnemolog.events.envelope import StoredEvent, StreamId
from mnemolog.events.event import Event
from tests.engine.person import Person
from tests.testkit.clock import Clock
from tests.testkit.events import KEY, created, rows

pytestmark = pytest.mark.spec("X08")


def anchor_of(number: int, previous: str = "") -> Anchor:
    head = AnchoredHead(StreamId.of_user("ana"), number, bytes([number]) * 32)
    return Anchor("node", number, Clock()(), [head], previous)


def test_an_anchor_reads_as_it_was_written() -> None:
    assert unpack(pack(anchor_of(3), KEY), KEY) == anchor_of(3)


@pytest.mark.parametrize(("old", "new"), [(b'"ana"', b'"bob"'), (b"[3", b"[2"), (b"03", b"04"), (b'"mac"', b'"mak"')])
def test_an_anchor_that_was_changed_is_refused(old: bytes, new: bytes) -> None:
    line = pack(anchor_of(3), KEY).replace(b'"user:ana"', b'"ana"').replace(old, new)

    with pytest.raises(MalformedEvent):
        unpack(line, KEY)


def test_a_line_that_a_crash_tore_does_not_count_and_is_cut_off(tmp_path: Path) -> None:
    file = AnchorFile(tmp_path / "anchors.jsonl")
    file.append([b"one", b"two"])
    with file.path.open("ab") as torn:
        torn.write(b"thr")
    assert list(file.lines()) == [b"one", b"two"]

    file.append([b"three"])

    assert list(file.lines()) == [b"one", b"two", b"three"]


def test_a_file_with_only_a_torn_line_starts_over(tmp_path: Path) -> None:
    file = AnchorFile(tmp_path / "anchors.jsonl")
    file.path.write_bytes(b"x" * 200_000)

    file.append([b"one"])

    assert list(file.lines()) == [b"one"]


async def test_an_anchor_is_written_for_what_changed_and_for_nothing_else(victim: Engine, user: str) -> None:
    ana = Person(victim, user)
    await ana.says("I moved to Lisbon")
    await victim.settled(60)
    await victim.anchoring.flush()
    before = list(victim.verifier.anchors.lines())
    await victim.anchoring.flush()
    assert list(victim.verifier.anchors.lines()) == before

    await ana.says("I like it here")
    await victim.settled(60)
    await victim.anchoring.flush()

    [line] = list(victim.verifier.anchors.lines())[len(before) :]
    [head] = unpack(line, victim.verifier.roots.derived("anchors")).heads
    assert (head.stream, head.seq) == (ana.stream, await victim.log.head(ana.stream))
    assert line in [one async for one in AnchorStream(victim.nats.jetstream()).lines()]


async def test_a_missing_anchor_is_named(victim: Engine, user: str) -> None:
    for text in ("I moved to Lisbon", "I like it here", "I found a flat"):
        await Person(victim, user).says(text)
        await victim.settled(60)
        await victim.anchoring.flush()
    file = victim.verifier.anchors
    lines = list(file.lines())
    file.replace([*lines[:-2], lines[-1]])
    try:
        report = await victim.verifier.verify(StreamId.of_user(user))
    finally:
        file.replace(lines)

    assert {(one.part, one.kind) for one in report.damages} == {(Part.ANCHOR, DamageKind.REMOVED)}
    assert (await victim.verifier.verify(StreamId.of_user(user))).clean


async def test_heads_that_could_not_be_written_wait_for_the_next_anchor(victim: Engine, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where a folder should be")
    file = AnchorFile(tmp_path / "taken" / "anchors.jsonl")
    own = alone(victim, file)
    own.take(events("ana", 2))
    with pytest.raises(OSError, match="taken"):
        await own.flush()

    (tmp_path / "taken").unlink()
    await own.flush()

    assert heads_in(file) == [("ana", 2)]


async def test_compaction_keeps_the_last_head_of_each_stream_and_continues_the_chain(
    victim: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anchoring, "COMPACT_FROM", 8)
    file = AnchorFile(tmp_path / "anchors.jsonl")
    own = alone(victim, file)
    for seq in range(1, 11):
        own.take(events("ana", seq))
        await own.keep()
    own.take(events("bob", 1))
    await own.keep()

    assert heads_in(file)[0] == ("ana", 9)
    assert heads_in(file)[1:] == [("ana", 10), ("bob", 1)]
    lines = list(file.lines())
    assert [unpack(line, KEY).previous for line in lines[1:]] == [mac_of(line) for line in lines[:-1]]


async def test_anchors_are_written_as_time_goes_by(victim: Engine, tmp_path: Path) -> None:
    file = AnchorFile(tmp_path / "anchors.jsonl")
    own = alone(victim, file, seconds=0.01)
    task = asyncio.create_task(own.run())
    own.take(events("ana", 1))
    async with asyncio.timeout(60):
        while not file.path.exists():  # noqa: ASYNC110  It is the file that is waited for.
            await asyncio.sleep(0.01)
    task.cancel()

    assert heads_in(file) == [("ana", 1)]


async def test_a_client_whose_engine_was_stopped_warns_of_nothing(
    victim: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked = asyncio.Event()

    async def unanswered() -> None:
        asked.set()
        raise TimeoutError

    caplog.set_level("INFO", "mnemolog.anchors")
    for file, level in ((None, "INFO"), (AnchorFile(tmp_path / "anchors.jsonl"), "WARNING")):
        own = alone(victim, file, seconds=0.01)
        monkeypatch.setattr(own, "hear", unanswered)
        asked.clear()
        caplog.clear()
        task = asyncio.create_task(own.run())
        await asyncio.wait_for(asked.wait(), 60)
        await asyncio.sleep(0)
        task.cancel()
        assert (level, "an anchor is postponed: TimeoutError()") in [
            (one.levelname, one.getMessage()) for one in caplog.records
        ]


def alone(engine: Engine, file: AnchorFile | None, seconds: float = 10) -> Anchoring:
    """An anchoring of its own key and node beside the engine's."""
    clock = Clock()
    clock.move(timedelta(seconds=1))
    stream = AnchorStream(engine.nats.jetstream())
    node = f"test-{file.path.parent.name if file else 'client'}"
    return Anchoring(file, stream, engine.verifier.pool, KEY, clock, node, seconds)


def events(user: str, last: int) -> Sequence[StoredEvent]:
    payloads: list[Event] = [created() for _ in range(last)]
    return rows(StreamId.of_user(user), payloads)


def heads_in(file: AnchorFile) -> list[tuple[str, int]]:
    return [(head.stream.owner, head.seq) for line in file.lines() for head in unpack(line, KEY).heads]
