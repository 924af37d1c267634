"""The synchronous Python API, derived from the async one."""

from pathlib import Path
from typing import Any

from mnemolog.memory import AsyncMemory
from mnemolog.verbs import BlockingVerbs


class Memory(BlockingVerbs):
    """Memory for agents: `AsyncMemory` without the `await`. Safe to use from several threads.

    Example:
        memory = Memory()
        memory.add("I moved to Lisbon", user_id="ana")
        memory.search("where does Ana live?", user_id="ana")
    """

    def __init__(
        self,
        data_dir: str | Path | None = None,
        *,
        user_id: str | None = None,
        agent_id: str = "default",
        thread_id: str = "main",
        **settings: Any,
    ) -> None:
        super().__init__(AsyncMemory(data_dir, user_id=user_id, agent_id=agent_id, thread_id=thread_id, **settings))
