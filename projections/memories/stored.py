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
    return {
        "memory_id": memory.memory_id,
        "kind": memory.kind,
        "scope": memory.scope,
        "agent_id": memory.agent_id,
        **{name: getattr(content, name) for name in Content.__slots__},
        "experience": content.experience and content.experience.as_dict(),
        "status": memory.status,
        "merged_into": memory.merged_into,
        "purge_at": memory.purge_at,
        "deleted_cause": memory.cause,
        "type": identity.type,
        "entity_type": identity.entity_type,
        "fact_type": identity.fact_type,
        "source": identity.source,
        "memory_key": identity.key,
        "entity_refs": list(identity.entity_refs),
        "entity_label": identity.entity_label,
        "topics": list(identity.topics),
        "origin": memory.origin,
    }


def as_memory(row: Row) -> Memory:
    """A row as a domain memory."""
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
