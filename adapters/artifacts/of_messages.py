"""Store the files of messages: those in attachments, and texts that are too long for a turn."""

from asyncio import CancelledError
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from mnemolog.adapters.artifacts.content import ids_of, store
from mnemolog.adapters.artifacts.extraction import enqueue
from mnemolog.adapters.cancellation import carried_through
from mnemolog.adapters.jobs.job import Attempt, Job, JobKind
from mnemolog.adapters.services import Services
from mnemolog.commands.artifacts import ARTIFACTS, DiscardFileOfMessage, StoreFileOfMessage
from mnemolog.commands.heard import TurnRefused
from mnemolog.commands.turns import used_for_another
from mnemolog.domain.artifact import URL, ArtifactType, named_by, surrogate
from mnemolog.domain.data_url import decoded, is_data_url
from mnemolog.domain.errors import InvalidInput, MnemologError, NotFound
from mnemolog.domain.text import MAX_TEXT_BYTES
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import StreamId
from mnemolog.events.fields import validated

BEGINNING = 2000
DISCARD = "discard-file"
AFTER = timedelta(minutes=10)
"""A message is recorded within seconds of its files."""
_OWNER = ("tenant", "user_id", "agent_id")


@dataclass(frozen=True, slots=True)
class _File:
    """A file of a turn: that of the attachment at this place, or its text."""

    place: int | None
    content: bytes
    fields: dict[str, Any]


@asynccontextmanager
async def with_artifacts(
    engine: Services, turns: Sequence[Mapping[str, Any]], *, keyed: bool = False
) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
    """The turns, with an artifact in place of each file, to be recorded inside. The same content is the same artifact.

    No artifact is stored for a turn that is recorded, whose files may have been erased since, or that is refused. Those
    of a turn that is only refused inside, as when another with its id came first, or whose caller gives up, are hidden
    again; if the process ends first, by a job.
    """
    stored = list[Job]()
    try:
        yield await _with_artifacts(engine, turns, stored, keyed=keyed)
    except (MnemologError, TurnRefused, CancelledError):
        for job in stored:
            with suppress(MnemologError):
                await _discard(engine, job)
        raise
    for job in stored:
        await engine.jobs.withdraw(job.job_id)


async def _with_artifacts(
    engine: Services, turns: Sequence[Mapping[str, Any]], stored: list[Job], *, keyed: bool
) -> Sequence[Mapping[str, Any]]:
    files = {place: own for place, turn in enumerate(turns) if (own := _files(engine, place, turn))}
    if not files:
        return turns
    _require_distinct(turns)
    said, new = list(turns), list[int]()
    recorded = await engine.writes.recorded([_without(turns[place], own) for place, own in files.items()])
    for (place, own), earlier in zip(files.items(), recorded, strict=True):
        ids = [await _attached(engine, one, earlier) if earlier else None for one in own]
        said[place] = _with(turns[place], own, ids)
        new += [] if earlier else [place]
    commands = await engine.writes.rehearse(said, keyed=keyed)
    for place in new:
        at = commands[place].occurred_at
        ids = [await _stored(engine, one, at, stored) for one in files[place]]
        said[place] = _with(turns[place], files[place], ids)
    return said


@asynccontextmanager
async def with_artifact(engine: Services, turn: Mapping[str, Any]) -> AsyncIterator[Mapping[str, Any]]:
    """`with_artifacts` for one turn. Raises the error of a turn that is refused."""
    try:
        async with with_artifacts(engine, [turn]) as [said]:
            yield said
    except TurnRefused as refused:
        raise refused.error from refused


