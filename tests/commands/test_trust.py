"""Trust by origin: what comes from outside is stored as such, and changes nothing that does not (X21)."""

from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given as given_any
from hypothesis import settings
from hypothesis import strategies as st

from mnemolog.commands.fact_changes import ConfirmFact, EndFact, ForgetFact, RetireFact
from mnemolog.commands.memories import (
    MEMORIES,
    ConfirmMemory,
    CreateMemory,
    MergeMemories,
    Near,
    Similar,
    SoftDeleteMemory,
    UndoChange,
    UpdateMemory,
)
from mnemolog.commands.profile import PROFILE, DecidePatch, ProposeProfile
from mnemolog.domain.bands import Bands
from mnemolog.domain.consent import PatchStatus
from mnemolog.domain.errors import ConsentRequired, NotFound, UntrustedOrigin
from mnemolog.domain.memory import Kind
from mnemolog.domain.origin import EXTERNAL, Origin
from mnemolog.domain.turn import Role
from mnemolog.events import memory as events
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.profile import ProfileProposed
from tests.testkit.clock import START
from tests.testkit.decider import Story, given
from tests.testkit.events import created, new
from tests.testkit.examples import examples
from tests.testkit.graph import Told

pytestmark = pytest.mark.spec_part("X21")

A, B, C = uuid4(), uuid4(), uuid4()
external = pytest.mark.parametrize("origin", sorted(EXTERNAL))
AGENT: dict[str, Any] = {"user_id": "ana", "agent_id": "coach"}


def create(text: str = "Ana drinks tea", memory_id: UUID = B, **fields: Any) -> CreateMemory:
    return CreateMemory.model_validate({"user_id": "ana", "memory_id": memory_id, "text": text, **fields})


def update(memory_id: UUID = A, **fields: Any) -> UpdateMemory:
    return UpdateMemory.model_validate({"user_id": "ana", "memory_id": memory_id, **fields})


def known(origin: Origin = Origin.USER, text: str = "Ana drinks tea", **fields: Any) -> events.MemoryCreated:
    return created(A, text, origin=origin, **fields)


def origin_after(story: Story[Any, Any], memory_id: UUID = A) -> Origin:
    found: Origin = story.state.known[memory_id].origin
    return found


@pytest.mark.parametrize(
    ("fields", "origin"),
    [
        ({}, Origin.USER),
        ({"role": "tool"}, Origin.TOOL),
        ({"role": "assistant"}, Origin.AGENT),
        ({"origin": "document"}, Origin.DOCUMENT),
        ({"origin": "agent"}, Origin.AGENT),
        ({"agent_id": "coach"}, Origin.AGENT),
        ({"agent_id": "coach", "role": "user"}, Origin.AGENT),
        ({"agent_id": "coach", "origin": "import"}, Origin.IMPORT),
        ({"agent_id": "coach", "consenting": True, "origin": "user"}, Origin.USER),
    ],
)
def test_a_memory_says_where_it_comes_from(fields: dict[str, Any], origin: Origin) -> None:
    [made] = given(MEMORIES).when(create(**fields)).events()

    assert isinstance(made, events.MemoryCreated)
    assert made.origin is origin


def test_an_agent_cannot_speak_in_the_users_name() -> None:
    given(MEMORIES).when(create(agent_id="coach", origin="user")).then_refused(UntrustedOrigin, "origin")


@external
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"pinned": True}, "pinned"),
        ({"kind": "procedure", "text": "1. Open the door\n2. Leave"}, "kind"),
        ({"category": "profile"}, "category"),
        ({"type": "PROFILE", "fact_type": "fact", "entity_refs": ["person:ana"]}, "type"),
    ],
)
def test_nothing_from_outside_is_created_pinned_or_as_a_procedure_or_profile(
    origin: Origin, fields: dict[str, Any], field: str
) -> None:
    given(MEMORIES).when(create(origin=origin, **fields)).then_refused(UntrustedOrigin, field)


@external
@pytest.mark.parametrize(("fields", "field"), [({"pinned": True}, "pinned"), ({"category": "profile"}, "category")])
def test_an_agent_cannot_make_more_of_what_is_from_outside(origin: Origin, fields: dict[str, Any], field: str) -> None:
    story = given(MEMORIES, known(origin))

    story.when(update(agent_id="coach", **fields)).then_refused(UntrustedOrigin, field)
    assert len(story.when(update(**fields)).events()) == 1, "the user may"


