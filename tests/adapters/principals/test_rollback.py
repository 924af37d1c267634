"""What is sensitive in a profile goes back and forth by the person's word only, also within a whole rollback (B10)."""

from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.commands.rollback import Rollback
from mnemolog.commands.writes.writes import Writes
from mnemolog.domain.errors import ConsentRequired, UndoConflict
from mnemolog.domain.principal import Role
from mnemolog.events.envelope import Receipt, StreamId
from tests.adapters.principals.keys import principal

pytestmark = pytest.mark.spec("B10", "X15")


def writes(engine: Engine, name: str, *roles: Role) -> Writes:
    return engine.writes.by(principal(name, roles=(Role.READ, Role.WRITE, *roles)))


async def set_city(ui: Writes, user: str) -> Receipt:
    """In one run with a memory: the person says where he lives."""
    who = {"user_id": user, "run_id": "r1"}
    await ui.create({**who, "text": "Ana moved"})
    return (await ui.propose({**who, "field": "city", "value": "Lisbon"}, consented=True)).receipt


def rollback(user: str, **fields: Any) -> Rollback:
    return Rollback.model_validate({"user_id": user, "at": "2026-01-03T01:02:10Z", **fields})


async def city(engine: Engine, user: str) -> str | None:
    """What the log says, whatever a request asked for."""
    sets = await engine.log.read(StreamId.of_user(user), tags=["profile:city"])
    held = [event.payload.values for event in sets if hasattr(event.payload, "values")]
    return held[-1][0] if held and held[-1] else None


async def test_a_key_without_the_role_takes_back_no_run_that_set_what_is_sensitive(guarded: Engine, user: str) -> None:
    ui, app = writes(guarded, "ui", Role.CONSENT), writes(guarded, "app")
    await set_city(ui, user)
    head = await guarded.log.head(StreamId.of_user(user))

    plan = await app.preview_rollback(rollback(user, of_run="r1"))
    assert [type(one.error) for one in plan.conflicts] == [ConsentRequired]
    with pytest.raises(UndoConflict, match="without consent"):
        await app.rollback(rollback(user, of_run="r1", consenting=True))
    assert (await guarded.log.head(StreamId.of_user(user)), await city(guarded, user)) == (head, "Lisbon")
    await app.rollback(rollback(user, of_run="r1", skip_conflicts=True))
    assert await city(guarded, user) == "Lisbon", "the memory goes, the city stays"

    await ui.rollback(rollback(user, of_run="r1"))
    assert await city(guarded, user) is None


async def test_a_key_without_the_role_brings_back_nothing_that_the_person_withdrew(guarded: Engine, user: str) -> None:
    ui, app = writes(guarded, "ui", Role.CONSENT), writes(guarded, "app")
    await set_city(ui, user)
    withdrawn = await ui.rollback(rollback(user, of_run="r1"))
    [event_id, *_] = withdrawn.event_ids

    with pytest.raises(ConsentRequired):
        await app.rollback(rollback(user, of_event=event_id, consenting=True))
    with pytest.raises(ConsentRequired):
        await app.undo_event(StreamId.of_user(user), event_id)
    assert await city(guarded, user) is None

    other = writes(guarded, "other", Role.CONSENT)
    await other.rollback(rollback(user, of_event=event_id))
    assert await city(guarded, user) == "Lisbon"


async def test_a_key_that_proposed_a_value_does_not_bring_it_back_alone(guarded: Engine, user: str) -> None:
    ui = writes(guarded, "ui", Role.CONSENT)
    await set_city(ui, user)
    withdrawn = await ui.rollback(rollback(user, of_run="r1"))

    with pytest.raises(ConsentRequired, match="proposed this itself"):
        await ui.rollback(rollback(user, of_event=withdrawn.event_ids[0]))
    assert await city(guarded, user) is None
