"""`mnemolog artifact add` and `mnemolog artifact download`."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from mnemolog.adapters.cli import ids, output
from mnemolog.adapters.cli.operations import fields_of, group_of, signature_of
from mnemolog.adapters.cli.options import Agent, Json, User
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.files import read_all, read_file
from mnemolog.adapters.operations.artifacts import (
    AddArtifact,
    ArtifactAdded,
    ArtifactRead,
    ArtifactView,
    add_artifact,
    download_artifact,
    get_artifact,
)
from mnemolog.adapters.operations.memories import create
from mnemolog.domain.errors import InvalidInput
from mnemolog.events.envelope import DEFAULT_AGENT
from mnemolog.events.fields import validated
from mnemolog.transfer import new_file

STDIN = "-"
FILE = Annotated[str | None, typer.Argument(help="The file; `-` reads standard input.", show_default=False)]


def register(app: typer.Typer) -> None:
    group = group_of(app, "artifact")
    group.command("add")(add)
    group.command("download")(download)


def add(context: typer.Context, file: str | None, as_json: bool, **values: Any) -> None:
    """Add a file or link.

    Its text is extracted in the background. The same content again changes nothing.
    """
    path = None if file in (None, STDIN) else Path(str(file))
    fields = fields_of(AddArtifact, values)
    if path is not None:
        fields.setdefault("name", path.name)
    validated(AddArtifact, fields)
    content = read_all(sys.stdin.buffer, "file") if file == STDIN else read_file(path, "file") if path else None

    async def run_it(engine: Engine) -> ArtifactAdded:
        named = {name: value for name, value in fields.items() if name in create.request.model_fields}
        request = validated(AddArtifact, {**fields, **await ids.completed(engine, create, named)})
        return await add_artifact(engine, request, content)

    added = with_engine(settings_of(context.obj), run_it)
    if as_json:
        output.as_json(added.model_dump(mode="json"))
    else:
        output.receipt("Added", added, added.artifact_id)


add.__signature__ = signature_of(AddArtifact, file=(FILE, None))  # type: ignore[attr-defined]


def download(
    context: typer.Context,
    artifact_id: Annotated[str, typer.Argument(help="The artifact's id.", metavar="ARTIFACT_ID")],
    user: User,
    to: Annotated[Path | None, typer.Option("--to", help="A new file. Default: standard output.")] = None,
    agent: Agent = DEFAULT_AGENT,
    json: Json = False,
) -> None:
    """Download the file of an artifact."""
    if to and to.exists():
        raise InvalidInput(f"{to} already exists", field="to", fix="choose a new file")
    fields = {"artifact_id": artifact_id, "user_id": user, "agent_id": agent}
    validated(ArtifactRead, ids.with_placeholders(get_artifact, fields))

    async def run_it(engine: Engine) -> tuple[ArtifactView, bytes]:
        request = validated(ArtifactRead, await ids.completed(engine, get_artifact, fields))
        return await download_artifact(engine, request)

    found, content = with_engine(settings_of(context.obj), run_it)
    if to is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    with new_file(to) as file:
        file.write(content)
    if json:
        output.as_json({"artifact_id": str(found.artifact_id), "bytes": len(content), "file": str(to)})
    else:
        output.done(output.located(len(content), f"byte of {found.label}", to))
