"""Todos: of one agent, opened, changed, closed, and undone."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given as given_any
from hypothesis import settings
from hypothesis import strategies as st

from mnemolog.commands.todos import TODOS, ChangeTodo, OpenTodo, TodoCommand, UndoTodo
from mnemolog.domain.errors import Erased, IdempotencyConflict, InvalidInput, MnemologError, NotFound, UndoConflict
from mnemolog.domain.todo import Todo, TodoKind, TodoStatus
from mnemolog.events.erasure import UserErased
from mnemolog.events.profile import TodoChanged, TodoErased, TodoOpened
from tests.testkit.clock import START
from tests.testkit.decider import given
from tests.testkit.events import new
from tests.testkit.examples import examples

pytestmark = pytest.mark.spec("D11")

WALK, READ = UUID(int=1), UUID(int=2)
WHO: dict[str, Any] = {"user_id": "ana", "agent_id": "coach"}
OPENED = TodoOpened(todo_id=WALK, kind=TodoKind.COMMITMENT, agent_id="coach", text="walk", source_turn_ids=("t1",))


def change(**fields: Any) -> ChangeTodo:
    return ChangeTodo.model_validate({**WHO, "todo_id": WALK, **fields})


def changed(status: TodoStatus, **fields: Any) -> TodoChanged:
    return TodoChanged.model_validate(
        {"todo_id": WALK, "kind": TodoKind.COMMITMENT, "text": "walk", "status": status, **fields}
    )


def test_a_todo_is_opened_once_under_its_id() -> None:
    asked = OpenTodo(**WHO, todo_id=WALK, kind=TodoKind.COMMITMENT, text="walk", source_turn_ids=("t1",))
    given(TODOS).when(asked).then(OPENED)
    given(TODOS, OPENED, changed(TodoStatus.DONE)).when(asked).then_nothing()
    other = asked.model_copy(update={"text": "run"})
    given(TODOS, OPENED).when(other).then_refused(IdempotencyConflict, "todo_id")


def test_a_change_carries_the_whole_todo() -> None:
    due = START + timedelta(days=1)
    given(TODOS, OPENED).when(change(text="walk far", due=due)).then(changed(TodoStatus.OPEN, text="walk far", due=due))
    given(TODOS, OPENED).when(change(status="done")).then(changed(TodoStatus.DONE))


def test_a_change_to_the_current_value_is_no_event_and_an_empty_one_is_refused() -> None:
    given(TODOS, OPENED).when(change(status="open", text="walk")).then_nothing()
    given(TODOS, OPENED).when(change()).then_refused(InvalidInput, "status")


@pytest.mark.parametrize("command", [change(status="done"), UndoTodo(**WHO, todo_id=WALK)])
def test_another_agent_finds_no_todo(command: TodoCommand) -> None:
    other = command.model_copy(update={"agent_id": "planner"})
    given(TODOS, OPENED).when(other).then_refused(NotFound, "todo_id")
    given(TODOS).when(command).then_refused(NotFound, "todo_id")


@pytest.mark.spec("X07")
@pytest.mark.parametrize("erasure", [TodoErased(todo_id=WALK), UserErased()])
def test_an_erased_todo_can_only_be_added_again(erasure: Any) -> None:
    story = given(TODOS, OPENED, erasure)
    story.when(change(status="done")).then_refused(Erased, "todo_id")
    story.when(UndoTodo(**WHO, todo_id=WALK)).then_refused(Erased, "todo_id")


@pytest.mark.spec("X03")
def test_undo_gives_back_the_todo_before_and_drops_what_began_with_it() -> None:
    opened, done = new(OPENED), new(changed(TodoStatus.DONE))
    story = given(TODOS, opened, done)
    story.when(UndoTodo(**WHO, todo_id=WALK)).then(changed(TodoStatus.OPEN, undoes=done.event_id))
    first = UndoTodo(**WHO, todo_id=WALK, event_id=opened.event_id)
    story.when(first).then_refused(UndoConflict, "event_id")
    given(TODOS, opened).when(first).then(changed(TodoStatus.DROPPED, undoes=opened.event_id))
    given(TODOS, opened).after(first).when(first).then_nothing()
    story.when(first.model_copy(update={"event_id": READ})).then_refused(NotFound, "event_id")


ids = st.sampled_from([WALK, READ])
requests: st.SearchStrategy[TodoCommand] = st.one_of(
    st.builds(
        lambda id_, text: OpenTodo(**WHO, todo_id=id_, kind=TodoKind.HABIT, text=text),
        ids,
        st.sampled_from(["walk", "run"]),
    ),
    st.builds(
        lambda id_, status, text: ChangeTodo(**WHO, todo_id=id_, status=status, text=text),
        ids,
        st.none() | st.sampled_from(TodoStatus),
        st.none() | st.sampled_from(["walk", "run", "read"]),
    ),
)


@settings(max_examples=examples(200), deadline=None)
@given_any(st.lists(requests, max_size=12))
@pytest.mark.spec("X03")
def test_undoing_backwards_gives_each_earlier_todo_exactly(asked: Sequence[TodoCommand]) -> None:
    story, before = given(TODOS), list[tuple[UUID, Todo | None]]()
    for command in asked:
        was = story.state.known.get(command.todo_id)
        try:
            events = story.when(command).events()
        except MnemologError:
            continue
        if events:
            before.append((command.todo_id, was))
            story = story.and_then(*map(new, events))
    for todo_id, was in reversed(before):
        story = story.after(UndoTodo(**WHO, todo_id=todo_id))
        now = story.state.known[todo_id]
        assert now == was if was else now.status is TodoStatus.DROPPED
