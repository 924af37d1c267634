"""Every code block of the README and of docs/ does what its page says (the rules: tests/docs/pages.py)."""

import os
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, blocks, called
from tests.docs.reader import Reader

RUN = ("python", "console", "text output")
# Not run: diagrams and files, commands of the machine, and other languages.
SHOWN = ("text", "sh", "toml", "json", "javascript", "typescript", "sql", "yaml")
RUNNABLE = [page for page in PAGES if any(block.info in RUN for block in blocks(page))]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("docs") / "data"


@pytest.mark.parametrize("page", RUNNABLE, ids=called)
def test_every_block_of_the_page_does_what_it_shows(
    page: Path, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Reader(page, data_dir)
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
