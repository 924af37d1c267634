"""The configuration of clients: printed, or written beside what is there."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mnemolog.adapters.cli import app
from mnemolog.adapters.mcp.install import entry_of, known_clients, write
from mnemolog.adapters.mcp.tools import INSTALL
from mnemolog.domain.errors import Conflict, EngineError
from tests.adapters.cli.command import mnemolog


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def test_the_configuration_is_printed_and_nothing_is_written(home: Path) -> None:
    ran = await mnemolog(home / "data", "mcp", "install", "cursor", "--user", "ana", "--tools", "all")

    server = json.loads(ran.out)["mcpServers"]["mnemolog"]
    assert Path(server["command"]).name == "mnemolog"
    directory = ["--data-dir", str(home / "data")]  # A client does not have this environment.
    assert server["args"] == [*directory, "mcp", "--agent", "cursor", "--user", "ana", "--tools", "all"]
    assert not (home / ".cursor").exists()


async def test_a_client_is_configured_once_and_its_other_servers_are_kept(home: Path) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"files": {"command": "files"}}, "theme": "dark"}')
    file.chmod(0o600)

    first = await mnemolog(home / "data", "mcp", "install", "cursor", "--write", "--json")
    second = await mnemolog(home / "data", "mcp", "install", "cursor", "--write", "--json")

    assert (first.value["changed"], second.value["changed"]) == (True, False)
    written = json.loads(file.read_text())
    assert (written["theme"], {*written["mcpServers"]}) == ("dark", {"files", "mnemolog"})
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["{", "[]", '{"servers": 1}', "\xff"])
def test_a_file_that_is_not_understood_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    client = known_clients(tmp_path, tmp_path)["vscode"]
    client.file.parent.mkdir()
    client.file.write_text(text, encoding="latin-1")

    with pytest.raises(Conflict) as refused:
        write(client, entry_of(client, "mnemolog", ["mcp"]))

    assert refused.value.field == "client"
    assert client.file.read_text(encoding="latin-1") == text


def test_no_client_is_told_of_a_server_that_is_not_installed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemolog.adapters.cli.mcp.find_spec", {}.get)

    ran = CliRunner().invoke(app.app, ["-d", str(home / "data"), "mcp", "install", "cursor", "--write"])

    assert isinstance(ran.exception, EngineError)
    assert ran.exception.fix == INSTALL
    assert not (home / ".cursor").exists()


async def test_an_unknown_client_is_refused_with_the_known_ones(home: Path) -> None:
    ran = await mnemolog(home / "data", "mcp", "install", "emacs", "--json")

    assert (ran.code, ran.value["error"]["field"]) == (2, "client")
    assert "claude-desktop" in ran.value["error"]["fix"]
    listed = await mnemolog(home / "data", "mcp", "clients", "--json")
    assert {"claude-desktop", "cursor"} <= {one["name"] for one in listed.value["clients"]}