def _files(engine: Services, place: int, turn: Mapping[str, Any]) -> Sequence[_File]:
    who = {name: turn[name] for name in (*_OWNER, "thread_id", "run_id") if turn.get(name)}
    files = list[_File]()
    for number, shown in enumerate(turn.get("attachments", ())):
        if is_data_url(url := shown.get("url", "")):
            content, mime = decoded(url, field := f"attachments[{number}].url")
            if len(content) > (most := engine.settings.artifact_max_bytes):
                message = f"has {len(content):,} bytes, at most {most:,} are accepted"
                fix = "send a smaller file, or raise `artifact_max_bytes`"
                raise TurnRefused(place, InvalidInput(message, field=field, fix=fix))
            files.append(_File(number, content, {**who, "mime": mime}))
    text = turn.get("text", "").encode()
    if len(text) > MAX_TEXT_BYTES:
        files.append(_File(None, text, {**who, "name": "message.txt", "mime": "text/plain"}))
    return files


def _require_distinct(turns: Sequence[Mapping[str, Any]]) -> None:
    """Refuses an id that comes again with something else, whose file would go with no message."""
    first = dict[str, Mapping[str, Any]]()
    for place, turn in enumerate(turns):
        said = {name: turn.get(name) for name in ("text", "attachments")}
        if first.setdefault(turn["turn_id"], said) != said:
            raise TurnRefused(place, used_for_another(turn["turn_id"]))


def _without(turn: Mapping[str, Any], files: Sequence[_File]) -> Mapping[str, Any]:
    return _with(turn, files, [None] * len(files))


def _with(turn: Mapping[str, Any], files: Sequence[_File], ids: Sequence[UUID | None]) -> Mapping[str, Any]:
    """The turn with the artifacts of its files; without an id, with nothing in place of the file."""
    said, attachments = dict(turn), [dict(shown) for shown in turn.get("attachments", ())]
    for file, id_ in zip(files, ids, strict=True):
        url = f"{URL}{id_}" if id_ else ""
        if file.place is not None:
            attachments[file.place]["url"] = url
            continue
        said["text"] = f"{turn['text'][:BEGINNING].rstrip()}…"
        if id_:
            said["text"] = f"{surrogate(ArtifactType.FILE, id_, 'the whole message')}\n{said['text']}"
            attachments.append({"type": ArtifactType.FILE.value, "url": url})
    return {**said, "attachments": attachments}


async def _attached(engine: Services, file: _File, recorded: TurnRecorded) -> UUID | None:
    """The artifact of the recorded turn that has or had this content."""
    known = await ids_of(engine, file.content, file.fields, StoreFileOfMessage)
    return next((id_ for one in recorded.attachments if (id_ := named_by(one.url)) in known), None)


@carried_through
async def _stored(engine: Services, file: _File, occurred_at: datetime, stored: list[Job]) -> UUID:
    own = {"artifact_id": engine.writes.new_id()}
    stream, run_at = StreamId.of_user(file.fields["user_id"], file.fields["tenant"]), engine.jobs.now() + AFTER
    whose = {"agent_id": file.fields["agent_id"]} if "agent_id" in file.fields else {}
    job = await engine.jobs.enqueue(DISCARD, {**own, **whose}, stream=stream, run_at=run_at)
    stored.append(job)
    artifact_id, receipt = await store(
        engine, file.content, {**file.fields, **own}, kind=StoreFileOfMessage, occurred_at=occurred_at
    )
    if not receipt.already:
        await enqueue(engine, receipt.stream, artifact_id)
    return artifact_id


@carried_through
async def _discard(engine: Services, job: Job) -> None:
    """Hide what was stored for a message, unless it is attached to one; a job that stored nothing new knows nothing."""
    who = {**job.payload, "tenant": job.owner.tenant, "user_id": job.owner.owner}
    fields = {**who, "reason": "its message was not recorded", "at": engine.writes.now()}
    with suppress(NotFound):
        await engine.writes.handler.handle(ARTIFACTS, engine.writes.admitted(validated(DiscardFileOfMessage, fields)))
    await engine.jobs.withdraw(job.job_id)


def discarding_files(engine: Services) -> JobKind:
    """What hides a file whose message never came, as after a crash."""

    async def run(attempt: Attempt) -> None:
        await _discard(engine, attempt.job)

    return JobKind(name=DISCARD, run=run)
