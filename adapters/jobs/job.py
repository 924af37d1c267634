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

from mnemolog.domain.identity import identifier

MAX_ATTEMPTS = 8
TIMEOUT_SECONDS = 3600.0


class Status(StrEnum):
    """`failed` is for good: no attempt is left. An operator may retry it."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


Payload = Mapping[str, UUID | str | int | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A row of the queue. `stream` is whose it is, such as `user:ana`; "" when it is about nobody in particular.

    `progress` is what the last attempt saved; `fence` grows with each time that it is fetched.
    """

    job_id: UUID
    kind: str
    tenant: str
    stream: str
    payload: Mapping[str, Any]
    unique_key: str | None
    status: Status
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

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "job_id": str(self.job_id), "status": self.status.value}


class Attempt(Protocol):
    """What the work of a job is given: the job, and a way to say how far it is."""

    @property
    def job(self) -> Job: ...

    async def save(self, progress: Payload) -> None:
        """Keep how far it is, ids and numbers only: the next attempt finds it in `job.progress`.

        LeaseLost when another worker may have the job by now.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of job and what is done for it.

    `run` may be run more than once for a job, by another worker after a crash: what it does must be as good twice.
    One that takes longer than `timeout` seconds is cancelled and counts as a failed attempt. With `every`, a job of
    the kind is enqueued once in so many seconds, unless the one before is unfinished.
    """

    name: str
    run: Callable[[Attempt], Awaitable[None]]
    every: float | None = None
    timeout: float = TIMEOUT_SECONDS
    max_attempts: int = MAX_ATTEMPTS


def ids_only(values: Payload) -> dict[str, Any]:
    """The values as JSON. InvalidInput for a text that is no id: what somebody said belongs in the log, encrypted."""
    return {
        name: value if isinstance(value, (bool, int)) else identifier(str(value), name)
        for name, value in values.items()
    }


def mac_of(key: bytes, row: Mapping[str, Any]) -> bytes:
    """What tells a job that an engine enqueued from one that somebody else put into the table."""
    said = [str(row["job_id"]), row["kind"], row["tenant"], row["stream"], row["unique_key"], row["payload"]]
    return hmac.new(key, json.dumps(said, sort_keys=True).encode(), sha256).digest()


def job_of(row: Mapping[str, Any]) -> Job:
    """The job of a row, whatever other columns it has."""
    return Job(**{**{name: row[name] for name in Job.__slots__}, "status": Status(row["status"])})
