"""Commands that read the graph: facts, entities; and what concerns one entity."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.text import Text

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import Agent, Json, User
from mnemolog.adapters.cli.reading import After, Deadline, asked, point_of
from mnemolog.adapters.engine.graph_reads import When
from mnemolog.domain.identity import day_or_instant, parse_uuid
from mnemolog.projections.graph.facts import as_text

EntityId = Annotated[str, typer.Argument(help="The entity's id.")]
AsOf = Annotated[str | None, typer.Option(help="As it was known then: a time, or @17: after event 17.")]
Rows = Sequence[Mapping[str, Any]]

entity_app = typer.Typer(help="One entity: its facts, and others of a similar name.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.command("facts", rich_help_panel=panels.READ)(facts)
    app.command("entities", rich_help_panel=panels.READ)(entities)
    app.add_typer(entity_app, name="entity", rich_help_panel=panels.READ)


ValidAt = Annotated[str | None, typer.Option(help="What held then: a day or a time; now unless said.")]
KnownAt = Annotated[str | None, typer.Option(help="As it was known then: a time, or @17: after event 17.")]


def facts(
    context: typer.Context,
    user: User,
    about: Annotated[
        str | None, typer.Option(help="Only of whom or what bears this name or alias, or has this id; `me`: the user.")
    ] = None,
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
    as_of: Annotated[str | None, typer.Option(help="Both at once: a time, or @17.")] = None,
    after: After = None,
    deadline: Deadline = None,
    agent: Agent = "default",
    json: Json = False,
) -> None:
    """What is known as a fact, when it holds, and since when that is known."""
    when = _held(valid_at, known_at)
    rows = asked(
        *(context, user, agent, lambda reads, viewer, at: reads.facts(viewer, about, when, at), after, deadline),
        as_of=_then(as_of),
    )
    output.as_json(rows) if json else _show_facts(rows)


def _held(valid_at: str | None, known_at: str | None) -> When:
    return When(
        day_or_instant(valid_at, "valid_at") if valid_at is not None else None,
        point_of(known_at, "known_at") if known_at is not None else None,
    )


def entities(
    context: typer.Context,
    user: User,
    name: Annotated[
        str | None, typer.Option(help="Only who or what bears this name or alias, in any spelling.")
    ] = None,
    as_of: AsOf = None,
    after: After = None,
    deadline: Deadline = None,
    agent: Agent = "default",
    json: Json = False,
) -> None:
    """The people, places and things that a user mentions, last seen first."""
    rows = asked(
        *(context, user, agent, lambda reads, viewer, at: reads.entities(viewer, at, name), after, deadline),
        as_of=_then(as_of),
    )
    output.as_json(rows) if json else _show_entities(rows)


@entity_app.command("show")
def show(
    context: typer.Context,
    entity_id: EntityId,
    user: User,
    valid_at: ValidAt = None,
    known_at: KnownAt = None,
    as_of: AsOf = None,
    after: After = None,
    deadline: Deadline = None,
    agent: Agent = "default",
    json: Json = False,
) -> None:
    """One entity, and what is told of it, in both directions."""
    id_, when = parse_uuid(entity_id, "entity_id"), _held(valid_at, known_at)
    known = asked(
        *(context, user, agent, lambda reads, viewer, at: reads.entity(viewer, id_, at, when), after, deadline),
        as_of=_then(as_of),
    )
    if json:
        output.as_json({**known.entity, "card": known.card, "facts": known.facts})
        return
    _show_entities([known.entity])
    _show_facts(known.facts)


@entity_app.command("variants")
def variants(
    context: typer.Context,
    entity_id: EntityId,
    user: User,
    after: After = None,
    deadline: Deadline = None,
    agent: Agent = "default",
    json: Json = False,
) -> None:
    """Entities that may be the same, as their names differ by a slip only: such as Makesh and Mukesh."""
    id_ = parse_uuid(entity_id, "entity_id")
    rows = asked(context, user, agent, lambda reads, viewer, at: reads.variants(viewer, id_, at), after, deadline)
    output.as_json(rows) if json else _show_entities(rows)


def _then(as_of: str | None) -> datetime | int | None:
    return None if as_of is None else point_of(as_of, "as_of")


def _show_entities(rows: Rows) -> None:
    told = [(row["category"], _named(row), output.when(row["last_seen"]), row["entity_id"]) for row in rows]
    output.show(("category", "name", "last seen", "id"), told)


def _named(row: Mapping[str, Any]) -> Text:
    also = f" ({', '.join(row['aliases'])})" if row["aliases"] else ""
    return Text.assemble(row["name"], (also, "dim"))


def _show_facts(rows: Rows) -> None:
    told = [(_told(row), _holds(row), output.when(row["known_from"]), row["relation_id"]) for row in rows]
    output.show(("fact", "holds", "known since", "id"), told, nothing="no facts")


def _told(row: Mapping[str, Any]) -> Text:
    thing = row["object"] if row["object"] is not None else as_text(row["value"])
    style = "strike dim" if row["overridden_by"] else ""
    return Text.assemble(row["subject"], " ", (row["predicate"], "cyan"), " ", thing, style=style)


def _holds(row: Mapping[str, Any]) -> str:
    return f"{_day(row['valid_from'])} – {_day(row['valid_to']) if row['valid_to'] else ''}".strip()


def _day(at: datetime) -> str:
    """A day's start as that day."""
    return output.when(at).removesuffix(" 00:00:00Z")
