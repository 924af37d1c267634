"""Forget or erase all that a scope holds: a session, what is an agent's own, or what all agents share (A §9)."""

from enum import StrEnum
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from mnemolog.commands.decider import Command
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.principal import Role
from mnemolog.events.fields import Flag, Id, Label


class Reach(StrEnum):
    """What is forgotten: the agent's session of one chat, all that is its own, or all that agents share."""

    SESSION = "session"
    AGENT = "agent"
    GLOBAL = "global"


class OfScope(Command):
    """A scope, and for a session its chat."""

    scope: Annotated[
        Reach,
        Field(
            description="`session`: the agent's session of one chat; `agent`: everything of its own; "
            "`global`: everything that agents share."
        ),
    ]
    chat_id: Annotated[Id | None, Field(description="With scope `session`: the chat.")] = None
    with_episodes: Annotated[Flag, Field(description="With scope `session`: today's episodes of the chat, too.")] = (
        False
    )

    @model_validator(mode="after")
    def _one_chat(self) -> Self:
        if self.scope is Reach.SESSION and self.chat_id is None:
            raise InvalidInput("is missing: scope session forgets one chat", field="chat_id", fix="name the chat")
        if self.scope is not Reach.SESSION and self.chat_id is not None:
            message = f"goes with scope session only, not with {self.scope.value}"
            raise InvalidInput(message, field="chat_id", fix="leave it out, or use scope session")
        return self


class ForgetScope(OfScope):
    """Hide what a scope holds."""

    reason: Annotated[Label, Field(description="Why; it is kept in the history, encrypted as texts are.")] = ""


class EraseScope(OfScope):
    """Destroy what a scope holds, also what was hidden before.

    What was said in turns goes with the memories that were drawn from them, the agent's todos with `agent`, and the
    profile with `global`.
    """

    needs: ClassVar[Role] = Role.ERASE