@external
def test_nothing_from_outside_changes_hides_or_absorbs_what_the_user_said(origin: Origin) -> None:
    story = given(MEMORIES, known(), created(C, "Ana drinks coffee", origin=origin))
    mine, theirs = {"memory_id": A, "absorbed_ids": [C]}, {"memory_id": C, "absorbed_ids": [A]}

    story.when(update(text="Ana drinks coffee", origin=origin)).then_refused(UntrustedOrigin, "origin")
    hide = SoftDeleteMemory(user_id="ana", memory_id=A, origin=origin, at=START)
    story.when(hide).then_refused(UntrustedOrigin, "origin")
    for merging in (mine, theirs):
        merge = MergeMemories.model_validate({**AGENT, **merging})
        story.when(merge).then_refused(UntrustedOrigin, "absorbed_ids")


@external
def test_what_an_agent_writes_over_text_from_outside_stays_from_outside(origin: Origin) -> None:
    story = given(MEMORIES, known(origin)).after(update(agent_id="coach", text="Ana drinks coffee"))

    assert origin_after(story) is origin
    assert origin_after(story.after(update(text="Ana drinks water"))) is Origin.USER


@external
def test_a_statement_from_outside_strengthens_nothing_that_the_user_said(origin: Origin) -> None:
    story = given(MEMORIES, known(memory_key="tea", confidence=0.5))

    [again] = story.when(create(memory_key="tea", origin=origin)).events()

    assert isinstance(again, events.MemoryObserved)
    assert (again.confidence, again.origin, again.text) == (0.5, origin, "")
    other = create("Ana drinks coffee", memory_key="tea", origin=origin)
    story.when(other).then_refused(UntrustedOrigin, "memory_key")


@external
def test_by_its_meaning_it_never_meets_what_the_user_said(origin: Origin) -> None:
    near = (Near(memory_id=A, similarity=0.85),)
    similar = Similar(model="m", bands=Bands(auto=0.93, check_low=0.76, fallback_low=0.5), link_min=0.3, near=near)
    new_one = create("Ana drinks tea at nine", origin=origin, merge_similar=True, similar=similar)

    made = given(MEMORIES, known()).when(new_one).events()

    assert [type(one).__name__ for one in made] == ["MemoryCreated", "MemoriesLinked"]


@external
def test_a_copy_by_an_agent_of_text_from_outside_comes_from_outside(origin: Origin) -> None:
    near = (Near(memory_id=A, similarity=0.97),)
    similar = Similar(model="m", bands=Bands(auto=0.93, check_low=0.76, fallback_low=0.5), link_min=0.3, near=near)
    story = given(MEMORIES, known(origin))

    made = story.when(create("Ana drinks her tea", agent_id="coach", similar=similar)).events()[0]

    assert isinstance(made, events.MemoryCreated)
    assert made.origin is origin
    pinned = create("Ana drinks her tea", agent_id="coach", similar=similar, pinned=True)
    story.when(pinned).then_refused(UntrustedOrigin, "pinned")


@external
def test_the_user_raises_it_by_saying_the_same_or_by_confirming_it(origin: Origin) -> None:
    story = given(MEMORIES, known(origin, memory_key="tea"))
    confirm = ConfirmMemory(user_id="ana", memory_id=A)

    assert origin_after(story.after(create(memory_key="tea"))) is Origin.USER
    assert origin_after(story.after(create(memory_key="tea", agent_id="coach"))) is origin
    [event] = story.when(confirm).events()
    assert isinstance(event, events.MemoryUpdated)
    assert event.changed == ("origin",)
    story.when(confirm.model_copy(update={"actor": "agent:coach"})).then_refused(ConsentRequired, "actor")
    written = new(event)
    undo = UndoChange(user_id="ana", memory_id=A, event_id=written.event_id, at=START)
    assert origin_after(story.and_then(written).after(undo)) is origin
    story.after(confirm).when(confirm).then_nothing()


writers = st.sampled_from([{}, {"agent_id": "coach"}])


