"""What may be asked to be erased: a memory, a thread, what else is known, or a user."""

from typing import Annotated, ClassVar

from pydantic import Field

from mnemolog.commands.decider import Command
from mnemolog.domain.errors import InvalidInput, NotFound
from mnemolog.domain.memory import Cause
from mnemolog.domain.principal import Role
from mnemolog.events.conversation import thread_tag
from mnemolog.events.event import memory_tag
from mnemolog.events.fields import Flag, Id, Instant, Uuid, checked_by
from mnemolog.events.subjects import KNOWN, SUBJECTS, of_each


def _kind(value: object, field: str) -> str:
    if value in [one.name for one in KNOWN]:
        return str(value)
    names = ", ".join(one.name for one in KNOWN)
    raise InvalidInput(f"{value!r:.40} is no kind of subject", field=field, fix=f"use one of {names}")


KnownKind = Annotated[str, checked_by(_kind)]
# The field by which a request names a subject of each kind.
NAMED = of_each(
    "NAMED in commands/erasure_requests.py",
    {"entity": "entity_id", "relation": "relation_id", "profile": "field", "todo": "todo_id"},
    KNOWN,
)


class Erase(Command):
    """With `with_survivors`, memories that absorbed a text that goes are erased as well.

    `due`: a purge at its time. Nothing goes when it was restored since, or has time left. `spoken_in`: turns in which
    somebody speaks who would go otherwise; found for the request, and judged by the decision.
    """

    generated: ClassVar[frozenset[str]] = frozenset({"spoken_in"})
    needs: ClassVar[Role] = Role.ERASE

    with_survivors: Annotated[
        Flag, Field(description="Also erase the memories that what is erased was merged into.")
    ] = False
    due: Instant | None = None
    spoken_in: tuple[Id, ...] = ()

    def subject(self) -> str:
        raise NotImplementedError


class EraseMemory(Erase):
    """Its text, and that of the turns that it was extracted from unless `keep_turns`.

    `cause`: why it was hidden before, when it is purged at its time.
    """

    memory_id: Annotated[Uuid, Field(description="The memory's id.")]
    keep_turns: Annotated[Flag, Field(description="Keep the turns that it was extracted from.")] = False
    cause: Cause | None = None

    def subject(self) -> str:
        return memory_tag(self.memory_id)


class EraseThread(Erase):
    """Every turn of `thread_id`, and every memory that was extracted from one."""

    thread_id: Id

    def subject(self) -> str:
        return thread_tag(self.thread_id)


class EraseKnown(Erase):
    """A subject other than a memory, by its kind and id: an entity with all that is told of it, but no turn."""

    kind: KnownKind
    name: Id

    def subject(self) -> str:
        return f"{self.kind}:{self.name}"

    def missing(self) -> NotFound:
        """The one answer where there is no such subject, or none that the asker may see."""
        try:
            found = SUBJECTS[self.kind].missing(self.user_id, SUBJECTS[self.kind].id_of(self.subject()))
            return NotFound(found.message, field=NAMED[self.kind], fix=found.fix)
        except ValueError:
            fix = "give the id that lists and receipts show"
            return NotFound(f"{self.name!r:.80} is no id", field=NAMED[self.kind], fix=fix)


class EraseUser(Command):
    """Everything of a user."""

    needs: ClassVar[Role] = Role.ERASE
