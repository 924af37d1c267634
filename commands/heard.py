"""A turn with the memories and facts that its producer extracted, decided together and written in one append."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid5

from pydantic import BaseModel, ConfigDict

from mnemolog.commands.artifacts import ARTIFACTS, Artifacts, attached, visible
from mnemolog.commands.decider import Decider, Placed
from mnemolog.commands.facts import FACTS, Day, FactObject, Predicated, Remember
from mnemolog.commands.graph import Graph
from mnemolog.commands.memories import MEMORIES, CreateMemory, Memories
from mnemolog.commands.memory_requests import EntityIds, EntityRefs, Key, Topics, Weight, WrittenType
from mnemolog.commands.naming import Name
from mnemolog.commands.turns import TURNS, Conversation, RecordTurn
from mnemolog.domain.artifact import named_by
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.importance import Scale
from mnemolog.domain.memory import Kind
from mnemolog.domain.memory_key import EntityType, FactType
from mnemolog.domain.scope import Scope
from mnemolog.events.artifacts import artifact_tag
from mnemolog.events.conversation import TurnRecorded, turn_tag
from mnemolog.events.envelope import Happened, NewEvent
from mnemolog.events.event import Event
from mnemolog.events.fields import Flag, Id, Label, Text, Unit
from mnemolog.events.graph import EntityObserved

MAX_EXTRACTED = 20


class ExtractedMemory(BaseModel):
    """A memory that a producer extracted from a turn."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Text
    kind: Kind = Kind.FACT
    category: Id = "note"
    importance: Weight | None = None
    importance_scale: Scale = Scale.UNIT
    confidence: Unit = 1.0
    pinned: Flag = False
    scope: Scope = Scope.GLOBAL
    type: WrittenType | None = None
    entity_type: EntityType | None = None
    fact_type: FactType | None = None
    memory_key: Key = ""
    entity_refs: EntityRefs = ()
    entity_ids: EntityIds = ()
    entity_label: Label = ""
    topics: Topics = ()


class ExtractedFact(BaseModel):
    """A fact that a producer extracted from a turn."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    subject: Name
    predicate: Predicated
    object: FactObject
    literal: Flag | None = None
    since: Day | None = None
    until: Day | None = None
    scope: Scope = Scope.GLOBAL
    confidence: Unit = 1.0


@dataclass(frozen=True, slots=True)
class Heard:
    """The state for a turn with its memories and facts."""

    conversation: Conversation = field(default_factory=Conversation)
    memories: Memories = field(default_factory=Memories)
    graph: Graph = field(default_factory=Graph)
    artifacts: Artifacts = field(default_factory=Artifacts)


class HearTurn(RecordTurn):
    """Sending a recorded turn again changes nothing, even with other extractions."""

    memories: tuple[CreateMemory, ...] = ()
    facts: tuple[Remember, ...] = ()


class TurnRefused(Exception):
    """One of several turns that are recorded together was refused, so none is recorded."""

    def __init__(self, place: int, error: MnemologError) -> None:
        super().__init__(place, error)
        self.place, self.error = place, error


def evolve(state: Heard, event: Happened) -> Heard:
    return Heard(
        TURNS.evolve(state.conversation, event),
        MEMORIES.evolve(state.memories, event),
        FACTS.evolve(state.graph, event),
        ARTIFACTS.evolve(state.artifacts, event),
    )


def decide(state: Heard, turn: HearTurn) -> Sequence[Event]:
    """Each memory and fact is decided on the result of the previous ones, so a duplicate is stored once."""
    events = list(TURNS.decide(state.conversation, turn))
    if not events:
        return []
    for id_, field_ in _named(turn).items():
        artifact = visible(state.artifacts, id_, turn, field_)
        events += attached(artifact, (turn.turn_id,))
    if not (turn.memories or turn.facts):
        return events
    state = _after(state, turn, events)
    for memory in turn.memories:
        state = _took(state, turn, events, MEMORIES.decide(state.memories, memory))
    for fact in turn.facts:
        state = _took(state, turn, events, FACTS.decide(state.graph, fact))
    return events


def _named(turn: HearTurn) -> Mapping[UUID, str]:
    """The artifacts that its attachments name, each with the field that names it first."""
    found: dict[UUID, str] = {}
    for place, shown in enumerate(turn.attachments):
        if id_ := named_by(shown.url):
            found.setdefault(id_, f"attachments[{place}].url")
    return found


def _took(state: Heard, turn: HearTurn, events: list[Event], decided: Sequence[Event]) -> Heard:
    events += decided
    return _after(state, turn, decided)


def _after(state: Heard, turn: HearTurn, events: Sequence[Event]) -> Heard:
    for event in events:
        # Nothing is undone here, so any ids will do.
        happened = NewEvent(uuid5(turn.entity_id, event.type_name()), event, turn.meta(), turn.occurred_at)
        state = evolve(state, happened)
    return state


def _tags(state: Heard, turn: HearTurn) -> frozenset[str]:
    own = TURNS.tags(state.conversation, turn)
    if turn.turn_id in state.conversation.recorded:
        return own
    memories = (MEMORIES.tags(state.memories, memory) for memory in turn.memories)
    files = map(artifact_tag, _named(turn))
    return own.union(files, *memories, *(FACTS.tags(state.graph, fact) for fact in turn.facts))


def _written(turn: HearTurn, placed: Sequence[Placed]) -> Sequence[Placed]:
    """A turn, its new speaker if any, and everything extracted from it in the same append."""
    by_place = {place: event.payload for place, event in placed}
    said = [place for place, one in by_place.items() if isinstance(one, TurnRecorded) and one.turn_id == turn.turn_id]
    if not said:
        return []
    before, last = by_place.get(said[0] - 1), said[0]
    first = last - (isinstance(before, EntityObserved) and turn.turn_id in before.source_turn_ids)
    while last + 1 in by_place and turn_tag(turn.turn_id) in by_place[last + 1].tags():
        last += 1
    return [one for one in placed if first <= one[0] <= last]


HEARD: Decider[HearTurn, Heard] = Decider(
    initial=Heard(),
    subject=lambda turn: turn_tag(turn.turn_id),
    tags=_tags,
    evolve=evolve,
    decide=decide,
    written=_written,
    fresh=TURNS.fresh,
)


def together(turns: Sequence[HearTurn]) -> Decider[HearTurn, Heard]:
    """A decider for these turns, all or none; raises TurnRefused for the first refused one."""
    places = {turn.entity_id: place for place, turn in enumerate(turns)}

    def decide_or_stop(state: Heard, turn: HearTurn) -> Sequence[Event]:
        try:
            return decide(state, turn)
        except MnemologError as error:
            raise TurnRefused(places[turn.entity_id], error) from error

    return replace(HEARD, decide=decide_or_stop)
