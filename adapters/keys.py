"""Secrets in files of the data directory readable by the owner only (design §7): the master key and others."""

import os
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mnemolog.adapters.syncing import sync_names
from mnemolog.domain.errors import InvalidInput

KEY_BYTES = 32
# Beside the master key while it is rotated.
NEXT = "master.key.new"


def decoded(text: str, field: str) -> bytes:
    """A base64 key of 32 bytes; InvalidInput otherwise."""
    try:
        key = b64decode(text.strip(), validate=True)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise InvalidInput(
            f"is not {KEY_BYTES} bytes in base64", field=field, fix="create one with `openssl rand -base64 32`"
        )
    return key


def from_file(path: Path, random_bytes: Callable[[int], bytes] = os.urandom) -> bytes:
    """The key in `path`; if the file does not exist, a new one is written first (mode 0600)."""
    if not path.exists():
        create_private(path, b64encode(random_bytes(KEY_BYTES)) + b"\n")
    return decoded(path.read_text(encoding="ascii"), field=str(path))


def create_private(path: Path, content: bytes) -> None:
    """Write it atomically and never replace a key: a half-written key would lock its owner out (mode 0600).

    It is on disk when this returns: what a lost key sealed is lost.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)  # From a dead process with the same pid.
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    sync_names(path.parent)
