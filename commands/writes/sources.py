"""Where the content of a request comes from, by the messages and the memory that it names as its sources (X21)."""

from typing import TypeVar
from uuid import UUID

from mnemolog.commands.facts import Remember
from mnemolog.commands.handler import Handler
from mnemolog.commands.memory_requests import CreateMemory
from mnemolog.domain.memory import Memory
from mnemolog.domain.origin import Origin, lowest
from mnemolog.events.conversation import TurnRecorded, turn_tag
from mnemolog.events.event import memory_tag
from mnemolog.events.log import EventLog
from mnemolog.events.memory_fold import MEMORY

T = TypeVar("T", CreateMemory, Remember)


async def traced(log: EventLog, handler: Handler, command: T) -> T:
    """The command, no more trusted than the sources that it names. Where a message comes from never changes.

    Only somebody who writes in the user's name, and says so, can trust it more.
    """
    tags = set(map(turn_tag, command.source_turn_ids))
    if isinstance(command, Remember) and command.memory_id:
        tags.add(memory_tag(command.memory_id))
    trust = handler.admitted(command).trust
    if not tags or command.origin is Origin.USER:
        return command
    events = await log.read(command.stream(), tags=tags)
    said = [event.payload for event in events if isinstance(event.payload, TurnRecorded)]
    known: dict[UUID, Memory] = {}
    for event in events:
        known |= MEMORY.evolve(known, event.payload)
    of_turns = [Origin.of_role(turn.role) for turn in said if turn_tag(turn.turn_id) in tags]
    of_memories = [one.origin for id_, one in known.items() if memory_tag(id_) in tags]
    origin = lowest(trust, *of_turns, *of_memories)
    return command if origin is trust else command.model_copy(update={"origin": origin})
