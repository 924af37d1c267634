"""A data directory as the commit before whole streams left it (`write.py` at 5876c71)."""

import gzip
import json
import shutil
import subprocess
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

import psycopg

from mnemolog.adapters.embedded import EmbeddedServers
from mnemolog.adapters.embedded.binaries import require
from tests.testkit.clusters import new_clusters

DATA = Path(__file__).parent / "data"
READS: dict[str, Any] = json.loads(DATA.joinpath("reads.json").read_text())
ROLES = ("mnemolog_engine", "mnemolog_reader")
AGO = datetime.now(UTC) - datetime(2026, 11, 22, 15, tzinfo=UTC)


class Then(datetime):
    """In the place of `datetime` in the engine's clock: the day on which it was written, as its proposals expire."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.now(tz) - AGO


def restore(directory: Path) -> None:
    """Fill an empty directory."""
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copy(DATA / "master.key", directory / "master.key")
    directory.joinpath("master.key").chmod(0o600)
    with new_clusters(), EmbeddedServers(directory, durable=False) as servers:
        dsn = servers.endpoints.postgres_dsn
        with psycopg.connect(dsn, autocommit=True) as connection:
            for role in ROLES:
                connection.execute(f"CREATE ROLE {role} NOLOGIN")
                connection.execute(f"GRANT {role} TO CURRENT_USER")
        psql: list[str | Path] = [require("postgres").with_name("psql"), "-q", "-v", "ON_ERROR_STOP=1", dsn]
        sql = gzip.decompress(DATA.joinpath("log.sql.gz").read_bytes())
        subprocess.run(psql, input=sql, check=True, stdout=subprocess.DEVNULL)
