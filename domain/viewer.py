"""The viewer of a read: tenant, user, agent, and the categories it may see (A §4.2, B §5, design §7)."""

from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Viewer:
    """`categories` are those that the agent may read; None means all. Every reader requires a viewer.

    `library`: the viewer reads the agent's own library, which has no user, instead of what is known about a user.
    """

    tenant: str
    user_id: str
    agent_id: str
    categories: frozenset[str] | None = None
    library: bool = False

    @classmethod
    def of_library(cls, tenant: str, agent_id: str) -> Self:
        return cls(tenant, "", agent_id, library=True)

    def may_read(self, category: str) -> bool:
        return self.categories is None or category in self.categories

    def within(self, categories: frozenset[str] | None) -> Self:
        """The same viewer, restricted to these categories."""
        if categories is None:
            return self
        allowed = categories if self.categories is None else self.categories & categories
        return replace(self, categories=allowed)
