"""A turn is recorded once, and its speaker is seen once."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from mnemolog.commands.turns import MAX_ATTACHMENTS, TURNS, RecordTurn
from mnemolog.domain.errors import IdempotencyConflict, InvalidInput
from mnemolog.domain.scope import Scope
from mnemolog.domain.turn import Role
from mnemolog.events.conversation import Attachment, TurnRecorded
from mnemolog.events.fields import validated
from mnemolog.events.graph import EntityObserved
from tests.testkit.clock import START
from tests.testkit.decider import given

ENTITY = uuid4()
PICTURE = {"type": "image", "url": "https://example.org/a.png", "caption": "a red bicycle"}


def turn(turn_id: str = "msg-1", **fields: Any) -> RecordTurn:
    return validated(
        RecordTurn,
        {
            "user_id": "ana",
            "turn_id": turn_id,
            "text": "I moved to Lisbon",
            "occurred_at": START,
            "entity_id": ENTITY,
            **fields,
        },
    )


def recorded(turn_id: str = "msg-1", **fields: Any) -> TurnRecorded:
    plain = {"turn_id": turn_id, "thread_id": "main", "role": Role.USER, "text": "I moved to Lisbon"}
    return TurnRecorded.model_validate({**plain, **fields})


def seen(name: str, entity_id: UUID = ENTITY) -> EntityObserved:
    return EntityObserved(
        entity_id=entity_id, category="Person", scope=Scope.GLOBAL, name=name, source_turn_ids=("msg-1",)
    )


@pytest.mark.spec("X12")
def test_a_turn_is_a_message_and_no_memory() -> None:
    given(TURNS).when(turn(run_id="run-1", role="assistant", thread_id="chat")).then(
        recorded(run_id="run-1", role=Role.ASSISTANT, thread_id="chat"),
    )


@pytest.mark.spec("A07")
def test_a_speaker_is_seen_the_first_time_only() -> None:
    first = given(TURNS)
    first.when(turn(speaker="Ana")).then(
        seen("Ana"),
        recorded(speaker="Ana", speaker_entity_id=ENTITY),
    )

    known = first.after(turn(speaker="Ana"))
    known.when(turn("msg-2", speaker="ANA ", entity_id=uuid4())).then(
        recorded("msg-2", speaker="ANA", speaker_entity_id=ENTITY),
    )


@pytest.mark.parametrize("role", [Role.TOOL, Role.SYSTEM])
def test_a_tool_or_an_instruction_is_nobody_though_it_has_a_name(role: Role) -> None:
    given(TURNS).when(turn(speaker="crm", role=role)).then(recorded(speaker="crm", role=role))
    known = given(TURNS).after(turn(speaker="Ana"))
    known.when(turn("msg-2", speaker="Ana", role=role)).then(recorded("msg-2", speaker="Ana", role=role))


def test_a_turn_keeps_its_attachments() -> None:
    given(TURNS).when(turn(attachments=[PICTURE])).then(recorded(attachments=(Attachment.model_validate(PICTURE),)))


@pytest.mark.spec("X14")
def test_a_turn_that_is_sent_again_changes_nothing() -> None:
    story = given(TURNS).after(turn(speaker="Ana"))

    story.when(turn(speaker="Ana", entity_id=uuid4())).then_nothing()
    story.when(turn(speaker="Ana", text="another text")).then_refused(IdempotencyConflict, "message_id", "another turn")


@pytest.mark.spec("X07")
def test_a_speaker_whose_name_was_erased_is_created_again() -> None:
    other = uuid4()
    erased = seen("", entity_id=uuid4())

    [first, *_] = given(TURNS, erased).when(turn(speaker="Ana", entity_id=other)).events()

    assert first == seen("Ana", other)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"turn_id": ""}, "turn_id"),
        ({"turn_id": "x" * 201}, "turn_id"),
        ({"text": "nul \0"}, "text"),
        ({"text": "x" * (1024 * 1024)}, "text"),
        ({"occurred_at": START.replace(tzinfo=None)}, "occurred_at"),
        ({"occurred_at": "yesterday"}, "occurred_at"),
        ({"role": "narrator"}, "role"),
        ({"speaker": "nul \0"}, "speaker"),
        ({"speaker": "x" * 2001}, "speaker"),
        ({"attachments": [{**PICTURE, "caption": "nul \0"}]}, "attachments[0].caption"),
        ({"attachments": [{**PICTURE, "caption": "x" * (1024 * 1024)}]}, "attachments[0].caption"),
        ({"attachments": [{**PICTURE, "url": "nul \0"}]}, "attachments[0].url"),
        ({"attachments": [{**PICTURE, "type": ""}]}, "attachments[0].type"),
        ({"attachments": [{"caption": "no type"}]}, "attachments[0].type"),
        ({"attachments": [PICTURE] * (MAX_ATTACHMENTS + 1)}, "attachments"),
    ],
)
def test_a_turn_that_cannot_be_stored_names_its_field(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        turn(**fields)

    assert caught.value.field == field
