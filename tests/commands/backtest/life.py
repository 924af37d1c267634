"""A life under a policy: what is asked is decided by the deciders, in memory, as an engine with that policy would."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from mnemolog.adapters.minilm.lexical import Lexical
from mnemolog.commands.backtest.comparison import Comparison, RecordedStream, compare
from mnemolog.commands.backtest.shadow import Shadow, ShadowLog, Terms
from mnemolog.commands.decider import Command, Decider
from mnemolog.commands.entities import ENTITIES, EntityCommand
from mnemolog.commands.extraction_requests import ACTOR
from mnemolog.commands.fact_changes import FACT_CHANGES, FactCommand
from mnemolog.commands.facts import FACTS, Remember
from mnemolog.commands.graph_undo import GRAPH_UNDO, UndoGraph
from mnemolog.commands.memories import MEMORIES, CreateMemory, MemoryCommand, Near, Similar, UpdateMemory
from mnemolog.commands.profile import PROFILE, ProfileCommand, ProposeProfile
from mnemolog.commands.turns import TURNS, RecordTurn
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.policy import Policy
from mnemolog.domain.predicates import Predicate
from mnemolog.events.envelope import Recorded
from mnemolog.events.event import Event
from mnemolog.events.fields import validated
from mnemolog.events.graph import EntityObserved
from mnemolog.events.memory_fold import MEMORY
from mnemolog.events.profile import ProfileDecided
from tests.testkit.clock import START
from tests.testkit.events import STREAM, header_of, new

MODEL = Lexical()
IDS = UUID("00000000-0000-0000-0000-000000000042")
READ_FOR = timedelta(days=7)


def terms(now: Policy, then: Policy) -> Terms:
    return Terms(
        now=now,
        then=then,
        bands=MODEL.calibration.bands,
        link_min=MODEL.calibration.link_min,
        topic_similarity=MODEL.calibration.topic_similarity,
        model="lexical",
    )


def vector(text: str) -> list[float]:
    return [float(one) for one in MODEL.embed([text])[0]]


def similarity(one: str, other: str) -> float | None:
    both = MODEL.embed([one, other])
    return float(both[0] @ both[1])


@dataclass
class Life:
    """`at` is the time of the last command."""

    policy: Policy = field(default_factory=Policy)
    log: ShadowLog = field(default_factory=ShadowLog)
    at: datetime = START
    asked: int = 0
    memories: dict[UUID, Any] = field(default_factory=dict)

    @property
    def events(self) -> list[Recorded]:
        return self.log.events

    def id(self, name: str) -> UUID:
        return uuid5(IDS, name)

    def tells(self, **fields: Any) -> UUID | None:
        """A memory; None if it is refused. Its id is that of its place among all that was asked."""
        who = self._who()
        command = validated(CreateMemory, {**who, "memory_id": self._drawn("memory"), **fields})
        try:
            self.policy.categories.known(command.category)
            found = self._decided(MEMORIES, self._beside(command))
        except MnemologError:
            return None
        ids = [id_ for one in found for id_ in MEMORY.touched(one)]
        return ids[0] if ids else None

    def states(self, subject: str, predicate: str, object: Any, **fields: Any) -> UUID | None:
        """A fact; None if it is refused."""
        who = self._who()
        drawn = {name: self._drawn(name) for name in ("relation_id", "subject_id", "object_id")}
        about = {"subject": subject, "predicate": predicate, "object": object, "at": self.at, "rule": Predicate("")}
        command = validated(Remember, {**who, **drawn, **about, **fields})
        command = command.model_copy(update={"rule": self.policy.predicates.rule(predicate)})
        try:
            found = self._decided(FACTS, command)
        except MnemologError:
            return None
        return getattr(found[-1], "relation_id", None) if found else None

    def proposes(self, field: str, value: str, **fields: Any) -> UUID | None:
        """A profile field; None if it is refused."""
        who = self._who()
        try:
            sensitive = self.policy.profile.is_sensitive(field)
            about = {"patch_id": self._drawn("patch"), "field": field, "value": value, "at": self.at}
            command = validated(ProposeProfile, {**who, **about, "sensitive": sensitive, **fields})
            self._decided(PROFILE, command)
        except MnemologError:
            return None
        return command.patch_id

    def says(self, text: str, turn_id: str = "", **fields: Any) -> str:
        """A message of the user."""
        who = self._who()
        about = {"turn_id": turn_id or str(self._drawn("turn")), "entity_id": self._drawn("entity"), "text": text}
        command = validated(RecordTurn, {**who, "role": "user", "occurred_at": self.at, **about, **fields})
        self._decided(TURNS, command)
        return command.turn_id

    def asks(self, kind: type[Command], **fields: Any) -> None:
        """Anything else; what is refused changes nothing."""
        try:
            command: Command = validated(kind, {**self._who(), **fields})
            if isinstance(command, UpdateMemory):
                command = self._beside(command)
            self._decided(_decider(command), command)
        except MnemologError:
            return

    def extracts(self, subject: str, predicate: str, object: Any, turn_id: str) -> UUID | None:
        """What the rules find in a message."""
        return self.states(subject, predicate, object, actor=ACTOR, run_id="r1", source_turn_ids=(turn_id,))

    def passes(self) -> None:
        """Nothing is asked, or nothing that can be."""
        self._who()

    def last_of(self, relation_id: UUID | None) -> UUID:
        """The last event of a fact."""
        own = [one for one in self.events if getattr(one.payload, "relation_id", None) == relation_id]
        return own[-1].event_id

    def last_decision(self, patch_id: UUID | None) -> UUID | None:
        """The last event that decided a proposal, or undid that."""
        events = [(one.event_id, one.payload) for one in self.events]
        own = [id_ for id_, it in events if isinstance(it, ProfileDecided) and it.patch_id == patch_id]
        return own[-1] if own else None

    def entity(self, name: str) -> UUID | None:
        """The first entity that was observed under a name."""
        seen = [one.payload for one in self.events if isinstance(one.payload, EntityObserved)]
        return next((one.entity_id for one in seen if one.name == name), None)

    def waits(self, **time: float) -> None:
        self.at += timedelta(**time)

    def compared(self, then: Policy, keeps: Callable[[str], bool] = lambda text: True) -> Comparison:
        """With another policy. `keeps` tells of which texts a vector is kept."""
        texts = {getattr(one.payload, "text", "") for one in self.events} - {""}
        vectors = {text: vector(text) for text in texts if keeps(text)}
        return compare(RecordedStream(self.events, self.at, vectors, READ_FOR), terms(self.policy, then))

    def seen(self) -> Shadow:
        """What was recorded, beside itself."""
        shadow = Shadow(terms(self.policy, self.policy), similarity)
        for event in self.events:
            shadow.keep([event])
            shadow.recorded([event])
        return shadow

    def _who(self) -> dict[str, Any]:
        self.asked += 1
        self.at += timedelta(minutes=1)
        return {"user_id": STREAM.owner, "agent_id": "coach", "actor": "user"}

    def _drawn(self, name: str) -> UUID:
        return self.id(f"{name} {self.asked}")

    def _beside(self, command: CreateMemory | UpdateMemory) -> Command:
        bands, link_min = self.policy.bands or MODEL.calibration.bands, MODEL.calibration.link_min
        visible = [one for one in self.memories.values() if one.visible]
        scores = {
            one.memory_id: similarity(command.text or "", one.content.text) or 0.0
            for one in visible
            if one.memory_id != command.memory_id
        }
        least = min(link_min, bands.fallback_low)
        near = [Near(memory_id=id_, similarity=one) for id_, one in scores.items() if one >= least]
        ordered = tuple(sorted(near, key=lambda one: -one.similarity))
        similar = Similar(model="lexical", bands=bands, link_min=link_min, near=ordered)
        return command.model_copy(update={"similar": similar})

    def _decided(self, decider: Decider[Any, Any], command: Command) -> list[Event]:
        payloads = list(self.log.decide(decider, command))
        for place, payload in enumerate(payloads):
            event = new(payload, uuid5(IDS, f"event {self.asked} {place}"), command.meta(), self.at)
            header = header_of(event, len(self.events) + 1, STREAM, self.at)
            self.log.add(Recorded(header, payload, event.meta))
            self.memories |= MEMORY.evolve(self.memories, payload)
        return payloads


def _decider(command: Command) -> Decider[Any, Any]:
    kinds: Mapping[type[Command], Decider[Any, Any]] = {
        MemoryCommand: MEMORIES,
        UndoGraph: GRAPH_UNDO,
        EntityCommand: ENTITIES,
        FactCommand: FACT_CHANGES,
        ProfileCommand: PROFILE,
    }
    return next(decider for kind, decider in kinds.items() if isinstance(command, kind))
