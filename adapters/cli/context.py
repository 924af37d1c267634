"""The command that shows what an agent is told before it answers: context (B §5)."""

from typing import Annotated, Any

import typer

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import Agent, Json, User
from mnemolog.adapters.cli.reading import After, Deadline, asked
from mnemolog.domain.category import Context
from mnemolog.events.fields import validated
from mnemolog.projections.context import AgentContext, ContextRequest


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel=panels.READ)(context)


def context(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="What is about to be answered.")],
    user: User,
    category: Annotated[list[str] | None, typer.Option("--category", "-c", help="Only this; may be repeated.")] = None,
    budget: Annotated[int | None, typer.Option(help="At most so many tokens.")] = None,
    after: After = None,
    deadline: Deadline = None,
    agent: Agent = "default",
    json: Json = False,
) -> None:
    """What an agent is told: pinned memories, and each category whole or as far as it answers."""
    fields = {"query": question, "categories": tuple(category or ()), "budget_tokens": budget}
    request = validated(ContextRequest, fields)
    found = asked(context, user, agent, lambda reads, viewer, at: reads.context(viewer, request, at), after, deadline)
    if json:
        output.as_json(_as_dict(found))
    elif found.memories:
        output.bullets(found.bullets)
    else:
        output.console.print("[dim]nothing is known[/]")


def _as_dict(found: AgentContext) -> dict[str, Any]:
    sections = [
        {
            "category": one.category,
            "context": one.mode.context.value,
            "rag_length": one.mode.rag_length if one.mode.context is Context.RAG else None,
            "memories": one.memories,
        }
        for one in found.sections
    ]
    return {"foundation": found.foundation, "categories": sections, "bullets": found.bullets}
