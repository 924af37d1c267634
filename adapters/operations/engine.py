"""The engine as the name of a type. Clients import operations for their requests and results, and load no engine."""

from typing import TYPE_CHECKING, Any

__all__ = ["Engine"]

if TYPE_CHECKING:
    from mnemolog.adapters.engine.engine import Engine
else:
    Engine = Any
