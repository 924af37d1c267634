"""Categories, the allowlist of each agent, and how a category enters the context (B §5, B05)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from mnemolog.domain.errors import CategoryNotAllowed, InvalidInput

PROCEDURAL = "procedural"

SYSTEM_CATEGORIES = frozenset(
    [
        "profile",
        "event",
        "activity",
        "goals",
        "preferences",
        "relationships",
        "tasks",
        "projects",
        "tone",
        "style",
        "knowledge",
        "interests",
        "history",
        "recent_activity",
        "constraints",
        "relationship_dynamic",
        "personal",
        "note",
        "procedural",
    ]
)
# The example of B §5, plus procedures, which B §12 assigns to two of the agents.
DEFAULT_ALLOWLISTS: Mapping[str, frozenset[str]] = {
    "supervisor": frozenset({"profile", "goals", "preferences", "event", "activity", "relationships", "tasks"}),
    "planner": frozenset({"goals", "tasks", "projects", PROCEDURAL}),
    "stylist": frozenset({"preferences", "tone", "style"}),
    "researcher": frozenset({"knowledge", "interests", "history"}),
    "executor": frozenset({"tasks", "recent_activity", "constraints", PROCEDURAL}),
}


class Context(StrEnum):
    """`all`: every active memory of the category. `rag`: those that match the query, at most `rag_length`."""

    ALL = "all"
    RAG = "rag"


@dataclass(frozen=True, slots=True)
class ContextMode:
    """How a category enters the context; `rag_length` counts memories."""

    context: Context = Context.RAG
    rag_length: int = 30


# The example of B §5. Other categories default to `rag`, like `event`.
DEFAULT_MODES: Mapping[str, ContextMode] = {
    "profile": ContextMode(Context.ALL),
    "event": ContextMode(Context.RAG, 30),
    "activity": ContextMode(Context.RAG, 50),
}

Unlisted = Literal["all", "none"]


@dataclass(frozen=True, slots=True)
class CategoryPolicy:
    """The categories, how each enters the context, and which ones each agent may read.

    `unlisted` is what an agent without an allowlist may read. If categories are `free`, any other may be written too.
    """

    categories: frozenset[str] = SYSTEM_CATEGORIES
    allowlists: Mapping[str, frozenset[str]] = field(default_factory=lambda: DEFAULT_ALLOWLISTS)
    modes: Mapping[str, ContextMode] = field(default_factory=lambda: DEFAULT_MODES)
    unlisted: Unlisted = "all"
    free: bool = False

    def known(self, category: str, path: str = "category") -> str:
        if category not in self.categories and not self.free:
            raise InvalidInput(
                f"there is no category {category!r}",
                field=path,
                fix=f"use one of {', '.join(sorted(self.categories))}, or add it to the policy file",
            )
        return category

    def mode(self, category: str) -> ContextMode:
        return self.modes.get(category, ContextMode())

    def readable(self, agent_id: str) -> frozenset[str] | None:
        """The categories that an agent may read; None means all."""
        return self.allowlists.get(agent_id, None if self.unlisted == "all" else frozenset())

    def allowed(self, agent_id: str, requested: Sequence[str], path: str = "categories") -> frozenset[str] | None:
        """The categories of a read by this agent, None for all; raises CategoryNotAllowed for others.

        By default the agent's whole allowlist, except procedures, which must be requested by name (B §12).
        """
        readable = self.readable(agent_id)
        if readable is None and self.free:
            return frozenset(requested) or None
        allowlist = self.categories if readable is None else readable
        if not allowlist:
            raise CategoryNotAllowed(
                f"agent {agent_id!r} may read no category",
                field="agent",
                fix="correct its name, or give it an allowlist in the policy file",
            )
        for index, category in enumerate(requested):
            field = path if path != "categories" else f"categories[{index}]"
            self.known(category, field)
            if category not in allowlist:
                raise CategoryNotAllowed(
                    f"agent {agent_id!r} may not read category {category!r}",
                    field=field,
                    fix=f"use some of {', '.join(sorted(allowlist))}, or extend its allowlist in the policy file",
                )
        return frozenset(requested) or allowlist - {PROCEDURAL}


def label(category: str) -> str:
    """The category as the delta header shows it: `recent_activity` is `Recent activity` (B §1)."""
    return category.replace("_", " ").capitalize()
