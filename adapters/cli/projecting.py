"""Commands for projections: status, retry, skip, pause, resume."""

import asyncio
import getpass
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import typer
from rich.live import Live
from rich.table import Table
from rich.text import Text

from mnemolog.adapters.cli import output
from mnemolog.adapters.cli.options import Json, Yes
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.postgres.pauses import Pause
from mnemolog.adapters.projecting.status import ProjectionStatus
from mnemolog.domain.errors import InvalidInput
from mnemolog.events.envelope import StreamId
from mnemolog.projections.projector import Stop

T = TypeVar("T")

WATCH_SECONDS = 1.0

Name = Annotated[str, typer.Argument(help="A projection, such as memories or graph.")]
By = Annotated[str | None, typer.Option("--by", help="Who decided. Default: the login name.")]

projections = typer.Typer(help="Show, retry, skip, pause and resume projections.", no_args_is_help=True)


@projections.command()
def status(
    context: typer.Context,
    json: Json = False,
    watch: Annotated[bool, typer.Option("--watch", help="Refresh every second, until Ctrl-C.")] = False,
) -> None:
    """Show the lag of each projection, stopped streams, skipped events and pauses."""

    async def look(engine: Engine) -> None:
        if watch and not json:
            with Live(console=output.console, auto_refresh=False) as live:
                while True:
                    live.update(_table(await engine.projections.status(now())), refresh=True)
                    await asyncio.sleep(WATCH_SECONDS)
        found = await engine.projections.status(now())
        if json:
            output.as_json([one.as_dict() for one in found])
        else:
            output.console.print(_table(found))
            _show_stopped(found)

    _with_engine(context, look)


@projections.command()
def retry(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="A projection, such as memories. Default: all.")] = None,
    stream: Annotated[
        str | None, typer.Option("--stream", help="A stream, such as default/user:ana. Default: all stopped streams.")
    ] = None,
    json: Json = False,
) -> None:
    """Retry stopped streams. Exit code 1 if one stopped again."""

    async def again(engine: Engine) -> dict[str, Mapping[StreamId, Stop | None]]:
        wanted = _stream(stream) if stream else None
        stopped = {one: await store.stopped() for one, store in engine.projections.stores.items()}
        names = [name] if name else [one for one, where in stopped.items() if where and wanted in {*where, None}]
        return {one: await engine.projections.retry(one, wanted) for one in names}

    retried = _with_engine(context, again)
    outcomes = [(one, str(where), stop) for one, streams in retried.items() for where, stop in streams.items()]
    if json:
        output.as_json([{"projection": one, "stream": where, **_outcome(stop)} for one, where, stop in outcomes])
    else:
        _show_retried(outcomes)
    if any(stop for _, _, stop in outcomes):
        raise typer.Exit(1)


@projections.command()
def skip(
    context: typer.Context,
    name: Name,
    stream: Annotated[str, typer.Option("--stream", help="The stream, such as default/user:ana.")],
    by: By = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Skip the event that a stream stopped at and continue after it. Only a rebuild applies it again.

    Asks for confirmation. The rows stay as if the event had not happened; the log keeps it.
    """
    place = _stream(stream)
    stop = None if yes else _with_engine(context, lambda engine: _stop(engine, name, place))
    if stop:
        typer.confirm(f"Skip seq {stop.seq} of {place} in {name} until a rebuild?", abort=True, err=True)
    skipped = _with_engine(context, lambda engine: engine.projections.skip(name, place, _operator(by)))
    if json:
        fields = {"seq": skipped.seq, "event_id": skipped.event_id, "type": skipped.type, "reason": skipped.reason}
        output.as_json({"projection": name, "stream": str(place), **fields, "at": skipped.at, "by": skipped.by})
    else:
        output.done(f"{name} skipped {skipped.type} at seq {skipped.seq} of {place}  [dim]{skipped.event_id}[/]")


@projections.command()
def pause(context: typer.Context, name: Name, by: By = None, json: Json = False) -> None:
    """Stop applying events to a projection until it is resumed. Readers see its current state.

    While paused, a read that must see a newer write fails at once (projection_paused), including reads by commands.
    Erasures still remove text from it.
    """
    _with_engine(context, lambda engine: engine.projections.pause(name, Pause(now(), _operator(by))))
    _say(name, f"{name} is paused; run `mnemolog projection resume {name}` to resume it", paused=True, json=json)


@projections.command()
def resume(context: typer.Context, name: Name, json: Json = False) -> None:
    """Resume a paused projection."""
    _with_engine(context, lambda engine: engine.projections.resume(name))
    _say(name, f"{name} is resumed", paused=False, json=json)


def _with_engine(context: typer.Context, use: Callable[[Engine], Awaitable[T]]) -> T:
    """An engine that was started for this command first retries stopped streams by itself."""

    async def used(engine: Engine) -> T:
        if not engine.attached:
            await engine.settled()
        return await use(engine)

    return with_engine(settings_of(context.obj), used)


async def _stop(engine: Engine, name: str, stream: StreamId) -> Stop | None:
    engine.projections.require(name)
    return (await engine.projections.stores[name].stopped()).get(stream)


def _stream(text: str) -> StreamId:
    tenant, _, name = text.partition("/")
    if not (tenant and name):
        raise InvalidInput(
            f"{text!r} is not a stream",
            field="stream",
            fix="give it as shown by `mnemolog projection status`, such as default/user:ana",
        )
    return StreamId(tenant, name)


def _operator(by: str | None) -> str:
    try:
        return by or getpass.getuser()
    except (OSError, KeyError):  # In a container the user may have no name.
        return "operator"


def _table(found: Sequence[ProjectionStatus]) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    for column in ("projection", "version", "behind", "for", "stopped", "skipped", ""):
        table.add_column(column, justify="left" if column in ("projection", "") else "right")
    for one in found:
        numbers = (f"{one.lag_events:,}", f"{one.lag_seconds:,.1f} s", f"{one.stopped_streams:,}")
        notes = [f"paused by {one.paused.by} at {output.when(one.paused.at)}"] if one.paused else []
        notes += [f"upgrading {one.name} {one.upgrade}"] if one.upgrade else []
        said = Text("; ".join(notes), style="yellow")
        table.add_row(one.name, str(one.version), *numbers, f"{one.skipped_events:,}", said)
    return table


def _show_stopped(found: Sequence[ProjectionStatus]) -> None:
    for one in found:
        for stop in one.stopped:
            output.line(f"✗ {one.name}", f"stopped {stop.stream} at seq {stop.seq} ({stop.type}): {stop.reason}")
            hint = f"mnemolog projection retry {one.name} --stream '{stop.stream}', or skip {one.name} ..."
            output.console.print(Text(f"  → {hint}", style="dim"))


def _show_retried(outcomes: Sequence[tuple[str, str, Stop | None]]) -> None:
    if not outcomes:
        output.done("no stream is stopped")
    for name, where, stop in outcomes:
        if stop is None:
            output.done(f"{name} continues in {where}")
        else:
            output.line(f"✗ {name}", f"stopped {where} again at {stop}")


def _outcome(stop: Stop | None) -> dict[str, Any]:
    return {"stopped": stop is not None, "seq": stop.seq if stop else None, "reason": stop.reason if stop else None}


def _say(name: str, sentence: str, *, paused: bool, json: bool) -> None:
    if json:
        output.as_json({"projection": name, "paused": paused})
    else:
        output.done(sentence)
