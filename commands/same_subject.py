"""Equivalent keys of a memory: a reference by an alias means the same entity (D13).

A slug loses punctuation, so only names of letters, spaces and hyphens can be found by slug.
"""

from collections.abc import Sequence

from mnemolog.commands.graph import Graph, entity_reads
from mnemolog.commands.memory_requests import CreateMemory
from mnemolog.commands.naming import bearers
from mnemolog.domain.card import reference
from mnemolog.domain.entity import THING, Entity
from mnemolog.events.graph_tags import spelling_tags


def reads(people: Graph, command: CreateMemory) -> frozenset[str]:
    """The tags to read to resolve the reference."""
    names = frozenset(tag for name in _names(command) for tag in spelling_tags(name))
    return entity_reads(people) | names if names else names


def keys(people: Graph, command: CreateMemory) -> Sequence[str]:
    """The command's own key, then those with the entity's other names; empty if it has no key."""
    found = [command.key, *(command.key_about(ref) for ref in _other_references(people, command))]
    return list(dict.fromkeys(filter(None, found)))


def references(entity: Entity, ref: str) -> Sequence[str]:
    """The references to an entity; one without a category takes the requested type."""
    kind, traits = ref.partition(":")[0], entity.traits
    refs = [reference(traits.category, name) for name in (traits.name, *traits.aliases)]
    return [f"{kind}:{one.partition(':')[2]}" for one in refs] if traits.category == THING else refs


def spelt(ref: str) -> Sequence[str]:
    """Possible spellings of a reference's name."""
    slug = ref.partition(":")[2]
    return sorted({slug.replace("_", " "), slug.replace("_", "-")})


def _other_references(people: Graph, command: CreateMemory) -> Sequence[str]:
    """An ambiguous reference resolves to no entity."""
    known = {one.entity_id: one for name in _names(command) for one in bearers(people, command, name, command.scope)}
    ref = next(iter(command.entity_refs), "")
    meant = [refs for one in known.values() if ref in (refs := references(one, ref))]
    return meant[0] if len(meant) == 1 else ()


def _names(command: CreateMemory) -> Sequence[str]:
    """Possible spellings of the name in the derived key."""
    return () if command.memory_key or not command.key else spelt(command.entity_refs[0])
