"""The Python face without the `await`, derived from the async one."""

from pathlib import Path
from typing import Any

from mnemolog.memory import AsyncMemory
from mnemolog.mirror import Blocking, mirrored


class Memory(Blocking):
    """Memory for agents: `AsyncMemory` without the `await`. Safe to use from several threads.

    Example:
        memory = Memory()
        memory.add("I moved to Lisbon", user_id="ana")
        memory.search("where does Ana live?", user_id="ana")
    """

    def __init__(
        self, data_dir: str | Path | None = None, *, agent_id: str = "default", thread_id: str = "main", **settings: Any
    ) -> None:
        super().__init__(AsyncMemory(data_dir, agent_id=agent_id, thread_id=thread_id, **settings))

    add = mirrored(AsyncMemory.add)
    create = mirrored(AsyncMemory.create)
    search = mirrored(AsyncMemory.search)
    get = mirrored(AsyncMemory.get)
    history = mirrored(AsyncMemory.history)
    changes = mirrored(AsyncMemory.changes)
    update = mirrored(AsyncMemory.update)
    merge = mirrored(AsyncMemory.merge)
    link = mirrored(AsyncMemory.link)
    forget = mirrored(AsyncMemory.forget)
    restore = mirrored(AsyncMemory.restore)
    undo = mirrored(AsyncMemory.undo)
    erase = mirrored(AsyncMemory.erase)
