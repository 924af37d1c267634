"""The directory of unix sockets: a path that is short, private and accessible to the servers.

A socket's path may be 107 bytes long on Linux and 103 on macOS, and libpq splits a host at commas. So sockets live in
`<data_dir>/run` when its name is short and plain. Otherwise, and always as root (Postgres then runs as a user who may
not be able to enter the data directory), they live under a name made from a hash of the data directory: in /run for
root, in the temporary directory for others.
"""

import hashlib
import os
import re
import stat
import tempfile
from pathlib import Path

from mnemolog.adapters.embedded.account import Account
from mnemolog.domain.errors import ServerFailed

LONGEST = 100  # bytes, of the longest socket path below
POSTGRES_SOCKET = Path("postgres/.s.PGSQL.5432")


def make_socket_directory(data_dir: Path, account: Account | None) -> Path:
    """The directory of this data directory's sockets, created and verified; the account owns Postgres' folder."""
    directory = socket_directory(data_dir)
    # Create it, or accept an existing one only if we created it: anyone can write to the temporary directory.
    directory.mkdir(exist_ok=True)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise ServerFailed(
            f"the socket directory {directory} belongs to someone else",
            fix="remove it, or set TMPDIR to your own directory",
        )
    directory.chmod(0o711 if account else 0o700)
    postgres = directory / POSTGRES_SOCKET.parent
    postgres.mkdir(mode=0o700, exist_ok=True)
    if account:
        os.chown(postgres, account.uid, account.gid)
    return directory


def socket_directory(data_dir: Path) -> Path:
    inside = data_dir / "run"
    is_root = os.geteuid() == 0
    if not is_root and _fits(inside):
        return inside
    name = f"mnemolog-{hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:12]}"
    places = [Path("/run")] if is_root and os.access("/run", os.W_OK) else []
    places += [Path(tempfile.gettempdir()), Path("/tmp")]
    return next(place / name for place in places if _fits(place / name) or place == places[-1])


def _fits(directory: Path) -> bool:
    path = str(directory / POSTGRES_SOCKET)
    return len(os.fsencode(path)) <= LONGEST and re.fullmatch(r"[\w./@+=-]+", path, re.ASCII) is not None
