"""A worker's statements about its jobs, all in the Postgres session that holds its lease.

A worker that was killed loses the session at once, one that hangs within ten seconds (docs/decisions/0035), and from
then on changes nothing. The jobs that it held are stalled, and any other worker queues them again.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from mnemolog.adapters.jobs.job import Failures, Job, JobKind, JobStatus, failures_of, job_of, mac_of
from mnemolog.adapters.jobs.queue import QUERIES
from mnemolog.adapters.postgres.lease import Lease
from mnemolog.domain.errors import LeaseLost

FORGED = "no engine enqueued it: its MAC does not fit"


class WorkerSession:
    """`number` is the lease under which jobs are held; it is unique to the session."""

    def __init__(self, lease: Lease, number: int, name: str, key: bytes) -> None:
        self._lease, self._number, self._name, self._key = lease, number, name, key

    async def join(self) -> bool:
        """Whether this session has acquired the number."""
        [row] = await self._rows("join_job_workers", {"worker": self._number})
        return bool(row["joined"])

    async def fetch(self, places: Mapping[JobKind, int], now: datetime) -> Sequence[Job]:
        """Fetch due jobs, at most `places` per kind, which this worker then holds. A forged one fails."""
        kinds = {"kinds": [kind.name for kind in places], "minds": [kind.mind for kind in places]}
        values = {**kinds, "places": list(places.values()), "now": now}
        fetched = await self._rows("fetch_jobs", {**values, "worker": self._number, "worker_name": self._name})
        jobs = []
        for row in fetched:
            if mac_of(self._key, row) == row["mac"]:
                jobs.append(job_of(row))
            else:
                await self.finish(job_of(row), JobStatus.FAILED, now, FORGED)
        return jobs

    async def held(self) -> Mapping[tuple[Any, int], bool]:
        """The jobs that this worker still holds, by id and fence; whether each is to be cancelled."""
        rows = await self._rows("held_jobs", {"worker": self._number})
        return {(row["job_id"], row["fence"]): row["cancel_requested"] for row in rows}

    async def stalled(self) -> Sequence[Job]:
        """The running jobs of workers that are gone."""
        return [job_of(row) for row in await self._rows("stalled_jobs", {})]

    async def set_back(self, kinds: Sequence[str], now: datetime, later: datetime) -> None:
        """Plan again what was enqueued or requeued after `later`, at times that the clock did not have yet."""
        await self._lease.execute("set_back", {"kinds": list(kinds), "now": now, "later": later}, QUERIES)

    async def save(self, job: Job, progress: Mapping[str, Any]) -> None:
        """LeaseLost if this worker no longer holds the job."""
        if not await self._changed("save_progress", job, {"progress": Jsonb(progress)}):
            raise LeaseLost("another worker has taken over the job, or it was erased")

    async def finish(
        self, job: Job, status: JobStatus, now: datetime, error: str | None = None, mind: str | None = None
    ) -> bool:
        """Whether this worker still held the job. A success of a `mind` ends its failures for the job's stream."""
        whose = {"mind": mind, "tenant": job.tenant, "stream": job.stream}
        return await self._changed("finish_job", job, {**whose, "status": status, "now": now, "error": error})

    async def requeue(self, job: Job, run_at: datetime, error: str | None = None, *, counted: bool = True) -> bool:
        """Queue it to run at a time, on any worker; unless `counted`, as if this attempt had not happened."""
        values = {"run_at": run_at, "error": error, "uncounted": 0 if counted else 1}
        return await self._changed("requeue_job", job, values)

    async def failed(self, mind: str, job: Job, now: datetime, error: str, most: int) -> Failures:
        """Count a failure of a mind for the job's stream; the mind is paused for it with the last of `most`."""
        whose = {"mind": mind, "tenant": job.tenant, "stream": job.stream}
        [row] = await self._rows("count_mind_failure", {**whose, "now": now, "error": error, "most": most})
        return failures_of(row)

    async def _changed(self, name: str, job: Job, values: Mapping[str, Any]) -> bool:
        return bool(await self._rows(name, {**values, "job_id": job.job_id, "fence": job.fence}))

    async def _rows(self, name: str, values: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        return await (await self._lease.execute(name, values, QUERIES)).fetchall()
