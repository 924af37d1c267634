"""Who moves to a Postgres of his own as the page says ends with a working engine."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from mnemolog import Memory
from mnemolog.adapters.engine.engine import Engine
from tests.docs.pages import ROOT, blocks
from tests.testkit.warm import script_folder

PAGE = ROOT / "docs" / "how-to" / "use-your-own-servers.md"
THEIRS = "postgresql://mnemolog@db.example/mnemolog"
SECONDS = 300


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As of somebody who set nothing."""
    for name in [name for name in os.environ if name.startswith("MNEMOLOG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MNEMOLOG_EMBEDDER", "lexical")
    monkeypatch.setenv("MNEMOLOG_DURABLE", "false")
    monkeypatch.setenv("PATH", os.pathsep.join([str(script_folder()), os.environ["PATH"]]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def their_postgres(engine: Engine) -> Iterator[str]:
    """An empty database, on the Postgres of the engine that tests share."""
    with psycopg.connect(engine.endpoints.postgres_dsn, autocommit=True) as connection:
        connection.execute("CREATE DATABASE moved")
        yield re.sub(r"///\w+", "///moved", engine.endpoints.postgres_dsn)
        connection.execute("DROP DATABASE moved WITH (FORCE)")


def test_the_move_to_a_postgres_of_ones_own_ends_with_a_working_engine(home: Path, their_postgres: str) -> None:
    with Memory() as memory:
        memory.add({"name": "Ana", "content": "I moved to Lisbon"}, user_id="ana")
    [move] = [block.text for block in blocks(PAGE) if "mnemolog backup restore" in block.text]
    assert THEIRS in move

    done = subprocess.run(
        ["/bin/sh", "-ec", move.replace(THEIRS, f"'{their_postgres}'")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "all is well" in done.stdout
    key = (home / ".mnemolog" / "master.key").read_text(encoding="ascii")
    settings: dict[str, Any] = {"master_key": key, "postgres_url": their_postgres}
    with Memory(data_dir=home / ".mnemolog-moved", **settings) as moved:
        assert [str(found) for found in moved.search("Lisbon", user_id="ana")] != []
        moved.add({"name": "Ana", "content": "And I like it"}, user_id="ana")
    with psycopg.connect(their_postgres) as connection:
        found = connection.execute("SELECT pg_has_role(current_user, 'mnemolog_reader', 'member')").fetchone()
        assert found == (True,), "readers are confined to their tenant there, too"
