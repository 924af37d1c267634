"""The command that tells why something is known: why (X04)."""

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

import typer
from rich.text import Text

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import Agent, Json, User
from mnemolog.adapters.cli.reading import After, Deadline, asked
from mnemolog.adapters.engine.why import Cause, Why


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel=panels.READ)(why)


def why(
    context: typer.Context,
    id_: Annotated[str, typer.Argument(metavar="ID", help="Of a memory, entity, fact or todo; or a profile field.")],
    user: User,
    after: After = None,
    deadline: Deadline = None,
    agent: Agent = "default",
    json: Json = False,
) -> None:
    """Why something is known: the events that made it, who and under which policy, and the turns behind them."""
    found = asked(context, user, agent, lambda reads, viewer, at: reads.why(viewer, id_, at), after, deadline)
    output.as_json(found.as_dict()) if json else _show(found)


def _show(found: Why) -> None:
    output.console.print(f"[bold]{found.kind}[/] {found.id}", highlight=False)
    seqs = {event.event_id: f"@{event.seq}" for event in found.events}
    told = [
        (
            f"@{event.seq}",
            output.when(event.recorded_at),
            Text.assemble(event.type, (_how(event, seqs), "dim")),
            event.actor,
            event.agent_id,
            event.policy_version,
        )
        for event in found.events
    ]
    output.show(("seq", "when", "event", "actor", "agent", "policy"), told)
    for one in found.merged_from:
        output.line("merged from", one)
    if found.merged_into:
        output.line("merged into", found.merged_into)
    for turn in found.turns:
        said = "erased" if turn.erased else turn.text
        output.line(f"{output.when(turn.occurred_at)} {turn.thread_id} {turn.speaker or turn.role}:", said)
    if found.unseen_turns:
        output.console.print(f"[dim]and {output.count(found.unseen_turns, 'turn')} that this agent may not see[/]")


def _how(event: Cause, seqs: Mapping[UUID, str]) -> str:
    """In a line of its own below the event."""
    match = event.match or {}
    similarity = f" {match['similarity']:.2f}" if match.get("similarity") is not None else ""
    undoes = f"undoes {seqs.get(event.undoes, 'another')}" if event.undoes else ""
    parts = [f"{match['band']}{similarity}" if match else "", undoes]
    return "".join(f"\n{part}" for part in parts if part)
