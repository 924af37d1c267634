"""Scope: who may read what an agent learned about a user (A §1, A01)."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Protocol

from mnemolog.domain.errors import InvalidInput


class Scope(StrEnum):
    """`global` is shared by all agents of a user; `agent` is visible to one agent only."""

    GLOBAL = "global"
    AGENT = "agent"


def require_owner(scope: Scope, agent_id: str | None) -> None:
    """Refuse an agent-scoped write that names no agent (A §4.1)."""
    if scope is Scope.AGENT and not agent_id:
        raise InvalidInput(
            "scope 'agent' needs an agent", field="agent_id", fix="give the agent, or use scope 'global'"
        )


class Owned(Protocol):
    """Something that is global or owned by an agent."""

    @property
    def scope(self) -> Scope: ...

    @property
    def agent_id(self) -> str | None: ...


def private_to_others(things: Iterable[Owned], agents: frozenset[str] | None) -> bool:
    """Whether some of it is owned by an agent that is not among these; None means all agents."""
    return agents is not None and any(one.scope is Scope.AGENT and one.agent_id not in agents for one in things)


def readable(scope: Scope, owner: str | None, agent_id: str | None) -> bool:
    """Whether an agent may read a row: global ones and its own (A §4.2)."""
    return scope is Scope.GLOBAL or (agent_id is not None and owner == agent_id)
