"""Filters as options: `name=value`, in the types that the query takes."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from mnemolog.domain.errors import InvalidInput


def of_pairs(pairs: Sequence[str]) -> dict[str, Any]:
    """`name=value` as the filters of B §6."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign:
            raise InvalidInput(f"{pair!r} has no value", field=f"filters.{name}", fix=f"write {name}=VALUE")
        found[name] = _typed(name, value)
    return found


def _typed(name: str, value: str) -> Any:
    """Text, but for the filters that are a number or a flag; what does not look like one is refused by its name."""
    if name == "pinned" and value in ("true", "false"):
        return value == "true"
    if name.startswith("importance_"):
        with suppress(ValueError):
            return float(value)
    return tuple(value.split(",")) if name == "entity_ids" else value
