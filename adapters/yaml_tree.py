"""Loads YAML with the line of each value, for error messages (B §5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml  # type: ignore[import-untyped]

from mnemolog.domain.errors import PolicyFault, PolicyRefused

Loc = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """A file's values, the line of each, and duplicate names."""

    name: str
    data: Mapping[str, Any]
    lines: Mapping[Loc, int]
    faults: Sequence[PolicyFault] = ()

    def fault(self, loc: Loc, path: str, message: str, fix: str) -> PolicyFault:
        """An error at a place, or at the nearest parent that the file contains."""
        place = loc
        while place and place not in self.lines:
            place = place[:-1]
        return PolicyFault(self.name, self.lines.get(place, 1), path, message, fix)


def tree(text: str, name: str) -> Tree:
    """A file parsed into YAML nodes, which alone have line numbers. PolicyRefused if it is not a YAML mapping."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        alias = next((one for one in yaml.parse(text) if isinstance(one, yaml.AliasEvent)), None)
        data = None if alias else yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PolicyRefused([_unreadable(error, name)]) from error
    if alias:
        line = alias.start_mark.line + 1
        raise PolicyRefused([PolicyFault(name, line, "", "YAML aliases are not supported", "write the value out")])
    if not isinstance(data, dict | None):
        raise PolicyRefused([PolicyFault(name, 1, "", "is not a mapping", "begin with `categories:` or `allowlists:`")])
    lines: dict[Loc, int] = {}
    faults: list[PolicyFault] = []
    if root is not None:
        _walk(root, (), lines, faults, name)
    return Tree(name, data or {}, lines, faults)


def _unreadable(error: yaml.YAMLError, name: str) -> PolicyFault:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "holds a character that YAML does not take"
    return PolicyFault(name, mark.line + 1 if mark else 1, "", f"is not YAML: {problem}", "correct the file")


def _walk(node: yaml.Node, place: Loc, lines: dict[Loc, int], faults: list[PolicyFault], name: str) -> None:
    """The line of each value by its place; a duplicate name in a mapping is an error."""
    lines.setdefault(place, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        for index, one in enumerate(node.value):
            _walk(one, (*place, index), lines, faults, name)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below, line = (*place, str(key.value)), key.start_mark.line + 1
            if first := lines.get(below):
                path = ".".join(map(str, below))
                faults.append(PolicyFault(name, line, path, f"is a duplicate, first in line {first}", "keep one"))
            lines[below] = line
            _walk(value, below, lines, faults, name)
