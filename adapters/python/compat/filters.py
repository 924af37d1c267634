"""The filters of mem0's `search` and `get_all`, which name the owner and conditions on metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.identity import identifier

OWNERS: Final = frozenset({"user_id", "agent_id", "run_id"})
ANY = "*"
NOWHERE: Final = object()


@dataclass(frozen=True, slots=True)
class Asked:
    """`owner` is the user that the engine reads, `conditions` what a result must fulfil.

    `equal` are those conditions that the engine's own filter on metadata applies; `exact` says that these are all.
    """

    owner: str
    conditions: Mapping[str, Any]
    equal: Mapping[str, Any]

    @classmethod
    def of(cls, filters: Mapping[str, Any] | None, beside: Mapping[str, Any]) -> Self:
        """InvalidInput without an owner, and for owners given `beside` the filters, as mem0 refuses them."""
        if beside:
            name = min(beside)
            fix = f'pass filters={{"{name}": ...}}' if name in OWNERS else "omit it"
            raise InvalidInput("is not an argument of this method", field=name, fix=fix)
        given = {**(filters or {})}
        owners = owners_of({name: given.pop(name, None) for name in OWNERS})
        conditions = {**{name: one for name, one in owners.items() if name != "user_id"}, **given}
        check(conditions)
        equal = {
            name: value
            for name, value in conditions.items()
            if name not in (*COMBINED, "role") and value != ANY and not isinstance(value, Mapping | list)
        }
        return cls(owner_of(owners), conditions, equal)

    @property
    def exact(self) -> bool:
        return self.conditions.keys() == self.equal.keys()

    def lets(self, item: Mapping[str, Any]) -> bool:
        """Whether the result fulfils the conditions."""
        return _all_hold(self.conditions, {**(item.get("metadata") or {}), **item})


def owners_of(given: Mapping[str, Any]) -> dict[str, str]:
    """The owners that are given, at least one; numbers become text."""
    owners = {name: identifier(value, name) for name, value in given.items() if value is not None}
    if not owners:
        raise InvalidInput("is missing", field="user_id", fix="name at least one of user_id, agent_id and run_id")
    return owners


def owner_of(owners: Mapping[str, str]) -> str:
    """The user in whose stream it is stored: without a user, one of the agent's or the run's own."""
    if "user_id" in owners:
        return owners["user_id"]
    return f"agent:{owners['agent_id']}" if "agent_id" in owners else f"run:{owners['run_id']}"


def check(conditions: Mapping[str, Any]) -> None:
    """InvalidInput for an operator that is unknown, or a combination of anything but a list of conditions."""
    for name, condition in conditions.items():
        if name in COMBINED:
            if not isinstance(condition, list) or not all(isinstance(one, Mapping) for one in condition):
                raise InvalidInput("is not a list of conditions", field=f"filters.{name}", fix='pass [{"key": 1}]')
            for one in condition:
                check(one)
        elif isinstance(condition, Mapping) and (unknown := condition.keys() - OPERATORS.keys()):
            raise InvalidInput(
                f"has no operator {min(map(str, unknown))!r}",
                field=f"filters.{name}",
                fix=f"use one of {', '.join(OPERATORS)}",
            )


def _all_hold(conditions: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    return all(_holds(name, condition, values) for name, condition in conditions.items())


def _holds(name: str, condition: Any, values: Mapping[str, Any]) -> bool:
    if name in COMBINED:
        return COMBINED[name](_all_hold(one, values) for one in condition)
    value = values.get(name, NOWHERE)
    if condition == ANY:
        return value is not NOWHERE
    if isinstance(condition, list):
        return value in condition
    if not isinstance(condition, Mapping):
        return bool(value == condition)
    return all(_compared(operator, value, wanted) for operator, wanted in condition.items())


def _compared(operator: str, value: Any, wanted: Any) -> bool:
    if value is NOWHERE:
        return operator in ("ne", "nin")
    try:
        return bool(OPERATORS[operator](value, wanted))
    except TypeError:  # A text and a number have no order.
        return False


COMBINED: Mapping[str, Callable[[Any], bool]] = {"AND": all, "OR": any, "NOT": lambda held: not any(held)}
OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "eq": lambda value, wanted: value == wanted,
    "ne": lambda value, wanted: value != wanted,
    "in": lambda value, wanted: value in wanted,
    "nin": lambda value, wanted: value not in wanted,
    "gt": lambda value, wanted: value > wanted,
    "gte": lambda value, wanted: value >= wanted,
    "lt": lambda value, wanted: value < wanted,
    "lte": lambda value, wanted: value <= wanted,
    "contains": lambda value, wanted: wanted in value,
    "icontains": lambda value, wanted: str(wanted).lower() in str(value).lower(),
}
