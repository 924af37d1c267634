"""Sentence models as ONNX: the bundled one, and what those of a folder share with it."""

import os
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mnemolog.domain.bands import Bands
from mnemolog.domain.calibration import Calibration
from mnemolog.domain.errors import ModelMissing

if TYPE_CHECKING:
    from onnxruntime import InferenceSession  # type: ignore[import-untyped]
    from tokenizers import Tokenizer

Vectors = npt.NDArray[np.float32]

# For two texts, two threads take 2.0 ms of processor time each and one takes 1.3; for sixteen, 1.4 and 1.5, in half the
# time.
WORTH_THREADS = 8
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
# The tokenizer reads all of a text before it cuts (217 ms for 256 KiB); so many pieces of prose end well before.
PIECE_CHARACTERS = 32


class SentenceModel:
    """Each text runs alone, so that its vector only depends on the text.

    Int8 activations are scaled over the whole input: the same text in a padded batch of 32 had a cosine of 0.966 to 1
    with itself. Texts run concurrently instead, one thread each, as fast as sorted batches (1.2 and 1.3 ms per text of
    LoCoMo on 2 cores). The bytes are the same on one kind of CPU; another instruction set may round differently.
    """

    model: str
    dimensions: int
    most_pieces: int = 256

    def __init__(self, folder: Traversable, calibration: Calibration, threads: int | None = None) -> None:
        self.folder, self.calibration = folder, calibration
        self.threads = threads or min(2, os.cpu_count() or 1)

    def verify(self) -> None:
        """ModelMissing unless it embeds a text."""
        self.embed(["Ana moved to Lisbon."])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text, of length 1, in the given order."""
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        if len(texts) < WORTH_THREADS or self.threads == 1:
            return np.stack([self._vector(text) for text in texts])
        # Both files, before each thread would load its own.
        _ = self._session, self._tokenizer
        with ThreadPoolExecutor(self.threads, "minilm") as pool:
            return np.stack(list(pool.map(self._vector, texts)))

    def pooled(self, output: Vectors) -> Vectors:
        """The mean of the tokens' vectors."""
        mean: Vectors = output[0].mean(axis=0)
        return mean

    def opened(self, model: str | bytes) -> "InferenceSession":
        """A model by its path or its bytes."""
        from onnxruntime import InferenceSession, SessionOptions

        options = SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        return InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def _vector(self, text: str) -> Vectors:
        ids = np.array([self._tokenizer.encode(text[: PIECE_CHARACTERS * self.most_pieces]).ids], np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        (output,) = self._session.run(self._outputs(), {name: feed[name] for name in self._inputs()})
        vector = self.pooled(output)
        return vector / np.linalg.norm(vector)

    def _inputs(self) -> Collection[str]:
        return INPUTS

    def _outputs(self) -> Sequence[str] | None:
        """The one that is pooled; None if there is no other."""
        return None

    @cached_property
    def _session(self) -> "InferenceSession":
        return self.opened(self._read("model.onnx"))

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_str(self._read("tokenizer.json").decode())
        tokenizer.enable_truncation(self.most_pieces)
        tokenizer.no_padding()
        return tokenizer

    def _read(self, name: str) -> bytes:
        try:
            return (self.folder / name).read_bytes()
        except OSError as error:
            raise self._missing(f"{self.folder / name} cannot be read: {error.strerror}") from error

    def _missing(self, message: str) -> ModelMissing:
        return ModelMissing(message, fix="reinstall with `pip install --force-reinstall --no-deps mnemolog`")


class MiniLM(SentenceModel):
    """all-MiniLM-L6-v2 as int8 ONNX, bundled with the package: 384 dimensions, 256 word pieces, mainly English."""

    model: str = "all-MiniLM-L6-v2-int8"
    dimensions: int = 384
    # LoCoMo, conversations 26, 30, 41 / 42, 43. The floor passes 99 / 99 % of the questions that have an answer and
    # 12 / 11 % of those put to another user's memories (0.50: 96 / 97 and 3 / 3 %; 0.65: 39 / 42 and 0 %). With it
    # the gap keeps 95 / 95 % of the recall of the nearest eight (0.12: 89 / 84 %).
    #
    # Links and bands: 48 pairs of statements in tests/adapters/minilm/pairs.py, 12 a sort. Paraphrases come to 0.77 to
    # 0.97, a fact and its newer form to 0.51 to 0.91, what belongs together to 0.04 to 0.77, the rest to -0.03 to 0.37.
    # `auto` takes 4 paraphrases and nothing else; `check_low` all of them and 10 of the newer forms; `fallback_low` all
    # of both; `link_min` 11 of what belongs together and 1 of the rest, and so does
    # `recall_floor`, which asks the same.
    #
    # Topics: tests/bench/segmentation.py. Of 0.15 to 0.40, 0.20 has the fewest false boundaries among those whose F1 is
    # within 0.02 of the best on the half that it was chosen on.
    calibration: Calibration = Calibration(
        question_floor=0.45,
        question_gap=0.20,
        link_min=0.28,
        bands=Bands(auto=0.93, check_low=0.75, fallback_low=0.50),
        topic_similarity=0.20,
        recall_floor=0.28,
        nothing_below=0.12,
    )

    def __init__(self, threads: int | None = None, folder: Traversable | None = None) -> None:
        super().__init__(folder or files("mnemolog.adapters.minilm") / "model", MiniLM.calibration, threads)

    def verify(self) -> None:
        """ModelMissing unless every file is exactly the published one."""
        for line in self._read("SHA256SUMS").decode().splitlines():
            expected, name = line.split()
            if sha256(self._read(name)).hexdigest() != expected:
                raise self._missing(f"{self.folder / name} is damaged: its SHA-256 is not {expected}")
