"""A file is added and downloaded on the command line."""

from pathlib import Path

from mnemolog.adapters.engine.engine import Engine
from tests.adapters.cli.command import mnemolog


async def test_a_download_goes_to_a_new_file_or_says_why_it_cannot(engine: Engine, user: str, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("milk and eggs")
    data_dir, to = engine.settings.directory, tmp_path / "copy.txt"
    added = await mnemolog(data_dir, "artifact", "add", str(tmp_path / "list.txt"), "-u", user, "--json")
    artifact_id = added.value["artifact_id"]

    nowhere = await mnemolog(
        data_dir, "artifact", "download", artifact_id, "-u", user, "--to", str(tmp_path / "no" / "copy.txt")
    )
    there = await mnemolog(data_dir, "artifact", "download", artifact_id, "-u", user, "--to", str(to))

    assert (nowhere.code, there.code) == (2, 0)
    assert "cannot be written: No such file or directory" in nowhere.err
    assert to.read_text() == "milk and eggs"
