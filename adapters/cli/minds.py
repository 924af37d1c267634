"""`mnemolog minds`: list, run and resume the minds, which propose what to remember."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID, uuid4

import typer
from rich.text import Text

from mnemolog.adapters.cli import output
from mnemolog.adapters.cli.options import Agent, Json, User, checked_as
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.jobs.job import Failures
from mnemolog.adapters.maintenance.minds import Ran, Run
from mnemolog.adapters.maintenance.running import JOBS, run_mind
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.identity import identifier
from mnemolog.domain.minds.mind import REFLECTING, WITHOUT_MODEL, Mind
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_THREAD, Position, StreamId
from mnemolog.events.memory import MemoriesLinked, MemoriesMerged, MemoryCreated, MemoryObserved, MemoryStatusChanged
from mnemolog.projections.reads.moment import Moment

Name = Annotated[Mind, typer.Argument(help="The mind.")]

minds = typer.Typer(help="List, run and resume the minds, which propose what to remember.", no_args_is_help=True)


@minds.command(name="list")
def list_minds(context: typer.Context, json: Json = False) -> None:
    """List the minds: when each last ran, for whom it is paused, and what it does without a model."""

    async def work(engine: Engine) -> Sequence[Mapping[str, Any]]:
        engine.require_operator()
        failures = await engine.jobs.mind_failures()
        last = await engine.jobs.last_of_kinds([kind for kinds in JOBS.values() for kind in kinds])
        return [_about(mind, last, failures, has_model=engine.models.chat is not None) for mind in Mind]

    found = with_engine(settings_of(context.obj), work, passive=True)
    if json:
        output.as_json(found)
        return
    rows = [(one["mind"], _state(one), output.when(one["last_run"]) if one["last_run"] else "") for one in found]
    output.show(("mind", "state", "last run"), rows, nothing="no minds", short=True)


@minds.command()
def run(
    context: typer.Context,
    name: Name,
    user: User,
    agent: Agent = DEFAULT_AGENT,
    thread: Annotated[
        str, typer.Option("--thread-id", "--thread", "-t", help="The thread.", callback=checked_as("thread_id"))
    ] = DEFAULT_THREAD,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and write nothing.")] = False,
    json: Json = False,
) -> None:
    """Run a mind for one user now. Undo it with `mnemolog rollback --of-run`."""
    if not name.reflects:
        raise InvalidInput(
            f"{name} runs by itself, when there are new messages",
            field="name",
            fix=f"choose one of {', '.join(sorted(REFLECTING))}",
        )

    async def work(engine: Engine) -> tuple[Ran, Mapping[UUID, str]]:
        engine.require_operator()
        await engine.settled()
        stream = StreamId.of_user(user, engine.settings.tenant)
        run = Run(engine, name, stream, agent, thread, f"{name}-{uuid4()}", dry_run)
        ran = await run_mind(run)
        return ran, {} if json else await _texts(run, ran)

    ran, texts = with_engine(settings_of(context.obj), work)
    if json:
        output.as_json(ran.as_dict())
        return
    changes = output.count(len(ran.changes), "change")
    output.done(f"{name} would make {changes}" if dry_run else f"{name} made {changes}")
    for change in ran.changes:
        verb, text = _described(change, texts)
        output.line(f"  {verb}", text)
    if ran.figures:
        output.line("figures", ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in ran.figures.items()))
    for said in ran.skipped:
        output.line("skipped", said)
    if ran.faults:
        output.line("left out", ", ".join(ran.faults))
    if ran.input_tokens or ran.output_tokens:
        output.line("cost", f"{ran.input_tokens + ran.output_tokens:,} tokens of {ran.model}")
    if ran.changes and not dry_run:
        output.line("run", ran.run_id)


@minds.command()
def resume(
    context: typer.Context,
    name: Name,
    user: Annotated[str | None, typer.Option("--user-id", "--user", "-u", help="Only for this user.")] = None,
    json: Json = False,
) -> None:
    """Resume a mind that was paused after five failures in a row."""

    async def work(engine: Engine) -> Sequence[Failures]:
        engine.require_operator()
        stream = StreamId.of_user(identifier(user, "user_id"), engine.settings.tenant) if user else None
        return await engine.jobs.resume_mind(name, stream)

    resumed = with_engine(settings_of(context.obj), work, passive=True)
    if json:
        output.as_json([one.as_dict() for one in resumed])
    else:
        output.done(f"{name} is resumed for {output.count(len(resumed), 'user')}")


async def _texts(run: Run, ran: Ran) -> Mapping[UUID, str]:
    """The texts of the memories that the changes name by their ids alone."""
    named = {one for change in ran.changes for one in _named(change)}
    moment = Moment(after=Position(run.stream, await run.engine.log.head(run.stream)))
    return {id_: row["text"] for id_, row in (await run.engine.reads.memories(run.viewer, named, moment)).items()}


def _named(change: Mapping[str, Any]) -> Sequence[UUID]:
    given = [change.get("memory_id"), change.get("to_id"), *change.get("absorbed_ids", ())]
    return [one for one in given if isinstance(one, UUID)]


VERBS = {
    MemoryCreated.type_name(): "create",
    MemoryObserved.type_name(): "confirm",
    MemoryStatusChanged.type_name(): "archive",
    MemoriesMerged.type_name(): "merge",
    MemoriesLinked.type_name(): "link",
}


def _described(change: Mapping[str, Any], texts: Mapping[UUID, str]) -> tuple[str, str]:
    """What a change does, and the memories that it is about, by their texts."""

    def text(id_: UUID) -> str:
        return texts.get(id_, str(id_))

    own = str(change.get("text") or (text(change["memory_id"]) if change["memory_id"] else ""))
    if absorbed := change.get("absorbed_ids"):
        own = f"{own} ← {'; '.join(map(text, absorbed))}"
    if other := change.get("to_id"):
        own = f"{own} → {text(other)}"
    if into := change.get("into"):
        own = f"{own} → {into}"
    return VERBS.get(change["type"], change["type"]), own


def _about(
    mind: Mind, last: Mapping[str, tuple[datetime | None, int]], failures: Sequence[Failures], *, has_model: bool
) -> Mapping[str, Any]:
    of_jobs = [last[kind] for kind in JOBS[mind] if kind in last]
    own = [one for one in failures if one.mind == mind]
    return {
        "mind": mind.value,
        "jobs": list(JOBS[mind]),
        "last_run": max((at for at, _ in of_jobs if at), default=None),
        "waiting": sum(waiting for _, waiting in of_jobs),
        "paused": [one.as_dict() for one in own if one.paused_at],
        "failing": [one.as_dict() for one in own if not one.paused_at],
        "without_model": None if has_model else WITHOUT_MODEL[mind],
    }


def _state(one: Mapping[str, Any]) -> Text:
    paused = one["paused"]
    if paused:
        errors = "".join(f"\n{failed['stream']}: {failed['error']}" for failed in paused)
        return Text.assemble(f"paused for {output.count(len(paused), 'user')}", (errors, "dim"))
    without = one["without_model"]
    return Text.assemble("working", (f"\nno chat model: {without}" if without else "", "dim"))
