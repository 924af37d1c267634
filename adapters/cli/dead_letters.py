"""Commands for dead letters, which are refused turns: list, show, replay, discard."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.text import Text

from mnemolog.adapters.cli import output
from mnemolog.adapters.cli.options import Json, Yes
from mnemolog.adapters.cli.progress import bar
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.nats.dead_letters import MAX_ID, DeadLetter, DeadLetters
from mnemolog.domain.errors import InvalidInput, MnemologError, NotFound
from mnemolog.domain.principal import OPERATOR, producer_name
from mnemolog.events.envelope import Receipt
from mnemolog.projections.paging import first_of

T = TypeVar("T")
Tenant = Annotated[str | None, typer.Option("--tenant", help="Only turns of this tenant. Default: all tenants.")]
Reason = Annotated[
    str | None, typer.Option("--reason", help="Only turns refused with this code, such as invalid_input.")
]
Ids = Annotated[list[int] | None, typer.Argument(help="Ids, as shown by `list`.")]
All = Annotated[bool, typer.Option("--all", help="All turns that match the filters.")]

letters = typer.Typer(help="List, show, replay and discard refused turns.", no_args_is_help=True)


@letters.command("list")
def list_letters(
    context: typer.Context,
    tenant: Tenant = None,
    reason: Reason = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=10_000, help="The maximum number of turns, oldest first.")
    ] = 50,
    cursor: Annotated[int, typer.Option(min=0, max=MAX_ID - 1, help="The `next_cursor` of the previous page.")] = 0,
    json: Json = False,
) -> None:
    """List refused turns, oldest first, with the reason."""
    found = _with(context, lambda all_: _first(all_.all(tenant, reason, cursor), limit + 1))
    page, following = first_of(found, limit, lambda last: str(last.id))
    if json:
        output.as_json({"items": [letter.as_dict() for letter in page], "next_cursor": following})
    elif page:
        table = output.table("id", "when", "tenant", "producer", "field", "reason", "bytes")
        for one in page:
            why = Text(f"{one.reason['code']}: {one.reason['message']}")
            whose = one.tenant, one.address.producer or "–"
            table.add_row(str(one.id), output.when(one.at), *whose, Text(one.reason["field"]), why, f"{one.size:,}")
        output.console.print(table)
        output.more(following)
    else:
        output.done("no dead letters")


@letters.command()
def get(
    context: typer.Context,
    letter: Annotated[int, typer.Argument(help="An id, as shown by `list`.")],
    json: Json = False,
) -> None:
    """Show one refused turn: reason, time, fix and bytes."""
    found = _with(context, lambda all_: all_.get(letter))
    if json:
        output.as_json(found.as_dict())
    else:
        output.line("tenant", found.tenant)
        output.line("from  ", found.address.turns)
        output.line("when  ", output.when(found.at))
        output.line("reason", f"{found.reason['code']}: {found.reason['field']} {found.reason['message']}")
        output.line("to do ", found.reason["fix"])
        for name, value in found.headers.items():
            output.line("header", f"{name}: {value}")
        cut = f", of which the first {len(found.body):,} are kept: it cannot be replayed" if found.cut else ""
        output.line("bytes ", f"{found.size:,}{cut}")
        output.console.print(Text(found.text), highlight=False)


@letters.command()
def replay(
    context: typer.Context,
    ids: Ids = None,
    all_: All = False,
    tenant: Tenant = None,
    reason: Reason = None,
    file: Annotated[Path | None, typer.Option("--file", help="For a single turn: send this JSON instead.")] = None,
    producer: Annotated[
        str | None, typer.Option("--as", help=f"Send turns without a producer as this producer, or as {OPERATOR}.")
    ] = None,
    json: Json = False,
) -> None:
    """Send turns again. Accepted turns are removed; turns that are refused again stay."""
    body = _replacement(file, ids)
    if producer not in (None, OPERATOR):
        producer = producer_name(producer)

    async def run(of: DeadLetters) -> list[dict[str, Any]]:
        chosen = await _chosen(of, ids, all_, tenant, reason)
        with bar("sending", len(chosen)) as progressed:
            return [await _replayed(of.replay(id_, body, producer), id_, progressed) for id_ in chosen]

    outcomes = _with(context, run)
    _report(outcomes, "accepted", json=json)
    if any("error" in one for one in outcomes):
        raise typer.Exit(1)


@letters.command()
def discard(
    context: typer.Context,
    ids: Ids = None,
    all_: All = False,
    tenant: Tenant = None,
    reason: Reason = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Delete refused turns."""
    chosen = _with(context, lambda of: _chosen(of, ids, all_, tenant, reason))
    if chosen and not yes:
        typer.confirm(f"Delete {output.count(len(chosen), 'dead letter')}?", abort=True, err=True)

    async def run(of: DeadLetters) -> list[dict[str, Any]]:
        return [await _discarded(of, id_) for id_ in chosen]

    _report(_with(context, run), "discarded", json=json)


def _with(context: typer.Context, use: Callable[[DeadLetters], Awaitable[T]]) -> T:
    async def used(engine: Engine) -> T:
        engine.require_operator()
        return await use(DeadLetters(engine.nats))

    return with_engine(settings_of(context.obj), used)


async def _first(found: AsyncIterator[DeadLetter], limit: int) -> list[DeadLetter]:
    letters: list[DeadLetter] = []
    async for letter in found:
        letters.append(letter)
        if len(letters) == limit:
            break
    return letters


async def _chosen(
    of: DeadLetters, ids: list[int] | None, all_: bool, tenant: str | None, reason: str | None
) -> list[int]:
    if bool(ids) == all_:
        raise InvalidInput("no dead letter is given", field="ids", fix="give ids, or --all")
    return ids or [letter.id async for letter in of.all(tenant, reason)]


def _replacement(file: Path | None, ids: list[int] | None) -> bytes | None:
    if file is None:
        return None
    if len(ids or ()) != 1:
        raise InvalidInput("--file works with a single dead letter", field="file", fix="give one id")
    if not file.is_file():
        raise InvalidInput(f"there is no file {file}", field="file", fix="correct the path")
    return file.read_bytes()


async def _replayed(
    replay: Awaitable[Receipt | MnemologError], id_: int, progressed: Callable[[int], None]
) -> dict[str, Any]:
    try:
        outcome = await replay
    except NotFound as error:
        outcome = error
    progressed(1)
    if isinstance(outcome, Receipt):
        return {"id": id_, "receipt": outcome.as_dict()}
    return {"id": id_, "error": outcome.as_dict()}


async def _discarded(of: DeadLetters, id_: int) -> dict[str, Any]:
    try:
        await of.discard(id_)
    except MnemologError as error:
        return {"id": id_, "error": error.as_dict()}
    return {"id": id_}


def _report(outcomes: list[dict[str, Any]], done: str, *, json: bool) -> None:
    if json:
        output.as_json(outcomes)
        return
    for one in outcomes:
        if "error" in one:
            output.line(f"✗ {one['id']}", f"{one['error']['field']} {one['error']['message']} → {one['error']['fix']}")
    succeeded = sum("error" not in one for one in outcomes)
    if succeeded or not outcomes:
        output.done(f"{succeeded:,} {done}")
