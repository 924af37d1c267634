"""Commands that change entities: entity add, update, alias, merge, forget, restore."""

from typing import Annotated, Any

import typer

from mnemolog.adapters.cli.entity import EntityId, entity_app
from mnemolog.adapters.cli.options import Agent, Confidence, IdempotencyKey, Json, Reason, Thread, User
from mnemolog.adapters.cli.writing import Who, command_of, given, shown, written, written_with_variants
from mnemolog.adapters.engine.writes import Writes
from mnemolog.commands.entities import (
    AddAlias,
    EntityCommand,
    ForgetEntity,
    MergeEntities,
    RestoreEntity,
    UpdateEntity,
)
from mnemolog.domain.scope import Scope
from mnemolog.events.envelope import Receipt

Category = Annotated[str | None, typer.Option(help="Such as Person, Location, Organization, Project.")]
Alias = Annotated[list[str] | None, typer.Option(help="A further name; may be repeated.")]


def register(app: typer.Typer) -> None:
    """Under `mnemolog entity`, beside what reads one."""
    for name, command in (
        ("add", add_entity),
        ("update", update_entity),
        ("alias", alias_entity),
        ("merge", merge_entities),
        ("forget", forget_entity),
        ("restore", restore_entity),
    ):
        entity_app.command(name)(command)


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
    fields = {"name": name, "another": another, "scope": scope, **given(category=category, aliases=alias)}
    entity_id, receipt, variants = written_with_variants(
        context, user, agent, thread, lambda writes, who: writes.observe_entity({**who, **fields}, key)
    )
    shown(receipt, "known", json, variants=variants, entity_id=entity_id)


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
    fields = given(name=name, category=category, confidence=confidence)
    _change(context, UpdateEntity, entity_id, user, agent, thread, "updated", json, **fields)


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
    _change(context, AddAlias, entity_id, user, agent, thread, "named", json, **fields)


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
    _change(context, MergeEntities, entity_id, user, agent, thread, "merged", json, absorbed_ids=tuple(others))


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
    _change(context, ForgetEntity, entity_id, user, agent, thread, "forgotten", json, reason=reason)


def restore_entity(
    context: typer.Context,
    entity_id: EntityId,
    user: User,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Show a forgotten entity again."""
    _change(context, RestoreEntity, entity_id, user, agent, thread, "restored", json)


def _change(
    context: typer.Context,
    kind: type[EntityCommand],
    entity_id: str,
    user: str,
    agent: str,
    thread: str,
    done: str,
    json: bool,
    **fields: Any,
) -> None:
    named = {"entity_id": entity_id, **fields}

    async def change(writes: Writes, who: Who) -> Receipt:
        return await writes.change_entity(command_of(kind, writes, who, named))

    shown(written(context, user, agent, thread, change), done, json)
