"""Named queries from the queries.sql of a package."""

import re
from functools import cache
from importlib.resources import files

from psycopg.sql import SQL

HERE = "mnemolog.adapters.postgres"
_NAME = re.compile(r"^-- (\w+) --$", re.MULTILINE)


@cache
def query(name: str, package: str = HERE) -> SQL:
    """The query of this name; KeyError if there is none."""
    return SQL(_all(package)[name])


@cache
def _all(package: str) -> dict[str, str]:
    text = (files(package) / "queries.sql").read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    return dict(zip(parts[::2], (body.strip().removesuffix(";") for body in parts[1::2]), strict=True))
