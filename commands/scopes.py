"""Forget or erase a scope: a session, everything owned by an agent, or everything the agents share (A §9)."""

from enum import StrEnum
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from mnemolog.commands.decider import Command
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.principal import Role
from mnemolog.events.envelope import DEFAULT_THREAD
from mnemolog.events.fields import Flag, Id, Label


class Reach(StrEnum):
    """The scope to forget: the agent's session of one chat, everything it owns, or everything the agents share."""

    SESSION = "session"
    AGENT = "agent"
    GLOBAL = "global"


class OfScope(Command):
    """A scope, and for a session its thread."""

    scope: Annotated[
        Reach,
        Field(
            description="`session`: the agent's session of one chat; `agent`: everything it owns; "
            "`global`: everything the agents share."
        ),
    ]
    chat_id: Annotated[Id | None, Field(description="With scope `session`: the chat.")] = None
    with_episodes: Annotated[Flag, Field(description="With scope `session`: also today's episodes of the chat.")] = (
        False
    )

    @model_validator(mode="after")
    def _one_chat(self) -> Self:
        if self.scope is Reach.SESSION and self.chat_id is None:
            raise InvalidInput("is required for scope session", field="chat_id", fix="give the chat")
        if self.scope is not Reach.SESSION and self.chat_id is not None:
            message = f"goes with scope session only, not with {self.scope.value}"
            raise InvalidInput(message, field="chat_id", fix="omit it, or use scope session")
        return self


class ForgetScope(OfScope):
    """Hides everything in a scope."""

    reason: Annotated[Label, Field(description="The reason, stored encrypted in the history.")] = ""


class EraseScope(OfScope):
    """Destroys everything in a scope, including hidden items.

    Turns are erased with the memories extracted from them, the agent's todos with scope `agent`, and the profile with
    scope `global`.
    """

    needs: ClassVar[Role] = Role.ERASE
