"""The checks of `mnemolog doctor`: machine, servers, model, log and projections."""

import asyncio
import shutil
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace

import psycopg
from sqlalchemy.exc import DBAPIError

from mnemolog.adapters import clock
from mnemolog.adapters.background.clients import others
from mnemolog.adapters.cli import output
from mnemolog.adapters.cli.background import KINDS
from mnemolog.adapters.config import ModelFeature, Settings
from mnemolog.adapters.embedded import versions
from mnemolog.adapters.embedded.servers import without_secrets
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.jobs.job import JobStatus
from mnemolog.adapters.minilm import model_in
from mnemolog.adapters.openai.budget import SETTING
from mnemolog.adapters.openai.client import ModelClient
from mnemolog.adapters.openai.endpoint import FEATURES, endpoint_of
from mnemolog.adapters.partitions.partitioning import partitions
from mnemolog.adapters.unreachable import UNREACHABLE, own_words, used_up
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.extraction.candidate import EXTRACTOR

LITTLE_SPACE = 1 << 30
PATIENCE = 15.0
MODEL_SECONDS = 10.0
LOOK_SECONDS = 0.2
_UPGRADE_FIX = "readers stay on the previous version; run a Mnemolog that can apply this event"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result for one component: whether it is OK, what was found, and the fix."""

    part: str
    good: bool
    found: str
    fix: str = ""

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def examine(settings: Settings) -> list[Finding]:
    """Check every component; starts an engine unless one is running."""
    return [
        *_machine(settings),
        *_binaries(settings),
        _model(settings),
        _extraction(settings),
        *asyncio.run(_connected(settings)),
    ]


async def _connected(settings: Settings) -> list[Finding]:
    models = await asyncio.gather(*(_feature(settings, feature) for feature in FEATURES))
    return [*models, *await _engine(settings)]


def show(findings: list[Finding]) -> None:
    width = max(len(finding.part) for finding in findings)
    for finding in findings:
        sign = "[green]✓[/]" if finding.good else "[red]✗[/]"
        output.console.print(f"{sign} [bold]{finding.part:<{width}}[/] {finding.found}", highlight=False)
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


def _model(settings: Settings) -> Finding:
    try:
        model = model_in(settings.embedder_folder, settings.calibrations)
        model.verify()
    except MnemologError as error:
        return Finding("model", False, error.message, error.fix)
    how = "embeds" if settings.embedder_folder else "checksums match"
    return Finding("model", True, f"{model.model}, {model.dimensions} dimensions, {how}")


# What is skipped without a model, or done without it (X12).
WITHOUT: Mapping[ModelFeature, str] = {
    "chat": "no model: summaries are extracts",
    "embedding": "no model: search uses the local one",
    "vision": "no model: images are not described",
    "transcription": "no model: audio is not transcribed",
}


async def _feature(settings: Settings, feature: ModelFeature) -> Finding:
    endpoint = endpoint_of(settings, feature)
    if endpoint is None:
        return Finding(feature, True, f"{WITHOUT[feature]} (set {feature}_model)")
    client = ModelClient(replace(endpoint, retries=0, timeout=min(endpoint.timeout, MODEL_SECONDS)))
    try:
        await client.check()
    except MnemologError as error:
        return Finding(feature, False, error.message, error.fix)
    finally:
        await client.aclose()
    return Finding(feature, True, f"{endpoint.model} at {endpoint.host}")


def _extraction(settings: Settings) -> Finding:
    if settings.extraction == "off":
        return Finding("extraction", True, "off (extraction)")
    endpoint = endpoint_of(settings, "chat") if settings.extraction == "model" else None
    more = f", and {endpoint.model}" if endpoint else ", without a model"
    return Finding("extraction", True, f"{EXTRACTOR}{more}: facts from what users say in English")


async def _tokens(engine: Engine) -> Finding:
    """The budget of the tenant whose settings these are."""
    settings = engine.settings
    used = sum(one.input_tokens + one.output_tokens for one in await engine.models.budget.of_today(settings.tenant))
    limit, left = settings.model_tokens_per_day, settings.model_tokens_per_day - used
    if not limit:
        return Finding("tokens", True, f"{used:,} used today by tenant {settings.tenant}, without a limit")
    fix = "" if left > 0 else f"raise {SETTING}, or wait until 00:00 UTC"
    return Finding("tokens", left > 0, f"{used:,} of {limit:,} used today by tenant {settings.tenant}", fix)


async def _engine(settings: Settings) -> list[Finding]:
    try:
        async with open_engine(settings, attach=True) as engine:
            return [finding async for finding in _running(engine)]
    except MnemologError as error:
        return [Finding("engine", False, error.message, error.fix)]
    except (*UNREACHABLE, psycopg.Error, DBAPIError) as error:
        if lacking := used_up(error):
            return [Finding("engine", False, lacking.message, lacking.fix)]
        said = own_words(error) or type(error).__name__
        return [Finding("engine", False, f"a server went away or refused a statement: {said}", "see the server's log")]


async def _running(engine: Engine) -> AsyncIterator[Finding]:
    yield Finding("engine", True, f"{_state(engine)} on {engine.settings.directory}")
    if engine.endpoints.split:
        yield Finding("projections", True, f"kept at {without_secrets(engine.endpoints.projections_dsn)}")
    counts = await engine.log.counts()
    found = f"{output.count(sum(counts.values()), 'event')} of {output.count(len(counts), 'type')}"
    parts = await partitions(engine.endpoints.postgres_dsn)
    yield Finding("log", True, found if parts == 1 else f"{found}, in {parts} partitions")
    waiting = await watched(engine.outbox.size)
    fix = "" if waiting.well else "check NATS: its log, its disk, and the limits of its streams"
    yield Finding("relay", waiting.well, f"{waiting.now:,} appends wait for JetStream{waiting.course}", fix)
    await engine.incidents.refresh()
    incidents = len(engine.incidents.open())
    yield Finding(
        "incidents",
        not incidents,
        f"{output.count(incidents, 'incident')} not acknowledged" if incidents else "none",
        "see `mnemolog incident list`, then `mnemolog incident acknowledge`" if incidents else "",
    )
    counts_of_jobs = await engine.jobs.counts()
    failed = counts_of_jobs[JobStatus.FAILED]
    yield Finding(
        "jobs",
        not failed,
        ", ".join(f"{counts_of_jobs[one]:,} {one}" for one in (JobStatus.RUNNING, JobStatus.QUEUED, JobStatus.FAILED)),
        "see `mnemolog job list --status failed`, then `mnemolog job retry`" if failed else "",
    )
    paused_minds = await engine.jobs.paused_minds()
    yield Finding(
        "minds",
        not paused_minds,
        f"paused after failures in a row: {', '.join(paused_minds)}" if paused_minds else "none is paused",
        "see `mnemolog minds list`, then `mnemolog minds resume NAME`" if paused_minds else "",
    )
    hooks = await engine.webhooks.store.every()
    paused_hooks = [one for one in hooks if one.paused_at]
    named = "; ".join(f"{one.webhook_id}: {one.error}" for one in paused_hooks)
    yield Finding(
        "webhooks",
        not paused_hooks,
        f"{output.count(len(paused_hooks), 'webhook')} paused: {named}" if paused_hooks else f"{len(hooks):,} in use",
        "mend the receiver, then run `mnemolog webhook resume`" if paused_hooks else "",
    )
    if any(endpoint_of(engine.settings, feature) for feature in FEATURES):
        yield await _tokens(engine)
    paused, stopped = await engine.projections.paused(), await engine.projections.stopped()
    running = [name for name in engine.projections.running if name not in paused and name not in stopped]
    lags = await asyncio.gather(*(watched(engine.projections.running[name].lag) for name in running))
    watched_lags = dict(zip(running, lags, strict=True))
    for name, projection in engine.projections.running.items():
        if name in stopped:
            found = "; ".join(f"{stream} stopped at {reason}" for stream, reason in stopped[name].items())
            fix = f"run `mnemolog projection retry {name}`, or see `mnemolog projection --help`"
            yield Finding(name, False, found, fix)
        elif name in paused:
            behind = output.count(await projection.lag(), "event")
            found = f"{behind} behind: paused by {paused[name].by} at {output.when(paused[name].at)}"
            yield Finding(name, False, found, f"run `mnemolog projection resume {name}`")
        else:
            lag = watched_lags[name]
            fix = "" if lag.well else "run `mnemolog projection status`, and check the engine's log"
            yield Finding(name, lag.well, f"{output.count(lag.now, 'event')} behind{lag.course}", fix)
    for name, upgrade in (await engine.projections.upgrading(clock.now())).items():
        yield Finding(name, not upgrade.fault, f"upgrading {name} {upgrade}", _UPGRADE_FIX if upgrade.fault else "")


def _state(engine: Engine) -> str:
    if not engine.attached:
        return "starts and stops"
    users = output.count(len(others(engine.settings.directory)), "other program")
    return f"runs {KINDS[engine.endpoints.kind]} (pid {engine.endpoints.pid}), used by {users}"


@dataclass(frozen=True, slots=True)
class Watched:
    """A backlog at the first look and now."""

    before: int
    now: int

    @property
    def well(self) -> bool:
        return self.now == 0 or self.now < self.before

    @property
    def course(self) -> str:
        if self.now == 0:
            return ""
        return f", {self.before - self.now:,} fewer than before" if self.well else f", no fewer after {PATIENCE:.0f} s"


async def watched(look: Callable[[], Awaitable[int]], patience: float | None = None) -> Watched:
    """Watch a backlog until it shrinks or the time is up, so that work in progress is not reported as a fault."""
    most = now = await look()
    until = time.monotonic() + (PATIENCE if patience is None else patience)
    while now and now >= most and time.monotonic() < until:
        await asyncio.sleep(LOOK_SECONDS)
        now = await look()
        most = max(most, now)
    return Watched(most, now)
