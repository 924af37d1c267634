"""Mnemolog: event-sourced memory for AI agents.

from mnemolog import Memory
memory = Memory()
memory.add("I moved to Lisbon", user_id="ana")
memory.search("where does Ana live?", user_id="ana")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mnemolog.blocking import Memory
    from mnemolog.client import AsyncClient, Client
    from mnemolog.domain.errors import MnemologError
    from mnemolog.memory import AsyncMemory
    from mnemolog.producer import AsyncTurnProducer, TurnProducer

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "AsyncMemory",
    "AsyncTurnProducer",
    "Client",
    "Memory",
    "MnemologError",
    "TurnProducer",
    "__version__",
]


_WHERE = {
    "AsyncClient": "client",
    "AsyncMemory": "memory",
    "AsyncTurnProducer": "producer",
    "Client": "client",
    "Memory": "blocking",
    "MnemologError": "domain.errors",
    "TurnProducer": "producer",
}


def __getattr__(name: str) -> Any:
    """Loads the API at its first use, so that `import mnemolog.domain` stays light."""
    if name not in _WHERE:
        raise AttributeError(f"module 'mnemolog' has no attribute {name!r}")
    return getattr(import_module(f"mnemolog.{_WHERE[name]}"), name)
