"""Tests. What they keep outside of their directories goes to one folder, which ends with the first process of a run.

Each process has a folder in it for what its engines keep outside of their data directories.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_VARIABLE = "TESTS_FOLDER"


def _shared_folder() -> Path:
    if _VARIABLE not in os.environ:
        os.environ[_VARIABLE] = made = tempfile.mkdtemp(prefix="mnemolog-tests-")
        atexit.register(_delete, made, os.getpid())
    return Path(os.environ[_VARIABLE])


def _delete(folder: str, maker: int) -> None:
    if os.getpid() == maker:  # Not in a fork of it.
        shutil.rmtree(folder, ignore_errors=True)


FOLDER = _shared_folder()
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="state-", dir=FOLDER)
os.environ["MNEMOLOG_AUDIT_SHARE"] = "0"  # It would take its share of every engine's time; its own tests turn it on.
