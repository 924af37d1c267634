"""A console that shows control characters instead of sending them to the terminal.

What others said is printed as it is stored, and a terminal obeys what it is sent: colours, the title of its window, the
clipboard, the direction of the text.
"""

import re
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

# C0 without tab and line feed, DEL, C1, and the marks that change the direction of the text around them. A name of a
# file that is not UTF-8 has surrogates, which no terminal takes.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Screen(Console):
    """Only what the program itself styles or moves reaches the terminal as a command."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


def printable(text: str) -> str:
    """The text, with a picture or U+FFFD for each character that a terminal would obey.

    >>> printable("\\x1b[31mred \\x9b0m")
    '␛[31mred �0m'
    """
    return _CONTROL.sub(_picture, text)


def as_json_text(document: str) -> str:
    """A JSON document of the same value, in which these characters are escaped."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", document)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "�"
