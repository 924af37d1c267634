"""The request to record what a message states, and the actors that make it."""

from datetime import datetime
from typing import ClassVar

from mnemolog.commands.facts import Remember
from mnemolog.commands.graph import GraphCommand
from mnemolog.commands.sourced import EXTRACTOR
from mnemolog.domain.extraction.candidate import MOST_WRITES, Candidate

ACTOR, MODEL_ACTOR = EXTRACTOR, "model-extractor"
EXTRACTORS = frozenset({ACTOR, MODEL_ACTOR})


class ExtractTurn(GraphCommand):
    """Records the candidates of one message. `facts` are their commands, in the same order; `said_at` its date.

    `anew`: by newer rules, which may find what they did not when the message was read before.
    """

    generated: ClassVar[frozenset[str]] = frozenset({"at", "facts"})

    turn_id: str
    candidates: tuple[Candidate, ...]
    facts: tuple[Remember, ...]
    said_at: datetime
    most: int = MOST_WRITES
    anew: bool = False
    at: datetime
