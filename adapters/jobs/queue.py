"""The job queue: enqueue, list, cancel and retry jobs, from any process on the database."""

from collections.abc import Callable, Mapping, Sequence, Set
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from mnemolog.adapters.jobs.job import (
    MAX_ATTEMPTS,
    Failures,
    Job,
    JobStatus,
    Payload,
    failures_of,
    ids_only,
    job_of,
    mac_of,
)
from mnemolog.adapters.postgres.pool import Pool
from mnemolog.adapters.postgres.queries import query
from mnemolog.domain.errors import Conflict, NotFound
from mnemolog.events.envelope import StreamId

QUERIES = "mnemolog.adapters.jobs"
# For work over all users, which belongs to no stream.
NOBODY = StreamId("", "")


class JobQueue:
    """`key` seals what an engine enqueued: a job that somebody else inserted is not run (X08).

    `enqueued` is called after a job was enqueued here, to wake the worker of this process.
    """

    def __init__(self, pool: Pool, key: bytes, now: Callable[[], datetime], new_id: Callable[[], UUID]) -> None:
        self._pool, self.key, self.now, self._new_id = pool, key, now, new_id
        self.enqueued: Callable[[], None] = lambda: None

    async def enqueue(
        self,
        kind: str,
        payload: Payload,
        *,
        stream: StreamId = NOBODY,
        unique_key: str | None = None,
        run_at: datetime | None = None,
        max_attempts: int = MAX_ATTEMPTS,
    ) -> Job:
        """A new job; or the existing one, if a job of this kind and stream has the same unique key.

        A unique key is kept as long as its job: a week after it finished.
        """
        while True:
            if new := await self._insert(kind, payload, stream, unique_key, run_at, max_attempts, alone=False):
                return new
            values = {"kind": kind, "tenant": stream.tenant, "stream": stream.name, "unique_key": unique_key}
            if known := await self._one("find_unique_job", values):
                return known

    async def enqueue_all(self, kind: str, jobs: Mapping[tuple[StreamId, str], Payload]) -> None:
        """A job for each stream and unique key that has none of this kind yet, in one round trip."""
        rows = [self._row(kind, payload, stream, key) for (stream, key), payload in jobs.items()]
        if rows:
            async with self._pool.connection() as connection:
                await connection.cursor().executemany(query("enqueue_job", QUERIES), rows)
            self.enqueued()

    async def known(self, kind: str, keys: Sequence[tuple[StreamId, str]]) -> Set[tuple[StreamId, str]]:
        """Which of these streams and unique keys have a job of this kind."""
        tenants, streams = [stream.tenant for stream, _ in keys], [stream.name for stream, _ in keys]
        values = {"kind": kind, "tenants": tenants, "streams": streams, "keys": [key for _, key in keys]}
        rows = await self._rows("find_unique_jobs", values) if keys else []
        return {(StreamId(row["tenant"], row["stream"]), row["unique_key"]) for row in rows}

    async def enqueue_period(self, kind: str, period: int, max_attempts: int) -> Job | None:
        """The job of a period, enqueued once; None also if an earlier one is unfinished, so that they never pile up."""
        return await self._insert(kind, {}, NOBODY, f"period {period}", None, max_attempts, alone=True)

    async def get(self, job_id: UUID) -> Job:
        """NotFound if the job does not exist, or no longer."""
        found = await self._one("find_job", {"job_id": job_id})
        if found is None:
            raise NotFound(f"there is no job {job_id}", field="job_id", fix="run `mnemolog job list`")
        return found

    async def list(
        self,
        status: JobStatus | None = None,
        kind: str | None = None,
        limit: int = 100,
        before: tuple[datetime, UUID] | None = None,
    ) -> Sequence[Job]:
        """The jobs, most recently enqueued first, after the place of the last one of a page before."""
        at, id_ = before or (None, None)
        row = {"status": status, "kind": kind, "limit": limit, "before_at": at, "before_id": id_}
        return [job_of(one) for one in await self._rows("list_jobs", row)]

    async def beginning(self, prefix: str, limit: int) -> Sequence[str]:
        """Ids of jobs that begin with these digits."""
        return [str(row["job_id"]) for row in await self._rows("jobs_beginning", {"prefix": prefix, "limit": limit})]

    async def sum_up(
        self, kinds: Sequence[str], stream: StreamId, payload: Payload, since: datetime
    ) -> tuple[int, int]:
        """How far the jobs of the first kind with this payload got (`through`), and what those of all these kinds have
        `written` since a time.
        """
        whose = {"kind": kinds[0], "kinds": list(kinds), "tenant": stream.tenant, "stream": stream.name}
        [row] = await self._rows("sum_up_jobs", {**whose, "payload": Jsonb(ids_only(payload)), "since": since})
        return row["through"], row["written"]

    async def counts(self) -> Mapping[JobStatus, int]:
        """Number of jobs by status; a failed recurring job counts until a later one succeeds."""
        found = {row["status"]: row["count"] for row in await self._rows("count_jobs", {})}
        return {status: found.get(status, 0) for status in JobStatus}

    async def cancel(self, job_id: UUID) -> Job:
        """Cancel a job: at once, or within seconds while a worker runs it. Conflict if it has finished."""
        found = await self._one("cancel_job", {"job_id": job_id, "now": self.now()})
        if found is None:
            finished = await self.get(job_id)
            raise Conflict(f"the job is already {finished.status}", field="job_id", fix="there is nothing to cancel")
        return found

    async def withdraw(self, job_id: UUID) -> None:
        """Delete a job that has become needless; has no effect once a worker has begun it."""
        await self._do("withdraw_job", {"job_id": job_id})

    async def has_later(self, job: Job) -> bool:
        """Whether the same work was enqueued again after this job, and is not done yet."""
        about = {name: getattr(job, name) for name in ("kind", "tenant", "stream", "enqueued_at", "job_id")}
        [row] = await self._rows("has_later_job", {**about, "payload": Jsonb(job.payload)})
        return bool(row["found"])

    async def unfinished(self, kind: str, stream: StreamId) -> bool:
        """Whether a job of this kind and stream is queued or running."""
        about = {"kind": kind, "tenant": stream.tenant, "stream": stream.name}
        [row] = await self._rows("has_unfinished_job", about)
        return bool(row["found"])

    async def retry(self, job_id: UUID) -> Job:
        """Queue a failed or cancelled job again, with all its attempts. Conflict in any other state."""
        found = await self._one("retry_job", {"job_id": job_id, "now": self.now()})
        if found is None:
            unfinished = await self.get(job_id)
            raise Conflict(
                f"the job is {unfinished.status}", field="job_id", fix="only failed and cancelled jobs can be retried"
            )
        self.enqueued()
        return found

    async def paused_minds(self) -> Sequence[str]:
        """The minds that failed too often in a row, for any user."""
        return sorted({one.mind for one in await self.mind_failures() if one.paused_at})

    async def mind_failures(self) -> Sequence[Failures]:
        """Failures in a row, by mind and user; those with `paused_at` wait for an operator."""
        return [failures_of(row) for row in await self._rows("list_mind_failures", {})]

    async def resume_mind(self, mind: str, stream: StreamId | None = None) -> Sequence[Failures]:
        """Let the jobs of a mind run again, for one user or for all; for whom it was paused."""
        tenant, name = (stream.tenant, stream.name) if stream else (None, None)
        rows = await self._rows("forget_mind_failures", {"mind": mind, "tenant": tenant, "stream": name})
        self.enqueued()
        return [failures_of(row) for row in rows if row["paused_at"]]

    async def last_of_kinds(self, kinds: Sequence[str]) -> Mapping[str, tuple[datetime | None, int]]:
        """When a job of each kind last succeeded in the last seven days, and how many are not finished."""
        rows = await self._rows("last_jobs_of_kinds", {"kinds": list(kinds)})
        return {row["kind"]: (row["succeeded_at"], row["waiting"]) for row in rows}

    async def forget(self, stream: StreamId) -> None:
        """Delete the jobs of a user; a worker that runs one notices within seconds and stops."""
        await self._do("delete_jobs_of_stream", {"tenant": stream.tenant, "stream": stream.name})

    async def delete_finished(self, before: datetime) -> None:
        """Delete the jobs that finished before a time, with their unique keys."""
        await self._do("delete_finished_jobs", {"before": before})

    async def _insert(
        self,
        kind: str,
        payload: Payload,
        stream: StreamId,
        unique_key: str | None,
        run_at: datetime | None,
        max_attempts: int,
        *,
        alone: bool,
    ) -> Job | None:
        values = self._row(kind, payload, stream, unique_key, run_at, max_attempts, alone=alone)
        found = await self._one("enqueue_job", values)
        if found:
            self.enqueued()
        return found

    def _row(
        self,
        kind: str,
        payload: Payload,
        stream: StreamId,
        unique_key: str | None,
        run_at: datetime | None = None,
        max_attempts: int = MAX_ATTEMPTS,
        *,
        alone: bool = False,
    ) -> Mapping[str, Any]:
        now = self.now()
        row = {
            "job_id": self._new_id(),
            "kind": kind,
            "tenant": stream.tenant,
            "stream": stream.name,
            "payload": ids_only(payload),
            "unique_key": unique_key,
            "enqueued_at": now,
            "run_at": run_at or now,
            "max_attempts": max_attempts,
            "alone": alone,
        }
        return {**row, "payload": Jsonb(row["payload"]), "mac": mac_of(self.key, row)}

    async def _one(self, name: str, values: Mapping[str, Any]) -> Job | None:
        rows = await self._rows(name, values)
        return job_of(rows[0]) if rows else None

    async def _rows(self, name: str, values: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        async with self._pool.connection() as connection:
            return await (await connection.execute(query(name, QUERIES), values)).fetchall()

    async def _do(self, name: str, values: Mapping[str, Any]) -> None:
        async with self._pool.connection() as connection:
            await connection.execute(query(name, QUERIES), values)
