"""Commands that change facts: remember, end, retire; fact forget, fact restore."""

from typing import Annotated, Any

import typer

from mnemolog.adapters.cli import panels
from mnemolog.adapters.cli.options import Agent, Confidence, IdempotencyKey, Json, Reason, Thread, User
from mnemolog.adapters.cli.writing import Who, command_of, given, shown, written, written_with_variants
from mnemolog.adapters.engine.writes import Writes
from mnemolog.commands.fact_changes import EndFact, FactCommand, ForgetFact, RestoreFact, RetireFact
from mnemolog.domain.scope import Scope
from mnemolog.events.envelope import Receipt

FactId = Annotated[str, typer.Argument(help="The fact's id, as `mnemolog facts` shows it.")]

fact_app = typer.Typer(help="One fact.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    for command in (remember, end, retire):
        app.command(rich_help_panel=panels.CHANGE)(command)
    app.add_typer(fact_app, name="fact", rich_help_panel=panels.CHANGE)


def remember(
    context: typer.Context,
    subject: Annotated[str, typer.Argument(help="Whom or what it is about: a name, an alias, an id, or `me`.")],
    predicate: Annotated[str, typer.Argument(help="Such as lives_in or allergy.")],
    object: Annotated[str, typer.Argument(help="What it points to: a name, or a value.")],
    user: User,
    since: Annotated[str | None, typer.Option(help="When it became true: a day or a time; now unless said.")] = None,
    until: Annotated[str | None, typer.Option(help="When it ended: a day or a time.")] = None,
    literal: Annotated[
        bool | None, typer.Option("--literal/--entity", help="The object is a value, or somebody's name.")
    ] = None,
    scope: Annotated[Scope, typer.Option(help="Whether other agents may read it.")] = Scope.GLOBAL,
    confidence: Confidence = None,
    turn: Annotated[list[str] | None, typer.Option(help="A turn that it was drawn from; may be repeated.")] = None,
    agent: Agent = "default",
    thread: Thread = "main",
    key: IdempotencyKey = None,
    json: Json = False,
) -> None:
    """Tell a fact: `mnemolog remember alice lives_in Berlin --since 2026-01-10`."""
    told = {"subject": subject, "predicate": predicate, "object": object, "scope": scope}
    optional = given(since=since, until=until, literal=literal, confidence=confidence)
    fields = {**told, **optional, "source_turn_ids": tuple(turn or ())}
    relation_id, receipt, variants = written_with_variants(
        context, user, agent, thread, lambda writes, who: writes.remember({**who, **fields}, key)
    )
    shown(receipt, "remembered", json, variants=variants, relation_id=relation_id)


def end(
    context: typer.Context,
    fact_id: FactId,
    user: User,
    until: Annotated[str | None, typer.Option(help="When it ended: a day or a time; now unless said.")] = None,
    agent: Agent = "default",
    thread: Thread = "main",
    key: IdempotencyKey = None,
    json: Json = False,
) -> None:
    """Say that a fact held until then."""
    _change(context, EndFact, fact_id, user, agent, thread, "ended", json, key, **given(until=until))


def retire(
    context: typer.Context,
    fact_id: FactId,
    user: User,
    agent: Agent = "default",
    thread: Thread = "main",
    key: IdempotencyKey = None,
    json: Json = False,
) -> None:
    """Say that a fact never held; what it had ended goes on."""
    _change(context, RetireFact, fact_id, user, agent, thread, "retired", json, key)


@fact_app.command("forget")
def forget_fact(
    context: typer.Context,
    fact_id: FactId,
    user: User,
    reason: Reason = "",
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Hide a fact; it is purged 30 days later unless it is restored."""
    _change(context, ForgetFact, fact_id, user, agent, thread, "forgotten", json, reason=reason)


@fact_app.command("restore")
def restore_fact(
    context: typer.Context,
    fact_id: FactId,
    user: User,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Show a forgotten fact again."""
    _change(context, RestoreFact, fact_id, user, agent, thread, "restored", json)


def _change(
    context: typer.Context,
    kind: type[FactCommand],
    fact_id: str,
    user: str,
    agent: str,
    thread: str,
    done: str,
    json: bool,
    key: str | None = None,
    **fields: Any,
) -> None:
    named = {"relation_id": fact_id, **fields}

    async def change(writes: Writes, who: Who) -> Receipt:
        return await writes.change_fact(command_of(kind, writes, who, named), key)

    shown(written(context, user, agent, thread, change), done, json)
