"""Event payloads: immutable models with a name, a version, tags and personal fields."""

from functools import cache
from typing import Annotated, ClassVar, get_args
from uuid import UUID

from pydantic import BaseModel, ConfigDict

BLIND = "~"


class Personal:
    """Marks a field that is encrypted with the key of `key_scope` and has its default once that is destroyed."""


PersonalText = Annotated[str, Personal()]


class Event(BaseModel):
    """The base class of payloads. A subclass is one type in its current version; upcasters handle old versions."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    version: ClassVar[int] = 1

    @classmethod
    def type_name(cls) -> str:
        return cls.__name__

    def tags(self) -> frozenset[str]:
        """The tags of the event's subjects, such as `memory:<id>`: most often the scope of its key.

        Deciders read and guard by tags.
        """
        return frozenset({self.key_scope()})

    def key_scope(self) -> str:
        """The scope of the key that encrypts the personal fields: `memory:<id>`, `thread:<id>` or `user`."""
        raise NotImplementedError

    def key_tag(self) -> str:
        """The tag by which all that is sealed under the same key is found."""
        return self.key_scope()

    def shreds(self) -> frozenset[str]:
        """The key scopes whose keys are destroyed in the append's transaction, including nested scopes.

        `thread:a` includes `thread:a/turn:b`, and "" every key of the stream (X07).
        """
        return frozenset()

    @classmethod
    @cache
    def personal_fields(cls) -> frozenset[str]:
        return frozenset(
            name
            for name, field in cls.model_fields.items()
            if any(isinstance(mark, Personal) for mark in (*field.metadata, *get_args(field.annotation)))
        )


class ShredsItsKey(Event):
    """An event that destroys the key of its own scope."""

    def shreds(self) -> frozenset[str]:
        return frozenset({self.key_scope()})


def sources_of(event: Event) -> tuple[str, ...] | None:
    """The source turns of an event's text; empty if it has none, None if that is unknown.

    A merge, for instance, has no information about its sources (X04).
    """
    return getattr(event, "source_turn_ids", None)


def blind_tag(kind: str, text: str) -> str:
    """A tag that contains text. The log stores an HMAC under the stream's key instead (design §7)."""
    return f"{BLIND}{kind}:{text}"


def memory_tag(memory_id: UUID) -> str:
    return f"memory:{memory_id}"
