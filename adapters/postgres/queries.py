"""Named queries from the queries.sql of a package."""

import re
from functools import cache
from importlib.resources import files

HERE = "mnemolog.adapters.postgres"
_NAME = re.compile(r"^-- (\w+) --$", re.MULTILINE)


@cache
def query(name: str, package: str = HERE) -> bytes:
    """The query of this name; KeyError if there is none."""
    return _all(package)[name]


@cache
def _all(package: str) -> dict[str, bytes]:
    text = (files(package) / "queries.sql").read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    return dict(zip(parts[::2], map(_bare, parts[1::2]), strict=True))


def _bare(body: str) -> bytes:
    """Without comments and indentation: psycopg parses a statement of more than 4,096 bytes each time it is sent."""
    lines = [line.strip() for line in body.strip().removesuffix(";").splitlines()]
    return "\n".join(line for line in lines if line and not line.startswith("--")).encode()
