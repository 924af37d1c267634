"""Record what a model proposed to remember of a window of messages: all in one append, and once (B13, E06).

Facts are decided like those of the rules, memories and todos like those that a person writes: a proposal becomes
something new, an observation, an update, a correction, or, where it contradicts what somebody recorded, a question.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar
from uuid import UUID, uuid5

from pydantic import BaseModel, ConfigDict

from mnemolog.commands.decider import Command, Decider
from mnemolog.commands.extraction import contested, decide_one
from mnemolog.commands.extraction_case import Case
from mnemolog.commands.extraction_requests import EXTRACTORS, ExtractTurn
from mnemolog.commands.extraction_state import Extraction, evolve
from mnemolog.commands.extraction_tags import tags_of
from mnemolog.commands.memories import MEMORIES, CreateMemory, Memories
from mnemolog.commands.naming import bearers, name_reads
from mnemolog.commands.todos import TODOS, OpenTodo, Todos
from mnemolog.domain.card import REF_TYPES, reference
from mnemolog.domain.entity import ME
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.extraction.candidate import MOST_WRITES, Action
from mnemolog.domain.extraction.validation import Fault
from mnemolog.domain.extraction.windows import Trigger
from mnemolog.domain.relation import Relation
from mnemolog.domain.sentence import sentence, value_text
from mnemolog.domain.text import normalize_name, search_terms
from mnemolog.domain.todo import TodoKind
from mnemolog.events.conversation import turn_tag
from mnemolog.events.envelope import Happened, NewEvent
from mnemolog.events.erasure import USER, UserErased
from mnemolog.events.event import Event, sources_of
from mnemolog.events.extraction import MessagesExtracted, read_tag
from mnemolog.events.fields import Id, Instant, Uuid
from mnemolog.events.generation import Generation
from mnemolog.events.graph import EntityObserved
from mnemolog.events.graph_tags import entity_tag
from mnemolog.events.memory import MemoriesLinked

# Two statements about one thing may differ by so many words, such as the verb.
FEW_WORDS = 2
_IDS = UUID("0d0b0a4e-6c5d-5f7e-9a53-0a8f0c7d4c11")


class Proposed(BaseModel):
    """One proposal with its command: a statement about a subject, a memory or a todo.

    `turn_ids` are the messages that state it; the first is the one in whose limit it counts. `about`: the name of the
    entity that a memory tells of; "" for the user.
    """

    model_config = ConfigDict(frozen=True)

    turn_ids: tuple[Id, ...]
    statement: ExtractTurn | None = None
    memory: CreateMemory | None = None
    about: str = ""
    todo: OpenTodo | None = None


class ExtractWindow(Command):
    """Records the proposals about some messages, at most `most` events."""

    generated: ClassVar[frozenset[str]] = frozenset({"at", "proposed", "faults", "generation"})

    turn_ids: tuple[Id, ...]
    trigger: Trigger
    proposed: tuple[Proposed, ...]
    faults: tuple[Fault, ...]
    generation: Generation
    summary_id: Uuid | None = None
    most: int
    at: Instant


@dataclass(frozen=True, slots=True)
class Reading:
    """What the decision depends on. `read`: the messages and the summaries that were read. `written`: events that
    extractors wrote of each message.
    """

    facts: Extraction = field(default_factory=Extraction)
    memories: Memories = field(default_factory=Memories)
    todos: Todos = field(default_factory=Todos)
    read: frozenset[str | UUID] = frozenset()
    written: Mapping[str, int] = field(default_factory=dict)


def _evolve(state: Reading, event: Happened) -> Reading:
    payload = event.payload
    if isinstance(payload, MessagesExtracted):
        read = {payload.summary_id} if payload.summary_id else payload.turn_ids
        return replace(state, read=state.read.union(read))
    if isinstance(payload, UserErased):
        return Reading()
    written = Counter(state.written)
    if event.meta.actor in EXTRACTORS and not isinstance(payload, EntityObserved | MemoriesLinked):
        written.update((sources_of(payload) or ())[:1])
    return replace(
        state,
        facts=evolve(state.facts, event),
        memories=MEMORIES.evolve(state.memories, event),
        todos=TODOS.evolve(state.todos, event),
        written=written,
    )


def _decide(state: Reading, command: ExtractWindow) -> Sequence[Event]:
    """Each proposal is decided on the result of the previous ones. One that is refused is left out."""
    if state.read.intersection([command.summary_id] if command.summary_id else command.turn_ids):
        return []
    events: list[Event] = []
    faults = list(command.faults)
    for one in command.proposed:
        try:
            news = _limited(state, command, one, len(events))
        except MnemologError:
            news = Fault.AMBIGUOUS
        if isinstance(news, Fault):
            faults.append(news)
            continue
        events += news
        state = _after(state, command, news)
    read = MessagesExtracted(
        agent_id=command.agent_id,
        thread_id=command.thread_id,
        turn_ids=command.turn_ids,
        trigger=command.trigger,
        generation=command.generation,
        proposals=len(command.proposed) + len(command.faults),
        faults=tuple(faults),
        summary_id=command.summary_id,
    )
    return [read, *events]


def _limited(state: Reading, command: ExtractWindow, one: Proposed, events: int) -> Sequence[Event] | Fault:
    messages = [state.facts.messages.get(turn_id) for turn_id in one.turn_ids]
    if not all(message and message.visible for message in messages):
        return Fault.HIDDEN
    if state.written.get(one.turn_ids[0], 0) >= MOST_WRITES:
        return Fault.OVER_LIMIT
    news = _decided(state, command, one)
    if not news:
        return Fault.KNOWN
    return Fault.OVER_LIMIT if events + len(news) > command.most else news


def _decided(state: Reading, command: ExtractWindow, one: Proposed) -> Sequence[Event]:
    if one.statement:
        return _stated(state, one, one.statement)
    if one.memory:
        memory = _referring(state, one.memory, one.about)
        return [] if _restates(state, one, memory) else MEMORIES.decide(state.memories, memory)
    return TODOS.decide(state.todos, one.todo) if one.todo else []


def _stated(state: Reading, one: Proposed, statement: ExtractTurn) -> Sequence[Event]:
    """The fact, or a question if it contradicts what somebody recorded; nothing if these messages told it already."""
    [candidate], [fact] = statement.candidates, statement.facts
    slot, _ = state.facts.slot_of(fact)
    value = _terms(value_text(fact.object))
    for known in slot:
        held = _terms(state.facts.value_of(known))
        told = candidate.action not in (Action.END, Action.DENY) and known.sources.intersection(one.turn_ids)
        if told and (held <= value or value <= held):
            return []
    if any(known.single for known in slot) and not fact.rule.single:
        fact = fact.model_copy(update={"rule": replace(fact.rule, single=True)})
    case = Case(state=state.facts, command=statement, candidate=candidate, fact=fact)
    held_by_word = contested(case)
    if held_by_word:
        return TODOS.decide(state.todos, _question(state, one, statement, held_by_word))
    return decide_one(case)


def _question(state: Reading, one: Proposed, statement: ExtractTurn, known: Relation) -> OpenTodo:
    """A todo to ask which of the two holds; the same one, however often it is contradicted in the same way."""
    [fact] = statement.facts
    subject = "the user" if fact.subject == ME else fact.subject
    values = (state.facts.value_of(known), value_text(fact.object))
    held, told = (sentence(subject, fact.predicate, value) for value in values)
    return OpenTodo(
        **statement.model_dump(include=set(Command.model_fields)),
        todo_id=uuid5(known.relation_id, value_text(fact.object)),
        kind=TodoKind.THREAD,
        text=f"Ask which is right: {held}, as recorded, or {told}, as said later?",
        source_turn_ids=one.turn_ids,
    )


def _referring(state: Reading, memory: CreateMemory, name: str) -> CreateMemory:
    """The memory with a reference to what it tells of, if that is known, one alone, and of a type that D refers to."""
    known = bearers(state.memories.people, memory, name, memory.scope) if name else ()
    if len(known) != 1 or known[0].traits.category not in REF_TYPES:
        return memory
    traits = known[0].traits
    return memory.model_copy(update={"entity_refs": (reference(traits.category, traits.name),)})


def _restates(state: Reading, one: Proposed, memory: CreateMemory) -> bool:
    """Whether a memory says in other words what a fact from the same messages says."""
    said = _terms(memory.text)
    for known in state.facts.graph.relations.values():
        if known.sources.intersection(one.turn_ids):
            value = state.facts.value_of(known)
            plain = _terms(sentence("user", known.predicate, value))
            if _terms(value) <= said and len(said - plain) <= FEW_WORDS:
                return True
    return False


def _terms(text: str) -> frozenset[str]:
    return frozenset(map(normalize_name, search_terms(text)))


def _after(state: Reading, command: ExtractWindow, news: Sequence[Event]) -> Reading:
    for event in news:
        # Nothing is undone here, so any ids will do.
        happened = NewEvent(uuid5(_IDS, event.type_name()), event, command.meta(), command.at)
        state = _evolve(state, happened)
    return state


def _tags(state: Reading, command: ExtractWindow) -> frozenset[str]:
    cited = {turn_id for one in command.proposed for turn_id in one.turn_ids}
    told = state.facts.graph.relations.values()
    named = {entity_tag(one.object_id) for one in told if one.object_id}
    tags = frozenset({USER, read_tag(command.agent_id, command.thread_id), *map(turn_tag, cited)}) | named
    for one in command.proposed:
        if one.memory:
            tags |= MEMORIES.tags(state.memories, _referring(state, one.memory, one.about))
            tags |= name_reads(one.memory, one.about) if one.about else frozenset()
        if one.todo:
            tags |= TODOS.tags(state.todos, one.todo)
        if one.statement:
            [candidate], [fact] = one.statement.candidates, one.statement.facts
            case = Case(state=state.facts, command=one.statement, candidate=candidate, fact=fact)
            tags |= tags_of(case)
            try:
                known = contested(case)
            except MnemologError:
                continue
            if known:
                tags |= TODOS.tags(state.todos, _question(state, one, one.statement, known))
    return tags


WINDOWS: Decider[ExtractWindow, Reading] = Decider(
    initial=Reading(),
    subject=lambda command: read_tag(command.agent_id, command.thread_id),
    tags=_tags,
    evolve=_evolve,
    decide=_decide,
)
