"""Every code block of the README and of docs/ does what its page says (the rules: tests/docs/pages.py)."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, blocks, called
from tests.docs.reader import Reader, running, starts_an_engine

RUN = ("python", "console", "text output")
# Not run: diagrams and files, commands of the machine, and other languages.
SHOWN = ("text", "sh", "toml", "json", "javascript", "typescript", "sql", "yaml")
RUNNABLE = [page for page in PAGES if any(block.info in RUN for block in blocks(page))]


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory for pages that start an engine."""
    return tmp_path_factory.mktemp("docs") / "data"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data directory for all other pages. An engine for each would take most of their time."""
    with running(tmp_path_factory.mktemp("docs") / "data") as directory:
        yield directory


@pytest.mark.parametrize("page", RUNNABLE, ids=called)
def test_every_block_of_the_page_does_what_it_shows(
    page: Path, idle: Path, served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Reader(page, idle if starts_an_engine(page) else served)
    for name in [name for name in os.environ if name.startswith("MNEMOLOG_")]:
        monkeypatch.delenv(name)
    for name, value in reader.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    try:
        for block in blocks(page):
            reader.run(block)
    finally:
        reader.close()


@pytest.mark.parametrize("page", PAGES, ids=called)
def test_every_fence_is_of_a_kind_that_is_run_or_meant_to_be_read_only(page: Path) -> None:
    assert {block.info for block in blocks(page)} <= {*RUN, *SHOWN}
    assert page.read_text(encoding="utf-8").count("\n```") == 2 * len(blocks(page))
