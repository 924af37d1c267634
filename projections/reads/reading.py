"""What every part of `Reads` builds on: ways to ask projections, a model or the log at a moment."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.category import CategoryPolicy
from mnemolog.domain.predicates import PredicatePolicy
from mnemolog.domain.principal import Principal
from mnemolog.domain.pronouns import Pronouns
from mnemolog.domain.session import Session
from mnemolog.domain.text import CountTokens
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import StreamId
from mnemolog.events.log import EventLog
from mnemolog.events.memory import Recall
from mnemolog.projections.reads.moment import NOW, Moment
from mnemolog.projections.vectors.question import Question

T = TypeVar("T")

MEMORIES, CHANGES, HISTORY, VECTORS = "memories", "changes", "history", "vectors"
GRAPH, PROFILE, ARTIFACTS, CONVERSATION, EPISODES = "graph", "profile", "artifacts", "conversation", "episodes"
SUMMARIES = "summaries"
OPERATIONS, KNOWLEDGE, BEING = "operations", "knowledge", "being"


class Recalled(Protocol):
    """Notes that memories were found for a viewer, each with the weight of its reactivation."""

    def __call__(self, viewer: Viewer, weights: Mapping[UUID, int], by: Recall = Recall.QUERY) -> None: ...


class Reading(ABC):
    """Implemented by `Reads`."""

    _log: EventLog
    _policy: CategoryPolicy
    _predicates: PredicatePolicy
    _pronouns: Pronouns
    count_tokens: CountTokens
    _principal: Principal | None
    recalled: Recalled

    @abstractmethod
    def _admitted(self, viewer: Viewer) -> Viewer: ...

    @abstractmethod
    def expect(self, text: str) -> None: ...

    @abstractmethod
    async def session(self, viewer: Viewer, chat_id: str, moment: Moment = NOW) -> Session: ...

    @abstractmethod
    def _at(
        self, stream: StreamId, moment: Moment, names: Sequence[str]
    ) -> AbstractAsyncContextManager[AsyncConnection]: ...

    @abstractmethod
    async def _read(
        self,
        viewer: Viewer,
        moment: Moment,
        names: Sequence[str],
        ask: Callable[[AsyncConnection, Viewer], Awaitable[T]],
    ) -> T: ...

    async def _by_meaning(
        self, viewer: Viewer, moment: Moment, names: Sequence[str], text: str, ask: Callable[..., Awaitable[T]]
    ) -> tuple[Question, T]:
        """Embed a text as a query vector, then call `ask` with the `question`."""

        async def ask_one(*args: Any, questions: Sequence[Question], **kwargs: Any) -> T:
            return await ask(*args, question=questions[0], **kwargs)

        [question], found = await self._by_meanings(viewer, moment, names, [text], ask_one)
        return question, found

    @abstractmethod
    async def _by_meanings(
        self,
        viewer: Viewer,
        moment: Moment,
        names: Sequence[str],
        texts: Sequence[str],
        ask: Callable[..., Awaitable[T]],
    ) -> tuple[Sequence[Question], T]: ...

    @abstractmethod
    async def _from_log(
        self, viewer: Viewer, moment: Moment, tag: str, read: Callable[..., Sequence[Mapping[str, Any]]]
    ) -> Sequence[Mapping[str, Any]]: ...

    @abstractmethod
    def _require_sound_log(self, viewer: Viewer) -> None: ...
