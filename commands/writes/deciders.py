"""Which decider decides a command."""

from collections.abc import Mapping
from typing import Any

from mnemolog.commands.artifacts import ARTIFACTS, ArtifactCommand
from mnemolog.commands.attention import ATTENTION, SetAffect, SetFocus
from mnemolog.commands.being import BEING, EntryCommand
from mnemolog.commands.decider import Command, Decider
from mnemolog.commands.documents import DOCUMENTS, DocumentCommand
from mnemolog.commands.entities import ENTITIES, EntityCommand
from mnemolog.commands.episodes import EPISODES, SegmentThread
from mnemolog.commands.fact_changes import FACT_CHANGES, FactCommand
from mnemolog.commands.memories import MEMORIES, MemoryCommand
from mnemolog.commands.messages import MESSAGES, MessageCommand
from mnemolog.commands.patrol import PATROL, CloseCycle
from mnemolog.commands.profile import PROFILE, DecidePatch, ExpirePatch
from mnemolog.commands.recalls import RECALLING, RecordRecalls
from mnemolog.commands.serving import SERVING, RecordServed
from mnemolog.commands.sessions import SESSIONS, ForgetSession
from mnemolog.commands.tending import TENDING, TendScenes
from mnemolog.commands.todos import TODOS, TodoCommand
from mnemolog.commands.withdrawal import WITHDRAWAL, FollowMessages

# By the class of a command, or the one that it is derived from.
_DECIDERS: Mapping[type[Command], Decider[Any, Any]] = {
    ArtifactCommand: ARTIFACTS,
    CloseCycle: PATROL,
    DecidePatch: PROFILE,
    DocumentCommand: DOCUMENTS,
    EntityCommand: ENTITIES,
    EntryCommand: BEING,
    ExpirePatch: PROFILE,
    FactCommand: FACT_CHANGES,
    FollowMessages: WITHDRAWAL,
    ForgetSession: SESSIONS,
    MemoryCommand: MEMORIES,
    MessageCommand: MESSAGES,
    RecordRecalls: RECALLING,
    RecordServed: SERVING,
    SegmentThread: EPISODES,
    SetAffect: ATTENTION,
    SetFocus: ATTENTION,
    TendScenes: TENDING,
    TodoCommand: TODOS,
}


def decider_of(command: Command) -> Decider[Any, Any]:
    return next(_DECIDERS[kind] for kind in type(command).__mro__ if kind in _DECIDERS)
