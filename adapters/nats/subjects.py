"""Names of subjects, streams and consumers. Ids travel in headers, never in subjects."""

import re
from zlib import crc32

from mnemolog.domain.identity import subject_token
from mnemolog.events.envelope import StreamId

PARTITIONS = 64
MAX_SUBJECT = 255

EVENTS = "MNEMOLOG_EVENTS"
TURNS = "MNEMOLOG_TURNS"
DEAD_LETTERS = "MNEMOLOG_DEAD_LETTERS"

INTAKE = "turn-intake"
# Of versions that read events by a durable consumer.
FORMER_PROJECTORS = "projectors"

ALL_EVENTS = "mnemolog.events.>"
ALL_TURNS = "mnemolog.turns.*"
ALL_DEAD_LETTERS = "mnemolog.dead.>"


def event_subject(stream: StreamId, type_name: str) -> str:
    """`mnemolog.events.p<partition>.<type>`: all events of a stream share a partition."""
    return f"mnemolog.events.p{partition_of(stream)}.{type_name}"


def partition_of(stream: StreamId) -> int:
    """From 0 to PARTITIONS - 1."""
    return crc32(str(stream).encode()) % PARTITIONS


def partition_subject(partition: int) -> str:
    """All events of a partition."""
    return f"mnemolog.events.p{partition}.>"


def turn_subject(tenant: str) -> str:
    """Where producers of a tenant publish turns."""
    return f"mnemolog.turns.{subject_token(tenant)}"


def dead_letter_subject(tenant_token: str) -> str:
    return f"mnemolog.dead.turns.{tenant_token}"


def receipt_subject(tenant: str, name: str) -> str:
    """Where the producer of this name listens for receipts, on tokens of its own below it."""
    return f"mnemolog.receipts.{subject_token(tenant)}.{subject_token(name)}"


def answerable(subject: str, tenant_token: str) -> bool:
    """Whether a receipt may go there: the engine may publish where the producer may not.

    Plain tokens; among the receipts of its own tenant, or where neither server nor engine listens.
    """
    if len(subject) > MAX_SUBJECT or not _PLAIN.fullmatch(subject):
        return False
    return subject.startswith(f"mnemolog.receipts.{tenant_token}.") or not subject.startswith(("$", "mnemolog."))


_PLAIN = re.compile(r"[^\s.*>]+(?:\.[^\s.*>]+)*")
