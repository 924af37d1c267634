"""The embedded servers: Postgres with pgvector, NATS with JetStream and Redis, in one data directory.

with EmbeddedServers(Path("~/.mnemolog")) as servers:
    psycopg.connect(servers.endpoints.postgres_dsn)
"""

from mnemolog.adapters.embedded.binaries import Binary, locate, pgvector, versions
from mnemolog.adapters.embedded.data_directory import engine_runs, holder, running_engine, unusable
from mnemolog.adapters.embedded.endpoints import Endpoints, EngineKind, ServerEvent
from mnemolog.adapters.embedded.servers import EmbeddedServers

__all__ = [
    "Binary",
    "EmbeddedServers",
    "Endpoints",
    "EngineKind",
    "ServerEvent",
    "engine_runs",
    "holder",
    "locate",
    "pgvector",
    "running_engine",
    "unusable",
    "versions",
]
