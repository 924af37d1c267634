"""The patrol of a being: how its scenes age by cycles, die, and are revived by use (C, patrols 2, 3 and 5)."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import exp

from mnemolog.domain.memory import Kind, Memory, Status
from mnemolog.domain.scope import Scope

DECAY_CYCLES = 30
DYING_AT = 0.05
ACTIVATED = 0
"""The `session_count` of what was just made, recalled or brought back: this is how reactivation enters `eff_imp`."""
SILENCE = timedelta(minutes=30)


def is_node(kind: Kind, scope: Scope) -> bool:
    """A node is a scene of one being; what is of other kinds, or for all agents, is no part of the patrol."""
    return kind is Kind.SCENE and scope is Scope.AGENT


def eff_imp(importance: float, session_count: int) -> float:
    """What is left of an importance that many cycles after the last activation."""
    return importance * exp(-session_count / DECAY_CYCLES)


def over(last_turn: datetime, now: datetime) -> bool:
    """Whether a being's session has ended, by its last turn."""
    return now - last_turn >= SILENCE


@dataclass(frozen=True, slots=True)
class Node:
    """`session_count` is the number of cycles since the last activation: since its making, its last recall, or its
    return to `active`."""

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
        """One cycle older; what is dying counts no further."""
        return replace(self, session_count=self.session_count + (self.status is Status.ACTIVE))

    def after_cycle(self) -> "Node":
        """One cycle older if it is active (2); dying when too little is left of it (3); active when enough is (5)."""
        counted = self.counted()
        match counted.status:
            case Status.ACTIVE if not counted.lives:
                return replace(counted, status=Status.DYING)
            case Status.DYING if counted.lives:
                return replace(counted, status=Status.ACTIVE, session_count=ACTIVATED)
            case _:
                return counted
