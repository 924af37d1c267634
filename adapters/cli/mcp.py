"""The MCP server for one client, and the configuration of clients."""

import asyncio
import getpass
import json as json_module
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from mnemolog.adapters.cli import output
from mnemolog.adapters.cli.options import Agent, Json, checked_as
from mnemolog.adapters.config import Settings, load
from mnemolog.adapters.mcp import install as clients
from mnemolog.adapters.mcp.tools import INSTALL, ToolSet
from mnemolog.domain.errors import EngineError, InvalidInput
from mnemolog.events.envelope import DEFAULT_AGENT

User = Annotated[
    str | None,
    typer.Option("--user-id", "--user", "-u", envvar="MNEMOLOG_USER", help="The user. Default: your login name."),
]
WhichTools = Annotated[
    ToolSet, typer.Option("--tools", help="`default` offers three: add_memory, search_memory, get_context.")
]
Destructive = Annotated[bool, typer.Option("--destructive", help="Also offer the tools that delete and erase.")]

mcp = typer.Typer(help="The MCP server: memory for Claude, Cursor and other clients.")


@mcp.callback(invoke_without_command=True)
def serve(
    context: typer.Context,
    user: User = None,
    agent: Agent = DEFAULT_AGENT,
    tools: WhichTools = "default",
    destructive: Destructive = False,
) -> None:
    """Serve one client on standard input and output. Clients start this themselves: see `mnemolog mcp install`.

    Over HTTP, the server is at /mcp of `mnemolog up` and `mnemolog serve`.
    """
    if context.invoked_subcommand is not None:
        return
    try:
        from mnemolog.adapters.mcp import stdio  # Loads the SDK, which only this command needs.
    except ImportError as missing:
        raise EngineError(f"MCP is not installed ({missing})", field="mcp", fix=INSTALL) from missing
    user_id = checked_as("user_id")(user or getpass.getuser())
    if sys.stdin.isatty():
        output.errors.print(f"[dim]serving the memory of {user_id}; a client speaks to it on standard input[/]")
    asyncio.run(stdio.serve(context.obj, user_id=user_id, agent_id=agent, tools=tools, destructive=destructive))


@mcp.command()
def install(
    context: typer.Context,
    client: Annotated[str, typer.Argument(help="The client; `mnemolog mcp clients` lists them.")],
    user: User = None,
    agent: Annotated[
        str | None, typer.Option("--agent-id", "--agent", "-a", help="The agent. Default: the client's name.")
    ] = None,
    tools: WhichTools = "default",
    destructive: Destructive = False,
    write: Annotated[bool, typer.Option("--write", help="Add it to the client's file. Default: print it.")] = False,
    json: Json = False,
) -> None:
    """Print a client's configuration, or write it. Other entries of the file are kept."""
    if find_spec("mcp") is None:
        raise EngineError("MCP is not installed, so no client could start the server", field="mcp", fix=INSTALL)
    known = clients.known_clients(Path.home(), Path.cwd())
    if client not in known:
        raise InvalidInput(f"{client!r:.60} is unknown", field="client", fix=f"use one of {', '.join(known)}")
    found = known[client]
    entry = clients.entry_of(found, *_command(context.obj, user, agent or client, tools, destructive))
    changed = clients.write(found, entry) if write else False
    if json:
        output.as_json({"file": str(found.file), "changed": changed, "configuration": entry})
    elif not write:
        output.errors.print(f"[dim]Add this to {found.file}, or run this again with --write:[/]", highlight=False)
        print(json_module.dumps(entry, indent=2, ensure_ascii=False))  # noqa: T201  To be piped or copied as it is.
    elif changed:
        output.done(f"{found.title} has the memory; restart it to see the tools ({found.file})")
    else:
        output.done(f"No change: {found.file} has it already")


@mcp.command("clients")
def list_clients(json: Json = False) -> None:
    """List the clients that `install` knows, and their files."""
    known = clients.known_clients(Path.home(), Path.cwd())
    if json:
        output.as_json({"clients": [{"name": name, "file": str(one.file)} for name, one in known.items()]})
        return
    output.show(("client", "file"), [(name, str(one.file)) for name, one in known.items()])


def _command(
    data_dir: str | None, user: str | None, agent: str, tools: ToolSet, destructive: bool
) -> tuple[str, list[str]]:
    """The command that a client starts: absolute, since clients have an environment and a directory of their own."""
    settings = load(data_dir=data_dir)
    beside = Path(sys.executable).with_name("mnemolog")
    command = [str(beside) if beside.exists() else shutil.which("mnemolog") or "mnemolog"]
    if settings.data_dir != Settings.model_fields["data_dir"].default:
        command += ["--data-dir", str(settings.directory)]
    command += ["mcp", "--agent", checked_as("agent_id")(agent)]
    if user is not None:
        command += ["--user", checked_as("user_id")(user)]
    if tools != "default":
        command += ["--tools", tools]
    if destructive:
        command.append("--destructive")
    return command[0], command[1:]
