"""Runs a method of the Python API: arguments become the request of an operation."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from uuid import UUID

from mnemolog.domain.errors import InvalidInput
from mnemolog.opening import Opening

if TYPE_CHECKING:
    from mnemolog.adapters.operations.operation import Operation
    from mnemolog.adapters.operations.requests import AnyRequest
    from mnemolog.adapters.operations.results import Written
    from mnemolog.events.envelope import Receipt

Q = TypeVar("Q", bound="AnyRequest")
R = TypeVar("R")

Id = UUID | str
Moment = datetime | str | int
After: TypeAlias = "Written | Receipt | str"


class Asking(Opening):
    """`user_id`, `agent_id` and `thread_id` may be given to each verb, and default to those of this object."""

    async def _ask(self, operation: Operation[Q, R], arguments: Mapping[str, Any]) -> R:
        """`arguments` are the verb's own, by name; None means omitted."""
        from mnemolog.events.fields import validated

        request = validated(operation.request, self._given(operation.request, arguments))
        return await operation.run(await self._engine(), request)

    def _given(self, request: type[AnyRequest], arguments: Mapping[str, Any]) -> dict[str, Any]:
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
        return fields


def no_user() -> InvalidInput:
    return InvalidInput("is missing", field="user_id", fix="pass it here, or once as Memory(user_id=...)")
