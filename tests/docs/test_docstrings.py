"""The example in the docstring of every public method of the Python face runs."""

import asyncio
import inspect
import re
import textwrap
from collections.abc import Iterator
from inspect import getattr_static
from pathlib import Path
from typing import Any

import pytest

import mnemolog
from mnemolog import AsyncMemory, Memory

METHODS = [name for name in dir(AsyncMemory) if not name.startswith("_") and name != "close"]


def example(docstring: str | None) -> str:
    """The code below `Example:`; a failure when there is none."""
    found = re.search(r"^Example:\n(?P<code>(?: {4}.*\n?|\n)+)", inspect.cleandoc(docstring or ""), re.MULTILINE)
    assert found, "the docstring has no example"
    return textwrap.dedent(found["code"])


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("docstrings"), durable=False, embedder="lexical") as opened:
        opened.add("I moved to Lisbon", user_id="ana")  # Examples read the thread `main`.
        yield opened


@pytest.mark.parametrize("name", METHODS)
def test_the_example_of_a_method_runs(name: str, memory: Memory, tmp_path: Path) -> None:
    code = example(getattr(AsyncMemory, name).__doc__)
    assert f"memory.{name}(" in code
    namespace: dict[str, Any] = {"memory": memory, "folder": tmp_path}
    for known in (word for word in ("added", "first", "second") if re.search(rf"\b{word}\b", code)):
        namespace[known] = memory.create(f"The {known} note, for {name}", user_id="ana")
    if name == "undo":
        memory.update(namespace["added"].memory_id, user_id="ana", text="Another text")
    exec(code, namespace)


@pytest.mark.parametrize("name", METHODS)
def test_the_sync_method_has_the_docstring_of_the_async_one(name: str) -> None:
    assert getattr_static(Memory, name).__doc__ == getattr(AsyncMemory, name).__doc__


def settled_in(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"DATA_DIR": str(data_dir), "DURABLE": "false", "EMBEDDER": "lexical"}.items():
        monkeypatch.setenv(f"MNEMOLOG_{name}", value)


THREE_LINES = [str(mnemolog.__doc__).partition("\n")[2], example(Memory.__doc__)]


@pytest.mark.parametrize("code", THREE_LINES, ids=["package", "class"])
def test_the_three_lines_remember_and_find(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settled_in(tmp_path, monkeypatch)
    namespace: dict[str, Any] = {"Memory": Memory}
    exec(code, namespace)
    memory: Memory = namespace["memory"]
    with memory:
        assert [found.text for found in memory.search("Lisbon", user_id="ana")] == ["I moved to Lisbon"]


def test_the_example_of_the_async_class_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settled_in(tmp_path, monkeypatch)
    body = textwrap.indent(example(AsyncMemory.__doc__), "    ")
    namespace: dict[str, Any] = {"AsyncMemory": AsyncMemory}
    exec(f"async def story():\n{body}\n    return found", namespace)
    found = asyncio.run(namespace["story"]())
    assert [one.text for one in found] == ["I moved to Lisbon"]
