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
    found = [command.key, *(command.key_about(ref) for ref in _references(people, command))]
    return list(dict.fromkeys(filter(None, found)))


def _references(people: Graph, command: CreateMemory) -> Sequence[str]:
    """Of several who may be meant nobody is guessed."""
    known = {one.entity_id: one for name in _names(command) for one in bearers(people, command, name, command.scope)}
    meant = [refs for one in known.values() if command.entity_refs[0] in (refs := _called(one, command))]
    return meant[0] if len(meant) == 1 else ()


def _called(entity: Entity, command: CreateMemory) -> Sequence[str]:
    """An entity of which nothing more is known is of the kind that is asked for."""
    kind, traits = command.entity_refs[0].partition(":")[0], entity.traits
    refs = [reference(traits.category, name) for name in (traits.name, *traits.aliases)]
    return [f"{kind}:{ref.partition(':')[2]}" for ref in refs] if traits.category == THING else refs


def _names(command: CreateMemory) -> Sequence[str]:
    """How whom the derived key is about may be written."""
    if command.memory_key or not command.key:
        return ()
    slug = command.entity_refs[0].partition(":")[2]
    return sorted({slug.replace("_", " "), slug.replace("_", "-")})
