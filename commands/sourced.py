"""Requests whose content comes from somewhere: from whom it is, and what that allows (X21)."""

from typing import Annotated

from pydantic import Field

from mnemolog.commands.decider import Command
from mnemolog.domain.errors import UntrustedOrigin
from mnemolog.domain.origin import Origin, lowest, require_inside
from mnemolog.domain.turn import Role
from mnemolog.events.envelope import DEFAULT_AGENT

# The actor of the rules that record what a user's message states, in the user's own words.
EXTRACTOR = "extractor"


class Sourced(Command):
    """A request with content. What an agent or a program sends is at most its own conclusion."""

    origin: Annotated[
        Origin | None,
        Field(
            description="Where it comes from: `user`, `agent`, or from outside: `document`, `tool`, `other_agent`, "
            "`import`. Default: whoever writes it, or the least trusted of its sources."
        ),
    ] = None

    @property
    def trust(self) -> Origin:
        """The origin. Raises UntrustedOrigin for an agent that speaks in the user's name."""
        by_person = self.is_users_word or self.actor == EXTRACTOR
        if self.origin is Origin.USER and not by_person:
            raise UntrustedOrigin(
                f"{self.actor!r} cannot speak in the user's name", field="origin", fix="omit it, or send `agent`"
            )
        own = Origin.USER if self.is_users_word and self.agent_id == DEFAULT_AGENT else Origin.AGENT
        said = Origin.of_role(role) if isinstance(role := getattr(self, "role", None), Role) else own
        return lowest(self.origin or said, Origin.USER if by_person else Origin.AGENT)

    def require_not_below(self, known: Origin, what: str) -> None:
        """Refuse to let something from outside change what did not come from there."""
        if not known.external:
            require_inside(self.trust, f"{what} what did not come from outside", "origin")
