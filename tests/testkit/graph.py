"""A graph of one user without a server: facts and entities are told, through the handler, to a log in memory."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import count
from typing import Any
from uuid import UUID, uuid4

from mnemolog.commands.decider import Command, Decider
from mnemolog.commands.entities import ENTITIES, EntityCommand, ObserveEntity
from mnemolog.commands.fact_changes import FACT_CHANGES, FactCommand
from mnemolog.commands.facts import FACTS, Remember
from mnemolog.commands.graph import Graph, evolve
from mnemolog.commands.graph_undo import GRAPH_UNDO, UndoGraph
from mnemolog.commands.handler import Handler
from mnemolog.domain.entity import Entity
from mnemolog.domain.memory import Status
from mnemolog.domain.predicates import PredicatePolicy
from mnemolog.domain.relation import Relation
from mnemolog.events.envelope import Receipt, Recorded
from mnemolog.events.event import Event
from mnemolog.events.fields import validated
from mnemolog.events.graph import EntityEvent, RelationEvent
from mnemolog.events.log import Append
from tests.testkit.clock import START
from tests.testkit.events import STREAM, new
from tests.testkit.log import MemoryLog

POLICY = PredicatePolicy()
DECIDERS: Mapping[type[Command], Decider[Any, Graph]] = {
    Remember: FACTS,
    FactCommand: FACT_CHANGES,
    ObserveEntity: ENTITIES,
    EntityCommand: ENTITIES,
    UndoGraph: GRAPH_UNDO,
}


def year(number: int) -> datetime:
    return datetime(number, 1, 1, tzinfo=UTC)


class Told:
    """What was told to a log of its own. `asked` runs a command and gives the receipt."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self._ids = count(1)
        self._handler = Handler(self.log, lambda: START, lambda: UUID(int=next(self._ids) << 64))

    def asked(self, command: Command, key: str | None = None) -> Receipt:
        decider = next(decider for kind, decider in DECIDERS.items() if isinstance(command, kind))
        return asyncio.run(self._handler.handle(decider, command, idempotency_key=key))

    def remember(self, subject: str, predicate: str, object: object, **fields: Any) -> UUID:
        """The relation that holds the fact."""
        receipt = self.asked(remembering(subject, predicate, object, **fields))
        payload = self._written(receipt)
        assert isinstance(payload, RelationEvent)
        return payload.relation_id

    def entity(self, name: str, **fields: Any) -> UUID:
        given = {"user_id": "ana", "name": name, "entity_id": uuid4(), **fields}
        receipt = self.asked(validated(ObserveEntity, given))
        payload = self._written(receipt)
        assert isinstance(payload, EntityEvent)
        return payload.entity_id

    def _written(self, receipt: Receipt) -> Event:
        return next(event.payload for event in self.events() if event.event_id == receipt.event_ids[-1])

    def undo(self, event: Recorded) -> Receipt:
        tag = next(tag for tag in sorted(event.payload.tags()) if tag.partition(":")[0] in ("entity", "relation"))
        return self.asked(UndoGraph(user_id="ana", about=tag, event_id=event.event_id, at=START))

    def happened(self, payload: Event) -> None:
        """An event that no command of the graph decided."""
        asyncio.run(self.log.append([Append(STREAM, (new(payload),))]))

    def events(self) -> Sequence[Recorded]:
        return asyncio.run(self.log.read(STREAM))

    def payloads(self, since: int = 0) -> Sequence[Event]:
        return [event.payload for event in self.events()[since:]]

    @property
    def graph(self) -> Graph:
        return reduce(evolve, self.events(), Graph())

    def held(self, relation_id: UUID) -> list[tuple[int, int | None]]:
        """The periods of a fact, in years."""
        found = self.graph.relations[relation_id].validity.periods
        return [(one.valid_from.year, one.valid_to.year if one.valid_to else None) for one in found]


def remembering(subject: str, predicate: str, object: object, **fields: Any) -> Remember:
    drawn = {name: uuid4() for name in ("relation_id", "subject_id", "object_id")}
    told = {"user_id": "ana", "subject": subject, "predicate": predicate, "object": object}
    return validated(Remember, {**told, "at": START, **drawn, "rule": POLICY.rule(predicate), **fields})


def on(kind: type[Command], id_: UUID, **fields: Any) -> Command:
    """A command about one entity or relation."""
    name = "relation_id" if issubclass(kind, FactCommand) else "entity_id"
    at = {"at": START + timedelta(days=1)} if "at" in kind.model_fields else {}
    return validated(kind, {"user_id": "ana", name: id_, **at, **fields})


def known(graph: Graph) -> tuple[Mapping[UUID, Entity], Mapping[UUID, Relation]]:
    """What of a graph an undo gives back: all but what was undone from its beginning, and who told it."""
    entities = {id_: one for id_, one in graph.entities.items() if one.status is not Status.SOFT_DELETED}
    relations = {id_: one for id_, one in graph.relations.items() if one.validity.said}
    return entities, relations
