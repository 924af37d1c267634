"""Commands that change the graph: remember, end, retire; and what changes one entity or one fact."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any
from uuid import UUID

import typer

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.entity import EntityId, entity_app
from mnemolog.adapters.cli.options import Agent, IdempotencyKey, Json, Thread, User
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.commands.entities import (
    AddAlias,
    EntityCommand,
    ForgetEntity,
    MergeEntities,
    RestoreEntity,
    UpdateEntity,
)
from mnemolog.commands.fact_changes import EndFact, FactCommand, ForgetFact, RestoreFact, RetireFact
from mnemolog.domain.identity import identifier
from mnemolog.domain.scope import Scope
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import validated

FactId = Annotated[str, typer.Argument(help="The fact's id, as `mnemolog facts` shows it.")]
Reason = Annotated[str, typer.Option(help="Why.")]
Confidence = Annotated[float | None, typer.Option(help="How sure it is, 0 to 1.")]
Category = Annotated[str | None, typer.Option(help="Such as Person, Location, Organization, Project.")]
Alias = Annotated[list[str] | None, typer.Option(help="A further name; may be repeated.")]

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
    optional = {"since": since, "until": until, "literal": literal, "confidence": confidence}
    fields = {**told, **_given(optional), "source_turn_ids": tuple(turn or ())}

    async def write(engine: Engine) -> tuple[UUID, Receipt]:
        return await engine.writes.remember({**_who(engine, user, agent, thread), **fields}, key)

    _shown(*with_engine(settings_of(context.obj), write), "relation_id", "remembered", json)


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
    _fact(context, EndFact, fact_id, (user, agent, thread), key, "ended", json, **_given({"until": until}))


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
    _fact(context, RetireFact, fact_id, (user, agent, thread), key, "retired", json)


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
    _fact(context, ForgetFact, fact_id, (user, agent, thread), None, "forgotten", json, reason=reason)


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
    _fact(context, RestoreFact, fact_id, (user, agent, thread), None, "restored", json)


@entity_app.command("add")
def add_entity(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    user: User,
    category: Category = None,
    alias: Alias = None,
    another: Annotated[bool, typer.Option("--another", help="One more of this name.")] = False,
    scope: Annotated[Scope, typer.Option(help="Whether other agents may read of it.")] = Scope.GLOBAL,
    agent: Agent = "default",
    thread: Thread = "main",
    key: IdempotencyKey = None,
    json: Json = False,
) -> None:
    """Make somebody or something known, or add to what is known."""
    fields = {"name": name, "another": another, "scope": scope, **_given({"category": category, "aliases": alias})}

    async def write(engine: Engine) -> tuple[UUID, Receipt]:
        return await engine.writes.observe_entity({**_who(engine, user, agent, thread), **fields}, key)

    _shown(*with_engine(settings_of(context.obj), write), "entity_id", "known", json)


@entity_app.command("update")
def update_entity(
    context: typer.Context,
    entity_id: EntityId,
    user: User,
    name: Annotated[str | None, typer.Option(help="The name from now on; the old one stays as an alias.")] = None,
    category: Category = None,
    confidence: Confidence = None,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Change what an entity is called, or what it is."""
    fields = _given({"name": name, "category": category, "confidence": confidence})
    _entity(context, UpdateEntity, entity_id, (user, agent, thread), "updated", json, **fields)


@entity_app.command("alias")
def alias_entity(
    context: typer.Context,
    entity_id: EntityId,
    alias: Annotated[str, typer.Argument(help="The further name.")],
    user: User,
    question: Annotated[str, typer.Option(help="The question that it answers, if one was asked.")] = "",
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Give an entity a further name."""
    fields = {"alias": alias, "question": question}
    _entity(context, AddAlias, entity_id, (user, agent, thread), "named", json, **fields)


@entity_app.command("merge")
def merge_entities(
    context: typer.Context,
    entity_id: EntityId,
    others: Annotated[list[str], typer.Argument(help="The entities that are the same.")],
    user: User,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Take entities for one from now on; `mnemolog undo EVENT --event` parts them again."""
    _entity(context, MergeEntities, entity_id, (user, agent, thread), "merged", json, absorbed_ids=tuple(others))


@entity_app.command("forget")
def forget_entity(
    context: typer.Context,
    entity_id: EntityId,
    user: User,
    reason: Reason = "",
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Hide an entity with all that is told of it; it is purged 30 days later unless it is restored."""
    _entity(context, ForgetEntity, entity_id, (user, agent, thread), "forgotten", json, reason=reason)


@entity_app.command("restore")
def restore_entity(
    context: typer.Context,
    entity_id: EntityId,
    user: User,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Show a forgotten entity again."""
    _entity(context, RestoreEntity, entity_id, (user, agent, thread), "restored", json)


Who = tuple[str, str, str]


def _fact(
    context: typer.Context,
    kind: type[FactCommand],
    fact_id: str,
    who: Who,
    key: str | None,
    done: str,
    json: bool,
    **fields: Any,
) -> None:
    async def write(engine: Engine) -> Receipt:
        command = validated(kind, {**_who(engine, *who), **_now(engine, kind), "relation_id": fact_id, **fields})
        return await engine.writes.change_fact(command, key)

    _changed(context, write, done, json)


def _entity(
    context: typer.Context, kind: type[EntityCommand], entity_id: str, who: Who, done: str, json: bool, **fields: Any
) -> None:
    async def write(engine: Engine) -> Receipt:
        command = validated(kind, {**_who(engine, *who), **_now(engine, kind), "entity_id": entity_id, **fields})
        return await engine.writes.change_entity(command)

    _changed(context, write, done, json)


def _changed(context: typer.Context, write: Callable[[Engine], Awaitable[Receipt]], done: str, json: bool) -> None:
    receipt = with_engine(settings_of(context.obj), write)
    output.as_json({"receipt": receipt.as_dict()}) if json else output.receipt(done, receipt)


def _shown(id_: UUID, receipt: Receipt, name: str, done: str, json: bool) -> None:
    if json:
        output.as_json({name: str(id_), "receipt": receipt.as_dict()})
    else:
        output.receipt(f"{done}: [cyan]{id_}[/]", receipt)


def _now(engine: Engine, kind: type[FactCommand | EntityCommand]) -> Mapping[str, object]:
    return {"at": engine.writes.now()} if "at" in kind.model_fields else {}


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _who(engine: Engine, user: str, agent: str, thread: str) -> dict[str, str]:
    who = {"user_id": user, "agent_id": identifier(agent, "agent_id"), "thread_id": thread}
    return {"tenant": engine.settings.tenant, **who}
