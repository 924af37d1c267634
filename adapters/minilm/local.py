"""A sentence model of your own, in a local folder: ONNX, in the layout of sentence-transformers."""

import json
import os
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mnemolog.adapters.minilm.embedder import INPUTS, SentenceModel, Vectors
from mnemolog.domain.calibration import Calibration
from mnemolog.domain.errors import ModelMissing

if TYPE_CHECKING:
    from onnxruntime import InferenceSession  # type: ignore[import-untyped]

FIELD = "embedder_folder"
MODELS = ("model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx")

MOST_PIECES = 512
SAMPLES, SAMPLE_BYTES = 16, 65_536


class LocalModel(SentenceModel):
    """`model` is the folder's name and a checksum, so that another model in the same folder gets its own vectors.

    Texts are embedded as they are: a prefix that a model wants for questions or passages is not added. ModelMissing,
    naming `embedder_folder`, if a file is missing or says what is not supported.
    """

    def __init__(self, folder: Path, calibration: Calibration, threads: int | None = None) -> None:
        self._place = folder.expanduser().resolve()
        super().__init__(self._place, calibration, threads)
        self._path = next((path for name in MODELS if (path := self._place / name).is_file()), self._place / MODELS[0])
        modules = self._json("modules.json") if (self._place / "modules.json").exists() else []
        kinds = [str(one.get("type", "")).rsplit(".", 1)[-1] for one in modules if isinstance(one, dict)]
        if other := [kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize")]:
            raise _unusable(
                f"modules.json has {', '.join(other)}, and only Transformer, Pooling and Normalize are applied"
            )
        self.dimensions = self._number("config.json", "hidden_size", "dim", "d_model")
        self.most_pieces = min(MOST_PIECES, self._most_pieces())
        self._takes_first = self._pooled_by_first()
        self.model = f"{name_of(folder)}-{self._checksum()}"

    def pooled(self, output: Vectors) -> Vectors:
        """The sentence's own vector if the model returns it, or else that of the first token or their mean."""
        if output.ndim > 2 and not self._takes_first:
            return super().pooled(output)
        vector: Vectors = output[0] if output.ndim == 2 else output[0][0]
        return vector

    def _vector(self, text: str) -> Vectors:
        try:
            vector = super()._vector(text)
        except ModelMissing:
            raise
        except Exception as error:  # onnxruntime's and the tokenizer's errors have no common class.
            raise _unusable(f"{self._path} cannot embed: {error}") from error
        if vector.shape != (self.dimensions,) or not np.isfinite(vector).all():
            raise _unusable(f"{self._path} gave a vector of shape {vector.shape} instead of {self.dimensions} numbers")
        return vector

    @cached_property
    def _session(self) -> "InferenceSession":
        session = self.opened(str(self._path))  # By path: a model of more than 2 GB keeps its weights in a file beside.
        if unknown := {one.name for one in session.get_inputs()}.difference(INPUTS):
            raise _unusable(f"{self._path} needs {', '.join(sorted(unknown))}, which sentence models do not take")
        return session

    def _inputs(self) -> Collection[str]:
        return {one.name for one in self._session.get_inputs()}

    def _outputs(self) -> Sequence[str]:
        names = [one.name for one in self._session.get_outputs()]
        return ["sentence_embedding"] if "sentence_embedding" in names else names[:1]

    def _most_pieces(self) -> int:
        if (self._place / "sentence_bert_config.json").exists():
            return self._number("sentence_bert_config.json", "max_seq_length")
        return self._number("config.json", "max_position_embeddings")

    def _pooled_by_first(self) -> bool:
        if not (self._place / "1_Pooling" / "config.json").exists():
            return False
        pooling = self._object("1_Pooling/config.json")
        modes = {name.removeprefix("pooling_mode_") for name, on in pooling.items() if on is True and "pooling" in name}
        if len(modes) != 1 or modes.isdisjoint({"cls_token", "mean_tokens"}):
            raise _unusable(
                f"1_Pooling/config.json wants {', '.join(sorted(modes)) or 'nothing'}: mean or cls is supported"
            )
        return modes == {"cls_token"}

    def _number(self, file: str, *names: str) -> int:
        said = self._object(file)
        for name in names:
            if isinstance(number := said.get(name), int) and number > 0:
                return number
        raise _unusable(f"{file} has no {' or '.join(names)}")

    def _object(self, name: str) -> Mapping[str, Any]:
        if isinstance(said := self._json(name), dict):
            return said
        raise _unusable(f"{self._place / name} is not a JSON object")

    def _json(self, name: str) -> Any:
        try:
            return json.loads(self._read(name))
        except ValueError as error:
            raise _unusable(f"{self._place / name} is not JSON: {error}") from error

    def _checksum(self) -> str:
        """Of the small files and of samples of the weights, which differ everywhere if they were trained again."""
        try:
            size = self._path.stat().st_size
        except OSError as error:
            raise _unusable(f"{self._place} has none of {', '.join(MODELS)}") from error
        digest = sha256(b"%d %d %d" % (size, self._takes_first, self.most_pieces) + self._read("tokenizer.json"))
        with self._path.open("rb") as file:
            for sample in range(SAMPLES):
                file.seek(size * sample // SAMPLES, os.SEEK_SET)
                digest.update(file.read(SAMPLE_BYTES))
        return digest.hexdigest()[:8]

    def _missing(self, message: str) -> ModelMissing:
        return _unusable(message)


def name_of(folder: Path) -> str:
    """By which `calibrations` names the model."""
    return folder.expanduser().resolve().name


def _unusable(message: str) -> ModelMissing:
    fix = "give a folder with model.onnx, tokenizer.json and config.json, as `optimum-cli export onnx` writes it"
    return ModelMissing(message, field=FIELD, fix=fix)
