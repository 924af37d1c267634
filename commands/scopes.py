"""Forget or erase all that a scope holds: a session, what is an agent's own, or what all agents share (A §9)."""

from enum import StrEnum
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from mnemolog.commands.decider import Command
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.principal import Role
from mnemolog.events.envelope import DEFAULT_THREAD
from mnemolog.events.fields import Flag, Id, Label


class Reach(StrEnum):
    """What is forgotten: the agent's session of one thread, all that is its own, or all that agents share."""

    SESSION = "session"
    AGENT = "agent"
    GLOBAL = "global"


class OfScope(Command):
    """A scope, and for a session its thread."""

    scope: Annotated[
        Reach,
        Field(
            description="`session`: the agent's session of one thread; `agent`: everything of its own; "
            "`global`: everything that agents share."
        ),
    ]
    thread_id: Annotated[
        Id,
        Field(
            description="With scope `session`: the thread whose session it is. Else: the thread in which the change is "
            "reported."
        ),
    ] = DEFAULT_THREAD
    with_episodes: Annotated[Flag, Field(description="With scope `session`: today's episodes of the thread, too.")] = (
        False
    )

    @model_validator(mode="after")
    def _of_a_thread(self) -> Self:
        if self.scope is Reach.SESSION and "thread_id" not in self.model_fields_set:
            raise InvalidInput("is missing: a session is that of a thread", field="thread_id", fix="name the thread")
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
