"""The histories that are read from the log itself show nothing of one that an event was taken out of (X08)."""

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.commands.todos import ChangeTodo
from mnemolog.domain.errors import TamperedEvent
from mnemolog.domain.viewer import Viewer
from mnemolog.events.fields import validated
from tests.engine.person import Person
from tests.tamper.attacker import Attacker


@pytest.mark.spec("X08")
async def test_a_change_that_was_deleted_from_the_middle_is_missed(
    victim: Engine, ana: Person, mallory: Attacker
) -> None:
    who = {"user_id": ana.user, "agent_id": "coach"}
    proposal = {"user_id": ana.user, "field": "tone", "confidence": 1.0}
    todo_id, _ = await victim.writes.open_todo({**who, "kind": "habit", "text": "walk"})
    first = await mallory.head() + 1
    await victim.writes.propose({**proposal, "value": "brief"})
    await victim.writes.handle(validated(ChangeTodo, {**who, "todo_id": todo_id, "status": "done"}))
    last = await mallory.head()
    await ana.creates("Ana sings in a choir")
    await victim.writes.propose({**proposal, "value": "dry"})
    coach = Viewer("default", ana.user, "coach")
    assert len(await victim.reads.todo_history(coach, todo_id)) == 2
    await mallory.removes(first, last)
    await mallory.tidies()

    with pytest.raises(TamperedEvent):
        await victim.reads.field_history(ana.viewer, "tone")
    with pytest.raises(TamperedEvent):
        await victim.reads.todo_history(coach, todo_id)
