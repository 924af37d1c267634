"""A process that ingests a file on a data directory and tells its progress, for tests that kill it or its servers.

python -m tests.faults.ingest_process DATA_DIR FILE: a line `pids {...}`, then `taken N` as receipts come, then `done`.
"""

import asyncio
import json
import sys
from pathlib import Path

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import open_engine
from mnemolog.adapters.ingest import source
from mnemolog.adapters.ingest.ingest import Ingest


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def main(data_dir: str, path: str) -> None:
    settings = load(data_dir=data_dir, durable=False, embedder="lexical", http_port=0)
    taken = 0

    def progressed(count: int) -> None:
        nonlocal taken
        taken += count
        tell(f"taken {taken}")

    async with open_engine(settings) as engine:
        assert engine.servers
        tell("pids " + json.dumps(dict(engine.servers.pids)))
        report = await Ingest(engine, source.read(Path(path)), progressed).run()
        await engine.settled()
        assert not report.set_aside, report.set_aside
        tell("done")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
