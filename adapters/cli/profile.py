"""Commands of the profile: profile, consent, todos, seed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.text import Text

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import Agent, IdempotencyKey, Json, Thread, User
from mnemolog.adapters.cli.progress import bar
from mnemolog.adapters.cli.reading import Limit, asked
from mnemolog.adapters.cli.writing import Who, shown, written
from mnemolog.adapters.engine.profile_writes import Proposed
from mnemolog.adapters.engine.seeding import Seeded, seed
from mnemolog.adapters.engine.writes import Writes
from mnemolog.domain.consent import APPLIED, Status
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.identity import parse_uuid
from mnemolog.domain.json_value import parsed_json

PatchId = Annotated[str, typer.Argument(help="The proposal's id.")]

profile_app = typer.Typer(help="What is known of a user, field by field.", no_args_is_help=True)
consent_app = typer.Typer(help="What waits for a user's consent.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(profile_app, name="profile", rich_help_panel=panels.CHANGE)
    app.add_typer(consent_app, name="consent", rich_help_panel=panels.CHANGE)
    app.command("seed", rich_help_panel=panels.CHANGE)(seed_user)


@profile_app.command("show")
def show(context: typer.Context, user: User, agent: Agent = "default", json: Json = False) -> None:
    """What is set, by field."""
    rows = asked(context, user, agent, lambda reads, viewer, at: reads.profile(viewer, at))
    if json:
        output.as_json(rows)
        return
    for row in rows:
        output.line(row["field"], row["value"] if isinstance(row["value"], str) else ", ".join(row["value"]))


@profile_app.command("history")
def history(
    context: typer.Context,
    field: Annotated[str, typer.Argument(help="Such as city.")],
    user: User,
    limit: Limit = 100,
    agent: Agent = "default",
    json: Json = False,
) -> None:
    """What was proposed for a field, decided and set, newest first."""
    rows = asked(context, user, agent, lambda reads, viewer, at: reads.field_history(viewer, field, limit, at))
    output.as_json(rows) if json else output.history(rows)


@profile_app.command("set")
def set_field(
    context: typer.Context,
    field: Annotated[str, typer.Argument(help="Such as city, tone or goals_add.")],
    value: Annotated[str, typer.Argument(help="What it is to hold, or to hold as well.")],
    user: User,
    agreed: Annotated[bool, typer.Option("--consent", help="The user himself says so.")] = False,
    confidence: Annotated[float, typer.Option(help="0 to 1; a benign field applies at once from 0.8 on.")] = 1.0,
    turn: Annotated[str | None, typer.Option(help="The recorded turn that it was drawn from.")] = None,
    agent: Agent = "default",
    thread: Thread = "main",
    key: IdempotencyKey = None,
    json: Json = False,
) -> None:
    """Change a field, or queue the change until the user consents."""
    fields = {"field": field, "value": value, "confidence": confidence, "turn_id": turn}

    async def propose(writes: Writes, who: Who) -> Proposed:
        return await writes.propose({**who, **fields}, key, consented=agreed)

    found = written(context, user, agent, thread, propose)
    if json:
        told = {"patch_id": str(found.patch_id), "status": found.status, "receipt": found.receipt.as_dict()}
        output.as_json(told)
    elif found.status in APPLIED:
        output.receipt(f"set {field}", found.receipt)
    else:
        output.receipt(f"{found.status}: [cyan]{found.patch_id}[/]", found.receipt)


@consent_app.command("list")
def list_patches(
    context: typer.Context,
    user: User,
    status: Annotated[Status | None, typer.Option(help="Only these; `proposed` unless said.")] = Status.PROPOSED,
    everything: Annotated[bool, typer.Option("--all", help="Whatever became of them.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="At most so many.")] = 100,
    agent: Agent = "default",
    json: Json = False,
) -> None:
    """What was proposed for the profile, newest first."""
    wanted = None if everything else status
    rows = asked(context, user, agent, lambda reads, viewer, at: reads.consent(viewer, wanted, limit, at))
    output.as_json(rows) if json else _patches(rows)


@consent_app.command("grant")
def grant(
    context: typer.Context,
    patch_id: PatchId,
    user: User,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Let it apply, in the user's name."""
    _decide(context, patch_id, Status.GRANTED, user, agent, thread, json)


@consent_app.command("refuse")
def refuse(
    context: typer.Context,
    patch_id: PatchId,
    user: User,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Leave the profile as it is."""
    _decide(context, patch_id, Status.REFUSED, user, agent, thread, json)


def seed_user(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="JSON: profile, memories, facts; consent; seed_id.")],
    user: User,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Give a user an initial profile. The same seed again writes what is still lacking."""
    content = _content(file)
    parts = sum(len(content.get(name) or ()) for name in ("profile", "memories", "facts"))

    async def give(writes: Writes, who: Who) -> Seeded:
        with bar("seeding", parts) as progressed:
            return await seed(writes, who, content, progressed)

    found = written(context, user, agent, thread, give)
    if json:
        output.as_json(found.as_dict())
        return
    output.receipt(f"seeded {output.count(len(found.applied), 'field')}, {_memories(found)}", found.receipt)
    for field in found.queued:
        output.line("waits for consent", field)


def _memories(found: Seeded) -> str:
    return f"{output.count(len(found.memory_ids), 'memory', 'memories')}, {output.count(found.facts, 'fact')}"


def _content(file: Path) -> dict[str, Any]:
    try:
        content = parsed_json(file.read_bytes(), "file")
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", field="file", fix="name a file of JSON") from error
    if not isinstance(content, dict):
        raise InvalidInput("is no JSON object", field="file", fix="write profile, memories or facts into one")
    return content


def _decide(
    context: typer.Context,
    patch_id: str,
    decision: Literal[Status.GRANTED, Status.REFUSED],
    user: str,
    agent: str,
    thread: str,
    json: bool,
) -> None:
    wanted = {"patch_id": parse_uuid(patch_id, "patch_id"), "decision": decision}
    receipt = written(context, user, agent, thread, lambda writes, who: writes.decide_patch({**who, **wanted}))
    shown(receipt, decision, json, patch_id=wanted["patch_id"])


def _patches(rows: Sequence[Mapping[str, Any]]) -> None:
    told = [
        (
            Text.assemble((row["field"], "cyan"), " ", row["value"]),
            f"{row['signals']} by {', '.join(row['proposed_by'])}",
            _status(row),
            row["patch_id"],
        )
        for row in rows
    ]
    output.show(("change", "signals", "status", "id"), told, nothing="nothing waits")


def _status(row: Mapping[str, Any]) -> str:
    until = f", until {output.when(row['expires_at'])[:10]}" if row["status"] == Status.PROPOSED else ""
    return f"{row['status']}{until}"
