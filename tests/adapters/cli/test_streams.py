"""What a command reads and writes as text."""

import os
import subprocess
import sys
from pathlib import Path

from tests.adapters.cli.command import mnemolog

PROGRAM = "from mnemolog.adapters.cli import main; main()"


def test_a_command_writes_utf_8_in_every_locale(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, "--data-dir", str(tmp_path), "status"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert "✓ no engine runs" in done.stdout.decode()


async def test_what_is_piped_in_and_is_not_text_is_refused(tmp_path: Path) -> None:
    ran = await mnemolog(tmp_path, "add", "-", "-u", "ana", stdin="\udcff")
    assert (ran.code, ran.out) == (2, "")
    assert "messages is not UTF-8" in ran.err


async def test_json_that_is_nested_too_deeply_to_be_parsed_is_refused(tmp_path: Path) -> None:
    ran = await mnemolog(tmp_path, "create", "tea", "-u", "ana", "--metadata", "[" * 50_000)
    assert (ran.code, ran.out) == (2, "")
    assert "metadata is nested too deeply" in ran.err
