"""What may be asked to be erased: a memory, a thread, what else is known, or a user."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from mnemolog.commands.decider import Command
from mnemolog.domain.memory import Cause
from mnemolog.domain.principal import Role
from mnemolog.events.conversation import thread_tag
from mnemolog.events.event import memory_tag
from mnemolog.events.fields import Flag, Id, Instant, Uuid


class Erase(Command):
    """With `with_survivors`, memories that absorbed a text that goes are erased as well.

    `due`: a purge at its time. Nothing goes when it was restored since, or has time left. `spoken_in`: turns in which
    somebody speaks who would go otherwise; found for the request, and judged by the decision.
    """

    drawn: ClassVar[frozenset[str]] = frozenset({"spoken_in"})
    needs: ClassVar[Role] = Role.ERASE

    with_survivors: Annotated[
        Flag, Field(description="Also erase the memories that what is erased was merged into.")
    ] = False
    due: Instant | None = None
    spoken_in: tuple[Id, ...] = ()

    def subject(self) -> str:
        raise NotImplementedError


class EraseMemory(Erase):
    """Its text, and that of the turns that it was drawn from unless `keep_turns`.

    `cause`: why it was hidden before, when it is purged at its time.
    """

    memory_id: Annotated[Uuid, Field(description="The memory's id.")]
    keep_turns: Annotated[Flag, Field(description="Keep the turns that it was extracted from.")] = False
    cause: Cause | None = None

    def subject(self) -> str:
        return memory_tag(self.memory_id)


class EraseThread(Erase):
    """Every turn of `thread_id`, and every memory that was drawn from one."""

    thread_id: Id

    def subject(self) -> str:
        return thread_tag(self.thread_id)


class EraseKnown(Erase):
    """An entity with all that is told of it, a relation, a place of the profile or a todo; no turn and no memory."""

    kind: Literal["entity", "relation", "profile", "todo"]
    name: Id

    def subject(self) -> str:
        return f"{self.kind}:{self.name}"


class EraseUser(Command):
    """Everything of a user."""

    needs: ClassVar[Role] = Role.ERASE
