"""Patterns that are compiled at their first use."""

import re
import subprocess
import sys

import pytest

from mnemolog.domain import lazy_regex
from mnemolog.domain.extraction import forms
from mnemolog.domain.lazy_regex import lazy_compile

COUNTED = """
import re, sys
compiled = 0
real = re.compile

def counting(pattern, flags=0):
    global compiled
    compiled += sys._getframe(1).f_globals["__name__"].startswith("mnemolog.domain")
    return real(pattern, flags)

re.compile = counting
from mnemolog.domain import change, direct_question, doubt, slots
from mnemolog.domain import lazy_regex
from mnemolog.domain.extraction import forms
before = compiled
forms.compile_all()
print(before, compiled)
"""


def test_a_lazy_pattern_is_like_a_compiled_one() -> None:
    lazy, compiled = lazy_compile("(?P<name>ana|bo)", re.IGNORECASE), re.compile("(?P<name>ana|bo)", re.IGNORECASE)
    for text in ("Bo and Ana", "nobody else", ""):
        assert [one["name"] for one in lazy.finditer(text)] == [one["name"] for one in compiled.finditer(text)]
        assert lazy.sub("x", text) == compiled.sub("x", text)
        assert lazy.split(text) == compiled.split(text)
    assert (lazy.pattern, lazy.groups, dict(lazy.groupindex)) == (compiled.pattern, 1, {"name": 1})


def test_a_mistake_in_a_lazy_pattern_is_raised_at_its_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_regex, "_made", [])
    wrong = lazy_compile("(")
    with pytest.raises(re.error, match="missing \\)"):
        wrong.search("text")


def test_the_patterns_of_all_rules_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    forms.compile_all()
    assert len(lazy_regex._made) > 500
    monkeypatch.delattr(re, "compile")
    forms.compile_all()


def test_to_import_the_rules_compiles_hardly_any_of_their_patterns() -> None:
    told = subprocess.run([sys.executable, "-c", COUNTED], check=True, capture_output=True, text=True).stdout
    before, after = map(int, told.split())
    assert before < 10
    assert after > 500
