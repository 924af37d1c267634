"""`mnemolog artifact add` and `mnemolog artifact download`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from mnemolog.adapters.cli import ids, output
from mnemolog.adapters.cli.operations import group_of
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
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_THREAD
from mnemolog.events.fields import validated
from mnemolog.transfer import new_file

STDIN = "-"


def register(app: typer.Typer) -> None:
    group = group_of(app, "artifact")
    group.command("add")(add)
    group.command("download")(download)


def add(
    context: typer.Context,
    user: User,
    file: Annotated[str | None, typer.Argument(help="The file; `-` reads standard input.", show_default=False)] = None,
    agent: Agent = DEFAULT_AGENT,
    thread: Annotated[
        str, typer.Option("--thread-id", "--thread", "-t", help="The thread in which it is reported.")
    ] = DEFAULT_THREAD,
    run: Annotated[
        str | None, typer.Option("--run-id", "--run", help="The run it belongs to, such as an episode.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="The file name. Default: that of the file.")] = None,
    mime: Annotated[
        str | None, typer.Option("--mime", help="The media type. Default: from the name or the content.")
    ] = None,
    type_: Annotated[
        str | None, typer.Option("--type", help="image, file, audio, video or link. Default: from the media type.")
    ] = None,
    caption: Annotated[str | None, typer.Option("--caption", help="What the user says about it.")] = None,
    url: Annotated[str | None, typer.Option("--url", help="The address, for a link. It is never fetched.")] = None,
    scope: Annotated[str | None, typer.Option("--scope", help="global, or agent for this agent only.")] = None,
    turns: Annotated[list[str] | None, typer.Option("--turn", help="A turn that it is attached to.")] = None,
    key: Annotated[
        str | None, typer.Option("--idempotency-key", "--key", help="Your own key: a retry changes nothing.")
    ] = None,
    json: Json = False,
) -> None:
    """Add a file or link.

    Its text is extracted in the background. The same content again changes nothing.
    """
    path = None if file in (None, STDIN) else Path(str(file))
    given = {
        "user_id": user,
        "agent_id": agent,
        "thread_id": thread,
        "run_id": run,
        "name": name if name is not None or path is None else path.name,
        "mime": mime,
        "type": type_,
        "caption": caption,
        "url": url,
        "scope": scope,
        "source_turn_ids": turns or None,
        "idempotency_key": key,
    }
    fields = {one: value for one, value in given.items() if value is not None}
    validated(AddArtifact, fields)
    content = read_all(sys.stdin.buffer, "file") if file == STDIN else read_file(path, "file") if path else None

    async def run_it(engine: Engine) -> ArtifactAdded:
        turn_ids = {"user_id": user, "agent_id": agent, "source_turn_ids": turns or []}
        request = validated(AddArtifact, {**fields, **await ids.completed(engine, create, turn_ids)})
        return await add_artifact(engine, request, content)

    added = with_engine(settings_of(context.obj), run_it)
    if json:
        output.as_json(added.model_dump(mode="json"))
    else:
        output.receipt("Added", added, added.artifact_id)


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
