"""The system user that Postgres runs as under root."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mnemolog.adapters.embedded import account
from mnemolog.adapters.embedded.account import Account, run_as


def test_engines_that_start_at_once_make_one_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real useradd, run twice at once, gives the same name two numbers, one after the other."""
    made = tmp_path / "made"
    useradd = tmp_path / "useradd"
    useradd.write_text(f"#!/bin/sh\nsleep 0.1\necho once >> {made}\n")
    useradd.chmod(0o755)

    def existing(name: str) -> Account | None:
        return Account(999, 999 - made.read_text().count("once")) if made.exists() else None

    monkeypatch.setattr(account, "SEARCHED", str(tmp_path))
    monkeypatch.setattr(account, "_existing", existing)
    monkeypatch.setattr("os.geteuid", lambda: 0)

    with ThreadPoolExecutor(4) as engines:
        found = set(engines.map(account.postgres_account, [tmp_path / f"engine-{number}" for number in range(4)]))

    assert found == {Account(999, 998)}
    assert made.read_text() == "once\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may be somebody else")
@pytest.mark.parametrize("searched", [account.SEARCHED, "/nonexistent"])
def test_a_program_runs_as_the_account_with_no_group_of_root(monkeypatch: pytest.MonkeyPatch, searched: str) -> None:
    monkeypatch.setattr(account, "SEARCHED", searched)
    account._setpriv.cache_clear()

    command, arguments = run_as(Account(4711, 4712), ["/bin/sh", "-c", "id -u; id -G"])
    account._setpriv.cache_clear()

    assert subprocess.run(command, capture_output=True, check=True, **arguments).stdout == b"4711\n4712\n"


def test_without_an_account_a_program_runs_as_this_process_does() -> None:
    command, arguments = run_as(None, ["id", "-u"])
    assert subprocess.run(command, capture_output=True, check=True, **arguments).stdout == b"%d\n" % os.geteuid()
