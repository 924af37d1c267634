"""The entities a memory is about: those given by id, and those named by its references (A10).

An ambiguous reference resolves to no entity.
"""

from collections.abc import Sequence
from uuid import UUID

from mnemolog.commands.graph import Graph, entity_reads
from mnemolog.commands.memory_requests import CreateMemory
from mnemolog.commands.naming import bearers, by_id
from mnemolog.commands.same_subject import references, spelt
from mnemolog.events.graph_tags import spelling_tags


def reads(people: Graph, command: CreateMemory) -> frozenset[str]:
    names = frozenset(tag for ref in command.entity_refs for name in spelt(ref) for tag in spelling_tags(name))
    return entity_reads(people, command.entity_ids) | names if names or command.entity_ids else names


def of(people: Graph, command: CreateMemory) -> tuple[UUID, ...]:
    """Each once, those given by id first; raises NotFound for one that the agent may not see."""
    named = [
        by_id(people, command, entity_id, command.scope, f"entity_ids[{place}]").entity_id
        for place, entity_id in enumerate(command.entity_ids)
    ]
    meant = (found for ref in command.entity_refs if (found := _meant(people, command, ref)))
    return tuple(dict.fromkeys((*named, *meant)))


def _meant(people: Graph, command: CreateMemory, ref: str) -> UUID | None:
    known = {one.entity_id: one for name in spelt(ref) for one in bearers(people, command, name, command.scope)}
    found: Sequence[UUID] = [id_ for id_, one in known.items() if ref in references(one, ref)]
    return found[0] if len(found) == 1 else None
