"""How each kind of subject undoes one of its changes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from mnemolog.commands.artifacts import ARTIFACTS, UndoArtifact
from mnemolog.commands.attention import ATTENTION_UNDO, UndoAttention
from mnemolog.commands.being import BEING, UndoEntry
from mnemolog.commands.decider import Command
from mnemolog.commands.documents import DOCUMENTS, UndoDocument
from mnemolog.commands.episodes import EPISODE_UNDO, UndoEpisode
from mnemolog.commands.graph_undo import GRAPH_UNDO, UndoGraph
from mnemolog.commands.memories import MEMORIES, UndoChange, ends
from mnemolog.commands.messages import MESSAGES, UndoMessage
from mnemolog.commands.profile import PROFILE, UndoDecision, UndoProfile
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
from mnemolog.events.subject import Subject
from mnemolog.events.subjects import of_each

Who = Mapping[str, Any]
PATCH = "patch:"


def _memory(context: Who, event_id: UUID, subjects: Sequence[str]) -> UndoChange:
    return UndoChange(**context, event_id=event_id, memory_id=ends(subjects)[0])


def _profile(context: Who, event_id: UUID, subjects: Sequence[str]) -> Command:
    if not subjects[0].startswith(PATCH):
        return _undo(UndoProfile, field=FIELD)(context, event_id, subjects)
    return UndoDecision(**context, event_id=event_id, patch_id=UUID(subjects[0].removeprefix(PATCH)))


def _graph(context: Who, event_id: UUID, subjects: Sequence[str]) -> UndoGraph:
    return UndoGraph(**context, event_id=event_id, about=subjects[0])


def _undo(command: type[Command], **ids: Subject[Any, Any]) -> Callable[[Who, UUID, Sequence[str]], Command]:
    """How a command undoes an event: it may take the id of the subject, under this name, and the time."""

    def undo(context: Who, event_id: UUID, subjects: Sequence[str]) -> Command:
        who = {name: value for name, value in context.items() if name != "at" or name in command.model_fields}
        of = {name: kind.id_of(subjects[0]) for name, kind in ids.items()}
        return command.model_validate({**who, **of, "event_id": event_id})

    return undo


UNDOABLE: Mapping[str, Undoable[Any]] = {
    "memories": Undoable(MEMORIES, _memory, (MEMORY, LINK)),
    "messages": Undoable(MESSAGES, _undo(UndoMessage, message_id=MESSAGE), (MESSAGE,)),
    "graph": Undoable(GRAPH_UNDO, _graph, (ENTITY, RELATION)),
    "profile": Undoable(PROFILE, _profile, (FIELD,)),
    "todos": Undoable(TODOS, _undo(UndoTodo, todo_id=TODO), (TODO,)),
    "artifacts": Undoable(ARTIFACTS, _undo(UndoArtifact, artifact_id=ARTIFACT), (ARTIFACT,)),
    "documents": Undoable(DOCUMENTS, _undo(UndoDocument, document_id=DOCUMENT), (DOCUMENT,)),
    "being": Undoable(BEING, _undo(UndoEntry, entry_id=BEING_ENTRY), (BEING_ENTRY,)),
    "sessions": Undoable(SESSION_UNDO, _undo(UndoSession)),
    "attention": Undoable(ATTENTION_UNDO, _undo(UndoAttention)),
    "episodes": Undoable(EPISODE_UNDO, _undo(UndoEpisode), (EPISODE,)),
}
of_each("UNDOABLE in commands/undo.py", {kind.name: one for one in UNDOABLE.values() for kind in one.kinds})
ROLLBACKS = Rollbacks(UNDOABLE)
