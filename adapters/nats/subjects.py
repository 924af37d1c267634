"""Names of subjects, streams and consumers. Ids travel in headers, never in subjects."""

import re
from typing import NamedTuple, Self
from urllib.parse import unquote
from zlib import crc32

from mnemolog.domain.identity import subject_token
from mnemolog.domain.principal import OPERATOR
from mnemolog.events.envelope import StreamId

PARTITIONS = 64
MAX_SUBJECT = 255
MAX_DEAD_LETTERS = 1024

EVENTS = "MNEMOLOG_EVENTS"
TURNS = "MNEMOLOG_TURNS"
DEAD_LETTERS = "MNEMOLOG_DEAD_LETTERS"

# A new name: engines that used `turn-intake` would read the producer in a subject as a tenant.
INTAKE = "producer-turns"
# From versions that read events by a durable consumer.
FORMER_PROJECTORS = "projectors"

# The durable consumer of events that feeds webhooks.
WEBHOOKS = "webhooks"

ALL_EVENTS = "mnemolog.events.>"
APPENDED = "mnemolog.appended"
HEADS = "mnemolog.heads"
WEBHOOKS_CHANGED = "mnemolog.webhooks"
ALL_TURNS = "mnemolog.turns.>"
ALL_RECEIPTS = "mnemolog.receipts.>"
ALL_DEAD_LETTERS = "mnemolog.dead.>"
_TURNS, _DEAD_LETTERS = "mnemolog.turns.", "mnemolog.dead.turns."


def event_subject(stream: StreamId, type_name: str) -> str:
    """`mnemolog.events.p<partition>.<type>`: all events of a stream share a partition."""
    return f"mnemolog.events.p{partition_of(stream)}.{type_name}"


def partition_of(stream: StreamId) -> int:
    """From 0 to PARTITIONS - 1."""
    return crc32(str(stream).encode()) % PARTITIONS


def partition_subject(partition: int) -> str:
    return f"mnemolog.events.p{partition}.>"


class Address(NamedTuple):
    """The origin of turns, as tokens of a subject: the tenant, and the producer if there is one."""

    tenant_token: str
    producer: str

    @classmethod
    def of(cls, tenant: str, producer: str = "") -> Self:
        return cls(subject_token(tenant), producer and subject_token(producer))

    @classmethod
    def on(cls, subject: str) -> Self:
        """The address in the subject of a turn or a dead letter."""
        tenant_token, _, producer = subject.removeprefix(_DEAD_LETTERS).removeprefix(_TURNS).partition(".")
        return cls(tenant_token, producer)

    @property
    def tenant(self) -> str:
        return unquote(self.tenant_token)

    @property
    def turns(self) -> str:
        return f"{_TURNS}{self._place}"

    @property
    def dead_letters(self) -> str:
        """The subject of its dead letters; the beginning of one that is longer than any tenant and producer.

        It is longer than that of the turns, and may be too long for the server.
        """
        return f"{_DEAD_LETTERS}{self._place}"[:MAX_DEAD_LETTERS].rstrip(".")

    @property
    def receipts(self) -> str:
        """The producer subscribes to receipts on its own subjects below this one."""
        return f"mnemolog.receipts.{self.tenant_token}.{self.producer or OPERATOR}"

    def answerable(self, subject: str) -> bool:
        """Whether a receipt may be sent there: the engine may publish where the producer may not.

        Only plain tokens, below the producer's own prefix. A sender without a name may also use other subjects of the
        tenant, and those on which neither server nor engine listens.
        """
        if len(subject) > MAX_SUBJECT or not _PLAIN.fullmatch(subject):
            return False
        if self.producer:
            return subject.startswith(f"{self.receipts}.")
        elsewhere = not subject.startswith(("$", "mnemolog."))
        return elsewhere or subject.startswith(f"mnemolog.receipts.{self.tenant_token}.")

    @property
    def _place(self) -> str:
        return ".".join(filter(None, self))


def turns_of(tenant: str) -> tuple[str, str]:
    """The subjects of all turns of a tenant: without a producer, and of each producer."""
    return _with_producers(Address.of(tenant).turns)


def dead_letters_of(tenant: str) -> tuple[str, str]:
    return _with_producers(Address.of(tenant).dead_letters)


def _with_producers(subject: str) -> tuple[str, str]:
    return subject, f"{subject}.>"


_PLAIN = re.compile(r"[^\s.*>]+(?:\.[^\s.*>]+)*")
