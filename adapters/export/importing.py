"""Import of an exported user: validated completely, then written in one transaction with the original times (X17)."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO
from uuid import UUID

from mnemolog.adapters.artifacts.uploads import Upload, discard, keep, upload
from mnemolog.adapters.checkpoints.transfer import Check, Part, Started, take_in
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.export.admission import require_admitted
from mnemolog.adapters.export.exporting import require_admin
from mnemolog.adapters.export.form import (
    BLOB,
    END,
    FAILED,
    PART,
    BlobLine,
    CheckpointLine,
    End,
    EventLine,
    Failed,
    Head,
    at_line,
    parsed,
)
from mnemolog.adapters.fairness import EVENTS_AT_ONCE
from mnemolog.adapters.postgres.writing import has_events
from mnemolog.domain.errors import IdempotencyConflict, InvalidInput, MnemologError
from mnemolog.domain.policy import version_of
from mnemolog.domain.text import require_no_control
from mnemolog.events.artifacts import ArtifactStored
from mnemolog.events.envelope import NewEvent, Receipt, StreamId
from mnemolog.events.erasure import UserErased

# To parse an event and to encode it takes a third of a millisecond, while nobody else runs.
BATCH = EVENTS_AT_ONCE
LONGEST_LINE = 96 * 1024 * 1024  # The largest file of an artifact, in base64.
# Clocks differ, but a stream's record time never decreases, so a time in the future would delay all later writes.
LENIENCE = timedelta(minutes=5)

# A path, or an open file that can be read again.
Source = Path | IO[bytes]


@dataclass(frozen=True, slots=True)
class Checked:
    """A file that can be imported completely: its head and its last event."""

    source: Source
    head: Head
    last_id: UUID

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        """The encrypted files of artifacts, by the name of each."""
        found = ((line.blob, line.bytes) for _, line in _blobs(self.source))
        return ((blob, content) for blob, content in found if content is not None)

    def batches(self) -> Iterator[Sequence[NewEvent]]:
        events = _events(self.source, self.head)
        while batch := list(islice(events, BATCH)):
            yield batch


def checked(source: Source, now: datetime, progressed: Callable[[int], None] = lambda count: None) -> Checked:
    """Read the whole file once; InvalidInput names the first invalid line. Nothing is written."""
    head = head_of(source)
    for text in head.policies.values():
        require_no_control(text, "line 1 policies")
    last: NewEvent | None = None
    stored, needed, started = set[str](), set[str](), Started()
    for event in _events(source, head):
        started.take(event.payload.type_name(), event.tags)
        if isinstance(event.payload, ArtifactStored) and event.payload.blob:
            stored.add(event.payload.blob)
            if event.payload.content_key:  # An erased one has none, and no file.
                needed.add(event.payload.blob)
        assert event.recorded_at
        if last and last.recorded_at and event.recorded_at < last.recorded_at:
            raise InvalidInput(
                f"{event.event_id} was recorded before the event above it",
                field="recorded_at",
                fix="export the user again",
            )
        last = event
        progressed(1)
    assert last
    assert last.recorded_at
    if last.recorded_at > now + LENIENCE:
        raise InvalidInput(
            f"{last.event_id} was recorded in the future", field="recorded_at", fix="correct this machine's clock"
        )
    for number, line in _blobs(source):
        if line.blob not in stored:
            raise InvalidInput("belongs to no artifact", field=f"line {number} blob", fix="export the user again")
        needed.discard(line.blob)
    if needed:
        raise InvalidInput(
            "the file does not have the content of all artifacts", field="path", fix="it is truncated: export it again"
        )
    check = Check(started)
    for number, part in _parts(source, head):
        try:
            check.take(part)
        except InvalidInput as error:
            raise at_line(number, error) from error
    return Checked(source, head, last.event_id)


async def imported(
    engine: Engine, file: Checked, user_id: str, progressed: Callable[[int], None] = lambda count: None
) -> Receipt:
    """Import it as a user about whom nothing is known, all or nothing.

    Importing the same file again changes nothing, even if the user was erased since, which the receipt then says.
    Conflict if the user has data from another origin.
    """
    stream = StreamId.of_user(user_id, engine.settings.tenant)
    require_admin(engine, stream)
    if known := await _known(engine, file, stream):
        return known
    for version, text in file.head.policies.items():
        if version_of(text) == version:
            await engine.policies.keep(text, engine.writes.now())
    parts = (part for _, part in _parts(file.source, file.head))
    also = partial(take_in, engine.checkpoints, stream, parts)
    uploads = list[Upload]()
    try:
        for blob, content in file.blobs():
            uploads.append(await upload(engine, stream, blob, content))
        receipt = await engine.log.append_whole(stream, _counted(file.batches(), progressed), also)
    except BaseException as error:
        if not await engine.log.head(stream):
            for one in uploads:
                await discard(engine, one)
        elif isinstance(error, IdempotencyConflict) and (known := await _known(engine, file, stream)):
            return known  # Another import of this file was faster.
        raise
    for one in uploads:
        await keep(engine, one)
    return receipt


async def _known(engine: Engine, file: Checked, stream: StreamId) -> Receipt | None:
    """The receipt of an earlier import of the file; None if the stream is empty, Conflict if it holds anything else."""
    if not await engine.log.head(stream):
        return None
    last = await engine.log.read(stream, after=file.head.head - 1, until=file.head.head)
    if [event.event_id for event in last] != [file.last_id]:
        raise has_events(stream)
    later = engine.log.scan(stream, after=file.head.head)
    types = {event.header.type async for batch in later for event in batch}
    erased = UserErased.type_name() in types
    return Receipt(stream, (file.last_id,), 1, file.head.head, already=True, erased=erased)


def head_of(source: Source) -> Head:
    """The first line of a file; InvalidInput if it is not an exported user."""
    with closing(_lines(source)) as lines:
        head: Head = parsed(next(lines, b""), 1, Head)
    if head.events != head.head:
        raise InvalidInput("differs from `head`", field="line 1 events", fix="export the user again")
    return head


def _lines(source: Source) -> Generator[bytes]:
    """All lines. Their length is limited, and so is the memory used: no event comes close."""
    if isinstance(source, Path) and not source.is_file():
        raise InvalidInput(f"there is no file {source}", field="path", fix="correct the path")
    with source.open("rb") if isinstance(source, Path) else nullcontext(source) as file:
        file.seek(0)
        number = 0
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                what = f"has more than {LONGEST_LINE:,} bytes"
                raise InvalidInput(what, field=f"line {number}", fix="export the user again")
            yield line


def _events(source: Source, head: Head) -> Iterator[NewEvent]:
    seq = 0
    for number, text in enumerate(_lines(source), start=1):
        if number == 1 or text.startswith((BLOB, PART)):
            continue
        if text.startswith(FAILED):
            failed: Failed = parsed(text, number, Failed)
            what = f"the export failed: {failed.error.get('message', '')}"
            raise InvalidInput(what, field=f"line {number}", fix="export the user again")
        line: EventLine = parsed(text, number, EventLine)
        seq += 1
        if line.seq != seq:
            raise InvalidInput(f"{line.seq} is not the next seq", field=f"line {number} seq", fix="export it again")
        try:
            event = line.event()
            require_admitted(event)
        except MnemologError as error:
            raise at_line(number, error) from error
        yield event
    if seq != head.events:
        raise InvalidInput(
            f"the file has {seq:,} of {head.events:,} events",
            field="path",
            fix="it is truncated: export it again",
        )


def _blobs(source: Source) -> Iterator[tuple[int, BlobLine]]:
    for number, text in enumerate(_lines(source), start=1):
        if text.startswith(BLOB):
            line: BlobLine = parsed(text, number, BlobLine)
            try:
                _ = line.bytes
            except (InvalidInput, ValueError) as error:
                invalid = error if isinstance(error, InvalidInput) else InvalidInput("is not base64", field="content")
                raise at_line(number, invalid) from error
            yield number, line


def _parts(source: Source, head: Head) -> Iterator[tuple[int, Part]]:
    """The parts of checkpoints, each with the number of its line."""
    count, end = 0, None
    for number, text in enumerate(_lines(source), start=1):
        if not text.startswith(PART):
            continue
        if end is not None or not head.checkpoints:
            raise InvalidInput("is after the last line", field=f"line {number}", fix="export the user again")
        if text.startswith(END):
            end = parsed(text, number, End)
            continue
        line: CheckpointLine = parsed(text, number, CheckpointLine)
        try:
            part = line.opened()
        except InvalidInput as error:
            raise at_line(number, error) from error
        yield number, part
        count += 1
    if head.checkpoints and (end is None or end.parts != count):
        raise InvalidInput(
            "the file does not have all checkpoints", field="path", fix="it is truncated: export it again"
        )


def _counted(batches: Iterator[Sequence[NewEvent]], progressed: Callable[[int], None]) -> Iterator[Sequence[NewEvent]]:
    for batch in batches:
        yield batch
        progressed(len(batch))
