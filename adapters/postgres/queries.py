"""Queries by name, from queries.sql."""

import re
from functools import cache
from importlib.resources import files

from psycopg.sql import SQL

_NAME = re.compile(r"^-- (\w+) --$", re.MULTILINE)


@cache
def query(name: str) -> SQL:
    """The query of this name; KeyError when there is none."""
    return SQL(_all()[name])


@cache
def _all() -> dict[str, str]:
    text = (files("mnemolog.adapters.postgres") / "queries.sql").read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    return dict(zip(parts[::2], (body.strip().removesuffix(";") for body in parts[1::2]), strict=True))
