"""What the methods of the Python API ask of: an engine, or a server. Arguments become the request of an operation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from uuid import UUID

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.identity import identifier

if TYPE_CHECKING:
    from mnemolog.adapters.engine.engine import Engine
    from mnemolog.adapters.operations.artifacts import ArtifactRead
    from mnemolog.adapters.operations.operation import Operation
    from mnemolog.adapters.operations.requests import AnyRequest
    from mnemolog.adapters.operations.results import Written
    from mnemolog.adapters.operations.watching import Watch, WatchedChange
    from mnemolog.events.envelope import Receipt

Q = TypeVar("Q", bound="AnyRequest")
R = TypeVar("R")

Id = UUID | str
Moment = datetime | str | int
After: TypeAlias = "Written | Receipt | str"
# A function that stores a file: `add_artifact` or `add_document` of the operations.
Upload: TypeAlias = "Callable[[Engine, Q, Any], Awaitable[R]]"


class Asking(ABC):
    """`user_id`, `agent_id` and `thread_id` may be given to each verb, and default to those of this object."""

    def __init__(self, user_id: str | None, agent_id: str, thread_id: str) -> None:
        self._user_id = None if user_id is None else identifier(user_id, "user_id")
        self._agent_id, self._thread_id = identifier(agent_id, "agent_id"), identifier(thread_id, "thread_id")

    @abstractmethod
    async def _call(self, operation: Operation[Q, R], request: Q) -> R:
        """The result of an operation."""

    @abstractmethod
    async def _upload(self, add: Upload[Q, R], request: Q, content: bytes | None) -> R:
        """The result of storing a file."""

    @abstractmethod
    async def _download(self, request: ArtifactRead) -> bytes:
        """The file of an artifact."""

    @abstractmethod
    async def _export(self, user_id: str, to: Path) -> int:
        """The number of events of the user that were written to a new file."""

    @abstractmethod
    async def _import(self, path: Path, user_id: str | None) -> Written:
        """The receipt of an exported user; without a `user_id`, the one that the file names."""

    @abstractmethod
    def _watch(self, request: Watch) -> AsyncGenerator[WatchedChange, None]:
        """The changes of a user, as they happen."""

    async def _ask(self, operation: Operation[Q, R], arguments: Mapping[str, Any]) -> R:
        """`arguments` are the verb's own, by name; None means omitted."""
        return await self._call(operation, self._request(operation.request, arguments))

    def _request(self, request: type[Q], arguments: Mapping[str, Any]) -> Q:
        """InvalidInput names the field that is wrong."""
        from mnemolog.events.fields import validated

        passed = ((name, value) for name, value in arguments.items() if name != "self" and value is not None)
        given = {name: str(value) if isinstance(value, UUID) else value for name, value in passed}
        given |= {"after": token} if (token := getattr(given.get("after"), "token", None)) else {}
        defaults = {"user_id": self._user_id, "agent_id": self._agent_id, "thread_id": self._thread_id}
        known = request.model_fields
        # Fields whose own default is None do not default to the object's values: a proof without a thread covers
        # everything.
        named = {name for name in defaults if name in known and known[name].default is not None}
        fields = {**{name: value for name, value in defaults.items() if name in named and value is not None}, **given}
        if "user_id" in known and "user_id" not in fields:
            raise no_user()
        return validated(request, fields)


def no_user() -> InvalidInput:
    return InvalidInput("is missing", field="user_id", fix="pass it here, or once as Memory(user_id=...)")
