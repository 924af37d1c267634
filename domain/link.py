"""A link from one memory to another (B §2)."""

from typing import NamedTuple, Self
from uuid import UUID


class Ends(NamedTuple):
    """The memories that a link leads from and to. As text, both ids with a colon between them."""

    from_id: UUID
    to_id: UUID

    def __str__(self) -> str:
        return f"{self.from_id}:{self.to_id}"

    @classmethod
    def read(cls, text: str) -> Self:
        return cls(*map(UUID, text.split(":")))


class Link(NamedTuple):
    """The content of a link; `strength` is in [0, 1]."""

    relation_type: str
    strength: float
