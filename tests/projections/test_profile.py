"""The profile as a fold of events: what is not there, as its event was skipped, is not made up."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from mnemolog.domain.consent import PatchStatus
from mnemolog.domain.todo import TodoKind, TodoStatus
from mnemolog.events.event import Event
from mnemolog.events.profile import (
    ProfileDecided,
    ProfileErased,
    ProfileProposed,
    ProfileSet,
    TodoChanged,
    TodoErased,
    TodoOpened,
)
from mnemolog.projections.profile.projector import after
from mnemolog.projections.profile.tables import consent, profile_fields, seeds, todos
from mnemolog.projections.rows import Row
from tests.projections.recorded import START, recorded

PATCH, TODO = UUID(int=1), UUID(int=2)
PROPOSED = ProfileProposed(
    field="city",
    patch_id=PATCH,
    sensitive=True,
    signals=1,
    confidence=0.5,
    expires_at=START,
    source="api",
    proposed_by=("agent:coach",),
    value="Lisbon",
)
DECIDED = ProfileDecided(field="city", patch_id=PATCH, decision=PatchStatus.GRANTED, by="user")
SET = ProfileSet(field="city", patch_id=PATCH, source="api", values=("Lisbon",))
OPENED = TodoOpened(todo_id=TODO, kind=TodoKind.HABIT, agent_id="coach", text="walk")
CHANGED = TodoChanged(todo_id=TODO, kind=TodoKind.HABIT, status=TodoStatus.DONE, text="walk")


def folded(*payloads: Event) -> dict[str, list[Row]]:
    """The rows by table, after these events."""
    rows: dict[object, dict[tuple[object, ...], Row]] = {table: {} for table in (consent, profile_fields, todos, seeds)}
    for seq, payload in enumerate(payloads, 1):
        for table, key, row in after(rows, recorded(payload, seq)):  # type: ignore[arg-type]
            rows[table][key] = row
    return {table.name: list(found.values()) for table, found in rows.items() if found}  # type: ignore[attr-defined]


@pytest.mark.parametrize("event", [DECIDED, ProfileErased(field="city"), CHANGED, TodoErased(todo_id=TODO)])
def test_what_is_told_of_something_that_has_no_row_makes_none(event: Event) -> None:
    assert folded(event) == {}


@pytest.mark.parametrize("left_out", [[PROPOSED], [SET], [OPENED]])
def test_what_was_skipped_leaves_the_rest_as_it_is(left_out: Sequence[Event]) -> None:
    story = [PROPOSED, DECIDED, SET, OPENED, CHANGED]
    whole, less = folded(*story), folded(*(event for event in story if event not in left_out))

    gone = {PROPOSED: "consent", SET: "profile_fields", OPENED: "todos"}[left_out[0]]
    assert gone not in less
    shape = {name: [set(row) for row in rows] for name, rows in whole.items() if name != gone}
    assert {name: [set(row) for row in rows] for name, rows in less.items()} == shape


@pytest.mark.spec("X07")
def test_an_erased_place_takes_its_values_and_expires_what_waits() -> None:
    rows = folded(PROPOSED, SET, ProfileErased(field="city"))

    [patch], [place] = rows["consent"], rows["profile_fields"]
    assert (patch["value"], patch["status"], place["held"]) == ("", PatchStatus.EXPIRED, [])


@pytest.mark.spec("X07", "B10")
def test_a_proposal_that_is_made_again_after_an_erasure_waits_since_it_was_made_first() -> None:
    again = PROPOSED.model_copy(update={"source_turn_ids": ("t9",)})
    [before], [after_] = (
        folded(*story)["consent"] for story in ([PROPOSED], [PROPOSED, ProfileErased(field="city"), again])
    )

    assert (after_["status"], after_["value"], after_["source_turn_ids"]) == (PatchStatus.PROPOSED, "Lisbon", ["t9"])
    assert after_["proposed_at"] == before["proposed_at"]
