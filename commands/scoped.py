"""A request to keep something: for all agents of a user, or for the one that is named (A §1, A01)."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from mnemolog.commands.decider import Command
from mnemolog.domain.scope import Scope, require_owner
from mnemolog.events.envelope import DEFAULT_AGENT


class Scoped(Command):
    """`agent_id` is required where the scope is `agent`: the default agent is nobody in particular."""

    scope: Annotated[Scope, Field(description="`global`, or `agent` for the eyes of this agent only.")] = Scope.GLOBAL

    @model_validator(mode="after")
    def _owned(self) -> Self:
        require_owner(self.scope, None if self.agent_id == DEFAULT_AGENT else self.agent_id)
        return self
