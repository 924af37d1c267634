"""Embedders that need no API key and no download."""

from typing import Literal

from mnemolog.adapters.minilm.embedder import MiniLM
from mnemolog.adapters.minilm.in_thread import InThread
from mnemolog.adapters.minilm.lexical import Lexical
from mnemolog.adapters.minilm.process import EmbeddingProcess

EMBEDDERS: tuple[Literal["minilm", "lexical"], ...] = ("minilm", "lexical")

__all__ = ["EMBEDDERS", "EmbeddingProcess", "InThread", "Lexical", "MiniLM", "embedder_named"]


def embedder_named(name: Literal["minilm", "lexical"]) -> InThread:
    return InThread(MiniLM() if name == "minilm" else Lexical())
