"""mem0 as a peer: its own store (Qdrant in a folder), without a model that extracts, and with our embedding model."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mnemolog.adapters.minilm.embedder import MiniLM

UNUSED = "unused"


class _Embedder:
    """The shipped model in this process, by mem0's interface for embedders."""

    def __init__(self) -> None:
        self.config: Any = None
        self._model = MiniLM()

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        vector: list[float] = self._model.embed([text])[0].tolist()
        return vector

    def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:
        rows: list[list[float]] = self._model.embed(texts).tolist()
        return rows


@contextmanager
def mem0(folder: Path) -> Iterator[Any]:
    """A mem0 `Memory` whose files are in the folder; None if its package is not installed."""
    if not find_spec("mem0"):
        yield None
        return
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder)}
    mem0_package: Any = import_module("mem0")

    store = {"path": str(folder / "qdrant"), "embedding_model_dims": MiniLM.dimensions, "on_disk": True}
    memory = mem0_package.Memory.from_config(
        {
            "llm": {"provider": "openai", "config": {"api_key": UNUSED}},
            "embedder": {"provider": "openai", "config": {"api_key": UNUSED}},
            "vector_store": {"provider": "qdrant", "config": store},
            "history_db_path": str(folder / "history.db"),
        }
    )
    memory.embedding_model = _Embedder()
    yield memory
    memory.vector_store.client.close()
