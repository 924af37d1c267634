"""The affect and the focus of a chat: set, changed in part, undone."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from mnemolog.commands.attention import ATTENTION, ATTENTION_UNDO, SetAffect, SetFocus, UndoAttention
from mnemolog.domain.errors import InvalidInput, NotFound
from mnemolog.events.conversation import AffectSet, FocusSet, SessionForgotten
from tests.testkit.decider import given
from tests.testkit.events import new

AT = datetime(2026, 1, 3, 1, 2, 10, tzinfo=UTC)
STRESSED = SetAffect(user_id="ana", agent_id="coach", label="stressed", confidence=0.8, markers=("short",), at=AT)
IS_STRESSED = AffectSet(
    agent_id="coach",
    chat_id="main",
    confidence=0.8,
    decay_at=AT + timedelta(minutes=30),
    every_n_messages=3,
    label="stressed",
    markers=("short",),
    interaction_mode="default",
)
FAMILY = FocusSet(agent_id="coach", chat_id="main", topic_focus="family", active_entity_ids=(UUID(int=1),))
FIRST, SECOND = uuid4(), uuid4()


def undo(event_id: UUID, agent_id: str = "coach") -> UndoAttention:
    return UndoAttention(user_id="ana", agent_id=agent_id, event_id=event_id)


def focus(**fields: object) -> SetFocus:
    return SetFocus.model_validate({"user_id": "ana", "agent_id": "coach", "at": AT, **fields})


def test_an_affect_lasts_half_an_hour_unless_it_says_otherwise() -> None:
    later = AT + timedelta(hours=1)

    given(ATTENTION).when(STRESSED).then(IS_STRESSED)
    given(ATTENTION).when(STRESSED.model_copy(update={"decay_at": later})).then(
        IS_STRESSED.model_copy(update={"decay_at": later})
    )


def test_an_affect_that_is_over_or_outlives_its_session_is_refused() -> None:
    for decay_at in (AT, AT + timedelta(days=1, seconds=1)):
        command = STRESSED.model_copy(update={"decay_at": decay_at})
        given(ATTENTION).when(command).then_refused(InvalidInput, "decay_at")


def test_what_a_focus_leaves_out_stays_and_an_empty_text_removes() -> None:
    story = given(ATTENTION, FAMILY)
    kept = FAMILY.model_copy(update={"active_entity_ids": None})

    story.when(focus(mode="reflective")).then(kept.model_copy(update={"mode": "reflective"}))
    story.when(focus(topic_focus="")).then(kept.model_copy(update={"topic_focus": ""}))
    story.when(focus()).then_nothing()


def test_a_focus_that_is_set_already_is_not_set_again() -> None:
    story = given(ATTENTION, new(FAMILY, FIRST))
    story.when(focus(topic_focus="family")).then_nothing()
    later = AT + timedelta(days=1)  # Its session may have ended, and the focus with it.
    story.when(focus(topic_focus="family", at=later)).then(FAMILY.model_copy(update={"active_entity_ids": None}))


def test_a_focus_begins_anew_after_its_session_was_forgotten() -> None:
    kept = FocusSet(agent_id="coach", chat_id="main")
    for elsewhere, remains in ((False, ""), (True, "family")):
        forgotten = SessionForgotten(agent_id="coach", chat_id="other" if elsewhere else "main")
        story = given(ATTENTION, FAMILY, forgotten)
        story.when(focus(mode="calm")).then(kept.model_copy(update={"mode": "calm", "topic_focus": remains}))
        again = story.when(focus(topic_focus="family"))
        again.then_nothing() if elsewhere else again.then(kept.model_copy(update={"topic_focus": "family"}))


def test_an_undo_brings_back_what_was_set_before_and_can_be_undone() -> None:
    calm = IS_STRESSED.model_copy(update={"label": "calm"})
    story = given(ATTENTION_UNDO, new(IS_STRESSED, FIRST), new(calm, SECOND))

    story.when(undo(SECOND)).then(IS_STRESSED.model_copy(update={"undoes": SECOND}))
    story.after(undo(SECOND)).when(undo(SECOND)).then_nothing()


def test_the_undo_of_the_first_affect_leaves_none() -> None:
    story = given(ATTENTION_UNDO, new(IS_STRESSED, FIRST))
    none = {"undoes": FIRST, "label": "", "markers": (), "interaction_mode": ""}

    story.when(undo(FIRST)).then(IS_STRESSED.model_copy(update=none))
    story.when(undo(FIRST, "rival")).then_refused(NotFound, "event_id")
    story.when(undo(SECOND)).then_refused(NotFound, "event_id")
