"""A worker in a process of its own: `python -m tests.adapters.jobs.worker_process DATA_DIR KIND STEPS SILENCE`.

It attaches to the engine on the directory. A job of the kind writes STEPS memories of its user, each under a key of the
job and its step, and says each step on standard output. SILENCE is what ends a lease, and the rest is in proportion.
"""

import asyncio
import os
import random
import sys
from pathlib import Path

from mnemolog.adapters.engine.engine import now, open_engine
from mnemolog.adapters.jobs.job import Attempt, JobKind
from mnemolog.adapters.jobs.worker import Worker
from mnemolog.adapters.postgres import lease
from tests.testkit.settings import settings_in


async def main(directory: Path, kind: str, steps: int) -> None:
    async with open_engine(settings_in(directory), attach=True) as engine:

        async def write(attempt: Attempt) -> None:
            job = attempt.job
            for step in range(job.progress.get("next", 0), steps):
                told = {"user_id": job.payload["user_id"], "text": f"I have {step} goats."}
                await engine.writes.create(told, f"job {job.job_id} step {step}")
                print(f"{os.getpid()} {job.attempts} {step}", flush=True)  # noqa: T201  The test reads it.
                await asyncio.sleep(0.05)  # Written and not saved yet: where a killed worker leaves most to do again.
                await attempt.save({"next": step + 1})

        worker = Worker(
            engine.endpoints.postgres_dsn,
            engine.jobs,
            [JobKind(name=kind, run=write)],
            at_once=2,
            name=f"test {os.getpid()}",
            now=now,
            random=random.random,
        )
        await worker.run()


if __name__ == "__main__":
    silence = int(sys.argv[4])
    lease.SILENCE_SECONDS, lease.VALID_SECONDS, lease.HEARTBEAT_SECONDS = silence, 0.8 * silence, 0.2 * silence
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
