"""Embedders that need no API key and no download."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from mnemolog.adapters.minilm.embedder import MiniLM, SentenceModel
from mnemolog.adapters.minilm.in_thread import InThread
from mnemolog.adapters.minilm.lexical import Lexical
from mnemolog.adapters.minilm.local import LocalModel, name_of
from mnemolog.adapters.minilm.process import EmbeddingProcess
from mnemolog.domain.calibration import Figure, calibration_of

EMBEDDERS: tuple[Literal["minilm", "lexical"], ...] = ("minilm", "lexical")

__all__ = ["EMBEDDERS", "EmbeddingProcess", "InThread", "Lexical", "LocalModel", "MiniLM", "embedder_named", "model_in"]


def model_in(folder: str | None, figures: Mapping[str, Mapping[Figure, float]]) -> SentenceModel:
    """The sentence model of a folder, with what `figures` says of it, or else the bundled one."""
    if folder is None:
        return MiniLM()
    return LocalModel(Path(folder), calibration_of(name_of(Path(folder)), figures))


def embedder_named(name: Literal["minilm", "lexical"]) -> InThread:
    return InThread(MiniLM() if name == "minilm" else Lexical())
