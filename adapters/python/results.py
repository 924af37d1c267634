"""What the verbs of the Python face return."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from mnemolog.events.envelope import Receipt
from mnemolog.projections.query import Hit


@dataclass(frozen=True, slots=True)
class Added:
    """What `add` and `create` return: the memory's id, and the receipt of the durable write."""

    memory_id: UUID
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Found:
    """One memory that answers. `score` in [0, 1]; `similarity` is the cosine, None when only the words matched."""

    memory_id: UUID
    text: str
    category: str
    score: float
    similarity: float | None
    metadata: Mapping[str, Any]

    def __str__(self) -> str:
        return self.text

    @classmethod
    def of(cls, hit: Hit) -> Self:
        return cls(hit.memory_id, hit.text, hit.category, hit.score, hit.similarity, hit.row)
