"""Verify a whole log and all its projections: events a second, and memory.

python -m tests.bench.verify [--events 50000]

The chain, the keys and the index of every event are checked, and every row of the Postgres projections is compared
with a replay. Nothing was published, so there are no copies on JetStream to look up.
"""

import argparse
import asyncio
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from mnemolog.adapters.verify.damage import Report
from mnemolog.adapters.verify.log_check import LogCheck
from mnemolog.events.codec import Codec
from tests.bench.replay import opened, write


async def measure(directory: Path, events: int) -> dict[str, Any]:
    """Two runs over one log: the chain alone, and everything."""
    await write(directory, events)
    async with opened(directory) as engine:
        verifier, chain = engine.verifier, Report()
        began = time.perf_counter()
        await LogCheck(verifier.pool, verifier.roots, Codec(), chain, lambda count: None).run()
        walked = time.perf_counter()
        report = await verifier.verify()
        ended = time.perf_counter()
    return {
        "events": report.events,
        "rows": report.rows,
        "clean": report.clean and chain.clean,
        "chain_events_per_s": round(chain.events / (walked - began)),
        "events_per_s": round(report.events / (ended - walked)),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=50_000)
    with tempfile.TemporaryDirectory() as directory:
        figures = asyncio.run(measure(Path(directory) / "data", parser.parse_args().events))
    Console().print_json(json.dumps(figures))


if __name__ == "__main__":
    main()
