"""Sessions of the console: a signed cookie that names an API key and ends by itself.

The cookie holds no secret of the key. A session reaches as far as its key does at each request, and ends when the key
is revoked.
"""

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from hashlib import sha256

LASTS = timedelta(hours=8)


@dataclass(frozen=True, slots=True)
class Session:
    """`key_id` is "" for the token of the data directory, of which `mark` is a digest. `ends` is in seconds of Unix."""

    key_id: str
    mark: str
    nonce: str
    ends: int


class Sessions:
    """`key` signs them, in every process of a deployment."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def cookie(self, session: Session) -> str:
        said = _text(json.dumps(asdict(session), sort_keys=True).encode())
        return f"{said}.{self._mac('session', said)}"

    def read(self, cookie: str, now: datetime) -> Session | None:
        """None unless this deployment signed the cookie, and the session has not ended."""
        said, _, mac = cookie.partition(".")
        if not cookie.isascii() or not hmac.compare_digest(mac, self._mac("session", said)):
            return None
        session = Session(**json.loads(urlsafe_b64decode(said + "=" * (-len(said) % 4))))
        return session if session.ends > now.timestamp() else None

    def form_token(self, session: Session) -> str:
        """What each form of a session carries, which no other site can know."""
        return self._mac("form", session.nonce)

    def mark(self, token: str | None) -> str:
        """Changes with the token of the data directory, which ends the sessions that it opened."""
        return self._mac("token", token or "")

    def _mac(self, purpose: str, text: str) -> str:
        return _text(hmac.digest(self._key, f"{purpose} {text}".encode(), sha256))


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")
