"""A session of the OpenAI Agents SDK on the memory of a user. Needs `pip install 'mnemolog[openai-agents]'`.

from mnemolog.openai_agents import MnemologSession
result = await Runner.run(agent, "I moved to Lisbon", session=MnemologSession(memory, "main", user_id="ana"))
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

try:
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings
except ImportError as error:
    raise ImportError(
        "mnemolog.openai_agents needs the OpenAI Agents SDK: pip install 'mnemolog[openai-agents]'"
    ) from error

from mnemolog.blocking import Memory
from mnemolog.domain.errors import InvalidInput
from mnemolog.memory import AsyncMemory
from mnemolog.transcript import Transcript

if TYPE_CHECKING:
    from mnemolog.adapters.operations.results import MessageView

ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


class MnemologSession(Transcript):
    """Implements the SDK's `Session`: the items of one conversation, in the thread `session_id`.

    Items are recorded as messages: they are found by searches, and facts are extracted from what the user says. An item
    without a text, such as the call of a tool, is kept whole too. What is popped or cleared is deleted, and can be
    restored. `session_settings.limit` is how many items are read if none is given.

    Example:
        session = MnemologSession(memory, "main", user_id="ana")
        await session.add_items([{"role": "user", "content": "I moved to Lisbon"}])
    """

    framework = "openai_agents"

    def __init__(
        self,
        memory: Memory | AsyncMemory | str | Path | None = None,
        session_id: str = "main",
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_settings: SessionSettings | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(memory, thread_id=session_id, user_id=user_id, agent_id=agent_id, **settings)
        self.session_id = session_id
        self.session_settings = session_settings

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The last `limit` items, or all, oldest first."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        return [self._item(one) for one in await self._read(limit)]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Record items together; InvalidInput for one that is no JSON object."""
        given = [_whole_of(place, one) for place, one in enumerate(items)]
        await self._append([(_role(one), _text(one), one) for one in given])

    async def pop_item(self) -> TResponseInputItem | None:
        """Delete the newest item and return it; None if there is none."""
        while newest := await self._read(1):
            if await self._remove(newest):  # Otherwise another call has popped it.
                return self._item(newest[0])
        return None

    async def clear_session(self) -> None:
        """Delete all items."""
        await self._remove(await self._read())

    def _item(self, message: MessageView) -> TResponseInputItem:
        return cast("TResponseInputItem", self._whole(message, _item, dict))


def _whole_of(place: int, item: object) -> Mapping[str, Any]:
    try:
        text = json.dumps(item, ensure_ascii=False)
        text.encode()
        whole = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise _no_item(place, f"cannot be written as JSON: {error}") from error
    if not isinstance(whole, dict):
        raise _no_item(place, f"is {type(item).__name__}, not an object")
    return whole


def _no_item(place: int, why: str) -> InvalidInput:
    fix = "pass items as the SDK makes them, such as {'role': 'user', 'content': 'I moved to Lisbon'}"
    return InvalidInput(why, field=f"items[{place}]", fix=fix)


def _role(item: Mapping[str, Any]) -> str:
    """The calls of tools are the assistant's, their outputs a tool's."""
    if "role" in item:
        return ROLES.get(str(item["role"]), "user")
    return "tool" if str(item.get("type", "")).endswith("_output") else "assistant"


def _text(item: Mapping[str, Any]) -> str:
    """What is searched of an item."""
    if "content" in item:
        content = item["content"]
        parts = content if isinstance(content, list) else [content]
        texts = (one.get("text") if isinstance(one, dict) else one for one in parts)
        return "\n".join(one for one in texts if one and isinstance(one, str))
    if isinstance(item.get("output"), str):
        return str(item["output"])
    return f"{item['name']} {item.get('arguments', '')}".strip() if "name" in item else ""


def _item(found: MessageView) -> dict[str, Any]:
    """A message that something else recorded. What a tool said needs its call, so it is the assistant's."""
    role = found.role if found.role in ("user", "system") else "assistant"
    return {"role": role, "content": found.text}
