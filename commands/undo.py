"""How each kind of subject undoes one of its changes."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from mnemolog.commands.artifacts import ARTIFACTS, UndoArtifact
from mnemolog.commands.attention import ATTENTION_UNDO, UndoAttention
from mnemolog.commands.being import BEING, UndoEntry
from mnemolog.commands.documents import DOCUMENTS, UndoDocument
from mnemolog.commands.episodes import EPISODE_UNDO, UndoEpisode
from mnemolog.commands.graph_undo import GRAPH_UNDO, UndoGraph
from mnemolog.commands.memories import MEMORIES, UndoChange, ends
from mnemolog.commands.messages import MESSAGES, UndoMessage
from mnemolog.commands.profile import PROFILE, UndoProfile
from mnemolog.commands.rollback import Rollbacks, Undoable
from mnemolog.commands.sessions import SESSION_UNDO, UndoSession
from mnemolog.commands.todos import TODOS, UndoTodo
from mnemolog.events.artifacts_fold import ARTIFACT
from mnemolog.events.being_fold import BEING_ENTRY
from mnemolog.events.documents_fold import DOCUMENT
from mnemolog.events.episode_fold import EPISODE
from mnemolog.events.graph_fold import ENTITY, RELATION
from mnemolog.events.memory_fold import LINK, MEMORY
from mnemolog.events.message_fold import MESSAGE
from mnemolog.events.profile_fold import FIELD, TODO
from mnemolog.events.subjects import of_each

Who = Mapping[str, Any]


def _memory(context: Who, event_id: UUID, subjects: Sequence[str]) -> UndoChange:
    return UndoChange(**context, event_id=event_id, memory_id=ends(subjects)[0])


def _message(context: Who, event_id: UUID, subjects: Sequence[str]) -> UndoMessage:
    return UndoMessage(**context, event_id=event_id, message_id=MESSAGE.id_of(subjects[0]))


def _graph(context: Who, event_id: UUID, subjects: Sequence[str]) -> UndoGraph:
    return UndoGraph(**context, event_id=event_id, about=subjects[0])


def _profile(context: Who, event_id: UUID, subjects: Sequence[str]) -> UndoProfile:
    return UndoProfile(**_without_time(context), event_id=event_id, field=FIELD.id_of(subjects[0]))


def _todo(context: Who, event_id: UUID, subjects: Sequence[str]) -> UndoTodo:
    return UndoTodo(**_without_time(context), event_id=event_id, todo_id=TODO.id_of(subjects[0]))


def _artifact(context: Who, event_id: UUID, subjects: Sequence[str]) -> UndoArtifact:
    return UndoArtifact(**_without_time(context), event_id=event_id, artifact_id=ARTIFACT.id_of(subjects[0]))


def _document(context: Who, event_id: UUID, subjects: Sequence[str]) -> UndoDocument:
    return UndoDocument(**_without_time(context), event_id=event_id, document_id=DOCUMENT.id_of(subjects[0]))


def _being(context: Who, event_id: UUID, subjects: Sequence[str]) -> UndoEntry:
    return UndoEntry(**_without_time(context), event_id=event_id, entry_id=BEING_ENTRY.id_of(subjects[0]))


def _session(context: Who, event_id: UUID, subjects: Sequence[str]) -> UndoSession:
    return UndoSession(**_without_time(context), event_id=event_id)


def _attention(context: Who, event_id: UUID, subjects: Sequence[str]) -> UndoAttention:
    return UndoAttention(**_without_time(context), event_id=event_id)


def _episode(context: Who, event_id: UUID, subjects: Sequence[str]) -> UndoEpisode:
    return UndoEpisode(**context, event_id=event_id)


def _without_time(context: Who) -> Who:
    return {name: value for name, value in context.items() if name != "at"}


UNDOABLE: Mapping[str, Undoable[Any]] = {
    "memories": Undoable(MEMORIES, _memory, (MEMORY, LINK)),
    "messages": Undoable(MESSAGES, _message, (MESSAGE,)),
    "graph": Undoable(GRAPH_UNDO, _graph, (ENTITY, RELATION)),
    "profile": Undoable(PROFILE, _profile, (FIELD,)),
    "todos": Undoable(TODOS, _todo, (TODO,)),
    "artifacts": Undoable(ARTIFACTS, _artifact, (ARTIFACT,)),
    "documents": Undoable(DOCUMENTS, _document, (DOCUMENT,)),
    "being": Undoable(BEING, _being, (BEING_ENTRY,)),
    "sessions": Undoable(SESSION_UNDO, _session),
    "attention": Undoable(ATTENTION_UNDO, _attention),
    "episodes": Undoable(EPISODE_UNDO, _episode, (EPISODE,)),
}
of_each("UNDOABLE in commands/undo.py", {kind.name: one for one in UNDOABLE.values() for kind in one.kinds})
ROLLBACKS = Rollbacks(UNDOABLE)
