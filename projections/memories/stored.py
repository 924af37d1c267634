"""Conversion between a memory and its row."""

from mnemolog.domain.memory import Cause, Content, Kind, Memory, Status
from mnemolog.domain.memory_key import EntityType, FactType, Identity, MemoryType, Source
from mnemolog.domain.origin import Origin
from mnemolog.domain.scene import Experience, experience_of
from mnemolog.domain.scope import Scope
from mnemolog.projections.rows import Row


def of_memory(memory: Memory) -> Row:
    """The columns that are derived from the domain memory."""
    content, identity = memory.content, memory.identity
    same = ("memory_id", "kind", "scope", "agent_id", "status", "merged_into", "purge_at", "origin")
    return {
        **{name: getattr(memory, name) for name in same},
        "deleted_cause": memory.cause,
        **{name: getattr(content, name) for name in Content.__slots__},
        "experience": content.experience and content.experience.as_dict(),
        **{name: getattr(identity, name) for name in ("type", "entity_type", "fact_type", "source", "entity_label")},
        "memory_key": identity.key,
        "entity_refs": list(identity.entity_refs),
        "topics": list(identity.topics),
    }


def as_memory(row: Row) -> Memory:
    return Memory(
        row["memory_id"],
        Kind(row["kind"]),
        Scope(row["scope"]),
        row["agent_id"],
        Content(**{**{name: row[name] for name in Content.__slots__}, "experience": experience_in(row)}),
        Status(row["status"]),
        row["merged_into"],
        row["purge_at"],
        Cause(row["deleted_cause"]) if row["deleted_cause"] else None,
        Identity(
            MemoryType(row["type"]) if row["type"] else None,
            EntityType(row["entity_type"]) if row["entity_type"] else None,
            FactType(row["fact_type"]) if row["fact_type"] else None,
            Source(row["source"]),
            row["memory_key"],
            tuple(row["entity_refs"]),
            row["entity_label"],
            tuple(row["topics"]),
        ),
        Origin(row["origin"]),
    )


def experience_in(row: Row) -> Experience | None:
    return None if row["experience"] is None else experience_of(row["experience"])
