"""The reference names everything that there is: event types, settings, commands, errors, routes, methods, fields."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import MagicMock

import pytest
import typer

from mnemolog.adapters.cli import app as cli
from mnemolog.adapters.config import CONFIG_FILE, Settings
from mnemolog.adapters.http import errors as http_errors
from mnemolog.adapters.jobs.worker import CLEANING
from mnemolog.adapters.maintenance.recurring import recurring
from mnemolog.adapters.nats import subjects
from mnemolog.adapters.nats.turn_message import REASON, REPLY_TO, TurnMessage, read_turn
from mnemolog.adapters.operations.reference import page
from mnemolog.adapters.operations.registry import OPERATIONS
from mnemolog.adapters.qdrant.index import QdrantUnavailable
from mnemolog.adapters.webhooks import jobs as webhooks
from mnemolog.domain.errors import MnemologError
from mnemolog.events.event import Event
from mnemolog.events.registry import REGISTRY
from tests.docs.pages import PAGES, ROOT, blocks, called, section

REFERENCE = ROOT / "docs" / "reference"
NONSENSE = "nonsense"  # The page of bad input shows a command that does not exist.


def read(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def row_of(text: str, first_cell: str) -> str:
    """The table row that begins with this cell; a failure when there is none."""
    found = re.search(rf"^\| {re.escape(first_cell)} \|.*$", text, re.MULTILINE)
    assert found, f"there is no row {first_cell}"
    return found[0]


def headings(name: str) -> set[str]:
    return set(re.findall(r"^#{2,3} (.+)$", read(name), re.MULTILINE))


@pytest.mark.parametrize("event_type", list(REGISTRY.types.values()), ids=lambda event_type: event_type.type_name())
def test_every_event_type_is_listed_with_its_version_fields_and_encryption(event_type: type[Event]) -> None:
    body = section(REFERENCE / "events.md", event_type.type_name())
    assert f"Version {event_type.version}." in body
    for field in event_type.model_fields:
        assert ("sealed" in row_of(body, f"`{field}`")) is (field in event_type.personal_fields()), field
    assert len(re.findall(r"^\| `", body, re.MULTILINE)) == len(event_type.model_fields)


def test_no_event_type_is_described_that_does_not_exist() -> None:
    named = {heading for heading in headings("events.md") if re.fullmatch(r"(?:[A-Z][a-z]+){2,}", heading)}
    assert named == set(REGISTRY.types)


def test_every_kind_of_job_is_listed() -> None:
    text = (ROOT / "docs" / "explanation" / "jobs.md").read_text(encoding="utf-8")

    kinds = {CLEANING, webhooks.SEND, webhooks.SWEEP, *(one.name for one in recurring(MagicMock()))}
    assert set(re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE)) == kinds


@pytest.mark.parametrize("name", list(Settings.model_fields))
def test_every_setting_is_listed_with_its_variable_and_default(name: str) -> None:
    row = row_of(read("settings.md"), f"`{name}`")
    default = Settings.model_fields[name].default
    assert f"`MNEMOLOG_{name.upper()}`" in row
    if isinstance(default, bool | str | int | float | Path):
        shown = str(default).lower() if isinstance(default, bool) else str(default)
        assert f"| `{shown}` |" in row


def test_the_settings_page_names_the_settings_file_and_nothing_that_does_not_exist() -> None:
    page = read("settings.md")
    assert CONFIG_FILE in page
    named = set(re.findall(r"MNEMOLOG_([A-Z0-9_]+)", page)) - {"CONFIG", "USER"}
    assert named == {name.upper() for name in Settings.model_fields}


OF_OPERATIONS = {operation.command.split()[0] for operation in OPERATIONS if operation.command}
OPERATING = {
    name: [option for one in command.params for option in one.opts if option.startswith("--")]
    for name, command in typer.main.get_command(cli.app).commands.items()  # type: ignore[attr-defined]
    if name not in OF_OPERATIONS
}


@pytest.mark.parametrize("name", OPERATING)
def test_every_other_command_is_listed_with_its_options(name: str) -> None:
    body = section(REFERENCE / "cli.md", f"mnemolog {name}")
    assert body, f"docs/reference/cli.md has no section for {name}"
    common = section(REFERENCE / "cli.md", "Commands that read and write memory")
    for option in OPERATING[name]:
        assert f"`{option}" in body + common, option


def test_no_command_is_described_that_does_not_exist() -> None:
    described = {heading for heading in headings("cli.md") if heading.startswith("mnemolog ")}
    assert described == {f"mnemolog {name}" for name in OPERATING}


@pytest.mark.parametrize("page", PAGES, ids=called)
def test_every_command_that_the_page_names_exists(page: Path) -> None:
    for named in re.findall(r"`mnemolog\s+([^`]+)`", page.read_text(encoding="utf-8")):
        command: object = cli.parser()
        for word in named.split():
            commands = getattr(command, "commands", {})
            if not commands or not re.fullmatch(r"[a-z][a-z-]*", word) or word == NONSENSE:
                break
            assert word in commands, f"mnemolog {named}"
            command = commands[word]


assert issubclass(QdrantUnavailable, MnemologError), "only errors that were imported are found"


def every_error(error: type[MnemologError] = MnemologError) -> Iterator[type[MnemologError]]:
    yield error
    for kind in error.__subclasses__():
        yield from every_error(kind)


@pytest.mark.parametrize("error", list(every_error()), ids=lambda error: error.__name__)
def test_every_error_is_listed_with_its_code_http_status_and_exit_code(error: type[MnemologError]) -> None:
    raised = error.__new__(error)
    row = row_of(read("errors.md"), f"`{error.__name__}`")
    assert f"| `{error.code}` | {http_errors.status_of(raised)} | {cli._exit_code(raised)} |" in row


def test_the_page_of_operations_is_that_of_their_registry() -> None:
    assert read("operations.md") == page(), "run `make reference`"


@pytest.mark.parametrize("field", list(TurnMessage.model_fields))
def test_every_field_of_a_turn_is_listed(field: str) -> None:
    row = row_of(read("turn-schema.md"), f"`{field}`")
    assert ("| required |" in row) is TurnMessage.model_fields[field].is_required()


def test_every_turn_that_is_shown_is_accepted() -> None:
    shown = [block.text for block in blocks(REFERENCE / "turn-schema.md") if block.info == "json"]
    turns = [text for text in shown if "message_id" in json.loads(text)]
    assert len(turns) >= 2
    for text in turns:
        read_turn(text.encode())


def test_subjects_streams_and_headers_of_turns_are_named() -> None:
    page = read("turn-schema.md")
    for name in (REPLY_TO, REASON, subjects.TURNS, subjects.DEAD_LETTERS, "mnemolog.turns.<tenant>"):
        assert name in page
