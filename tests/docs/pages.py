"""The pages of the documentation, cut into blocks; and how a shown output is compared with a real one.

A reader sees three kinds of fence that a test runs:

- `python`: run in the order of the page, all in one namespace. A `text output` fence right after one holds what it
  prints.
- `console`: a line that begins with `$ ` is run by a shell; the lines below it are what is printed, errors included.
  `$ mnemolog up` goes on running until the page ends.

In a shown output `...` stands for anything and any white space for any other. A UUID stands for whichever one the
engine drew there; from then on the page means that one by it, in commands too.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_TOKEN = re.compile(rf"(\.\.\.|{_UUID}|\s+)")


@dataclass(frozen=True, slots=True)
class Block:
    """One fence: what follows the three backticks, its text, and its first line's number."""

    info: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a console block, and what the page shows below it."""

    line: str
    shown: str


@dataclass(slots=True)
class Names:
    """What a page's UUIDs mean in this run."""

    known: dict[str, str] = field(default_factory=dict)

    def meant(self, text: str) -> str:
        """The text with each known UUID replaced by the one that it stands for."""
        return re.sub(_UUID, lambda match: self.known.get(match[0], match[0]), text)

    def match(self, shown: str, printed: str) -> bool:
        """Whether the output is as shown; its UUIDs are remembered when it is."""
        drawn: list[str] = []
        first, *parts = [""]
        for token in filter(None, _TOKEN.split(shown.strip())):
            if token == "...":
                parts.append("")
            elif parts:
                parts[-1] += self._part(token, drawn)
            else:
                first += self._part(token, drawn)
        # Atomic groups: without them, a page with many gaps that does not match would be tried for hours.
        between = "".join(f"(?>.*?{part})" for part in parts[:-1])
        last = f".*?{parts[-1]}" if parts else ""
        found = re.fullmatch(first + between + last, printed.strip(), re.DOTALL)
        if found:
            self.known |= dict(zip(drawn, found.groups(), strict=True))
        return found is not None

    def _part(self, token: str, drawn: list[str]) -> str:
        if token.isspace():
            return r"\s+?"  # Leaves some for a gap that follows.
        if not re.fullmatch(_UUID, token):
            return re.escape(token)
        if token in self.known:
            return re.escape(self.known[token])
        if token in drawn:
            return rf"(?:\{drawn.index(token) + 1})"
        drawn.append(token)
        return f"({_UUID})"


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(match["info"].strip(), match["text"], text.count("\n", 0, match.start()) + 1)
        for match in _FENCE.finditer(text)
    ]


def commands(block: Block) -> list[Command]:
    """The commands of a console block; one that ends with a backslash goes on in the next line."""
    joined = block.text.replace("\\\n", " ")
    first, *parts = re.split(r"^\$ ", joined, flags=re.MULTILINE)
    assert not first.strip(), f"a console block begins with `$ `, not with {first!r}"
    return [Command(line, shown) for line, _, shown in (part.partition("\n") for part in parts)]


def section(page: Path, heading: str) -> str:
    """What stands under a heading of a page, up to the next heading of its rank or a higher one."""
    text = page.read_text(encoding="utf-8")
    found = re.search(rf"^(#+) {re.escape(heading)}$\n(?P<body>.*?)(?=^#{{1,}}\s|\Z)", text, re.MULTILINE | re.DOTALL)
    return found["body"] if found else ""


def called(page: Path) -> str:
    """The page as a test's id and as a tenant's name."""
    return page.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").lower()
