"""The history of a field of the profile and of a todo, and what an undo would do (B08, X03)."""

from uuid import UUID

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.commands.erasure import EraseKnown
from mnemolog.commands.todos import ChangeTodo
from mnemolog.domain.errors import Conflict, NotFound, UndoConflict
from mnemolog.domain.viewer import Viewer
from mnemolog.events.fields import validated
from mnemolog.projections.reads.moment import Moment
from tests.engine.person import Person


def events(rows: object) -> list[str]:
    assert isinstance(rows, list)
    return [row["event"] for row in rows]


async def test_the_history_of_a_field_tells_each_proposal_and_value(engine: Engine, user: str) -> None:
    ana, writes = Person(engine, user), engine.writes
    who = {"user_id": user, "field": "tone"}
    first = await writes.propose({**who, "value": "brief", "confidence": 1.0})
    await writes.propose({**who, "value": "dry", "confidence": 1.0})
    rows = await engine.reads.field_history(ana.viewer, "tone")
    told = [row["meta"].get("values") or row["meta"].get("proposed") for row in rows]
    assert [one for one in told if one] == [["dry"], "dry", ["brief"], "brief"]
    assert rows[-1]["event"] == "ADD"
    assert rows[0]["old_ref"] == rows[1]["new_ref"]
    assert {row["subject_id"] for row in rows} == {"tone"}
    [set_at] = [row["seq"] for row in rows if row["meta"].get("values") == ["dry"]]
    undone = await writes.undo_event(ana.stream, UUID(rows[0]["meta"]["event_id"]))
    newest, *_ = await engine.reads.field_history(ana.viewer, "tone", limit=1)
    assert (newest["meta"]["values"], newest["meta"]["undoes"]) == (["brief"], rows[0]["meta"]["event_id"])
    then = await engine.reads.field_history(ana.viewer, "tone", moment=Moment(as_of=set_at))
    assert then[0]["meta"]["values"] == ["dry"]
    seen = Moment(after=undone.position)
    assert await engine.reads.field_history(ana.viewer, "tone", moment=seen)
    assert await engine.reads.field_history(ana.viewer, "humour") == []
    assert first.patch_id


async def test_the_history_of_something_erased_keeps_its_structure(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await engine.writes.propose({"user_id": user, "field": "tone", "value": "Zanzibarquux", "confidence": 1.0})
    await erase(engine, EraseKnown(user_id=user, kind="profile", name="tone"))
    rows = await engine.reads.field_history(ana.viewer, "tone")
    assert rows[0]["event"] == "DELETE"
    assert len(rows) > 1
    assert "Zanzibarquux" not in str(rows)


async def test_the_history_of_a_todo_is_its_own_agents(engine: Engine, user: str) -> None:
    who = {"user_id": user, "agent_id": "coach"}
    todo_id, _ = await engine.writes.open_todo({**who, "kind": "habit", "text": "walk"})
    await engine.writes.handle(validated(ChangeTodo, {**who, "todo_id": todo_id, "status": "done"}))
    coach = Viewer("default", user, "coach")
    rows = await engine.reads.todo_history(coach, todo_id)
    assert [row["event"] for row in rows] == ["UPDATE", "ADD"]
    assert [row["meta"]["status"] for row in rows] == ["done", "open"]
    with pytest.raises(NotFound):
        await engine.reads.todo_history(Viewer("default", user, "planner"), todo_id)
    with pytest.raises(NotFound):
        await engine.reads.todo_history(coach, UUID(int=1))


@pytest.mark.spec("X03")
async def test_a_dry_run_of_an_undo_tells_what_it_would_write_and_writes_nothing(engine: Engine, user: str) -> None:
    ana, writes = Person(engine, user), engine.writes
    memory_id = await ana.creates("Ana drinks tea")
    updated = await ana.updates(memory_id, text="Ana drinks coffee")
    again = await ana.updates(memory_id, text="Ana drinks milk")
    head = await engine.log.head(ana.stream)

    last = await writes.preview_undo(ana.stream, memory_id)
    assert (list(last.undone), last.conflicts) == ([again.event_ids[0]], ())
    assert list(last.changes) == [{"subject": f"memory:{memory_id}", "type": "MemoryReverted"}]
    older = await writes.preview_undo(ana.stream, None, updated.event_ids[0])
    assert [type(one.error) for one in older.conflicts] == [UndoConflict]
    assert older.changes == []
    with pytest.raises(NotFound):
        await writes.preview_undo(ana.stream, None, UUID(int=1))
    assert await engine.log.head(ana.stream) == head

    await writes.undo_last(ana.stream, memory_id)
    done = await writes.preview_undo(ana.stream, None, again.event_ids[0])
    assert (done.undone, done.conflicts) == ((), ()), "undone already"
    await writes.undo_last(ana.stream, memory_id)
    await writes.undo_last(ana.stream, memory_id)
    with pytest.raises(Conflict, match="no change left"):
        await writes.preview_undo(ana.stream, memory_id)
