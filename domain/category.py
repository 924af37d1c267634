"""Categories and the allowlist of each agent (B §5, B05)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mnemolog.domain.errors import CategoryNotAllowed

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
# The example of B §5, which says what each kind of agent needs; and procedures, which B §12 gives to two of them.
DEFAULT_ALLOWLISTS: Mapping[str, frozenset[str]] = {
    "supervisor": frozenset({"profile", "goals", "preferences", "event", "activity", "relationships", "tasks"}),
    "planner": frozenset({"goals", "tasks", "projects", PROCEDURAL}),
    "stylist": frozenset({"preferences", "tone", "style"}),
    "researcher": frozenset({"knowledge", "interests", "history"}),
    "executor": frozenset({"tasks", "recent_activity", "constraints", PROCEDURAL}),
}


@dataclass(frozen=True, slots=True)
class CategoryPolicy:
    """Which categories exist and which of them each agent may read. An agent without an allowlist reads all."""

    categories: frozenset[str] = SYSTEM_CATEGORIES
    allowlists: Mapping[str, frozenset[str]] = field(default_factory=lambda: DEFAULT_ALLOWLISTS)

    def known(self, category: str, path: str = "category") -> str:
        if category not in self.categories:
            raise CategoryNotAllowed(
                f"there is no category {category!r}",
                field=path,
                fix=f"use one of {', '.join(sorted(self.categories))}, or add it to the settings",
            )
        return category

    def readable(self, agent_id: str) -> frozenset[str] | None:
        """The categories that an agent may see anything of; None when it may see all."""
        return self.allowlists.get(agent_id)

    def allowed(self, agent_id: str, requested: Sequence[str], path: str = "categories") -> frozenset[str]:
        """The categories that a read by this agent covers; CategoryNotAllowed when it asks for more.

        Without a request it is the agent's whole allowlist, but procedures, which are asked for by name only (B §12).
        """
        allowlist = self.allowlists.get(agent_id, self.categories)
        for index, category in enumerate(requested):
            field = path if path != "categories" else f"categories[{index}]"
            self.known(category, field)
            if category not in allowlist:
                raise CategoryNotAllowed(
                    f"agent {agent_id!r} may not read category {category!r}",
                    field=field,
                    fix=f"ask for some of {', '.join(sorted(allowlist))}, or extend its allowlist in the settings",
                )
        return frozenset(requested) or allowlist - {PROCEDURAL}


def label(category: str) -> str:
    """The category as the delta header shows it: `recent_activity` is `Recent activity` (B §1)."""
    return category.replace("_", " ").capitalize()
