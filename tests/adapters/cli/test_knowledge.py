"""`mnemolog knowledge`: files and directories into a library, and what the commands print."""

import os
from pathlib import Path
from uuid import uuid4

import pytest

from mnemolog.adapters.engine.engine import Engine
from tests.adapters.cli.command import Ran, mnemolog

pytestmark = pytest.mark.spec("A21")


class Shell:
    """Runs commands on the library of one agent."""

    def __init__(self, engine: Engine) -> None:
        self.directory, self.agent = engine.settings.directory, f"coach-{uuid4().hex[:8]}"

    async def __call__(self, command: str, *arguments: str, stdin: str = "") -> Ran:
        asked = ("knowledge", command, *arguments, "--agent", self.agent)
        return await mnemolog(self.directory, *asked, stdin=stdin)


@pytest.fixture
def shell(engine: Engine) -> Shell:
    return Shell(engine)


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    folder = tmp_path / "handbook"
    (folder / "deep").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / ".git" / "notes.md").write_text("hidden")
    (folder / "sleep.md").write_text("# Sleep\n\nNo coffee in the evening.\n\n## Naps\n\nTwenty minutes.\n")
    (folder / "deep" / "water.txt").write_text("Drink two litres a day.")
    (folder / "photo.png").write_bytes(b"\x89PNG")
    return folder


def names(handbook: Path, *paths: str) -> list[str]:
    return [(handbook / path).as_posix() for path in paths]


async def test_a_directory_is_added_updated_and_synchronised(shell: Shell, handbook: Path) -> None:
    both = names(handbook, "sleep.md", "deep/water.txt")
    nothing: dict[str, object] = {
        "added": [],
        "changed": [],
        "restored": [],
        "unchanged": [],
        "removed": [],
        "failed": {},
    }
    added = await shell("add", str(handbook), "--domain", "health", "--json")
    assert added.value["failed"] == {}
    assert (added.code, added.value) == (0, {**nothing, "added": both})
    assert (await shell("add", str(handbook), "--json")).value == {**nothing, "unchanged": both}

    (handbook / "sleep.md").write_text("# Sleep\n\nNo coffee in the evening.\n\n## Naps\n\nThirty minutes.\n")
    (handbook / "deep" / "water.txt").unlink()
    changed = await shell("add", str(handbook), "--sync", "--json")
    assert changed.value == {**nothing, "changed": both[:1], "removed": both[1:]}
    (handbook / "deep" / "water.txt").write_text("Drink two litres a day.")
    back = await shell("add", str(handbook), "--sync")
    assert (back.code, back.out.splitlines()[-1]) == (0, "✓ 0 added, 0 changed, 1 restored, 1 unchanged, 0 removed")

    [hit, *_] = (await shell("search", "how long is a nap?", "--json")).value["items"]
    assert (hit["source"], hit["place"], hit["text"]) == (both[0], "Sleep > Naps", "Thirty minutes.")
    listed = (await shell("list", "--domain", "health", "--json")).value["items"]
    assert [one["source"] for one in listed] == sorted(both)
    document = listed[0]["document_id"]
    assert (await shell("get", document[:18], "--json")).value["document_id"] == document
    for command in (["list"], ["search", "naps"], ["get", document], ["history", document]):
        assert (await shell(*command)).code == 0
    history = await shell("history", listed[-1]["document_id"])
    assert "1 chunk added, 0 moved, 1 removed" in history.out


async def test_a_directory_without_a_document_is_refused(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "notes.rst").write_text("Sleep\n=====")

    refused = await shell("add", str(tmp_path), "--json")

    assert (refused.code, refused.value["error"]["field"]) == (2, "paths")
    assert ".markdown, .md" in refused.value["error"]["fix"]


