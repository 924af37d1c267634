"""A user with a past, for pages that show one: memories, a merge, a contradiction, people and facts."""

from dataclasses import dataclass
from typing import Any

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.operations import memories as operations
from mnemolog.adapters.operations.entities import add_entity
from mnemolog.adapters.operations.facts import add_fact
from mnemolog.adapters.operations.operation import Operation
from mnemolog.adapters.operations.profile import propose_profile
from mnemolog.events.fields import validated

SAID = (
    ("Ines is allergic to penicillin", {"category": "constraints", "pinned": True}),
    ("Ines prefers trains to planes", {"category": "preferences"}),
    ("Ines runs along the river on Sunday mornings", {"category": "activity"}),
    ("Ines is learning Portuguese for her move to Lisbon", {"category": "goals", "importance": 0.75}),
    ("The invoice of the landlord says 1,450 euros", {"category": "note", "origin": "document"}),
    ("Ines drinks her coffee black", {"category": "preferences"}),
)
FACTS = (
    ("Ines", "works_with", "Marta"),
    ("Ines", "lives_in", "Porto"),
    ("Marta", "lives_in", "Lisbon"),
    ("Marta", "likes", "Fado"),
    ("Ines", "works_at", "Casa Verde"),
    ("Tiago", "works_at", "Casa Verde"),
)
PEOPLE = (("Ines", "Person"), ("Marta", "Person"), ("Tiago", "Person"), ("Lisbon", "Location"), ("Porto", "Location"))


@dataclass(frozen=True)
class Told:
    """The ids of what was recorded."""

    user: str
    changed: str
    merged: str
    absorbed: str
    outside: str
    patch_id: str
    entity_id: str


async def did(engine: Engine, operation: Operation[Any, Any], user: str, **fields: Any) -> Any:
    return await operation.run(engine, validated(operation.request, {"user_id": user, **fields}))


async def told(engine: Engine, user: str) -> Told:
    """Record all of it."""
    ids = [str((await did(engine, operations.create, user, text=text, **fields)).memory_id) for text, fields in SAID]
    coffee = ids[5]
    await did(engine, operations.update, user, memory_id=coffee, text="Ines drinks her coffee with oat milk")
    trains = await did(engine, operations.create, user, text="Ines takes the night train", category="preferences")
    absorbed = str(trains.memory_id)
    await did(engine, operations.merge, user, memory_id=ids[1], absorbed_ids=[absorbed])
    entities = [
        (await did(engine, add_entity, user, name=name, category=category)).entity_id for name, category in PEOPLE
    ]
    for subject, predicate, object_ in FACTS:
        await did(engine, add_fact, user, subject=subject, predicate=predicate, object=object_)
    proposed = await did(engine, propose_profile, user, field="city", value="Lisbon")
    return Told(user, coffee, ids[1], absorbed, ids[4], str(proposed.patch_id), str(entities[0]))
