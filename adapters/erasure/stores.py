"""Searches JetStream, Redis and files for ids and text of erased items (X16)."""

import json
import os
from collections.abc import AsyncIterator, Collection, Iterator
from pathlib import Path
from typing import Any

from nats.js import JetStreamContext

from mnemolog.adapters.erasure.messages import Message, TurnSelection, forms, stored, written
from mnemolog.adapters.erasure.proof import ProofPlace, tallied
from mnemolog.adapters.erasure.target import Target
from mnemolog.adapters.nats import wire
from mnemolog.adapters.nats.subjects import (
    DEAD_LETTERS,
    EVENTS,
    TURNS,
    dead_letters_of,
    partition_of,
    partition_subject,
    turns_of,
)
from mnemolog.adapters.redis.client import RedisClient
from mnemolog.domain.errors import MalformedEvent
from mnemolog.domain.session import SAID
from mnemolog.events.envelope import StoredEvent
from mnemolog.events.log import EventLog
from mnemolog.projections.working.projector import AFFECT
from mnemolog.projections.working.projector import SessionPlace as Session

CHUNK = 1 << 20
SERVERS = ("postgres", "nats", "redis")


async def events_on_jetstream(
    jetstream: JetStreamContext, log: EventLog, target: Target, phrase: str | None
) -> ProofPlace:
    """The copies of the events, and which of them can still be decrypted with the existing keys."""
    stream, verdicts = target.subject.stream, list[tuple[str, bool]]()
    async for message in stored(jetstream, EVENTS, partition_subject(partition_of(stream))):
        event = _event(message)
        if event is not None and event.header.event_id in target.event_ids:
            [decoded] = await log.decode([event])
            verdicts.append((f"message {message.seq}", not decoded.erased or _worded(event.data, phrase)))
        elif phrase and (event is None or event.header.stream == stream) and message.holds(phrase):
            verdicts.append((f"message {message.seq}", True))
    return tallied(f"jetstream {EVENTS}", verdicts)


async def turns_on_jetstream(
    jetstream: JetStreamContext, target: Target, phrase: str | None, keyed: Collection[str]
) -> AsyncIterator[ProofPlace]:
    """Waiting turns and dead letters; `keyed` are the producers that have a key."""
    subject = target.subject
    named = TurnSelection(
        subject.stream,
        threads=frozenset({subject.thread_id}) if subject.thread_id is not None else (),
        turns=target.turn_ids,
        everything=subject.everything,
        keyed=keyed,
    )
    waiting = TurnSelection(subject.stream, turns=target.turn_ids, keyed=keyed)
    tenant = subject.stream.tenant
    for name, where, meant in ((TURNS, turns_of(tenant), waiting), (DEAD_LETTERS, dead_letters_of(tenant), named)):
        messages = [one async for one in stored(jetstream, name, *where) if meant.concerns(one)]
        found = [(f"message {one.seq}", meant.matches(one) or bool(phrase and one.holds(phrase))) for one in messages]
        yield tallied(f"jetstream {name}", found)


async def keys_in_redis(redis: RedisClient, target: Target, phrase: str | None) -> ProofPlace:
    """Every key that names the user, including sessions of rebuilds; with a phrase, all but other users' sessions."""
    verdicts = list[tuple[str, bool]]()
    stream = target.subject.stream
    sessions, affects = Session.keys_begin(stream), Session.affects_begin(stream)
    async for key in redis.scan_iter(count=1000):
        name = key.decode(errors="replace")
        of_session, of_affect = sessions in name, affects in name
        if of_session or of_affect or (phrase and not _is_working(name)):
            shown = name + " " + await _value(redis, key)
            ours = of_session and _of_target(name, shown, target)
            ours = ours or (of_affect and _of_erased_chat(name.partition(affects)[2], target))
            worded = bool(phrase and any(form in shown.lower() for form in forms(phrase)))
            verdicts.append((f"key {name}", ours or worded))
    return tallied("redis", verdicts)


def files(directory: Path, phrase: str | None) -> Iterator[ProofPlace]:
    """The engine's own files: notes and logs. The servers' files are reported separately."""
    if phrase is None:
        return
    own = [path for path in _regular(directory) if path.relative_to(directory).parts[0] not in SERVERS]
    yield tallied("files of the engine", [_in_file(path, phrase) for path in own])


def pages(directory: Path, phrase: str) -> Iterator[ProofPlace]:
    """By server: its number of files, and how many contain the phrase's bytes uncompressed."""
    for server in SERVERS:
        if found := [_in_file(path, phrase) for path in _regular(directory / server)]:
            yield tallied(server, found)


def _event(message: Message) -> StoredEvent | None:
    try:
        return wire.unpack(message.data)
    except MalformedEvent:
        return None


def _worded(data: bytes, phrase: str | None) -> bool:
    return bool(phrase) and any(form in data.decode(errors="replace").lower() for form in forms(phrase or ""))


def _of_target(name: str, shown: str, target: Target) -> bool:
    """Whether a session still has an erased turn's text; one that does not list its turns may."""
    if not _is_session(name):
        return False
    try:
        blob: dict[str, Any] = json.loads(shown.removeprefix(name + " "))
    except ValueError:
        return True
    turns, said = blob.get("turns", []), blob.get("scratch", {}).get(SAID, [])
    if len(turns) != len(said):
        return True
    return any(turn.get("text") and id_ in target.turn_ids for turn, (id_, *_) in zip(turns, said, strict=True))


def _of_erased_chat(place: str, target: Target) -> bool:
    """Whether an affect belongs to something erased completely; `place` is the end of its key: agent and chat."""
    return target.subject.everything or place.partition(":")[2] == target.subject.thread_id


def _is_session(name: str) -> bool:
    return "sess:" in name or "sess-" in name


def _is_working(name: str) -> bool:
    """Whether a key belongs to the working memory of some chat."""
    return _is_session(name) or f"{AFFECT}:" in name or f"{AFFECT}-" in name


async def _value(redis: RedisClient, key: bytes) -> str:
    match await redis.type(key):
        case b"string":
            found: Any = await redis.get(key)
        case b"hash":
            found = await redis.hgetall(key)
        case b"zset":
            found = await redis.zrange(key, 0, -1)
        case b"list":
            found = await redis.lrange(key, 0, -1)
        case b"set":
            found = await redis.smembers(key)
        case _:
            found = b""
    return _text(found)


def _text(found: Any) -> str:
    if isinstance(found, bytes):
        return found.decode(errors="replace")
    if isinstance(found, dict):
        return " ".join(_text(part) for pair in found.items() for part in pair)
    return " ".join(map(_text, found or ()))


def _regular(directory: Path) -> Iterator[Path]:
    """Every file below it; a directory that disappears meanwhile has none."""
    for folder, _, names in os.walk(directory, onerror=_unless_gone):
        for path in map(Path(folder).joinpath, names):
            if path.is_file() and not path.is_symlink():
                yield path


def _unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _in_file(path: Path, phrase: str) -> tuple[str, bool]:
    """Whether a file contains the bytes of the phrase, and where. A file that disappears meanwhile has none."""
    wanted = [form.encode() for form in sorted(written(phrase))]
    longest = max(map(len, wanted))
    try:
        with path.open("rb") as file:
            kept, before = b"", 0
            while chunk := file.read(CHUNK):
                piece = kept + chunk
                if found := [at for form in wanted if (at := piece.find(form)) >= 0]:
                    return f"{path} at byte {before + min(found):,}", True
                kept = piece[len(piece) - longest + 1 :]
                before += len(piece) - len(kept)
    except OSError:
        pass
    return str(path), False
