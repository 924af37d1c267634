"""A progress bar is full when its step has ended, also if the step left something out."""

import io

import pytest
from rich.console import Console

from mnemolog.adapters.cli import progress


def test_a_bar_ends_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(progress, "errors", Console(file=out, width=100))
    with progress.bar("rebuilding", 28) as progressed:
        progressed(26)
    assert "28/28" in out.getvalue()
    assert out.getvalue().rstrip().endswith(" left")


def test_the_bar_of_a_step_that_failed_stays_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(progress, "errors", Console(file=out, width=100))
    with pytest.raises(ValueError, match="broken"):
        fail_at(26, 28)
    assert "26/28" in out.getvalue()


def fail_at(count: int, total: int) -> None:
    with progress.bar("rebuilding", total) as progressed:
        progressed(count)
        raise ValueError("broken")
