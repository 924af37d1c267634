"""The token of the HTTP API: created at the first start, readable by the owner of the data directory only.

Other accounts of this machine reach the loopback interface too. Who can read the file can read the master key beside
it, so the token gives all rights, as the command line has them.
"""

import secrets
from pathlib import Path

from mnemolog.adapters import keys
from mnemolog.adapters.config import Settings
from mnemolog.domain.errors import EngineError

PREFIX = "mnt_"
BYTES = 32


def token_file(settings: Settings) -> Path:
    return settings.directory / "http.token"


def local_token(settings: Settings) -> str | None:
    """The token that requests must send; None if the setting `http_token` turns it off."""
    if settings.http_token == "off":
        return None
    path = token_file(settings)
    try:
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            keys.create_private(path, f"{PREFIX}{secrets.token_urlsafe(BYTES)}\n".encode())
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise EngineError(
            f"cannot read or create {path}: {error}",
            field="http_token",
            fix="correct its owner, or set http_token = 'off'",
        ) from error
    if len(token) < len(PREFIX) + BYTES:
        raise EngineError(
            f"{path} contains no token", field="http_token", fix="delete it: the next start creates a new one"
        )
    return token
