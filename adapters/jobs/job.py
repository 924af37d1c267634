"""A job: a kind, ids to work on, and a status."""

import hmac
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any, Protocol
from uuid import UUID

from mnemolog.domain.errors import ModelBudgetExceeded, ModelNotAccessible, ModelUnavailable
from mnemolog.domain.identity import identifier
from mnemolog.events.envelope import StreamId

MAX_ATTEMPTS = 8
TIMEOUT_SECONDS = 3600.0


class Overtaken(Exception):
    """What a job was made from has changed, and projections may not show that yet: it decides again, later."""

    retry_after = 10.0


# What ends by itself, or when an operator corrects a setting: the job waits, and the attempt does not count.
LATER = (ModelUnavailable, ModelBudgetExceeded, ModelNotAccessible, Overtaken)


class JobStatus(StrEnum):
    """`failed` is final: no attempts are left. An operator may retry it."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


Payload = Mapping[str, UUID | str | int | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A row of the queue. `stream` is its owner, such as `user:ana`; "" if it has none.

    `progress` is what the last attempt saved; `fence` grows with each fetch.
    """

    job_id: UUID
    kind: str
    tenant: str
    stream: str
    payload: Mapping[str, Any]
    unique_key: str | None
    status: JobStatus
    enqueued_at: datetime
    run_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    attempts: int
    max_attempts: int
    worker_name: str | None
    fence: int
    cancel_requested: bool
    progress: Mapping[str, Any]
    error: str | None

    @property
    def owner(self) -> StreamId:
        return StreamId(self.tenant, self.stream)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "job_id": str(self.job_id), "status": self.status.value}


class Attempt(Protocol):
    """Passed to the work of a job: the job, and a way to save its progress."""

    @property
    def job(self) -> Job: ...

    async def save(self, progress: Payload) -> None:
        """Save progress, ids and numbers only; the next attempt finds it in `job.progress`.

        LeaseLost if another worker may have the job by now.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """A kind of job and its implementation.

    `run` must be idempotent: it may run more than once for a job, on another worker after a crash. If it takes longer
    than `timeout` seconds, it is cancelled and counts as a failed attempt. With `every`, a job of the kind is enqueued
    once per so many seconds, unless the previous one is unfinished.

    `mind`: the mind that the job works for. After five failures in a row for a user, its jobs for that user wait until
    an operator resumes it.
    """

    name: str
    run: Callable[[Attempt], Awaitable[None]]
    every: float | None = None
    timeout: float = TIMEOUT_SECONDS
    max_attempts: int = MAX_ATTEMPTS
    mind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """How often a mind failed in a row for a user; its jobs for that user wait since `paused_at`."""

    mind: str
    tenant: str
    stream: str
    failures: int
    failed_at: datetime
    paused_at: datetime | None
    error: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def ids_only(values: Payload) -> dict[str, Any]:
    """The values as JSON. InvalidInput for a text that is not an id: what users said belongs in the log, encrypted."""
    return {
        name: value if isinstance(value, (bool, int)) else identifier(str(value), name)
        for name, value in values.items()
    }


def mac_of(key: bytes, row: Mapping[str, Any]) -> bytes:
    """Distinguishes a job that an engine enqueued from a row that somebody else inserted."""
    said = [str(row["job_id"]), row["kind"], row["tenant"], row["stream"], row["unique_key"], row["payload"]]
    return hmac.new(key, json.dumps(said, sort_keys=True).encode(), sha256).digest()


def failures_of(row: Mapping[str, Any]) -> Failures:
    """The failures of a row, ignoring other columns."""
    return Failures(**{name: row[name] for name in Failures.__slots__})


def job_of(row: Mapping[str, Any]) -> Job:
    """The job of a row, ignoring other columns."""
    return Job(**{**{name: row[name] for name in Job.__slots__}, "status": JobStatus(row["status"])})
