"""Embedders that need no key and no download."""

from typing import Literal

from mnemolog.adapters.minilm.embedder import MiniLM
from mnemolog.adapters.minilm.lexical import Lexical

__all__ = ["Lexical", "MiniLM", "embedder_named"]


def embedder_named(name: Literal["minilm", "lexical"]) -> MiniLM | Lexical:
    return MiniLM() if name == "minilm" else Lexical()
