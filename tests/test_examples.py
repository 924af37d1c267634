"""The examples in docstrings are true."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("adapters", "commands", "domain", "events", "projections")
MODULES = sorted(
    ".".join(("mnemolog", *file.relative_to(ROOT).with_suffix("").parts))
    for part in PARTS
    for file in (ROOT / part).rglob("*.py")
    if ">>> " in file.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name: str) -> None:
    found = doctest.testmod(import_module(name))
    assert found.attempted
    assert not found.failed
