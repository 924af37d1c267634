"""Where the servers of a running engine answer."""

import json
from dataclasses import asdict, dataclass
from typing import Literal, Self

ServerName = Literal["postgres", "nats", "redis"]


@dataclass(frozen=True)
class Endpoints:
    """The addresses of one engine; they hold the NATS token, so keep them out of logs."""

    pid: int
    postgres_dsn: str
    nats_url: str
    redis_url: str
    http_url: str | None = None

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The endpoints that `as_json` wrote."""
        return cls(**json.loads(text))

    def as_json(self) -> str:
        """The content of `engine.json`."""
        return json.dumps(asdict(self), indent=2)


@dataclass(frozen=True)
class ServerEvent:
    """What supervision saw: a server `died`, was `restarted`, or an attempt to restart it `failed`."""

    server: ServerName
    what: Literal["died", "restarted", "failed"]
    detail: str = ""


@dataclass(frozen=True)
class ServerHealth:
    """One server, as `EmbeddedServers.health` finds it; of a server that a URL names only the address is known."""

    name: ServerName
    version: str
    pid: int | None
    address: str
    running: bool | None
    embedded: bool = True
