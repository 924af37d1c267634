"""What others wrote reaches the terminal as text, and never as a command."""

import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.adapters.cli import output
from mnemolog.adapters.cli.screen import Screen, printable
from mnemolog.domain.errors import NotFound

HOSTILE = "a\x1b]0;title\x07b\x1b[2Jc\x9b31md\x9d52;c;x\x9ce\u202ef\u2066g\x7fh\ri"
# What the program itself sends: its colours, and a new line.
STYLES = re.compile("\x1b\\[[0-9;]*m")


def printed(show: Callable[[], object], *, terminal: bool = True) -> str:
    screen = Screen(file=io.StringIO(), width=200, force_terminal=terminal)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(output, "console", screen)
        patched.setattr(output, "errors", screen)
        show()
    return screen.file.getvalue()  # type: ignore[attr-defined, no-any-return]


FACES: dict[str, Callable[[str], object]] = {
    "table": lambda text: output.show(("text", "id"), [(text, text)], title=text),
    "line": lambda text: output.line(text, text),
    "bullets": lambda text: output.bullets([text]),
    "header": output.header,
    "sentence": output.done,
    "more": output.more,
    "error": lambda text: output.failed(NotFound(text, field=text, fix=text), json_wanted=False),
    "json": output.as_json,
}


@pytest.mark.parametrize("face", FACES)
def test_a_stored_text_cannot_command_the_terminal(face: str) -> None:
    shown = STYLES.sub("", printed(lambda: FACES[face](HOSTILE)))

    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert "title" in shown, "the text is shown"


@given(text=st.text())
def test_json_on_a_terminal_has_the_same_value(text: str) -> None:
    shown = STYLES.sub("", printed(lambda: output.as_json({"text": text})))

    assert json.loads(shown) == {"text": text}
    assert shown.startswith('{\n  "text": ')


@given(text=st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs"])))
def test_other_texts_are_not_changed(text: str) -> None:
    assert printable(text) == text


def test_a_text_of_several_lines_keeps_them() -> None:
    assert printable("a\tb\n\u200fc") == "a\tb\n\u200fc"
    told: Any = printed(lambda: output.bullets(["a\nb"]), terminal=False)
    assert [line.rstrip() for line in told.splitlines()] == ["• a", "  b"]
