"""Errors and published documents are worded as a native engineer words them."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.app import create_app
from mnemolog.adapters.operations.registry import OPERATIONS
from mnemolog.events.catalogue import catalogue

ROOT = Path(__file__).parents[2]
MODULES = [
    path
    for folder in ("adapters", "commands", "domain", "events", "projections")
    for path in (ROOT / folder).rglob("*.py")
]
# "is no directory", "made anew", "an office file of before 2007"; but "there is no file" and "is no longer".
FOREIGN = re.compile(
    r"(?<!there )\b(?:is|are|was|were) (?:no|none)\b(?! (?:longer|more|other|such))|\banew\b|\bof before\b"
    r"|\bthose that there are\b",
    re.IGNORECASE,
)


def messages(module: ast.Module) -> Iterator[str]:
    """The texts of what is raised, and of calls with a `fix`."""
    for node in ast.walk(module):
        if isinstance(node, ast.Raise) or (
            isinstance(node, ast.Call) and any(one.arg == "fix" for one in node.keywords)
        ):
            yield from (
                one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)
            )


@pytest.mark.parametrize("text", ["a is no directory", "they are made anew", "and a file is none", "of before 2007"])
def test_foreign_words_are_found(text: str) -> None:
    assert FOREIGN.search(text)


def test_no_error_has_foreign_words() -> None:
    texts = [(path.name, one) for path in MODULES for one in messages(ast.parse(path.read_text()))]
    assert len(texts) > 1000
    assert [found for found in texts if FOREIGN.search(found[1])] == []


@pytest.mark.parametrize("name", ["Place", "Status", "Kind", "Conflict", "Delivery", "Cause"])
def test_a_class_that_many_things_could_be_called_is_one_of_them(name: str) -> None:
    defined = re.compile(rf"^class _?{name}\b", re.MULTILINE)
    assert len([path for path in MODULES if defined.search(path.read_text())]) == 1


@pytest.mark.parametrize("document", ["openapi", "events", "operations"])
def test_what_is_published_cites_no_document_that_readers_do_not_have(document: str, engine: Engine) -> None:
    texts = {
        "openapi": lambda: json.dumps(create_app(engine).openapi(), ensure_ascii=False),
        "events": lambda: repr(catalogue()),
        "operations": lambda: repr([(one.summary, one.description) for one in OPERATIONS]),
    }
    assert re.findall(r".{40}(?:§|\((?:[A-EX]\d\d)\b).{20}", texts[document]()) == []