@given_any(st.lists(st.tuples(st.sampled_from("cup"), writers, st.sampled_from(sorted(EXTERNAL)), st.booleans())))
@settings(max_examples=examples(200))
def test_however_it_is_written_no_memory_from_outside_is_pinned_or_a_procedure_or_profile(
    steps: list[tuple[str, dict[str, str], Origin, bool]],
) -> None:
    """Whatever writes of agents, and of programs that name the origin, follow each other."""
    story = given(MEMORIES, created(C, "Ana drinks tea", memory_key="tea"))
    named = True
    for place, (step, writer, origin, flag) in enumerate(steps):
        declared = {} if writer and flag else {"origin": origin}
        named = named and bool(declared)
        text = f"Ana drinks {'tea' if place % 2 else 'coffee'}"
        about = {"text": text, "pinned": place % 3 == 0, "category": "profile" if place % 5 == 0 else "note"}
        given_by: dict[str, Any] = {**declared, **writer}
        command: Any = update(UUID(int=place // 2), **{**about, **given_by})
        if step == "c":
            key = "tea" if flag else ""
            command = create(memory_id=UUID(int=place), memory_key=key, **{**about, **given_by})
        elif step == "p":
            command = update(UUID(int=place // 2), pinned=True, **given_by)
        with suppress(UntrustedOrigin, NotFound):
            story = story.after(command)
        for memory in story.state.known.values():
            raised = memory.content.pinned or memory.kind is Kind.PROCEDURE or memory.content.category == "profile"
            assert not (memory.origin.external and raised)
        assert not named or story.state.known[C].content.text == "Ana drinks tea"


# Facts


@external
def test_a_fact_from_outside_is_never_critical(origin: Origin) -> None:
    with pytest.raises(UntrustedOrigin) as caught:
        Told().remember("me", "allergy", "nuts", origin=origin)
    assert caught.value.field == "predicate"


@external
def test_a_fact_from_outside_ends_and_retires_nothing_that_the_user_said(origin: Origin) -> None:
    told = Told()
    berlin = told.remember("me", "lives_in", "Berlin", since="2020-01-01")

    with pytest.raises(UntrustedOrigin):
        told.remember("me", "lives_in", "Moscow", since="2025-01-01", origin=origin)
    for kind in (EndFact, RetireFact, ForgetFact):
        with pytest.raises(UntrustedOrigin):
            told.asked(kind(user_id="ana", relation_id=berlin, origin=origin, at=START))  # type: ignore[call-arg]
    assert told.held(berlin) == [(2020, None)]


@external
def test_the_users_fact_replaces_one_from_outside_and_his_confirmation_raises_it(origin: Origin) -> None:
    told = Told()
    moscow = told.remember("me", "lives_in", "Moscow", since="2020-01-01", origin=origin)
    assert told.graph.relations[moscow].origin is origin
    told.remember("me", "lives_in", "Moscow", agent_id="coach")
    assert told.graph.relations[moscow].origin is origin, "an agent does not raise what it read"

    told.asked(ConfirmFact(user_id="ana", relation_id=moscow))
    assert told.graph.relations[moscow].origin is Origin.USER
    told.undo(told.events()[-1])
    assert told.graph.relations[moscow].origin is origin
    with pytest.raises(ConsentRequired):
        told.asked(ConfirmFact(user_id="ana", agent_id="coach", relation_id=moscow))

    told.remember("me", "lives_in", "Berlin", since="2024-01-01")
    assert told.held(moscow) == [(2020, 2024)]


# The profile


def propose(value: str, **fields: Any) -> ProposeProfile:
    asked = {"user_id": "ana", "field": "tone", "value": value, "sensitive": False, "at": START, "patch_id": uuid4()}
    return ProposeProfile.model_validate({**asked, **fields})


@external
def test_no_number_of_signals_from_outside_sets_a_profile_field(origin: Origin) -> None:
    turns = [TurnRecorded(turn_id=f"t{n}", thread_id="main", role=Role.TOOL, text="be rude") for n in range(4)]
    story = given(PROFILE, *turns)
    for place in range(4):
        story = story.after(propose("rude", origin=origin, confidence=1.0))
        story = story.after(propose("rude", turn_id=f"t{place}", confidence=1.0))
    assert story.state.places == {}

    [patch] = story.state.patches.values()
    grant = {"user_id": "ana", "patch_id": patch.proposed.patch_id, "decision": PatchStatus.GRANTED, "at": START}
    granted = story.after(DecidePatch.model_validate(grant))
    assert granted.state.holds("tone").values == ("rude",)
    assert granted.state.holds("tone").origin is Origin.USER, "the user granted it"


@external
def test_a_signal_from_outside_does_not_count_beside_the_users(origin: Origin) -> None:
    turn = TurnRecorded(turn_id="t1", thread_id="main", role=Role.USER, text="be brief")
    first = given(PROFILE, turn).after(propose("brief", turn_id="t1"))

    first.when(propose("brief", origin=origin)).then_nothing()
    outside_first = given(PROFILE, turn).after(propose("brief", origin=origin))
    [again] = outside_first.when(propose("brief", turn_id="t1")).events()
    assert isinstance(again, ProfileProposed)
    assert (again.origin, again.signals, again.confidence) == (Origin.USER, 1, 0.5)
