"""The system user that runs Postgres if the engine is root, because Postgres refuses to run as root.

The owner of existing data comes first, so that data stays readable whatever users a machine or an image has. New data
gets the user `mnemolog`, made with useradd; where that is impossible, the `postgres` or `nobody` that is there.
"""

import fcntl
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mnemolog.domain.errors import ServerFailed

NAME = "mnemolog"
SEARCHED = "/usr/sbin:/sbin:/usr/bin:/bin"
NO_LOGIN = (
    "--system",
    "--user-group",
    "--no-create-home",
    "--home-dir",
    "/nonexistent",
    "--shell",
    "/usr/sbin/nologin",
)


@dataclass(frozen=True)
class Account:
    """A system user by number, which needs no entry in /etc/passwd."""

    uid: int
    gid: int


def postgres_account(data: Path) -> Account | None:
    """The user to run Postgres as, for data in `data`; None if this process is not root and runs it itself."""
    if os.geteuid() != 0:
        return None
    account = _owner(data) or _existing(NAME) or _created(NAME) or _existing("postgres") or _existing("nobody")
    if account is None:
        raise ServerFailed(
            "Postgres refuses to run as root, and there is no other user on this machine",
            fix=f"create one (useradd --system {NAME}), run as another user, or set MNEMOLOG_POSTGRES_URL",
        )
    return account


def run_as(account: Account | None, argv: Sequence[str | Path]) -> tuple[Sequence[str | Path], Mapping[str, Any]]:
    """The command line and the arguments of `Popen` that run a program as an account; None is this process's own.

    `Popen(user=...)` forks, which copies the page tables of the whole process: 35 ms of processor time for one of
    600 MB, and an error where memory cannot be overcommitted. A program of util-linux that changes the user needs 2 ms.
    """
    if account is None:
        return argv, {}
    if setpriv := _setpriv():
        return [setpriv, f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups", *argv], {}
    return argv, {"user": account.uid, "group": account.gid, "extra_groups": []}


@cache
def _setpriv() -> str | None:
    """That of BusyBox changes no user."""
    setpriv = shutil.which("setpriv", path=SEARCHED)
    if setpriv is None:
        return None
    tried = subprocess.run(
        [setpriv, "--reuid=0", "--regid=0", "--clear-groups", "true"], capture_output=True, check=False
    )
    return setpriv if tried.returncode == 0 else None


def give(tree: Path, account: Account | None) -> None:
    """Change the owner of `tree` where it differs, for instance after a copy by root."""
    if account is None or tree.stat().st_uid == account.uid:
        return
    for folder, folders, files in os.walk(tree):
        for name in (*folders, *files):
            os.chown(Path(folder, name), account.uid, account.gid, follow_symlinks=False)
    os.chown(tree, account.uid, account.gid)


def _owner(data: Path) -> Account | None:
    if not data.exists() or data.stat().st_uid == 0:
        return None
    return Account(data.stat().st_uid, data.stat().st_gid)


def _existing(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(entry.pw_uid, entry.pw_gid)


def _created(name: str) -> Account | None:
    useradd = shutil.which("useradd", path=SEARCHED)
    if useradd is None:
        return None
    with _locked(useradd):
        if (existing := _existing(name)) is None:
            subprocess.run([useradd, *NO_LOGIN, name], capture_output=True, check=False)
        return existing or _existing(name)


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """Only one process on this machine at a time.

    If two run useradd at once, the later one overwrites the entry of the earlier one: the number changes, and data
    owned by the first number has no user.
    """
    with open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
