"""Whatever is asked of memories, facts, profile and todos: the invariants hold, and all of it can be undone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from mnemolog.commands.being import BEING, Entries, MarkEntry, PutEntry, RemoveEntry
from mnemolog.commands.decider import Command, Decider
from mnemolog.commands.entities import ENTITIES, AddAlias, ForgetEntity, MergeEntities, ObserveEntity, RestoreEntity
from mnemolog.commands.fact_changes import FACT_CHANGES, EndFact, ForgetFact, RestoreFact, RetireFact
from mnemolog.commands.facts import FACTS, Remember
from mnemolog.commands.graph import Graph
from mnemolog.commands.memories import (
    MEMORIES,
    CreateMemory,
    LinkMemories,
    Memories,
    MergeMemories,
    ObserveUse,
    RestoreMemory,
    SoftDeleteMemory,
    UpdateMemory,
)
from mnemolog.commands.profile import PROFILE, DecidePatch, ProposeProfile
from mnemolog.commands.profile_state import Profile
from mnemolog.commands.rollback import Rollback, touched
from mnemolog.commands.steps import in_one_go
from mnemolog.commands.todos import TODOS, ChangeTodo, OpenTodo, Todos
from mnemolog.commands.undo import ROLLBACKS
from mnemolog.domain.consent import PatchStatus as Consent
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.memory import Status
from mnemolog.domain.predicates import PredicatePolicy
from mnemolog.domain.relation import value_key
from mnemolog.events.envelope import NewEvent
from tests.testkit.clock import START
from tests.testkit.events import new

WHO: dict[str, Any] = {"user_id": "ana", "agent_id": "coach"}
IDS = [UUID(int=number) for number in range(1, 6)]
TODO_IDS, PATCH_IDS = [UUID(int=100 + n) for n in range(2)], [UUID(int=200 + n) for n in range(3)]
ENTRY = UUID(int=900)
PREDICATES = PredicatePolicy()

ids = st.sampled_from(IDS)
pairs = st.lists(ids, min_size=2, max_size=2, unique=True)
units = st.sampled_from([0.0, 0.25, 1.0])
names = st.sampled_from(["Marta", "Martha", "Lisbon", "Porto"])
times = st.integers(0, 4).map(lambda days: START + timedelta(days=days))
places = st.sampled_from([{"scope": "global"}, {"scope": "agent"}])
# What names an entity or a fact is filled in when it is played: which of those that there are by then.
picks = st.integers(0, 5)


def command(asking: type[Command], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(fields).map(lambda drawn: (asking, drawn))


asked = st.one_of(
    command(
        CreateMemory,
        memory_id=ids,
        place=places,
        text=st.sampled_from(["Ana drinks tea", "Ana drinks coffee"]),
        memory_key=st.sampled_from(["", "drink"]),
        importance=units,
        pinned=st.booleans(),
    ),
    command(UpdateMemory, memory_id=ids, text=st.sampled_from(["Ana walks", "Ana runs"]), pinned=st.booleans()),
    pairs.map(lambda both: (MergeMemories, {"memory_id": both[0], "absorbed_ids": (both[1],)})),
    pairs.map(lambda both: (LinkMemories, {"memory_id": both[0], "to_id": both[1], "strength": 0.5})),
    command(ObserveUse, memory_id=ids),
    command(SoftDeleteMemory, memory_id=ids, at=times),
    command(RestoreMemory, memory_id=ids),
    command(
        Remember,
        place=places,
        subject=names,
        predicate=st.sampled_from(["lives_in", "likes"]),
        object=names,
        since=st.none() | times,
        at=times,
    ),
    command(EndFact, fact=picks, until=times, at=times),
    command(RetireFact, fact=picks, at=times),
    command(ForgetFact, fact=picks, at=times),
    command(RestoreFact, fact=picks),
    command(ObserveEntity, name=names, another=st.booleans()),
    command(AddAlias, entity=picks, alias=names),
    command(MergeEntities, entity=picks, other=picks),
    command(ForgetEntity, entity=picks, at=times),
    command(RestoreEntity, entity=picks),
    command(
        ProposeProfile,
        patch_id=st.sampled_from(PATCH_IDS),
        field=st.sampled_from(["city", "tone"]),
        value=st.sampled_from(["Lisbon", "warm"]),
        confidence=st.sampled_from([0.5, 0.9]),
        at=times,
    ),
    command(
        DecidePatch,
        patch_id=st.sampled_from(PATCH_IDS),
        decision=st.sampled_from([Consent.GRANTED, Consent.REFUSED]),
        at=times,
    ),
    command(OpenTodo, todo_id=st.sampled_from(TODO_IDS), kind=st.just("commitment"), text=st.just("call Marta")),
    command(
        PutEntry,
        entry_id=st.just(ENTRY),
        store=st.just("note"),
        key=st.just("rome"),
        body=st.sampled_from([{"type": "todo", "text": text} for text in ("Rome", "Naples")]),
    ),
    command(MarkEntry, entry_id=st.just(ENTRY), read=st.booleans()),
    command(RemoveEntry, entry_id=st.just(ENTRY)),
    command(ChangeTodo, todo_id=st.sampled_from(TODO_IDS), status=st.sampled_from(["done", "dropped"])),
)
Asked = tuple[type[Command], dict[str, Any]]

WORLD: Mapping[type[Command], str] = {
    **dict.fromkeys((Remember, EndFact, RetireFact, ForgetFact, RestoreFact), "graph"),
    **dict.fromkeys((ObserveEntity, AddAlias, MergeEntities, ForgetEntity, RestoreEntity), "graph"),
    **dict.fromkeys((ProposeProfile, DecidePatch), "profile"),
    **dict.fromkeys((OpenTodo, ChangeTodo), "todos"),
    **dict.fromkeys((PutEntry, MarkEntry, RemoveEntry), "being"),
}
DECIDERS: Mapping[type[Command], Decider[Any, Any]] = {
    Remember: FACTS,
    **dict.fromkeys((EndFact, RetireFact, ForgetFact, RestoreFact), FACT_CHANGES),
    **dict.fromkeys((ObserveEntity, AddAlias, MergeEntities, ForgetEntity, RestoreEntity), ENTITIES),
    **dict.fromkeys((ProposeProfile, DecidePatch), PROFILE),
    **dict.fromkeys((OpenTodo, ChangeTodo), TODOS),
    **dict.fromkeys((PutEntry, MarkEntry, RemoveEntry), BEING),
}


BEGINNING: Sequence[Asked] = [
    *((CreateMemory, {"memory_id": id_, "text": f"Ana knows {id_.int}"}) for id_ in IDS[:3]),
    *((ObserveEntity, {"name": name}) for name in ("Marta", "Martha", "Lisbon")),
    *(
        (Remember, {"subject": "Marta", "predicate": "likes", "object": name, "at": START})
        for name in ("tea", "Lisbon")
    ),
    (OpenTodo, {"todo_id": TODO_IDS[0], "kind": "habit", "text": "walk"}),
    (PutEntry, {"entry_id": ENTRY, "store": "note", "key": "rome", "body": {"type": "todo", "text": "Rome"}}),
    (ProposeProfile, {"patch_id": PATCH_IDS[0], "field": "city", "value": "Faro", "confidence": 0.5, "at": START}),
]


class Life:
    """What has happened, and what each kind of state makes of it."""

    def __init__(self) -> None:
        self.state, self.events = ROLLBACKS.decider.initial, list[NewEvent]()
        self.plays(BEGINNING)
        assert len(self.events) >= len(BEGINNING)

    def plays(self, asked: Sequence[Asked]) -> None:
        """Each command that is allowed; the others change nothing."""
        for kind, fields in asked:
            try:
                request = self._request(kind, fields)
                decided = DECIDERS.get(kind, MEMORIES).decide(self._world(kind), request) if request else []
            except MnemologError:
                continue
            for payload in decided:
                self.takes(new(payload, meta=request.meta()))  # type: ignore[union-attr]

    def takes(self, event: NewEvent) -> None:
        self.state = ROLLBACKS.decider.evolve(self.state, event)
        self.events.append(event)

    def rolled_back(self, events: Sequence[NewEvent]) -> Rollback:
        drawn = {"event_ids": [event.event_id for event in events], "touched": touched(events), "at": START}
        return Rollback.model_validate({**WHO, "of_run": "r1", **drawn})

    @property
    def memories(self) -> Memories:
        found = self.state.of["memories"]
        assert isinstance(found, Memories)
        return found

    @property
    def graph(self) -> Graph:
        found = self.state.of["graph"]
        assert isinstance(found, Graph)
        return found

    @property
    def profile(self) -> Profile:
        found = self.state.of["profile"]
        assert isinstance(found, Profile)
        return found

    @property
    def todos(self) -> Todos:
        found = self.state.of["todos"]
        assert isinstance(found, Todos)
        return found

    @property
    def entries(self) -> Entries:
        found = self.state.of["being"]
        assert isinstance(found, Entries)
        return found

    def seen(self) -> dict[str, Any]:
        """What each subject is, by its tag. Only history grows: in which turns something was said stays."""
        relations = {id_: replace(one, sources=frozenset()) for id_, one in self.graph.relations.items()}
        return {
            **{f"memory:{id_}": one for id_, one in self.memories.known.items()},
            **{f"link:{ends}": edge for ends, edge in self.memories.links.items()},
            **{f"entity:{id_}": one for id_, one in self.graph.entities.items()},
            **{f"relation:{id_}": one for id_, one in relations.items()},
            **{f"profile:{place}": one for place, one in self.profile.places.items() if one.values},
            **{f"being_entry:{id_}": "removed" if one.removed else one for id_, one in self.entries.known.items()},
            **{f"todo:{id_}": one for id_, one in self.todos.known.items()},
        }

    def _world(self, kind: type[Command]) -> Any:
        return self.state.of[WORLD.get(kind, "memories")]

    def _request(self, kind: type[Command], fields: dict[str, Any]) -> Command | None:
        fields = {**WHO, **fields}
        fields |= fields.pop("place", {})
        known = {"fact": list(self.graph.relations), "entity": list(self.graph.entities)}
        for name, ids_ in known.items():
            if name in fields:
                if not ids_:
                    return None
                fields["relation_id" if name == "fact" else "entity_id"] = ids_[fields.pop(name) % len(ids_)]
        if "other" in fields:
            fields["absorbed_ids"] = (known["entity"][fields.pop("other") % len(known["entity"])],)
        if kind is Remember:
            drawn = {name: uuid4() for name in ("relation_id", "subject_id", "object_id")}
            fields = {**fields, **drawn, "rule": PREDICATES.rule(fields["predicate"])}
        if kind is ObserveEntity:
            fields["entity_id"] = uuid4()
        if kind is ProposeProfile:
            fields["sensitive"] = fields["field"] == "city"
        return kind.model_validate(fields)


def require_invariants(life: Life) -> None:
    memories, graph = life.memories, life.graph
    keyed = Counter(
        (one.scope, one.agent_id, one.identity.key)
        for one in memories.known.values()
        if one.visible and one.identity.key
    )
    assert all(count == 1 for count in keyed.values()), "one visible memory a key"
    for one in memories.known.values():
        assert 0 <= one.content.importance <= 1
        assert 0 <= one.content.confidence <= 1
        assert not (one.content.pinned and one.status is Status.DORMANT), "what is pinned is never archived"
        assert not one.content.pinned or one.content.importance == 1
    assert all(memories.known[end].status is not Status.PURGED for ends in memories.links for end in ends)
    told = Counter(
        (one.scope, one.agent_id, one.subject_id, one.predicate, one.object_id, value_key(one.value))
        for one in graph.relations.values()
    )
    assert all(count == 1 for count in told.values()), "one relation a fact"
    for patch_id in {one.patch_id for one in life.profile.places.values() if one.patch_id}:
        patch = life.profile.patches[patch_id]
        assert not patch.proposed.sensitive or patch.status is Consent.GRANTED, "consent is never skipped"


@pytest.mark.spec("D04", "A08", "D03", "B10")
@for_all(st.lists(asked, min_size=4, max_size=20))
def test_any_sequence_of_commands_keeps_the_invariants(sequence: list[Asked]) -> None:
    life = Life()

    life.plays(sequence)

    require_invariants(life)


@pytest.mark.spec("X03", "X15")
@for_all(st.lists(asked, max_size=8), st.lists(asked, min_size=4, max_size=16))
def test_rolling_back_a_sequence_gives_back_what_was_before_it(before: list[Asked], sequence: list[Asked]) -> None:
    life = Life()
    life.plays(before)
    there, count = life.seen(), len(life.events)
    life.plays(sequence)
    run = life.events[count:]

    plan = in_one_go(ROLLBACKS.planning(life.state, life.rolled_back(run)))
    for payload in plan.events:
        life.takes(new(payload))

    assert plan.conflicts == ()
    after = life.seen()
    assert {tag: after.get(tag) for tag in there} == there
    began = {tag: one for tag, one in after.items() if tag not in there}
    assert all(gone(one) for one in began.values()), "what began then is hidden"
    require_invariants(life)


def gone(one: Any) -> bool:
    if hasattr(one, "validity"):
        return not one.validity.periods
    return str(one.status) in {"soft_deleted", "dropped", "dormant"}
