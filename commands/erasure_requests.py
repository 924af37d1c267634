"""The commands that erase a memory, a thread, another subject, or a user."""

from typing import Annotated, ClassVar

from pydantic import Field

from mnemolog.commands.decider import Command
from mnemolog.domain.errors import InvalidInput, NotFound
from mnemolog.domain.memory import Cause
from mnemolog.domain.principal import Role
from mnemolog.events.conversation import thread_tag, turn_tag
from mnemolog.events.event import memory_tag
from mnemolog.events.fields import AtMost, Flag, Id, Instant, Uuid, checked_by
from mnemolog.events.message import MessagesErased
from mnemolog.events.subjects import KNOWN, SUBJECTS, of_each


def _kind(value: object, field: str) -> str:
    if value in [one.name for one in KNOWN]:
        return str(value)
    names = ", ".join(one.name for one in KNOWN)
    raise InvalidInput(f"{value!r:.40} is not a kind of subject", field=field, fix=f"use one of {names}")


KnownKind = Annotated[str, checked_by(_kind)]
# The request field for each kind of subject.
NAMED = of_each(
    "NAMED in commands/erasure_requests.py",
    {
        "entity": "entity_id",
        "relation": "relation_id",
        "profile": "field",
        "todo": "todo_id",
        "artifact": "artifact_id",
        "document": "document_id",
        "being_entry": "entry_id",
    },
    KNOWN,
)


class Erase(Command):
    """With `with_survivors`, memories that absorbed an erased text are erased too.

    `due`: a scheduled purge, which erases nothing if the subject was restored or is not due. `spoken_in`: turns with
    speakers who would otherwise be erased; looked up for the request and checked by the decision.
    """

    # The field that names what is erased.
    named: ClassVar[str]
    generated: ClassVar[frozenset[str]] = frozenset({"spoken_in"})
    needs: ClassVar[Role] = Role.ERASE

    with_survivors: Annotated[Flag, Field(description="Also erase the memories that these were merged into.")] = False
    due: Instant | None = None
    spoken_in: tuple[Id, ...] = ()

    def subject(self) -> str:
        raise NotImplementedError


class EraseMemory(Erase):
    """Erases a memory and, unless `keep_turns`, the turns it was extracted from.

    `cause`: why it had been hidden, for a scheduled purge.
    """

    named: ClassVar[str] = "memory_id"

    memory_id: Annotated[Uuid, Field(description="The memory's id.")]
    keep_turns: Annotated[Flag, Field(description="Keep the turns it was extracted from.")] = False
    cause: Cause | None = None

    def subject(self) -> str:
        return memory_tag(self.memory_id)


class EraseThread(Erase):
    """Erases every turn of `thread_id` and every memory extracted from one."""

    named: ClassVar[str] = "thread_id"

    thread_id: Id

    def subject(self) -> str:
        return thread_tag(self.thread_id)


class EraseMessages(Erase):
    """Erases messages and, unless `keep_memories`, every memory extracted from them.

    `cause`: why, for a scheduled erasure. With `due`, only those that are deleted and due.
    """

    named: ClassVar[str] = "message_id"

    message_ids: Annotated[tuple[Id, ...], AtMost(MessagesErased.MAX, least=1)]
    keep_memories: Annotated[Flag, Field(description="Keep the memories that were extracted from it.")] = False
    cause: Cause = Cause.ASKED

    def subject(self) -> str:
        return turn_tag(self.message_ids[0])


class EraseKnown(Erase):
    """Erases a subject other than a memory, by kind and id. An entity is erased with the facts about it, but without
    turns.
    """

    kind: KnownKind
    name: Id

    def subject(self) -> str:
        return f"{self.kind}:{self.name}"

    def missing(self) -> NotFound:
        """The error for a subject that does not exist or is not visible to the caller."""
        try:
            found = SUBJECTS[self.kind].missing(self.user_id, SUBJECTS[self.kind].id_of(self.subject()))
            return NotFound(found.message, field=NAMED[self.kind], fix=found.fix)
        except ValueError:
            fix = "give an id from a list or a receipt"
            return NotFound(f"{self.name!r:.80} is not an id", field=NAMED[self.kind], fix=fix)


class EraseUser(Command):
    """Erases everything about a user."""

    needs: ClassVar[Role] = Role.ERASE
