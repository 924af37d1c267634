"""The endpoints of a running engine's servers, and the kind of engine."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Literal, Self

ServerName = Literal["postgres", "nats", "redis"]
EngineKind = Literal["background", "up", "in-process"]


@dataclass(frozen=True)
class Endpoints:
    """The addresses of one engine; they contain the NATS token, so do not log them.

    `ready` is false while the engine starts. `settings` are those that all its clients share, for comparison, and the
    engine's policy.
    `projections_url` is the database of the projections, if it is not the log's.
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
        """The endpoints that `as_json` wrote; fields from a later version are ignored."""
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in json.loads(text).items() if name in known})

    @property
    def projections_dsn(self) -> str:
        """The database of the projections."""
        return self.projections_url or self.postgres_dsn

    @property
    def split(self) -> bool:
        """Whether the log and the projections are in two databases."""
        return self.projections_dsn != self.postgres_dsn

    @property
    def addresses(self) -> tuple[str, str, str, str]:
        """The servers' addresses. They usually stay the same when another engine replaces this one."""
        return self.postgres_dsn, self.nats_url, self.redis_url, self.projections_dsn

    def as_json(self) -> str:
        """The content of `engine.json`."""
        return json.dumps(asdict(self), indent=2)


@dataclass(frozen=True)
class ServerEvent:
    """Seen by the supervisor: a server `died`, was `restarted`, or an attempt to restart it `failed`."""

    server: ServerName
    what: Literal["died", "restarted", "failed"]
    detail: str = ""
