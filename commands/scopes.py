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
    """The scope to forget: the agent's session of one thread, everything it owns, or everything the agents share."""

    SESSION = "session"
    AGENT = "agent"
    GLOBAL = "global"


class OfScope(Command):
    """A scope, and for a session its thread."""

    scope: Annotated[
        Reach,
        Field(
            description="`session`: the agent's session of one thread; `agent`: everything it owns; "
            "`global`: everything the agents share."
        ),
    ]
    thread_id: Annotated[
        Id,
        Field(
            description="With scope `session`: the thread whose session it is. Else: the thread in which the change is "
            "reported."
        ),
    ] = DEFAULT_THREAD
    with_episodes: Annotated[Flag, Field(description="With scope `session`: also today's episodes of the thread.")] = (
        False
    )

    @model_validator(mode="after")
    def _of_a_thread(self) -> Self:
        if self.scope is Reach.SESSION and "thread_id" not in self.model_fields_set:
            raise InvalidInput("is required for scope session", field="thread_id", fix="give the thread of the session")
        return self


class ForgetScope(OfScope):
    """Hides everything in a scope."""

    reason: Annotated[Label, Field(description="The reason, stored encrypted in the history.")] = ""


class EraseScope(OfScope):
    """Destroys everything in a scope, including hidden items.

    Turns are erased with the memories extracted from them, the agent's todos and entries with scope `agent`, and the
    profile with scope `global`.
    """

    needs: ClassVar[Role] = Role.ERASE
