"""Subjects and streams: their names, and how JetStream keeps them. Ids travel in headers, never in subjects."""

import re
from zlib import crc32

from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StreamConfig

from mnemolog.domain.identity import subject_token
from mnemolog.events.envelope import StreamId

PARTITIONS = 64
DEDUPE_SECONDS = 120.0

EVENTS = "MNEMOLOG_EVENTS"
TURNS = "MNEMOLOG_TURNS"
DEAD_LETTERS = "MNEMOLOG_DEAD_LETTERS"

INTAKE = "turn-intake"
PROJECTORS = "projectors"

# Where a receipt may go: plain tokens, and no subject at which the server or the engine does something.
_ANSWERABLE = re.compile(r"(?!\$|mnemolog\.)[^\s.*>]+(?:\.[^\s.*>]+)*")

ALL_EVENTS = "mnemolog.events.>"
ALL_TURNS = "mnemolog.turns.*"


def event_subject(stream: StreamId, type_name: str) -> str:
    """`mnemolog.events.p<partition>.<type>`: all events of a stream share a partition."""
    return f"mnemolog.events.p{crc32(str(stream).encode()) % PARTITIONS}.{type_name}"


def turn_subject(tenant: str) -> str:
    """Where producers of a tenant publish turns."""
    return f"mnemolog.turns.{subject_token(tenant)}"


def dead_letter_subject(tenant_token: str) -> str:
    return f"mnemolog.dead.turns.{tenant_token}"


def answerable(subject: str) -> bool:
    """Whether a producer may have its receipt sent there: the engine may publish where the producer may not."""
    return len(subject) <= 255 and _ANSWERABLE.fullmatch(subject) is not None


def stream_configs(replicas: int = 1) -> tuple[StreamConfig, ...]:
    """The three streams, on file. Turns leave theirs once they are in the log."""
    return (
        _stream(EVENTS, ALL_EVENTS, RetentionPolicy.LIMITS, replicas),
        _stream(TURNS, ALL_TURNS, RetentionPolicy.WORK_QUEUE, replicas),
        _stream(DEAD_LETTERS, "mnemolog.dead.>", RetentionPolicy.LIMITS, replicas),
    )


def _stream(name: str, subjects: str, retention: RetentionPolicy, replicas: int) -> StreamConfig:
    return StreamConfig(
        name=name,
        subjects=[subjects],
        retention=retention,
        storage=StorageType.FILE,
        discard=DiscardPolicy.OLD,
        duplicate_window=DEDUPE_SECONDS,
        num_replicas=replicas,
    )
