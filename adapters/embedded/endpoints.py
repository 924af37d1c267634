"""The endpoints of a running engine's servers, and the kind of engine."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Literal, Self

ServerName = Literal["postgres", "nats", "redis"]
EngineKind = Literal["background", "up", "in-process"]


@dataclass(frozen=True)
class Endpoints:
    """The addresses of one engine; they hold the NATS token, so keep them out of logs.

    `ready` is false while the engine starts. `settings` are those that all its clients share, for comparison.
    `projections_url` is the database of what is read, where that is not the log's.
    """

    pid: int
    postgres_dsn: str
    nats_url: str
    redis_url: str
    http_url: str | None = None
    kind: EngineKind = "in-process"
    version: str = ""
    started_at: str = ""
    ready: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)
    projections_url: str | None = None

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The endpoints that `as_json` wrote; fields of a later version are ignored."""
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in json.loads(text).items() if name in known})

    @property
    def projections_dsn(self) -> str:
        """The database of what is read."""
        return self.projections_url or self.postgres_dsn

    @property
    def split(self) -> bool:
        """Whether the log and what is read live in two databases."""
        return self.projections_dsn != self.postgres_dsn

    @property
    def addresses(self) -> tuple[str, str, str, str]:
        """Where the servers answer. They usually stay the same when an engine is replaced by another."""
        return self.postgres_dsn, self.nats_url, self.redis_url, self.projections_dsn

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
