"""The configuration of MCP clients that start the server themselves."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mnemolog.domain.errors import Conflict, InvalidInput

NAME = "mnemolog"


@dataclass(frozen=True, slots=True)
class Client:
    """Where a client keeps its servers: a JSON file, and the key of the object with one entry per server."""

    title: str
    file: Path
    key: str = "mcpServers"
    entry: Mapping[str, str] | None = None
    """What the client wants in each entry in addition to `command` and `args`."""


def known_clients(home: Path, project: Path, platform: str = sys.platform) -> Mapping[str, Client]:
    """The clients by name, with their files on this platform."""
    match platform:
        case "darwin":
            applications = home / "Library" / "Application Support"
        case "win32":
            applications = Path(os.environ.get("APPDATA", home / "AppData" / "Roaming"))
        case _:
            applications = home / ".config"
    return {
        "claude-desktop": Client("Claude Desktop", applications / "Claude" / "claude_desktop_config.json"),
        "claude-code": Client("Claude Code", project / ".mcp.json", entry={"type": "stdio"}),
        "cursor": Client("Cursor", home / ".cursor" / "mcp.json"),
        "windsurf": Client("Windsurf", home / ".codeium" / "windsurf" / "mcp_config.json"),
        "vscode": Client("VS Code", project / ".vscode" / "mcp.json", "servers", {"type": "stdio"}),
        "gemini-cli": Client("Gemini CLI", home / ".gemini" / "settings.json"),
    }


def entry_of(client: Client, command: str, args: Sequence[str]) -> Mapping[str, Any]:
    """The client's configuration with only this server."""
    return {client.key: {NAME: {**(client.entry or {}), "command": command, "args": [*args]}}}


def write(client: Client, entry: Mapping[str, Any]) -> bool:
    """Add the server to the client's file, or replace it there, and keep everything else. False if nothing changed.

    Raises Conflict, and writes nothing, if the file is not a JSON object.
    """
    file = client.file
    before = _read(file)
    servers = before.get(client.key, {})
    if not isinstance(servers, dict):
        raise _unreadable(file, f"{client.key} is not an object")
    after = {**before, client.key: {**servers, **entry[client.key]}}
    if after == before:
        return False
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_name(f"{file.name}.new")
        beside.write_text(json.dumps(after, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        if file.exists():
            beside.chmod(file.stat().st_mode)
        beside.replace(file.resolve())
    except OSError as error:
        raise InvalidInput(f"cannot write {file}: {error.strerror}", field="client", fix="correct its owner") from error
    return True


def _read(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, str(error)) from error
    try:
        found = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise _unreadable(file, f"it is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise _unreadable(file, "it is not a JSON object")
    return found


def _unreadable(file: Path, reason: str) -> Conflict:
    return Conflict(
        f"{file} was left as it is: {reason}", field="client", fix="correct it, or run again without --write and paste"
    )
