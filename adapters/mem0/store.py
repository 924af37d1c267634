"""A mem0 store through mem0's own package: facts and episodes under their user and episode (E §mem0 Integration).

mem0 stores each text as it is (`infer=False`): what is to be remembered was decided before it came into the log, and a
model that rewrote it would leave nothing to follow an update or an erasure by.
"""

import asyncio
import json
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote
from uuid import UUID

from mnemolog.domain.errors import ServerFailed
from mnemolog.projections.mem0.item import Held, Item

T = TypeVar("T")

# In the metadata of each memory of ours: the tenant, the id of the memory or episode, and what was written.
TENANT, SUBJECT, DIGEST = "mnemolog", "mnemolog_id", "mnemolog_digest"
PAGE = 200
# mem0 makes the client of a model at its start, even if none is asked.
NO_MODEL = {"provider": "openai", "config": {"api_key": "unused"}}
IN_MEMORY = ":memory:"

_logger = logging.getLogger("mnemolog.projections")


class Mem0Unavailable(ServerFailed, ConnectionError):
    """Transient for a projection, like any server that cannot be reached."""


class Mem0Store:
    """Implements `mnemolog.projections.mem0.item.ItemStore`, with mem0's `Memory` in a thread of its own.

    `config` is mem0's, as for `Memory.from_config`. mem0 opens at the first call; its own files are in `directory`.
    """

    def __init__(self, config: Mapping[str, Any], tenant: str, directory: Path) -> None:
        self.tenant = tenant
        self._config, self._directory = config, directory
        self._memory: Any = None
        self._thread = ThreadPoolExecutor(1, "mem0")

    async def write(self, user_id: str, items: Mapping[UUID, Item | None]) -> None:
        def write_each(memory: Any) -> None:
            for subject_id, item in items.items():
                _write(memory, self.tenant, mem0_user(user_id), subject_id, item)

        await self._call(write_each)

    async def forget(self, user_id: str) -> None:
        await self._call(lambda memory: _delete_all(memory, {"user_id": mem0_user(user_id), TENANT: self.tenant}))

    async def held(self, user_id: str) -> Sequence[Held]:
        found: list[Held] = []
        where = {"user_id": mem0_user(user_id), TENANT: self.tenant}
        await self._call(lambda memory: found.extend(map(_held, _all(memory, where))))
        return found

    async def aclose(self) -> None:
        """Close mem0, after the call that is running."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown()

    async def _call(self, step: Callable[[Any], None]) -> None:
        def run() -> None:
            memory = self._opened()
            try:
                step(memory)
            finally:
                # mem0 notes every text that was added or deleted. We have the log, and an erasure must not leave a
                # copy.
                memory.db.close()
                memory.db = type(memory.db)(IN_MEMORY)

        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, run)
        except Exception as error:
            _logger.warning("mem0 does not take what is to be copied: %s", type(error).__name__)
            raise Mem0Unavailable(
                f"mem0 failed ({type(error).__name__})", field="mem0_file", fix="check its configuration and servers"
            ) from error

    def _opened(self) -> Any:
        if self._memory is None:
            # Read when it is imported. It would report each call to its maker.
            os.environ.setdefault("MEM0_TELEMETRY", "False")
            os.environ.setdefault("MEM0_DIR", str(self._directory))
            from mem0 import Memory

            self._memory = Memory.from_config({"llm": NO_MODEL, **self._config, "history_db_path": IN_MEMORY})
        return self._memory

    def _close(self) -> None:
        if self._memory is not None:
            self._memory.close()
            client: Any = getattr(self._memory.vector_store, "client", None)  # Qdrant's, which mem0 leaves open.
            if hasattr(client, "close"):
                client.close()


def mem0_user(user_id: str) -> str:
    """The user's id in mem0, which refuses white space: that, and the percent sign, are written as in a URL."""
    return re.sub(r"[%\s]", lambda found: quote(found[0]), user_id)


def _write(memory: Any, tenant: str, user_id: str, subject_id: UUID, item: Item | None) -> None:
    """Leave one memory that has the item's digest, and none of what was written for the subject before.

    What changed is added again and not updated, because mem0 would keep its run and its entities.
    """
    where = {"user_id": user_id, TENANT: tenant, SUBJECT: str(subject_id)}
    there = _found(memory, where)
    same = [one["id"] for one in there if item and (one.get("metadata") or {}).get(DIGEST) == item.digest][:1]
    if item and not same:
        memory.add(
            [{"role": "user", "content": item.text}],
            user_id=user_id,
            agent_id=_id(item.agent_id),
            run_id=_id(item.run_id),
            metadata={
                **item.metadata,
                "type": item.type,
                "category": item.category,
                "origin": item.origin,
                "created_at": item.created_at.isoformat(),
                **({"thread_id": item.thread_id} if item.thread_id else {}),
                TENANT: where[TENANT],
                SUBJECT: where[SUBJECT],
                DIGEST: item.digest,
            },
            infer=False,
        )
    for one in there:
        if one["id"] not in same:
            _delete(memory, one["id"])


def _id(given: str | None) -> str | None:
    return None if given is None else mem0_user(given)


def _found(memory: Any, where: Mapping[str, str], most: int = PAGE) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = memory.get_all(filters=dict(where), top_k=most, show_expired=True)["results"]
    return found


def _all(memory: Any, where: Mapping[str, str]) -> list[dict[str, Any]]:
    """mem0 does not page: ask for more until it has no more."""
    most = PAGE
    while len(found := _found(memory, where, most)) >= most:
        most *= 4
    return found


def _held(one: Mapping[str, Any]) -> Held:
    shown = json.dumps(one, ensure_ascii=False, default=str)
    return Held(str(one["id"]), UUID(one["metadata"][SUBJECT]), shown)


def _delete_all(memory: Any, where: Mapping[str, str]) -> None:
    while found := _found(memory, where):
        for one in found:
            _delete(memory, one["id"])


def _delete(memory: Any, id_: str) -> None:
    with suppress(ValueError):  # Somebody else has deleted it.
        memory.delete(id_)
