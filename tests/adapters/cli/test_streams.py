"""The streams of a command that runs in its own process."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = "from mnemolog.adapters.cli import main; main()"


def test_a_command_writes_utf_8_in_every_locale(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, "--data-dir", str(tmp_path), "status"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert "✓ no engine runs" in done.stdout.decode()
