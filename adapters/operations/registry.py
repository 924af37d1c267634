"""The list of operations, from which HTTP, the command line and Python are derived."""

from collections.abc import Sequence
from typing import Any

from mnemolog.adapters.operations import (
    artifacts,
    attention,
    batches,
    being,
    conversation,
    entities,
    envelope,
    episodes,
    erasure,
    facts,
    knowledge,
    memories,
    messages,
    patrol,
    profile,
    respond,
    serving,
    stats,
    summaries,
    todos,
    webhooks,
)
from mnemolog.adapters.operations.operation import Operation

# The interfaces list the operations in this order, and those of a module as they stand in it.
_MODULES = (
    memories,
    envelope,
    respond,
    serving,
    conversation,
    messages,
    summaries,
    episodes,
    attention,
    entities,
    facts,
    profile,
    todos,
    being,
    patrol,
    artifacts,
    knowledge,
    erasure,
    batches,
    stats,
    webhooks,
)
OPERATIONS: Sequence[Operation[Any, Any]] = tuple(
    one for module in _MODULES for one in vars(module).values() if isinstance(one, Operation)
)
