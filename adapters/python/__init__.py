"""Mnemolog: event-sourced memory for AI agents.

from mnemolog import Memory
memory = Memory()
memory.add("I moved to Lisbon", user_id="ana")
memory.search("where does Ana live?", user_id="ana")
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mnemolog.domain.errors import MnemologError
    from mnemolog.memory import Added, AsyncMemory, Found, Memory
    from mnemolog.producer import AsyncTurnProducer, TurnProducer

__version__ = "0.1.0"

__all__ = [
    "Added",
    "AsyncMemory",
    "AsyncTurnProducer",
    "Found",
    "Memory",
    "MnemologError",
    "TurnProducer",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """The face is loaded when it is first used, so that `import mnemolog.domain` stays light."""
    if name == "MnemologError":
        from mnemolog.domain.errors import MnemologError

        return MnemologError
    if name.endswith("TurnProducer"):
        from mnemolog import producer

        return getattr(producer, name)
    if name in __all__:
        from mnemolog import memory

        return getattr(memory, name)
    raise AttributeError(f"module 'mnemolog' has no attribute {name!r}")
