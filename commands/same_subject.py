"""By what keys a memory's subject is known: a reference to somebody by a further name is a reference to him (D13).

A slug has lost what the name was written with, so that only names of letters, spaces and hyphens are found by theirs.
"""

from collections.abc import Sequence

from mnemolog.commands.graph import Graph, entity_reads
from mnemolog.commands.memory_requests import CreateMemory
from mnemolog.commands.naming import bearers
from mnemolog.domain.card import reference
from mnemolog.domain.entity import THING, Entity
from mnemolog.events.graph_tags import name_tag


def reads(people: Graph, command: CreateMemory) -> frozenset[str]:
    """What must be read to know who is meant."""
    names = frozenset(map(name_tag, _names(command)))
    return entity_reads(people) | names if names else names


def keys(people: Graph, command: CreateMemory) -> Sequence[str]:
    """The command's own key first, then those under the other names of whom it is about; none where it has no key."""
    found = [command.key, *(command.key_about(ref) for ref in _other_references(people, command))]
    return list(dict.fromkeys(filter(None, found)))


def references(entity: Entity, ref: str) -> Sequence[str]:
    """How an entity is referred to; one of which nothing more is known is of the kind that is asked for."""
    kind, traits = ref.partition(":")[0], entity.traits
    refs = [reference(traits.category, name) for name in (traits.name, *traits.aliases)]
    return [f"{kind}:{one.partition(':')[2]}" for one in refs] if traits.category == THING else refs


def spelt(ref: str) -> Sequence[str]:
    """How whom a reference names may be written."""
    slug = ref.partition(":")[2]
    return sorted({slug.replace("_", " "), slug.replace("_", "-")})


def _other_references(people: Graph, command: CreateMemory) -> Sequence[str]:
    """Of several who may be meant nobody is guessed."""
    known = {one.entity_id: one for name in _names(command) for one in bearers(people, command, name, command.scope)}
    ref = next(iter(command.entity_refs), "")
    meant = [refs for one in known.values() if ref in (refs := references(one, ref))]
    return meant[0] if len(meant) == 1 else ()


def _names(command: CreateMemory) -> Sequence[str]:
    """How whom the derived key is about may be written."""
    return () if command.memory_key or not command.key else spelt(command.entity_refs[0])
