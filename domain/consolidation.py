"""What a model answers a patrol, and what of it may be done (C ❶, ❹, ❻, diary and think_md).

A model names scenes by their numbers in the list that it was shown, from 1.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from mnemolog.domain.cluster import MAX_NAME, Root
from mnemolog.domain.memory import MAX_MERGE
from mnemolog.domain.nodes import SceneNode
from mnemolog.domain.summary import shortened

GAIN = 0.05
"""What the importance of a scene grows by when it absorbs others."""
LEAST_PART = 2
DIARY, THINK = (3, 5), (3, 7)
"""The least and the most lines of a diary entry, and bullets of think_md."""
MAX_LINE = 300


@dataclass(frozen=True, slots=True)
class Classified:
    """Business or Private, for each scene in order."""

    roots: tuple[Root, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Scenes that say the same, or complement each other: `survivor` absorbs the others."""

    survivor: int
    absorbed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What becomes one scene, and which dying scenes nothing is lost with."""

    merges: tuple[Group, ...] = ()
    make_dead: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a cluster that becomes a cluster of its own."""

    name: str
    scenes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """The parts of a cluster; empty if it is about one thing."""

    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Reflection:
    """A being's day in its own words, and what it wants to remember for the next session."""

    diary: tuple[str, ...]
    think: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Absorption:
    """A scene that absorbs others."""

    survivor_id: UUID
    absorbed_ids: tuple[UUID, ...]


def absorptions(answer: Consolidated, scenes: Sequence[SceneNode]) -> Sequence[Absorption]:
    """The merges that may be: each scene once, none pinned absorbed, none across what came from outside."""
    found, used = list[Absorption](), set[int]()
    for group in answer.merges:
        survivor = _named(group.survivor, scenes)
        if survivor is None or group.survivor in used:
            continue
        numbers = [one for one in dict.fromkeys(group.absorbed) if one not in used and one != group.survivor]
        absorbed = {
            number: one
            for number in numbers
            if (one := _named(number, scenes)) and not one.node.pinned and one.external is survivor.external
        }
        if absorbed and len(absorbed) <= MAX_MERGE:
            found.append(Absorption(survivor.memory_id, tuple(one.memory_id for one in absorbed.values())))
            used |= {group.survivor, *absorbed}
    return found


def made_dead(answer: Consolidated, scenes: Sequence[SceneNode], merged: Collection[UUID]) -> Sequence[UUID]:
    """The dying scenes that become dead: neither pinned nor part of a merge."""
    named = [_named(number, scenes) for number in dict.fromkeys(answer.make_dead)]
    return [one.memory_id for one in named if one and one.dying and not one.node.pinned and one.memory_id not in merged]


def parts(answer: Split, scenes: Sequence[SceneNode], taken: Collection[str]) -> Sequence[tuple[str, Sequence[UUID]]]:
    """The parts that may be, by name: at least 2 scenes in each, and at least 2 that stay (C ❻)."""
    found, used = list[tuple[str, Sequence[UUID]]](), set[int]()
    names = {name.casefold() for name in taken}
    for part in answer.parts:
        name = shortened(" ".join(part.name.replace("/", " ").split()), MAX_NAME)
        numbers = [one for one in dict.fromkeys(part.scenes) if one not in used and _named(one, scenes)]
        left = len(scenes) - len(used) - len(numbers)
        if name and name.casefold() not in names and len(numbers) >= LEAST_PART and left >= LEAST_PART:
            found.append((name, [scenes[one - 1].memory_id for one in numbers]))
            used.update(numbers)
            names.add(name.casefold())
    return found


def lines(said: Sequence[str], bounds: tuple[int, int]) -> Sequence[str]:
    """The lines without bullets and empty ones, at most as many as allowed; none if they are too few."""
    plain = [shortened(" ".join(one.strip().lstrip("-*•").split()), MAX_LINE) for one in said]
    found = [one for one in plain if one][: bounds[1]]
    return found if len(found) >= bounds[0] else []


def _named(number: int, scenes: Sequence[SceneNode]) -> SceneNode | None:
    return scenes[number - 1] if 1 <= number <= len(scenes) else None
