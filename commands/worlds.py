"""All that can be undone, in one place: which kinds of subjects there are, and how each undoes one of its changes."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from mnemolog.commands.graph_undo import GRAPH_UNDO, UndoGraph
from mnemolog.commands.memories import MEMORIES, UndoChange, ends
from mnemolog.commands.profile import PROFILE, UndoProfile
from mnemolog.commands.rollback import Rollbacks, World
from mnemolog.commands.sessions import SESSION_UNDO, UndoSession
from mnemolog.commands.todos import TODOS, UndoTodo

Who = Mapping[str, Any]


def _memory(who: Who, event_id: UUID, subjects: Sequence[str]) -> UndoChange:
    return UndoChange(**who, event_id=event_id, memory_id=ends(subjects)[0])


def _graph(who: Who, event_id: UUID, subjects: Sequence[str]) -> UndoGraph:
    return UndoGraph(**who, event_id=event_id, about=subjects[0])


def _profile(who: Who, event_id: UUID, subjects: Sequence[str]) -> UndoProfile:
    return UndoProfile(**_without_time(who), event_id=event_id, field=subjects[0].partition(":")[2])


def _todo(who: Who, event_id: UUID, subjects: Sequence[str]) -> UndoTodo:
    return UndoTodo(**_without_time(who), event_id=event_id, todo_id=UUID(subjects[0].partition(":")[2]))


def _session(who: Who, event_id: UUID, subjects: Sequence[str]) -> UndoSession:
    return UndoSession(**_without_time(who), event_id=event_id)


def _without_time(who: Who) -> Who:
    return {name: value for name, value in who.items() if name != "at"}


ROLLBACKS = Rollbacks(
    {
        "memories": World(MEMORIES, _memory),
        "graph": World(GRAPH_UNDO, _graph),
        "profile": World(PROFILE, _profile),
        "todos": World(TODOS, _todo),
        "sessions": World(SESSION_UNDO, _session),
    }
)
