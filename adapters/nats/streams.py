"""The three JetStream streams: created, updated, and recreated if their store was lost.

What an operator sets on a stream stays. The engine notes in a stream's metadata which limits it set last; a limit that
differs from that note is somebody else's.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any

from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, DiscardPolicy, RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import APIError, NotFoundError

from mnemolog.adapters.nats.subjects import (
    ALL_DEAD_LETTERS,
    ALL_EVENTS,
    ALL_TURNS,
    DEAD_LETTERS,
    EVENTS,
    FORMER_PROJECTORS,
    INTAKE,
    TURNS,
)
from mnemolog.domain.errors import ServerFailed

_logger = logging.getLogger("mnemolog.nats")

BEGIN_SECONDS = 0.1
LOOK_SECONDS = 2.0
DEDUPE_SECONDS = 120.0
# The window compares ids, not producers: with a long one, a producer's turn is dropped for another's with the same id.
# The log permanently identifies a turn by tenant, producer and message id, so the shortest window that JetStream
# accepts is enough.
TURNS_DEDUPE_SECONDS = 0.1
# Room in the store of an embedded server beside the streams: for anchors, indexes and messages being written.
RESERVE_BYTES = 256 * 1024 * 1024
SET_LAST = "mnemolog_limits"
# Events are in the log.
LOST_WITH: Mapping[str, str] = {
    TURNS: ", without the turns that waited in it: producers that have no receipt for a turn have to send it again",
    DEAD_LETTERS: ", without the dead letters in it",
}
# The limits of a stream without a note.
FORMER: Mapping[str, Any] = {
    "max_age": 0,
    "max_bytes": -1,
    "max_msgs_per_subject": -1,
    "discard": "old",
    "duplicate_window": DEDUPE_SECONDS,
    "num_replicas": 1,
}


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """How much JetStream keeps. Ages in seconds, sizes in bytes; 0 means no limit."""

    replicas: int = 1
    events_max_age: int = 0
    events_max_bytes: int = 0
    turns_max_bytes: int = 0
    dead_letters_max_age: int = 0
    dead_letters_max_bytes: int = 0
    dead_letters_per_producer: int = 0

    @property
    def store_bytes(self) -> int | None:
        """The store size for all of them, so that no stream takes another's room; None if one has no limit.

        JetStream reserves the limit of each stream, and stops all of them once its store is full.
        """
        limits = (self.events_max_bytes, self.turns_max_bytes, self.dead_letters_max_bytes)
        return sum(limits) + RESERVE_BYTES if all(limits) else None

    def configs(self) -> tuple[StreamConfig, ...]:
        """The streams, on file. Turns leave their stream once they are in the log; if it is full, new ones are refused.

        The other two drop their oldest messages: events are in the log, and dead letters were refused already.
        """
        letters = self._stream(DEAD_LETTERS, ALL_DEAD_LETTERS, self.dead_letters_max_age, self.dead_letters_max_bytes)
        return (
            self._stream(EVENTS, ALL_EVENTS, self.events_max_age, self.events_max_bytes),
            self._stream(TURNS, ALL_TURNS, 0, self.turns_max_bytes).evolve(
                retention=RetentionPolicy.WORK_QUEUE,
                discard=DiscardPolicy.NEW,
                duplicate_window=TURNS_DEDUPE_SECONDS,
            ),
            letters.evolve(max_msgs_per_subject=self.dead_letters_per_producer or -1),
        )

    def _stream(self, name: str, subjects: str, max_age: int, max_bytes: int) -> StreamConfig:
        return StreamConfig(
            name=name,
            subjects=[subjects],
            retention=RetentionPolicy.LIMITS,
            storage=StorageType.FILE,
            max_age=max_age,
            max_bytes=max_bytes or -1,
            max_msgs_per_subject=-1,
            discard=DiscardPolicy.OLD,
            duplicate_window=min(DEDUPE_SECONDS, max_age or DEDUPE_SECONDS),
            num_replicas=self.replicas,
        )


class Streams:
    """The streams of one deployment, and the durable consumer of turns."""

    def __init__(self, jetstream: JetStreamContext, limits: StreamLimits) -> None:
        self._jetstream, self._limits = jetstream, limits
        self._consumer: ConsumerConfig | None = None

    async def ensure(self) -> None:
        """Create each stream, or update an older one; ServerFailed if JetStream refuses."""
        for config in self._limits.configs():
            try:
                await self._ensure(config)
            except APIError as error:
                raise ServerFailed(
                    f"JetStream refuses the stream {config.name}: {error.description}",
                    field="nats_url",
                    fix="give it JetStream, as many servers as `replicas` says, and room for what `events_max_bytes`,"
                    " `turns_max_bytes` and `dead_letters_max_bytes` say",
                ) from error
        # A work queue has one consumer, and one with a previous name would keep ours out. Unacknowledged turns stay.
        for consumer in await self._jetstream.consumers_info(TURNS):
            if consumer.name != INTAKE:
                await self._jetstream.delete_consumer(TURNS, consumer.name)
        with suppress(NotFoundError):
            await self._jetstream.delete_consumer(EVENTS, FORMER_PROJECTORS)

    async def keep(self) -> None:
        """Check every two seconds, until cancelled, and recreate what a lost store took along."""
        while True:
            try:
                await self.look()
            except Exception as error:  # noqa: BLE001  Any error: the next check retries.
                _logger.info("streams: %r, looking again", error)
            await asyncio.sleep(LOOK_SECONDS if self._consumer else BEGIN_SECONDS)

    async def look(self) -> None:
        """Recreate lost streams, and the consumer of turns as it was when last seen.

        It keeps its delivery subject, so that subscribers continue without noticing.
        """
        names = {info.config.name for info in await self._jetstream.streams_info()}
        if missing := [config.name for config in self._limits.configs() if config.name and config.name not in names]:
            for name in missing:
                _logger.error("the stream %s was lost and is made again%s", name, LOST_WITH.get(name, ""))
            await self.ensure()
        existing = await self._intake()
        if self._consumer and not existing:
            _logger.warning("the consumer %s was lost and is made again", INTAKE)
            await self._jetstream.add_consumer(TURNS, self._consumer)
        self._consumer = existing or self._consumer

    async def _ensure(self, config: StreamConfig) -> None:
        assert config.name
        try:
            found = (await self._jetstream.stream_info(config.name)).config
        except NotFoundError:
            await self._jetstream.add_stream(_noted(config, _limits(config)))
        else:
            await self._jetstream.update_stream(merged(found, config))

    async def _intake(self) -> ConsumerConfig | None:
        try:
            found: ConsumerConfig | None = (await self._jetstream.consumer_info(TURNS, INTAKE)).config
        except NotFoundError:
            return None
        return found


def merged(found: StreamConfig, wanted: StreamConfig) -> StreamConfig:
    """The stream's new configuration: ours, except for limits that differ from what we set last."""
    set_last = {**FORMER, **json.loads((found.metadata or {}).get(SET_LAST, "{}"))}
    now, new = _limits(found), _limits(wanted)
    ours = {name for name in FORMER if now[name] == set_last[name]}
    changes = {name: getattr(wanted, name) for name in ours}
    note = {name: new[name] if name in ours else set_last[name] for name in FORMER}
    return _noted(found.evolve(subjects=wanted.subjects, **changes), note)


def _noted(config: StreamConfig, limits: Mapping[str, Any]) -> StreamConfig:
    return config.evolve(metadata={**(config.metadata or {}), SET_LAST: json.dumps(limits)})


def _limits(config: StreamConfig) -> Mapping[str, Any]:
    values = {name: getattr(config, name) for name in FORMER}
    return {name: value.value if isinstance(value, Enum) else (value or 0) for name, value in values.items()}
