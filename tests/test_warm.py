"""The fork server of a test run, which makes the processes of tests."""

import os
import subprocess
import sys
from pathlib import Path

from tests.testkit.warm import ROOT, Forked

PARENT = "import os; print(os.getppid(), flush=True)"
IN_ANOTHER = f"""
from tests.testkit.warm import Forked
assert Forked(["-c", {PARENT!r}], {{}}, [0, 1, 2]).wait(60) == 0
"""


def test_all_processes_of_a_run_share_one_fork_server_that_none_of_them_ends(tmp_path: Path) -> None:
    told = [_parent(tmp_path / "first")]
    another = subprocess.run([sys.executable, "-c", IN_ANOTHER], cwd=ROOT, check=True, capture_output=True)
    assert {*told, another.stdout, _parent(tmp_path / "last")} == {told[0]}
    assert int(told[0]) != os.getpid()


def _parent(told: Path) -> bytes:
    with told.open("w+b") as out:
        assert Forked(["-c", PARENT], {}, [0, out.fileno(), 2]).wait(60) == 0
        out.seek(0)
        return out.read()
