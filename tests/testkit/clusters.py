"""Copies of one new Postgres cluster, for engines of tests: a quarter of the work of initdb.

Only clusters that need not be durable are copied. The tests of the embedded servers have initdb make each.
"""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from mnemolog.adapters.embedded import postgres_cluster
from mnemolog.adapters.embedded.account import Account, give

# Where the cluster is that is copied: one for all processes of a test run. Its folder is deleted with the first.
VARIABLE = "TESTS_POSTGRES_TEMPLATE"
by_initdb = postgres_cluster._create
_own: "tempfile.TemporaryDirectory[str] | None" = None


def copy_clusters() -> None:
    """From now on, in this process and in those that it starts and that call this, too."""
    global _own
    if VARIABLE not in os.environ:
        _own = tempfile.TemporaryDirectory(prefix="mnemolog-cluster-")
        os.environ[VARIABLE] = _own.name
    vars(postgres_cluster)["_create"] = _copied


def _copied(directory: Path, binary: Path, account: Account | None, *, durable: bool) -> None:
    if durable or VARIABLE not in os.environ:
        by_initdb(directory, binary, account, durable=durable)
        return
    draft = postgres_cluster._draft(directory)
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(_template(binary, account), draft)
    give(draft, account)
    draft.rename(directory)


def _template(binary: Path, account: Account | None) -> Path:
    """Made by the first who asks."""
    folder = Path(os.environ[VARIABLE])
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "cluster").exists():
            by_initdb(folder / "cluster", binary, account, durable=False)
    return folder / "cluster"