async def test_a_retry_with_the_same_key_does_not_bring_an_older_file_back(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "sleep.md"
    for key, text in (("first", "Ten minutes."), ("second", "Twenty minutes."), ("first", "Ten minutes.")):
        file.write_text(text)
        assert (await shell("add", str(file), "--source", "sleep.md", "--idempotency-key", key)).code == 0

    [hit, *_] = (await shell("search", "minutes", "--json")).value["items"]
    assert hit["text"] == "Twenty minutes."
    refused = await shell("add", str(file), str(Path(__file__)), "--key", "third")
    assert (refused.code, "is one key for 2 files" in refused.err) == (2, True)


async def test_another_directory_is_left_alone_by_a_synchronisation(shell: Shell, handbook: Path) -> None:
    other = handbook.with_name("handbook-2")
    other.mkdir()
    (other / "tea.md").write_text("Tea is fine.")
    await shell("add", str(other), str(handbook))
    (handbook / "sleep.md").unlink()
    ran = await shell("add", str(handbook), "--sync", "--json")
    assert ran.value["removed"] == names(handbook, "sleep.md")
    assert len((await shell("list", "--json")).value["items"]) == 2


async def test_a_file_that_cannot_be_read_does_not_stop_the_others(shell: Shell, handbook: Path) -> None:
    (handbook / "broken.pdf").write_bytes(b"%PDF-1.4 nonsense")
    ran = await shell("add", str(handbook), "--sync", "--json")
    assert ran.code == 1
    assert len(ran.value["added"]) == 2
    [(name, error)] = ran.value["failed"].items()
    assert [name] == names(handbook, "broken.pdf")
    assert (error["code"], error["field"]) == ("invalid_input", "content")


async def test_links_lead_neither_out_of_the_directory_nor_round_in_it(shell: Shell, handbook: Path) -> None:
    (handbook.parent / "secret.txt").write_text("The password is xyzzy.")
    (handbook / "notes.md").symlink_to(handbook.parent / "secret.txt")
    (handbook / "again.md").symlink_to("sleep.md")
    (handbook / "deep" / "round").symlink_to(handbook)
    (handbook / "nowhere.md").symlink_to("nowhere.md")

    ran = await shell("add", str(handbook), "--json")

    assert ran.value["added"] == names(handbook, "again.md", "sleep.md", "deep/water.txt")
    assert list(ran.value["failed"]) == names(handbook, "notes.md")
    assert (await shell("add", str(handbook / "notes.md"), "--json")).code == 0


async def test_a_file_whose_name_is_not_utf_8_fails_alone_and_is_named(shell: Shell, handbook: Path) -> None:
    named_badly = handbook / os.fsdecode(b"bad\xff.md")
    named_badly.write_text("Eat at noon.")

    ran = await shell("add", str(handbook))
    assert (ran.code, "bad\ufffd.md" in ran.out, "Traceback" in ran.err) == (1, True, False)
    assert list((await shell("add", str(handbook), "--json")).value["failed"]) == names(handbook, "bad\udcff.md")


async def test_standard_input_is_a_document_with_a_name(shell: Shell) -> None:
    ran = await shell("add", "-", "--source", "note.md", "--json", stdin="# Note\n\nTea at five.")
    assert ran.value["added"] == ["note.md"]
    assert (await shell("add", "-", stdin="tea")).code == 2


@pytest.mark.parametrize("arguments", [["missing.md"], [".", "--sync"], ["--sync", "-"]])
async def test_what_is_unclear_is_refused(shell: Shell, arguments: list[str]) -> None:
    assert (await shell("add", *arguments)).code == 2


async def test_an_erasure_asks_shows_and_is_proved(shell: Shell, handbook: Path) -> None:
    await shell("add", str(handbook))
    [document, _] = [one["document_id"] for one in (await shell("list", "--json")).value["items"]]
    rehearsed = await shell("erase", document, "--dry-run", "--json")
    assert rehearsed.value["known"] == [f"document:{document}"]
    assert (await shell("prove-erased", document)).code == 1
    assert (await shell("erase", document, "--yes")).code == 0
    assert (await shell("prove-erased", document, "--json")).value["erased"]
    assert (await shell("get", document)).code == 1
