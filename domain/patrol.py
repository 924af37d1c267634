"""The patrol: how an agent's scenes age by cycles, fade, and are revived by use (C, patrols 2, 3 and 5)."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from math import exp

from mnemolog.domain.memory import Kind, Memory, Status
from mnemolog.domain.scope import Scope

DECAY_CYCLES = 30
DYING_AT = 0.05
ACTIVATED = 0
"""The `session_count` of a scene that was just created, recalled or restored: this is how reactivation enters
`eff_imp`.
"""
SILENCE = timedelta(minutes=30)


class Step(StrEnum):
    """The steps of a patrol, in order (C ❶ to ❼), and what it writes down."""

    NOTES = "1 notes"
    COUNT = "2 count"
    FLAG = "3 flag dying"
    CONSOLIDATE = "4 consolidate"
    REVIVE = "5 revive"
    SPLIT = "6 split"
    MERGE = "7 merge small"
    REFLECT = "diary and think_md"


class What(StrEnum):
    """What a step does to a scene, or to an entry of the being."""

    CREATED = "created"
    PLACED = "placed"
    FAILED = "failed"
    COUNTED = "counted"
    DYING = "dying"
    RECOVERED = "recovered"
    ABSORBED = "absorbed"
    DEAD = "dead"
    REVIVED = "revived"
    MOVED = "moved"
    WRITTEN = "written"


def is_node(kind: Kind, scope: Scope) -> bool:
    """A node is a scene of one agent; other kinds and global memories are not part of the patrol."""
    return kind is Kind.SCENE and scope is Scope.AGENT


def is_dead(memory: Memory) -> bool:
    """A dead scene can be revived. One that somebody archived or forgot is not dead: no patrol brings it back."""
    return memory.status is Status.DORMANT and memory.cause is None


def eff_imp(importance: float, session_count: int) -> float:
    """The effective importance after this many cycles since the last activation."""
    return importance * exp(-session_count / DECAY_CYCLES)


def over(last_turn: datetime, now: datetime) -> bool:
    """Whether an agent's session has ended, by its last turn."""
    return now - last_turn >= SILENCE


@dataclass(frozen=True, slots=True)
class Node:
    """`session_count` is the number of cycles since the last activation: its creation, its last recall, or its return
    to `active`.
    """

    status: Status
    importance: float
    pinned: bool
    session_count: int

    @classmethod
    def of(cls, memory: Memory, session_count: int) -> "Node":
        return cls(memory.status, memory.content.importance, memory.content.pinned, session_count)

    @property
    def lives(self) -> bool:
        return self.pinned or eff_imp(self.importance, self.session_count) > DYING_AT

    def counted(self) -> "Node":
        """One cycle older; a dying scene does not age further."""
        return replace(self, session_count=self.session_count + (self.status is Status.ACTIVE))

    def after_cycle(self) -> "Node":
        """One cycle older if it is active (2); dying if it has faded too far (3); active if it has recovered (5)."""
        counted = self.counted()
        match counted.status:
            case Status.ACTIVE if not counted.lives:
                return replace(counted, status=Status.DYING)
            case Status.DYING if counted.lives:
                return replace(counted, status=Status.ACTIVE, session_count=ACTIVATED)
            case _:
                return counted
