"""What `mnemolog doctor` looks at: the machine, the servers, the model, the log and the projections."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass

from mnemolog.adapters.cli import output
from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded import versions
from mnemolog.adapters.embedded.servers import without_secrets
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.minilm import MiniLM
from mnemolog.domain.errors import MnemologError

LITTLE_SPACE = 1 << 30


@dataclass(frozen=True, slots=True)
class Finding:
    """One part: whether it is good, what was found, and what to do when it is not."""

    part: str
    good: bool
    found: str
    fix: str = ""

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def examine(settings: Settings) -> list[Finding]:
    """Look at every part; the engine is started for it unless one runs already."""
    return [*_machine(settings), *_binaries(settings), _model(), *asyncio.run(_engine(settings))]


def show(findings: list[Finding]) -> None:
    for finding in findings:
        sign = "[green]✓[/]" if finding.good else "[red]✗[/]"
        output.console.print(f"{sign} [bold]{finding.part:<12}[/] {finding.found}", highlight=False)
        if finding.fix:
            output.console.print(f"  [dim]→[/] {finding.fix}", highlight=False)
    if all(finding.good for finding in findings):
        output.done("all is well")


def _machine(settings: Settings) -> Iterator[Finding]:
    good = sys.version_info >= (3, 11)
    yield Finding("python", good, sys.version.split()[0], "" if good else "install Python 3.11 or newer")
    place = next(path for path in (settings.directory, *settings.directory.parents) if path.exists())
    free = shutil.disk_usage(place).free
    enough = free > LITTLE_SPACE
    yield Finding("disk", enough, f"{free >> 30} GiB free under {place}", "" if enough else "free some space")


def _binaries(settings: Settings) -> Iterator[Finding]:
    for name, binary in versions().items():
        url = getattr(settings, f"{name}_url", None)
        if url:
            yield Finding(name, True, f"yours: {without_secrets(url)}")
        else:
            found = f"{binary.version}  {binary.path}" if binary.path else "missing"
            yield Finding(name, binary.path is not None, found, binary.missing or "")


def _model() -> Finding:
    try:
        MiniLM().verify()
    except MnemologError as error:
        return Finding("model", False, error.message, error.fix)
    return Finding("model", True, f"{MiniLM.model}, {MiniLM.dimensions} dimensions, checksums match")


async def _engine(settings: Settings) -> list[Finding]:
    try:
        async with open_engine(settings, attach=True) as engine:
            return [finding async for finding in _running(engine)]
    except MnemologError as error:
        return [Finding("engine", False, error.message, error.fix)]


async def _running(engine: Engine) -> AsyncIterator[Finding]:
    state = f"runs as pid {engine.endpoints.pid}" if engine.attached else "starts and stops"
    yield Finding("engine", True, f"{state} on {engine.settings.directory}")
    counts = await engine.log.counts()
    yield Finding("log", True, f"{output.count(sum(counts.values()), 'event')} of {output.count(len(counts), 'type')}")
    waiting = await engine.outbox.size()
    yield Finding("relay", True, f"{waiting:,} appends wait for JetStream")
    stopped, lag = await engine.projections.stopped(), await engine.projections.lag()
    for name, events in lag.items():
        reasons = stopped.get(name, {})
        found = "; ".join(f"{stream} stopped at {reason}" for stream, reason in reasons.items())
        fix = f"run `mnemolog projections retry {name}`, or see `mnemolog projections --help`" if reasons else ""
        yield Finding(name, not reasons, found or f"{output.count(events, 'event')} behind", fix)
