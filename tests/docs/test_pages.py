"""The rule that compares shown with real output does refuse what differs."""

import pytest

from tests.docs.pages import Block, Names, commands

ONE, OTHER = "01942b6e-7c00-7000-8000-000000000000", "01942b6e-7c00-7000-8000-000000000001"


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a  b\nc", "a b c", True),
        ("a ... d", "a b c d", True),
        ("a b", "a c", False),
        ("a b", "a b c", False),
        ("...", "anything", True),
        ("", "something", False),
    ],
)
def test_dots_and_white_space_are_lenient_and_nothing_else(shown: str, printed: str, same: bool) -> None:
    assert Names().match(shown, printed) is same


def test_an_id_means_its_first_occurrence() -> None:
    names = Names()
    assert names.match(f"created: {ONE}", f"created: {OTHER}")
    assert names.meant(f"mnemolog history {ONE}") == f"mnemolog history {OTHER}"
    assert not names.match(f"again: {ONE}", f"again: {ONE}")


def test_commands_go_on_after_a_backslash() -> None:
    [first, second] = commands(Block("console", "$ one \\\n  two\nshown\n$ three\n", 1))
    assert (first.line.split(), first.shown) == (["one", "two"], "shown\n")
    assert (second.line, second.shown) == ("three", "")
