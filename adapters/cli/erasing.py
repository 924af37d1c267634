"""`mnemolog erase` and `mnemolog prove-erased`: destroy a text for good, and show that it can be read nowhere."""

from collections.abc import Sequence
from typing import Annotated

import typer
from redis.asyncio import Redis
from rich.markup import escape

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import Agent, Json, User
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine import erasing
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.engine.erasing import Erasure
from mnemolog.adapters.erasure import scrubbing
from mnemolog.adapters.erasure.proof import Place, Proof
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.scrubbing import Scrubbed
from mnemolog.adapters.erasure.target import Subject
from mnemolog.adapters.erasure.wanted import wanted
from mnemolog.commands.erasure import Erase, EraseUser
from mnemolog.commands.erasure_taken import Taken
from mnemolog.domain.identity import parse_uuid
from mnemolog.events.envelope import StreamId

LISTED = 10

Memory = Annotated[str | None, typer.Option("--memory", "-m", help="A memory, by its id.")]
Thread = Annotated[str | None, typer.Option("--thread", "-t", help="A whole conversation.")]

Known = Annotated[
    str | None, typer.Option("--known", metavar="KIND:ID", help="entity:ID, relation:ID, profile:FIELD or todo:ID.")
]


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel=panels.ERASE)(erase)
    app.command("prove-erased", rich_help_panel=panels.ERASE)(prove_erased)
    app.command(rich_help_panel=panels.ERASE)(scrub)


def erase(
    context: typer.Context,
    user: User,
    memory: Memory = None,
    thread: Thread = None,
    known: Known = None,
    whole_user: Annotated[bool, typer.Option("--everything", help="Everything of the user.")] = False,
    keep_turns: Annotated[bool, typer.Option("--keep-turns", help="Leave the turns that it was drawn from.")] = False,
    with_survivors: Annotated[
        bool, typer.Option("--with-survivors", help="Erase what it was merged into as well.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would go, and change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    agent: Agent = "default",
    json: Json = False,
) -> None:
    """Destroy the text of a memory, a thread or a user for good. It cannot be undone."""
    settings = settings_of(context.obj)
    who = {"user_id": user, "agent_id": agent}
    command = wanted(
        *(who, memory, thread, known), everything=whole_user, keep_turns=keep_turns, with_survivors=with_survivors
    )
    found = with_engine(settings, lambda engine: _extent(engine, command)) if dry_run or not yes else None
    if found and (dry_run or not json):
        _show_extent(found, json=json)
    if dry_run:
        return
    if not yes:
        typer.confirm("Erase this for good?", abort=True, err=True)
    erased = with_engine(settings, lambda engine: erasing.erase(engine, _here(engine, command)))
    _show_erasure(erased, json=json)


async def _extent(engine: Engine, command: Erase | EraseUser) -> Taken:
    return await erasing.extent(engine, _here(engine, command))


def _here(engine: Engine, command: Erase | EraseUser) -> Erase | EraseUser:
    """In the tenant of the API key, if there is one."""
    return command.model_copy(update={"tenant": engine.settings.tenant})


def prove_erased(
    context: typer.Context,
    user: User,
    memory: Memory = None,
    thread: Thread = None,
    known: Known = None,
    text: Annotated[str | None, typer.Option("--text", help="Words of it, to be looked for everywhere.")] = None,
    json: Json = False,
) -> None:
    """Look through every place where an erased text could have been. Exit code 1 when it can be read in one.

    Without --memory, --thread and --known, everything of the user that was written before he was erased.
    """
    memory_id = parse_uuid(memory, "memory") if memory is not None else None

    def of(tenant: str) -> Subject:
        return Subject(StreamId.of_user(user, tenant), memory_id, thread, known)

    proof = with_engine(settings_of(context.obj), lambda engine: _proven(engine, of(engine.settings.tenant), text))
    if json:
        output.as_json(proof.as_dict())
    else:
        show_proof(proof)
    if not proof.holds:
        raise typer.Exit(1)


async def _proven(engine: Engine, subject: Subject, text: str | None) -> Proof:
    with output.errors.status("looking") as status:
        return await prove(engine, subject, text or None, lambda place: status.update(f"looked at {place.name}"))


def scrub(context: typer.Context, json: Json = False) -> None:
    """Clear from the disk what was erased: dead rows, destroyed keys, old write-ahead log. For all users at once.

    Reads and writes wait for each table while it is written anew: seconds for each gigabyte.
    """

    async def run(engine: Engine) -> Scrubbed:
        with output.errors.status("scrubbing") as status:
            own = None if engine.settings.redis_url else Redis.from_url(engine.endpoints.redis_url)
            try:
                return await scrubbing.scrub(engine.endpoints.postgres_dsn, own, lambda step: status.update(step))
            finally:
                if own:
                    await own.aclose()

    scrubbed = with_engine(settings_of(context.obj), run, passive=True)
    if json:
        output.as_json(scrubbed.as_dict())
        return
    output.done(
        f"{output.count(scrubbed.tables, 'table')} written anew, "
        f"{output.count(scrubbed.segments, 'segment')} of WAL written over"
    )
    output.console.print("  [dim]backups, replicas and archived WAL are not reached: see `mnemolog prove-erased`[/]")


def show_proof(proof: Proof) -> None:
    """A line a place, and what no program can see."""
    table = output.table("place", "looked at", "readable")
    for place in proof.places:
        table.add_row(place.name, f"{place.looked_at:,}", _readable(place))
    output.console.print(table)
    if proof.holds:
        output.done("can be read in none of these places")
    else:
        output.console.print("[red]✗[/] it can still be read")
    output.console.print("[dim]What no query can see:[/]")
    for line in proof.unseen:
        output.console.print(f"  [dim]•[/] {escape(line)}", highlight=False)


def _readable(place: Place) -> str:
    return f"[red]{place.readable:,}[/]" if place.readable else "0"


def _show_extent(found: Taken, *, json: bool) -> None:
    if json:
        output.as_json(found.as_dict())
        return
    output.console.print(f"{_taken(found)} would go")
    _list("memory", list(map(str, found.memories)))
    _list("turn", found.turns)
    _list("known", found.known)
    _list("only loses words", found.cleared)
    if found.survivors:
        output.console.print("[yellow]and they live on in what they were merged into:[/] --with-survivors")
        _list("memory", list(map(str, found.survivors)))


def _list(what: str, ids: Sequence[str]) -> None:
    for one in ids[:LISTED]:
        output.line(f"  {what}", one)
    if len(ids) > LISTED:
        output.console.print(f"  … and {len(ids) - LISTED:,} more")


def _show_erasure(erased: Erasure, *, json: bool) -> None:
    if json:
        output.as_json(erased.as_dict())
        return
    output.receipt(f"erased {_taken(erased.extent)}; their keys are destroyed", erased.receipt)
    for name, error in erased.held_up.items():
        output.line("  !", f"{error.message}; the text was taken out of {name} all the same")
        output.line("    →", error.fix)
    output.console.print("  [dim]`mnemolog prove-erased` shows that they can be read nowhere[/]")


def _taken(found: Taken) -> str:
    memories, turns = output.count(len(found.memories), "memory", "memories"), output.count(len(found.turns), "turn")
    known = output.count(len(found.known), "thing known", "things known")
    return f"{memories}, {turns} and {known}" if found.known else f"{memories} and {turns}"
