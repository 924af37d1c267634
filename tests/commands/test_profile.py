"""Proposals, decisions and undo of the profile: a sensitive field changes by a grant, and by nothing else."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given as given_any
from hypothesis import settings
from hypothesis import strategies as st

from mnemolog.commands.profile import (
    PROFILE,
    DecidePatch,
    ExpirePatch,
    ProfileCommand,
    ProposeProfile,
    StateProfile,
    UndoDecision,
    UndoProfile,
)
from mnemolog.commands.profile_state import Profile
from mnemolog.domain.consent import APPLIED, QUEUED_FOR, PatchStatus
from mnemolog.domain.errors import ConsentRequired, MnemologError, NotFound, TransitionRefused, UndoConflict
from mnemolog.domain.profile import Values, always_sensitive, place_of
from mnemolog.domain.turn import Role
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import NewEvent
from mnemolog.events.erasure import UserErased
from mnemolog.events.event import Event
from mnemolog.events.profile import ProfileDecided, ProfileErased, ProfileProposed, ProfileSet
from tests.testkit.clock import START
from tests.testkit.decider import given
from tests.testkit.events import new
from tests.testkit.examples import examples

pytestmark = pytest.mark.spec("B10")

PATCH, OTHER = UUID(int=1), UUID(int=2)
COACH = "agent:coach"


def turn(turn_id: str) -> TurnRecorded:
    return TurnRecorded(turn_id=turn_id, thread_id="main", role=Role.USER, text="something")


def propose(field: str, value: str, **fields: Any) -> ProposeProfile:
    asked = {"user_id": "ana", "actor": COACH, "patch_id": PATCH, "sensitive": always_sensitive(field), "at": START}
    return ProposeProfile.model_validate({**asked, "field": field, "value": value, **fields})


def state(field: str, value: str, **fields: Any) -> StateProfile:
    asked = {"user_id": "ana", "patch_id": PATCH, "sensitive": always_sensitive(field), "at": START}
    return StateProfile.model_validate({**asked, "field": field, "value": value, **fields})


def decide(decision: str, **fields: Any) -> DecidePatch:
    return DecidePatch.model_validate(
        {"user_id": "ana", "patch_id": PATCH, "decision": decision, "at": START, **fields}
    )


def proposed(field: str, value: str, **fields: Any) -> ProfileProposed:
    asked = {
        "patch_id": PATCH,
        "sensitive": always_sensitive(field),
        "signals": 1,
        "confidence": 0.5,
        "expires_at": START + QUEUED_FOR,
        "source": "api",
        "origin": "agent",
        "proposed_by": (COACH,),
    }
    return ProfileProposed.model_validate({**asked, "field": field, "value": value, **fields})


def decided(field: str, decision: PatchStatus, by: str = "user") -> ProfileDecided:
    return ProfileDecided(field=field, patch_id=PATCH, decision=decision, by=by)


def holding(field: str, *values: str, **fields: Any) -> ProfileSet:
    return ProfileSet.model_validate({"field": field, "patch_id": PATCH, "source": "api", "values": values, **fields})


CITY = proposed("city", "Lisbon")
GRANTED = [CITY, decided("city", PatchStatus.GRANTED), holding("city", "Lisbon")]


@pytest.mark.parametrize("confidence", [0.5, 1.0])
def test_a_sensitive_field_is_queued_for_seven_days_however_sure_the_agent_is(confidence: float) -> None:
    given(PROFILE).when(propose("city", "Lisbon", confidence=confidence)).then(
        proposed("city", "Lisbon", confidence=confidence)
    )


def test_many_signals_do_not_apply_a_sensitive_field() -> None:
    story = given(PROFILE, turn("t1"), turn("t2"), turn("t3"))
    for said in ("t1", "t2", "t3"):
        story = story.after(propose("city", "lisbon", turn_id=said, patch_id=uuid4()))
    assert story.state.places == {}
    [patch] = story.state.patches.values()
    assert (patch.proposed.signals, patch.proposed.source_turn_ids) == (3, ("t1", "t2", "t3"))


def test_the_decider_does_not_trust_a_request_that_calls_a_sensitive_field_benign() -> None:
    [event] = given(PROFILE).when(propose("city", "Lisbon", sensitive=False, confidence=1.0)).events()
    assert isinstance(event, ProfileProposed)
    assert event.sensitive


def test_a_grant_applies_what_was_proposed() -> None:
    given(PROFILE, CITY).when(decide("granted")).then(*GRANTED[1:])


def test_a_refusal_changes_nothing_but_says_so() -> None:
    given(PROFILE, CITY).when(decide("refused")).then(decided("city", PatchStatus.REFUSED))


def test_who_proposed_it_cannot_grant_it_and_can_take_it_back() -> None:
    given(PROFILE, CITY).when(decide("granted", actor=COACH)).then_refused(ConsentRequired, "actor")
    given(PROFILE, CITY).when(decide("refused", actor=COACH)).then(decided("city", PatchStatus.REFUSED, by=COACH))


def test_who_gave_a_further_signal_proposed_it_as_well() -> None:
    story = given(PROFILE, CITY, turn("t1")).after(
        propose("city", "Lisbon", actor="agent:spy", turn_id="t1", patch_id=OTHER)
    )
    story.when(decide("granted", actor="agent:spy")).then_refused(ConsentRequired, "actor")


@pytest.mark.parametrize("decision", [PatchStatus.GRANTED, PatchStatus.REFUSED])
def test_the_same_decision_again_changes_nothing_and_another_is_refused(decision: PatchStatus) -> None:
    other = PatchStatus.REFUSED if decision is PatchStatus.GRANTED else PatchStatus.GRANTED
    story = given(PROFILE, CITY).after(decide(decision))
    story.when(decide(decision)).then_nothing()
    story.when(decide(other)).then_refused(TransitionRefused, "patch_id")


def test_what_was_never_proposed_cannot_be_decided() -> None:
    given(PROFILE).when(decide("granted")).then_refused(NotFound, "patch_id")


def test_after_seven_days_it_is_too_late_and_the_clock_says_so() -> None:
    late = START + QUEUED_FOR
    expire = ExpirePatch.model_validate({"user_id": "ana", "patch_id": PATCH, "at": late, "actor": "schedule"})
    story = given(PROFILE, CITY)
    story.when(decide("granted", at=late)).then_refused(TransitionRefused, "patch_id", "expired")
    story.when(expire.model_copy(update={"at": late - timedelta(seconds=1)})).then_nothing()
    story.when(expire).then(decided("city", PatchStatus.EXPIRED, by="schedule"))
    story.after(expire).when(expire).then_nothing()
    given(PROFILE, *GRANTED).when(expire).then_nothing()


def test_a_proposal_that_meets_an_expired_one_opens_another() -> None:
    later = START + QUEUED_FOR
    again = propose("city", "Lisbon", patch_id=OTHER, at=later)
    given(PROFILE, CITY).when(again).then(
        decided("city", PatchStatus.EXPIRED, by="schedule"),
        proposed("city", "Lisbon", patch_id=OTHER, expires_at=later + QUEUED_FOR),
    )


def test_a_benign_field_applies_at_the_second_turn_or_at_high_confidence() -> None:
    heard = given(PROFILE, turn("t1"), turn("t2"))
    first = heard.after(propose("tone", "brief", turn_id="t1"))
    assert first.state.places == {}
    both = ("t1", "t2")
    first.when(propose("tone", "Brief", turn_id="t2", patch_id=OTHER)).then(
        proposed("tone", "brief", signals=2, source_turn_ids=both),
        decided("tone", PatchStatus.CORROBORATED, by=COACH),
        holding("tone", "brief", source_turn_ids=both, origin="agent"),
    )
    assert heard.after(propose("tone", "brief", confidence=0.8)).state.places["tone"].values == ("brief",)


def test_the_same_turn_or_none_is_no_second_signal() -> None:
    story = given(PROFILE, turn("t1")).after(propose("tone", "brief", turn_id="t1"))
    story.when(propose("tone", "brief", turn_id="t1", patch_id=OTHER)).then_nothing()
    story.when(propose("tone", "brief", patch_id=OTHER)).then_nothing()
    given(PROFILE).after(propose("tone", "brief")).when(propose("tone", "brief", patch_id=OTHER)).then_nothing()


def test_what_was_refused_is_not_asked_again_for_the_same_turn() -> None:
    story = given(PROFILE, turn("t1"), turn("t2"))
    story = story.after(propose("city", "Lisbon", turn_id="t1")).after(decide("refused"))
    story.when(propose("city", "Lisbon", turn_id="t1", patch_id=OTHER)).then_nothing()
    assert story.when(propose("city", "Lisbon", turn_id="t2", patch_id=OTHER)).events()


def test_an_invented_or_erased_turn_is_no_signal() -> None:
    asked = propose("tone", "brief", turn_id="t1")
    given(PROFILE).when(asked).then_refused(NotFound, "turn_id")
    given(PROFILE, turn("t1").model_copy(update={"text": ""})).when(asked).then_refused(NotFound, "turn_id")


def test_the_person_himself_is_taken_at_his_word_and_an_agent_is_not() -> None:
    given(PROFILE).when(state("city", "Lisbon")).then(
        proposed("city", "Lisbon", proposed_by=("user",), origin="user"), *GRANTED[1:]
    )
    given(PROFILE).when(state("city", "Lisbon", actor=COACH)).then_refused(ConsentRequired, "consent")


def test_his_word_grants_what_waits() -> None:
    story = given(PROFILE, CITY).after(state("city", "Lisbon", patch_id=OTHER))
    assert story.state.places["city"].values == ("Lisbon",)
    assert [patch.status for patch in story.state.patches.values()] == [PatchStatus.GRANTED]


def test_what_holds_already_is_not_proposed() -> None:
    given(PROFILE, *GRANTED).when(propose("city", "Lisbon", patch_id=OTHER)).then_nothing()
    assert given(PROFILE, *GRANTED).when(state("city", "LISBON", patch_id=OTHER)).events()


@pytest.mark.spec("X03")
def test_undo_gives_back_the_value_before() -> None:
    first, second = new(holding("city", "Lisbon")), new(holding("city", "Porto"))
    story = given(PROFILE, *GRANTED[:2], first, second)
    undo = UndoProfile(user_id="ana", field="city", event_id=second.event_id)
    back = holding("city", "Lisbon", undoes=second.event_id)
    story.when(undo).then(back)
    story.after(undo).when(undo).then_nothing()
    early = UndoProfile(user_id="ana", field="city", event_id=first.event_id)
    story.when(early).then_refused(UndoConflict, "event_id")
    story.when(early.model_copy(update={"event_id": OTHER})).then_refused(NotFound, "event_id")


def test_who_proposed_a_sensitive_value_does_not_bring_it_back_alone() -> None:
    first = new(GRANTED[2])
    undo = UndoProfile(user_id="ana", field="city", event_id=first.event_id)
    story = given(PROFILE, *GRANTED[:2], first)
    undone = new(story.when(undo).events()[0])
    redo = UndoProfile(user_id="ana", field="city", event_id=undone.event_id)
    gone = story.and_then(undone)
    gone.when(redo.model_copy(update={"actor": COACH})).then_refused(ConsentRequired, "actor")
    gone.when(redo).then(holding("city", "Lisbon", undoes=undone.event_id))


@pytest.mark.spec("X07")
def test_nothing_of_an_erased_field_is_granted_or_restored() -> None:
    kept = new(GRANTED[2])
    for erasure in (ProfileErased(field="city"), UserErased()):
        story = given(PROFILE, *GRANTED[:2], kept, erasure)
        story.when(decide("granted")).then_refused(NotFound, "patch_id")
        undo = UndoProfile(user_id="ana", field="city", event_id=kept.event_id)
        story.when(undo).then_refused(NotFound, "event_id")
        assert story.when(state("city", "Lisbon")).events()


@pytest.mark.spec("X03")
def test_a_sensitive_place_is_undone_by_the_person_or_a_key_that_consents_only() -> None:
    first = new(GRANTED[2])
    undo = UndoProfile(user_id="ana", field="city", event_id=first.event_id)
    story = given(PROFILE, *GRANTED[:2], first)
    for actor in (COACH, "agent:planner", "key/coach"):
        story.when(undo.model_copy(update={"actor": actor})).then_refused(ConsentRequired, "actor")
    story.when(undo.model_copy(update={"actor": UI, "consenting": True})).then(holding_none(first.event_id))
    withdrawn = new(story.when(undo).events()[0])
    again = UndoProfile(user_id="ana", field="city", event_id=withdrawn.event_id)
    story.and_then(withdrawn).when(again.model_copy(update={"actor": "agent:planner"})).then_refused(
        ConsentRequired, "actor"
    )


@pytest.mark.spec("X03")
def test_a_sensitive_field_is_undone_by_the_person_and_a_benign_one_by_anyone() -> None:
    for sensitive in (True, False):
        first = new(holding("tone", "brief"))
        patch = proposed("tone", "brief", sensitive=sensitive)
        story = given(PROFILE, patch, decided("tone", PatchStatus.GRANTED), first)
        undo = UndoProfile(user_id="ana", field="tone", event_id=first.event_id, actor="agent:planner")
        if sensitive:
            story.when(undo).then_refused(ConsentRequired, "actor")
        else:
            assert story.when(undo).events()


@pytest.mark.spec("X03", "B10")
def test_an_undone_refusal_leaves_the_proposal_open_and_the_undo_can_be_undone() -> None:
    refusal = new(decided("city", PatchStatus.REFUSED))
    story = given(PROFILE, CITY, refusal)
    undo = UndoDecision(user_id="ana", patch_id=PATCH, event_id=refusal.event_id, at=START)
    reopened = new(decided("city", PatchStatus.PROPOSED).model_copy(update={"undoes": refusal.event_id}))
    story.when(undo).then(reopened.payload)
    story.after(undo).when(undo).then_nothing()
    story = story.and_then(reopened)
    story.when(decide("granted")).then(*GRANTED[1:])
    redo = undo.model_copy(update={"event_id": reopened.event_id})
    refused_again = decided("city", PatchStatus.REFUSED).model_copy(update={"undoes": reopened.event_id})
    story.when(redo).then(refused_again)
    story.and_then(new(decided("city", PatchStatus.GRANTED))).when(redo).then_refused(UndoConflict, "event_id")
    story.and_then(new(ProfileErased(field="city"))).when(redo).then_refused(NotFound, "event_id")


@pytest.mark.spec("X03", "B10")
def test_an_undone_proposal_is_refused_and_the_undo_of_that_reopens_it() -> None:
    made = new(CITY)
    undo = UndoDecision(user_id="ana", patch_id=PATCH, event_id=made.event_id, at=START, actor=COACH)
    refused = new(decided("city", PatchStatus.REFUSED, by=COACH).model_copy(update={"undoes": made.event_id}))
    story = given(PROFILE, made)
    story.when(undo).then(refused.payload)
    story = story.and_then(refused)
    story.when(undo).then_nothing()
    reopened = decided("city", PatchStatus.PROPOSED, by=COACH).model_copy(update={"undoes": refused.event_id})
    story.when(undo.model_copy(update={"event_id": refused.event_id})).then(reopened)


@pytest.mark.spec("X03", "B10")
@pytest.mark.parametrize(
    "then", [decided("city", PatchStatus.GRANTED), decided("city", PatchStatus.REFUSED), proposed("city", "Lisbon")]
)
def test_a_proposal_that_somebody_decided_or_supported_is_not_undone(then: Event) -> None:
    made = new(CITY)
    undo = UndoDecision(user_id="ana", patch_id=PATCH, event_id=made.event_id, at=START)
    given(PROFILE, made, new(then)).when(undo).then_refused(NotFound, "event_id")


@pytest.mark.spec("X03", "B10")
def test_a_refusal_is_undone_by_who_refused_by_the_user_or_by_a_key_that_consents() -> None:
    for by, allowed in (("user", {"user", UI}), ("agent:planner", {"user", UI, "agent:planner"})):
        refusal = new(decided("city", PatchStatus.REFUSED, by=by))
        for actor in ("user", COACH, "agent:planner", "key/coach", UI):
            undo = UndoDecision(user_id="ana", patch_id=PATCH, event_id=refusal.event_id, at=START, actor=actor)
            asked = given(PROFILE, CITY, refusal).when(undo.model_copy(update={"consenting": actor == UI}))
            if actor in allowed:
                assert asked.events()
            else:
                asked.then_refused(ConsentRequired, "actor")


def holding_none(undone: UUID) -> ProfileSet:
    return ProfileSet(field="city", source="api", undoes=undone)


@pytest.mark.spec("X07")
def test_what_waited_when_its_place_was_erased_has_expired_without_its_value() -> None:
    story = given(PROFILE, CITY, ProfileErased(field="city"))
    [patch] = story.state.patches.values()
    assert (patch.status, patch.proposed.value) == (PatchStatus.EXPIRED, "")
    late = START + QUEUED_FOR
    story.when(ExpirePatch(user_id="ana", patch_id=PATCH, at=late, actor="schedule")).then_nothing()
    story.when(decide("granted")).then_refused(TransitionRefused, "patch_id", "expired")
    assert story.when(propose("city", "Lisbon", patch_id=OTHER)).events()


# What may be asked, in any order, by anybody.

FIELDS = st.sampled_from(["city", "language", "tone", "goals_add"])
VALUES = st.sampled_from(["Lisbon", "lisbon", "Porto", "brief"])
# A key with the role `consent`, which an agent's key has not.
UI = "ui/default"
ACTORS = st.sampled_from(["user", COACH, "agent:planner", "key/coach", UI])
TURNS = st.sampled_from([None, "t1", "t2", "t3"])
HOURS = st.integers(0, 24 * 10)
requests = st.one_of(
    st.tuples(st.just("propose"), FIELDS, VALUES, ACTORS, TURNS, st.sampled_from([0.5, 0.9]), HOURS),
    st.tuples(st.just("state"), FIELDS, VALUES, st.sampled_from(["user", COACH, UI]), HOURS),
    st.tuples(st.sampled_from(["granted", "refused", "expire"]), st.integers(0, 7), ACTORS, HOURS),
    st.tuples(st.just("undo"), st.integers(0, 20), ACTORS),
)


def command_of(request: tuple[Any, ...], state_: Profile, log: Sequence[NewEvent]) -> ProfileCommand | None:
    match request:
        case ("propose", field, value, actor, said, confidence, hours):
            more = {"actor": actor, "turn_id": said, "confidence": confidence, "patch_id": uuid4()}
            return propose(field, value, at=START + timedelta(hours=hours), sensitive=False, **more)
        case ("state", field, value, actor, hours):
            return state(field, value, actor=actor, at=START + timedelta(hours=hours), patch_id=uuid4())
        case ("undo", place, actor):
            changes = [event for event in log if isinstance(event.payload, ProfileSet | ProfileDecided)]
            if not changes:
                return None
            event = changes[place % len(changes)]
            about = {"user_id": "ana", "actor": actor, "event_id": event.event_id}
            if isinstance(event.payload, ProfileSet):
                return UndoProfile(**about, field=event.payload.field)
            return UndoDecision(**about, patch_id=event.payload.patch_id, at=START)
        case (what, place, actor, hours):
            if not state_.patches:
                return None
            patch_id = list(state_.patches)[place % len(state_.patches)]
            who = {"user_id": "ana", "actor": actor, "patch_id": patch_id, "at": START + timedelta(hours=hours)}
            return ExpirePatch(**who) if what == "expire" else DecidePatch(**who, decision=what)
    raise AssertionError(request)


def played(asked: Sequence[tuple[Any, ...]]) -> list[NewEvent]:
    """The events of these requests, those that are refused left out."""
    log = [new(turn(said)) for said in ("t1", "t2", "t3")]
    for request in asked:
        now = given(PROFILE, *log).state
        command = command_of(request, now, log)
        try:
            log += [new(event) for event in (PROFILE.decide(now, command) if command else [])]
        except MnemologError:
            continue
    return log


@settings(max_examples=examples(300), deadline=None)
@given_any(st.lists(requests, max_size=14))
def test_consent_is_never_skipped(asked: list[tuple[Any, ...]]) -> None:
    """Each sensitive value that is ever set was granted before, and not by its proposer, whoever asked what."""
    log = [event.payload for event in played(asked)]
    for place, event in enumerate(log):
        if isinstance(event, ProfileSet) and always_sensitive(event.field):
            earlier = log[:place]
            for value in event.values:
                assert any(_grants(one, earlier, event.field, value) for one in earlier), event


def _grants(event: Event, earlier: Sequence[Event], field: str, value: str) -> bool:
    if not (isinstance(event, ProfileDecided) and event.decision is PatchStatus.GRANTED):
        return False
    of_it = [one for one in earlier if isinstance(one, ProfileProposed) and one.patch_id == event.patch_id]
    by_another = event.by == "user" or event.by not in of_it[-1].proposed_by or event.by == UI
    return place_of(of_it[-1].field) == field and of_it[-1].value == value and by_another


@settings(max_examples=examples(200), deadline=None)
@given_any(st.lists(requests, max_size=14))
@pytest.mark.spec("X03")
def test_undoing_everything_newest_first_leaves_nothing_set(asked: list[tuple[Any, ...]]) -> None:
    log = played(asked)
    story = given(PROFILE, *log)
    for name in list(story.state.places):
        while (last := story.state.changes.last(f"profile:{name}")) is not None:
            story = story.after(UndoProfile(user_id="ana", field=name, event_id=last))
        assert story.state.places[name].values == ()


@pytest.mark.spec("X03")
def test_each_undo_gives_exactly_the_value_before() -> None:
    story, held = given(PROFILE), list[Values]([()])
    for place, goal in enumerate(["run", "read", "sail"]):
        story = story.after(state("goals_add", goal, patch_id=UUID(int=place)))
        held.append(story.state.places["goals"].values)
    for values in reversed(held):
        assert story.state.places["goals"].values == values
        if last := story.state.changes.last("profile:goals"):
            story = story.after(UndoProfile(user_id="ana", field="goals", event_id=last))


@settings(max_examples=examples(200), deadline=None)
@given_any(st.lists(requests, max_size=14))
def test_a_decided_proposal_stays_decided_and_an_applied_one_was_set(asked: list[tuple[Any, ...]]) -> None:
    happened = played(asked)
    log, changes = [event.payload for event in happened], given(PROFILE, *happened).state.changes
    made = [event for event in happened if not changes.undone(event.event_id)]
    decisions = [one.payload for one in made if isinstance(one.payload, ProfileDecided) and not one.payload.undoes]
    assert len({event.patch_id for event in decisions}) == len(decisions)
    applied = {event.patch_id for event in decisions if event.decision in APPLIED}
    assert {event.patch_id for event in log if isinstance(event, ProfileSet) and event.values} <= applied
