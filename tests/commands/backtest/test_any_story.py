"""A back-test tells what a life would be like under another policy: as if it had been lived under it (X06)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given as for_all
from hypothesis import strategies as st

from mnemolog.commands.backtest.replay import replayed
from mnemolog.commands.backtest.view import View, changes, recorded_view, shadow_view
from mnemolog.commands.entities import MergeEntities
from mnemolog.commands.fact_changes import EndFact, ForgetFact, RetireFact
from mnemolog.commands.graph_undo import UndoGraph
from mnemolog.commands.memories import MergeMemories, RestoreMemory, SoftDeleteMemory, UndoChange, UpdateMemory
from mnemolog.commands.profile import DecidePatch, UndoDecision
from mnemolog.commands.steps import in_one_go
from mnemolog.commands.undo import ROLLBACKS
from mnemolog.domain.bands import Bands
from mnemolog.domain.category import SYSTEM_CATEGORIES, CategoryPolicy
from mnemolog.domain.consent import PatchStatus
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.policy import Policy
from mnemolog.domain.predicates import ObjectKind, Predicate, PredicateClass, PredicatePolicy
from mnemolog.domain.profile import BENIGN, SENSITIVE, ProfilePolicy
from mnemolog.events.envelope import Recorded
from tests.commands import test_everything as everything
from tests.commands.backtest.life import Life, similarity, terms
from tests.testkit.clock import START
from tests.testkit.events import STREAM, header_of, new

BUILT_IN = Policy()
STRICT = replace(
    BUILT_IN,
    bands=Bands(1.0, 1.0, 0.5),
    categories=CategoryPolicy(categories=SYSTEM_CATEGORIES - {"tasks"}),
    predicates=PredicatePolicy.of([Predicate("likes", single=True), Predicate("lives_in")]),
    profile=ProfilePolicy(SENSITIVE | {"tone"}, BENIGN - {"goals_add"}),
)
TIMELESS = PredicatePolicy.of([Predicate("likes", single=True, timeless=True)])
OBJECTS = PredicatePolicy.of(
    [
        Predicate("likes", object=ObjectKind.ENTITY, critical=True),
        Predicate("knows", object=ObjectKind.LITERAL, single=True, group=PredicateClass.AGENT),
    ]
)
PARTS = ("bands", "categories", "predicates", "profile")
POLICIES: Mapping[str, Policy] = {
    "built-in": BUILT_IN,
    "strict": STRICT,
    **{part: replace(BUILT_IN, **{part: getattr(STRICT, part)}) for part in PARTS},
    "timeless": replace(BUILT_IN, predicates=TIMELESS),
    "objects": replace(BUILT_IN, predicates=OBJECTS),
}

texts = st.sampled_from(
    [
        "Ana drinks green tea in the morning",
        "Ana drinks green tea in the morning at home",
        "Ana drinks black tea in the morning",
        "Ana does not drink green tea in the morning",
        "Ana pays rent for her flat in Lisbon",
        "Ana pays rent for her flat in Lisbon near the river",
    ]
)
# One that a statement gives beside a key is not recorded where the memory of the key says the same.
categories = st.sampled_from([{}, {"category": "tasks"}])
numbers = st.integers(0, 5)
CHANGES = [
    "reopens",
    "updates",
    "deletes",
    "restores",
    "undoes",
    "merges",
    "ends",
    "retires",
    "forgets",
    "reverts",
    "joins",
    "grants",
    "refuses",
]
told = st.one_of(
    st.tuples(
        st.just("tells"),
        st.fixed_dictionaries(
            {
                "text": texts,
                "merge_similar": st.booleans(),
                "scope": st.sampled_from(["global", "global", "agent"]),
                "memory_key": st.sampled_from(["", "", "", "tea"]),
            }
        ).flatmap(lambda fields: categories.map(lambda one: {**fields, **({} if fields["memory_key"] else one)})),
    ),
    st.tuples(
        st.just("states"),
        st.fixed_dictionaries(
            {
                "subject": st.sampled_from(["me", "me", "Marta"]),
                "predicate": st.sampled_from(["likes", "lives_in", "knows"]),
                "object": st.sampled_from(["tea", "Lisbon", "Porto"]),
                "since": st.none() | st.integers(1, 3).map(lambda days: START - timedelta(days=days)),
                "until": st.none() | st.integers(1, 3).map(lambda days: START + timedelta(days=days)),
                "scope": st.sampled_from(["global", "global", "agent"]),
            }
        ),
    ),
    st.tuples(
        st.just("proposes"),
        st.fixed_dictionaries(
            {
                "field": st.sampled_from(["tone", "goals_add", "city"]),
                "value": st.sampled_from(["brief", "warm"]),
                "confidence": st.sampled_from([0.5, 0.9]),
            }
        ),
    ),
    st.tuples(
        st.sampled_from(CHANGES),
        numbers,
    ),
)
OF = {
    **dict.fromkeys(("ends", "retires", "forgets", "reverts", "joins"), "states"),
    **dict.fromkeys(("grants", "refuses", "reopens"), "proposes"),
}
Story = Sequence[tuple[str, Any]]


def recorded_in(story: Story) -> Story:
    """Without what leaves no trace in the log under the built-in policy, such as what that refuses."""
    kept: list[tuple[str, Any]] = []
    for one in story:
        before = len(lived(BUILT_IN, kept).events)
        kept.append(one if len(lived(BUILT_IN, [*kept, one]).events) > before else ("waits", 1))
    return kept


def lived(policy: Policy, story: Story) -> Life:
    """The story under a policy. What is done to a memory, a fact or a proposal is done to that of an earlier place."""
    life, made = Life(policy), dict[str, list[Any]](tells=[], states=[], proposes=[])
    for verb, fields in story:
        if verb == "waits":
            life.passes()
            continue
        if verb in made:
            made[verb].append(getattr(life, verb)(**fields))
            continue
        kind = OF.get(verb, "tells")
        id_ = made[kind][fields % len(made[kind])] if made[kind] else None
        at = {"at": life.at + timedelta(minutes=1)}
        match verb if id_ else "":
            case "updates":
                life.asks(UpdateMemory, memory_id=id_, text="Ana never drinks green tea in the morning")
            case "deletes":
                life.asks(SoftDeleteMemory, memory_id=id_, **at)
            case "restores":
                life.asks(RestoreMemory, memory_id=id_)
            case "undoes":
                life.asks(UndoChange, memory_id=id_, **at)
            case "merges":
                life.asks(MergeMemories, memory_id=id_, absorbed_ids=(made[kind][0] or id_,))
            case "ends":
                life.asks(EndFact, relation_id=id_, **at)
            case "forgets":
                life.asks(ForgetFact, relation_id=id_, **at)
            case "reverts":
                life.asks(UndoGraph, about=f"relation:{id_}", event_id=life.last_of(id_), **at)
            case "joins":
                life.asks(MergeEntities, entity_id=life.entity("Lisbon"), absorbed_ids=(life.entity("Porto"),))
            case "retires":
                life.asks(RetireFact, relation_id=id_, **at)
            case "grants" | "refuses":
                decision = PatchStatus.GRANTED if verb == "grants" else PatchStatus.REFUSED
                life.asks(DecidePatch, patch_id=id_, decision=decision, **at)
            case "reopens":
                life.asks(UndoDecision, patch_id=id_, event_id=life.last_decision(id_), **at)
            case _:
                life.passes()
    return life


def said(view: View) -> Counter[tuple[str, str, str]]:
    """What is seen, whatever its ids are."""
    return Counter((kind, text, seen.partition(" into ")[0]) for (kind, _), (text, seen) in view.items())


@for_all(st.lists(told, max_size=12), st.sampled_from(sorted(POLICIES)))
def test_the_shadow_is_what_would_have_been_lived(story: Story, name: str) -> None:
    policy = POLICIES[name]
    story = recorded_in(story)
    life, other = lived(BUILT_IN, story), lived(policy, story)

    shadow = replayed(life.events, terms(BUILT_IN, policy), life.at, similarity)

    if not shadow.unfollowed:
        assert said(shadow_view(shadow, life.at)) == said(recorded_view(other.seen(), life.at))


@for_all(st.lists(told, max_size=12), st.sampled_from(sorted(POLICIES)))
def test_the_same_policy_changes_nothing(story: Story, name: str) -> None:
    policy = POLICIES[name]
    life = lived(policy, story)
    count = len(life.events)

    done = life.compared(policy)

    assert (done.differences, done.shadow, done.unfollowed, done.untested) == ([], [], [], [])
    assert len(life.events) == count


@for_all(st.lists(everything.asked, min_size=4, max_size=16), st.sampled_from(sorted(POLICIES)))
def test_whatever_was_recorded_can_be_replayed(sequence: list[everything.Asked], name: str) -> None:
    """Also what cannot be followed, and undone, merged or deleted subjects."""
    life = everything.Life()
    life.plays(sequence)
    run = life.rolled_back(life.events[len(life.events) // 2 :])
    try:
        undone = in_one_go(ROLLBACKS.planning(life.state, run)).events
    except MnemologError:
        undone = ()
    payloads = [*((one.payload, one.meta) for one in life.events), *((one, run.meta()) for one in undone)]
    events = [
        Recorded(header_of(new(payload, None, meta, at), seq, STREAM, at), payload, meta)
        for seq, (payload, meta) in enumerate(payloads, 1)
        if (at := START + timedelta(minutes=seq))
    ]
    policy, at = POLICIES[name], START + timedelta(days=1)

    same = replayed(events, terms(policy, policy), at, similarity)
    other = replayed(events, terms(BUILT_IN, policy), at, similarity)
    replayed(events, terms(policy, BUILT_IN), at)

    assert (changes(same, at), same.unfollowed) == ([], [])
    assert said(recorded_view(other, at)) == said(shadow_view(replayed(events, terms(BUILT_IN, BUILT_IN), at), at))
