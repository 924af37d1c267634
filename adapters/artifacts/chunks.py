"""Divides text by its structure: sections under headings or on pages, and pieces of bounded size in each."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

PIECE = 1500
_PARAGRAPHS = re.compile(r"\n\s*\n")
_SENTENCES = re.compile(r"(?<=[.!?。！？])\s+")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_FRONT_MATTER = re.compile(r"\A\s*---[ \t]*\n(?P<fields>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TITLE = re.compile(r"^title:[ \t]*(['\"]?)(?P<title>.+?)\1[ \t]*$", re.MULTILINE)
_KEY = re.compile(r"^[\w-]+:", re.MULTILINE)
_FENCE = re.compile(r"\s*(```|~~~)")


class Section(NamedTuple):
    """Text under a heading or on a page; its place is "" before the first one."""

    place: str
    text: str


def pieces(sections: Iterable[Section]) -> Iterator[Section]:
    """Each section in pieces of at most `PIECE` characters: whole paragraphs, or sentences of a longer one."""
    for place, text in sections:
        held = ""
        for part in _parts(text):
            if held and len(held) + len(part) + 2 > PIECE:
                yield Section(place, held)
                held = ""
            held = f"{held}\n\n{part}" if held else part
        if held:
            yield Section(place, held)


def _parts(text: str) -> Iterator[str]:
    for paragraph in filter(None, map(str.strip, _PARAGRAPHS.split(text))):
        if len(paragraph) <= PIECE:
            yield paragraph
            continue
        held = ""
        for sentence in _SENTENCES.split(paragraph):
            for start in range(0, len(sentence), PIECE):
                part = sentence[start : start + PIECE]
                if held and len(held) + len(part) + 1 > PIECE:
                    yield held
                    held = ""
                held = f"{held} {part}" if held else part
        if held:
            yield held


def without_front_matter(text: str) -> tuple[str, str]:
    """The title that YAML in front of Markdown gives, or "", and the Markdown without it."""
    front = _FRONT_MATTER.match(text)
    if front is None or not _KEY.match(front["fields"]):
        return "", text
    title = _TITLE.search(front["fields"])
    return title["title"] if title else "", text[front.end() :]


def markdown_sections(text: str) -> Iterator[Section]:
    """Sections by headings, ignoring fenced code blocks."""
    path: list[str] = []
    lines: list[str] = []
    fenced = False
    for line in text.splitlines():
        fenced ^= bool(_FENCE.match(line))
        heading = None if fenced else _HEADING.match(line)
        if heading is None:
            lines.append(line)
            continue
        yield Section(" > ".join(filter(None, path)), "\n".join(lines))
        level = len(heading[1])
        path = [*path[: level - 1], *[""] * (level - 1 - len(path)), heading[2]]
        lines = []
    yield Section(" > ".join(filter(None, path)), "\n".join(lines))
