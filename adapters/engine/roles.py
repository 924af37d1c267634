"""The roles of an engine, in one process or in separate ones (ADR 48)."""

import os
from enum import StrEnum

from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded import Endpoints
from mnemolog.domain.errors import InvalidInput


class EngineRole(StrEnum):
    """`serve` answers HTTP. `relay` carries events to JetStream, and producers' turns into the log.

    `project` keeps projections up to date. `work` runs jobs and the audit.
    """

    SERVE = "serve"
    RELAY = "relay"
    PROJECT = "project"
    WORK = "work"


Roles = frozenset[EngineRole]
EVERY_ROLE: Roles = frozenset(EngineRole)
NO_ROLE: Roles = frozenset()


def configured_endpoints(settings: Settings) -> Endpoints:
    """The servers in the settings; InvalidInput unless all three are set."""
    urls = {name: getattr(settings, name) for name in ("postgres_url", "nats_url", "redis_url")}
    for name, url in urls.items():
        if url is None:
            raise InvalidInput(
                "is not set: a role needs your own servers",
                field=name,
                fix=f"set MNEMOLOG_{name.upper()}, or run `mnemolog up`, which has embedded servers",
            )
    postgres, nats, redis = (str(url) for url in urls.values())
    return Endpoints(os.getpid(), postgres, nats, redis, projections_url=settings.projections_url)
