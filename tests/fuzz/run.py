"""The HTTP API under schemathesis, on a real engine and a real socket: no answer of 500, no fault against the contract.

python -m tests.fuzz.run [--examples N] [--phases coverage,fuzzing,stateful] [--seed S]: without a seed always the same
requests. What schemathesis found is on standard output; the last line is one JSON object.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.http.server import serve
from mnemolog.domain.principal import ALL, Principal, Role

HERE = Path(__file__).parent
PHASES = "examples,coverage,fuzzing,stateful"
# Judged by `valid_requests_are_accepted`, which knows what no schema can say.
REPLACED = "positive_data_acceptance"
# Lines of an export, which no schema describes.
IMPORT = "/v1/user/import"


@dataclass(frozen=True)
class Found:
    """What a run found. `failures` by their kind, each with the operations that it was found in."""

    requests: int
    failures: dict[str, list[str]]
    errors: int
    output: str

    def as_dict(self) -> dict[str, object]:
        return {name: value for name, value in asdict(self).items() if name != "output"}


async def fuzz(engine: Engine, *options: str) -> Found:
    """Serve the engine, make a key that may do anything, and let schemathesis ask."""
    name, all_ = f"fuzz-{uuid4().hex[:8]}", frozenset({ALL})
    everything = Principal(name, engine.settings.tenant, all_, all_, frozenset(Role))
    _, key = await engine.api_keys.create(everything)
    with tempfile.TemporaryDirectory() as directory:
        async with serve(engine) as url:
            return await _asked(url, key, Path(directory), options)


async def _asked(url: str, key: str, directory: Path, options: Sequence[str]) -> Found:
    report = directory / "report.json"
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("schemathesis")),
        *("--config-file", str(HERE / "schemathesis.toml"), "run", f"{url}/openapi.json"),
        *("--header", f"Authorization: Bearer {key}", "--checks", "all", "--exclude-checks", REPLACED),
        *(
            "--exclude-path",
            IMPORT,
            "--wait-for-schema",
            "60",
            "--request-timeout",
            "60",
            "--continue-on-failure",
            "--report",
            "json",
            "--report-json-path",
            str(report),
            *options,
        ),
        cwd=directory,
        env={**os.environ, "SCHEMATHESIS_HOOKS": "tests.fuzz.hooks", "PYTHONPATH": str(HERE.parents[1])},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    text = output.decode(errors="replace")
    if not report.exists():
        raise RuntimeError(f"schemathesis did not run:\n{text}")
    told = json.loads(await asyncio.to_thread(report.read_text))
    failures = {one["title"]: one["operations"] for one in told["failures"]}
    return Found(_requests(told), failures, len(told["errors"]), text)


def _requests(told: dict[str, object]) -> int:
    cases = told["test_cases"]
    return int(cases["generated"]) if isinstance(cases, dict) else 0


async def main(arguments: argparse.Namespace) -> int:
    seeded = ("--seed", str(arguments.seed)) if arguments.seed is not None else ("--generation-deterministic",)
    with tempfile.TemporaryDirectory() as directory:
        settings = load(
            data_dir=Path(directory),
            durable=False,
            embedder="lexical",
            http_port=0,
            http_token="off",
            read_deadline=0.05,
        )
        async with open_engine(settings) as engine:
            found = await fuzz(engine, "--phases", arguments.phases, "-n", str(arguments.examples), *seeded)
    sys.stdout.write(f"{found.output}\n{json.dumps(found.as_dict())}\n")
    return 1 if found.failures or found.errors else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=100, help="requests for each operation in the fuzzing phase")
    parser.add_argument("--phases", default=PHASES)
    parser.add_argument("--seed", type=int)
    sys.exit(asyncio.run(main(parser.parse_args())))
