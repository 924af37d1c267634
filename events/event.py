"""An event's payload: an immutable model that knows its name, its version, what it touches and what is personal."""

from functools import cache
from typing import Annotated, ClassVar, get_args
from uuid import UUID

from pydantic import BaseModel, ConfigDict

BLIND = "~"


class Personal:
    """Marks a field that is sealed with the key of `key_scope`, and reads as its default once that is shredded."""


PersonalText = Annotated[str, Personal()]


class Event(BaseModel):
    """The base of all payloads. A subclass is one type at its current version; old versions live in upcasters."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    version: ClassVar[int] = 1

    @classmethod
    def type_name(cls) -> str:
        return cls.__name__

    def tags(self) -> frozenset[str]:
        """What the event touches, such as `memory:<id>`. Deciders read and guard by these."""
        raise NotImplementedError

    def key_scope(self) -> str:
        """Whose key seals the personal fields: `memory:<id>`, `thread:<id>` or `user`."""
        raise NotImplementedError

    def key_tag(self) -> str:
        """The tag by which all that is sealed under the same key is found."""
        return self.key_scope()

    def shreds(self) -> frozenset[str]:
        """The key scopes whose keys are destroyed in the append's own transaction, each with all below it.

        `thread:a` takes `thread:a/turn:b` along, and "" every key of the stream (X07).
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


def sources_of(event: Event) -> tuple[str, ...] | None:
    """The turns that an event's words come from; none where they were only said, None where it has none to tell.

    A merge, for one, tells nothing of where its words come from (X04).
    """
    return getattr(event, "source_turn_ids", None)


def blind_tag(kind: str, text: str) -> str:
    """A tag that would show text. The log keeps an HMAC under the stream's key in its place (design §7)."""
    return f"{BLIND}{kind}:{text}"


def memory_tag(memory_id: UUID) -> str:
    return f"memory:{memory_id}"
