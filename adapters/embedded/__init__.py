"""The servers that Mnemolog brings along: Postgres with pgvector, NATS with JetStream and Redis, in one data directory.

with EmbeddedServers(Path("~/.mnemolog")) as servers:
    psycopg.connect(servers.endpoints.postgres_dsn)
"""

from mnemolog.adapters.embedded.binaries import Binary, locate, pgvector, versions
from mnemolog.adapters.embedded.data_directory import running_engine
from mnemolog.adapters.embedded.endpoints import Endpoints, ServerEvent, ServerHealth
from mnemolog.adapters.embedded.servers import EmbeddedServers

__all__ = [
    "Binary",
    "EmbeddedServers",
    "Endpoints",
    "ServerEvent",
    "ServerHealth",
    "locate",
    "pgvector",
    "running_engine",
    "versions",
]
