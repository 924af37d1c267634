"""The list of operations, from which HTTP, the command line and Python are derived."""

from collections.abc import Sequence
from typing import Any

from mnemolog.adapters.operations.artifacts import ARTIFACTS
from mnemolog.adapters.operations.attention import ATTENTION
from mnemolog.adapters.operations.batches import BATCHES
from mnemolog.adapters.operations.being import BEING
from mnemolog.adapters.operations.conversation import CONVERSATION
from mnemolog.adapters.operations.entities import ENTITIES
from mnemolog.adapters.operations.envelope import ENVELOPE
from mnemolog.adapters.operations.episodes import EPISODES
from mnemolog.adapters.operations.erasure import ERASURE
from mnemolog.adapters.operations.facts import FACTS
from mnemolog.adapters.operations.knowledge import KNOWLEDGE
from mnemolog.adapters.operations.memories import MEMORIES
from mnemolog.adapters.operations.messages import MESSAGES
from mnemolog.adapters.operations.operation import Operation
from mnemolog.adapters.operations.patrol import PATROL
from mnemolog.adapters.operations.profile import PROFILE
from mnemolog.adapters.operations.respond import RESPOND
from mnemolog.adapters.operations.serving import SERVING
from mnemolog.adapters.operations.stats import STATS
from mnemolog.adapters.operations.summaries import SUMMARIES
from mnemolog.adapters.operations.todos import TODOS
from mnemolog.adapters.operations.webhooks import WEBHOOKS

OPERATIONS: Sequence[Operation[Any, Any]] = (
    *MEMORIES,
    *ENVELOPE,
    *RESPOND,
    *SERVING,
    *CONVERSATION,
    *MESSAGES,
    *SUMMARIES,
    *EPISODES,
    *ATTENTION,
    *ENTITIES,
    *FACTS,
    *PROFILE,
    *TODOS,
    *BEING,
    *PATROL,
    *ARTIFACTS,
    *KNOWLEDGE,
    *ERASURE,
    *BATCHES,
    *STATS,
    *WEBHOOKS,
)
