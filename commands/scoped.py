"""A request to store something for all agents of a user, or for one agent (A §1, A01)."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from mnemolog.commands.decider import Command
from mnemolog.domain.scope import Scope, require_owner
from mnemolog.events.envelope import DEFAULT_AGENT


class Scoped(Command):
    """`agent_id` is required if the scope is `agent`: the default agent is not a specific one."""

    scope: Annotated[Scope, Field(description="`global`, or `agent` for this agent only.")] = Scope.GLOBAL

    @model_validator(mode="after")
    def _owned(self) -> Self:
        require_owner(self.scope, None if self.agent_id == DEFAULT_AGENT else self.agent_id)
        return self
