"""Who reads: one agent over one user of one tenant, and which categories it may see (A §4.2, B §5, design §7)."""

from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Viewer:
    """`categories` is what the agent may see anything of; None when it may see all. Every reader is given one."""

    tenant: str
    user_id: str
    agent_id: str
    categories: frozenset[str] | None = None

    def within(self, categories: frozenset[str] | None) -> Self:
        """The same viewer, who sees these categories at most."""
        if categories is None:
            return self
        held = categories if self.categories is None else self.categories & categories
        return replace(self, categories=held)
