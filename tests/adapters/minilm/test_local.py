"""A sentence model in a local folder."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mnemolog.adapters import minilm
from mnemolog.adapters.minilm.embedder import MiniLM
from mnemolog.adapters.minilm.local import LocalModel
from mnemolog.adapters.minilm.process import EmbeddingProcess
from mnemolog.domain.bands import Bands
from mnemolog.domain.calibration import SPECIFIED, Figure, calibration_of
from mnemolog.domain.errors import InvalidInput, ModelMissing

BUNDLED = Path(minilm.__file__).parent / "model"
TEXTS = ["Ana moved to Lisbon", "ok", "The new flat has a balcony over the river. " * 80]


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The bundled model as sentence-transformers and Optimum lay one out."""
    found = tmp_path / "Some-Model_v1.5"
    write(found / "config.json", {"hidden_size": 384, "max_position_embeddings": 512})
    write(found / "sentence_bert_config.json", {"max_seq_length": 256})
    write(found / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False})
    kinds = ("Transformer", "Pooling", "Normalize")
    write(found / "modules.json", [{"type": f"sentence_transformers.models.{kind}"} for kind in kinds])
    shutil.copy(BUNDLED / "tokenizer.json", found)
    (found / "onnx").mkdir()
    shutil.copy(BUNDLED / "model.onnx", found / "onnx")
    return found


def test_it_embeds_as_the_same_model_does_elsewhere(folder: Path) -> None:
    model = LocalModel(folder, SPECIFIED)

    assert model.embed(TEXTS).tobytes() == MiniLM().embed(TEXTS).tobytes()
    assert (model.dimensions, model.calibration) == (384, SPECIFIED)
    model.verify()


async def test_it_embeds_in_a_process_of_its_own(folder: Path) -> None:
    process = EmbeddingProcess(LocalModel(folder, SPECIFIED))
    try:
        assert (await process.embed(TEXTS)).tobytes() == MiniLM().embed(TEXTS).tobytes()
    finally:
        await process.aclose()


def test_a_model_that_pools_by_its_first_token_is_pooled_so(folder: Path) -> None:
    write(folder / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True})
    model = LocalModel(folder, SPECIFIED)
    pieces = np.array([model._tokenizer.encode(TEXTS[0]).ids], np.int64)
    ones = np.ones_like(pieces)
    feed = {"input_ids": pieces, "attention_mask": ones, "token_type_ids": ones - 1}
    first = model._session.run(None, feed)[0][0][0]

    assert np.allclose(model.embed(TEXTS[:1])[0], first / np.linalg.norm(first), atol=1e-6)


def test_without_a_layout_a_model_is_pooled_by_the_mean_and_reads_at_most_512_pieces(folder: Path) -> None:
    for name in ("modules.json", "sentence_bert_config.json", "1_Pooling/config.json"):
        (folder / name).unlink()
    model = LocalModel(folder, SPECIFIED)

    assert model.most_pieces == 512
    assert model.embed(TEXTS[:2]).tobytes() == MiniLM().embed(TEXTS[:2]).tobytes()


def test_its_name_is_the_folders_and_differs_for_other_weights(folder: Path) -> None:
    before = LocalModel(folder, SPECIFIED).model
    weights = np.fromfile(folder / "onnx" / "model.onnx", np.uint8)
    assert LocalModel(folder, SPECIFIED).model == before
    (weights ^ 1).tofile(folder / "onnx" / "model.onnx")

    assert before.startswith("Some-Model_v1.5-")
    assert LocalModel(folder, SPECIFIED).model != before


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda at: (at / "onnx" / "model.onnx").unlink(), "has none of model.onnx, onnx/model.onnx"),
        (lambda at: (at / "tokenizer.json").unlink(), "tokenizer.json cannot be read: No such file"),
        (lambda at: (at / "config.json").unlink(), "config.json cannot be read: No such file"),
        (lambda at: write(at / "config.json", "{"), "config.json is not JSON"),
        (lambda at: write(at / "config.json", {"hidden_size": "384"}), "has no hidden_size or dim or d_model"),
        (lambda at: write(at / "config.json", [384]), "config.json is not a JSON object"),
        (lambda at: write(at / "modules.json", [{"type": "sentence_transformers.models.Dense"}]), "has Dense"),
        (lambda at: write(at / "1_Pooling" / "config.json", {"pooling_mode_lasttoken": True}), "wants lasttoken"),
        (lambda at: write(at / "1_Pooling" / "config.json", {}), "wants nothing"),
        (lambda at: write(at / "onnx" / "model.onnx", "no model"), "cannot embed"),
        (lambda at: write(at / "tokenizer.json", "{}"), "cannot embed"),
        (lambda at: write(at / "config.json", {"hidden_size": 768, "max_position_embeddings": 512}), "instead of 768"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(folder: Path, spoil: Callable[[Path], None], said: str) -> None:
    spoil(folder)
    with pytest.raises(ModelMissing, match=said) as refused:
        LocalModel(folder, SPECIFIED).verify()
    assert refused.value.field == "embedder_folder"
    assert "model.onnx" in refused.value.fix


def test_figures_are_given_by_model_and_the_others_are_the_specified_ones() -> None:
    given: dict[str, dict[Figure, float]] = {"mine": {"question_floor": 0.4, "auto": 0.99}, "other": {"link_min": 0.1}}
    mine = calibration_of("mine", given)

    assert mine.question_floor == 0.4
    assert mine.bands == Bands(0.99, SPECIFIED.bands.check_low, SPECIFIED.bands.fallback_low)
    assert (mine.question_gap, mine.link_min) == (SPECIFIED.question_gap, SPECIFIED.link_min)
    assert calibration_of("unknown", given) == SPECIFIED


@pytest.mark.parametrize(("figures", "field"), [({"link_min": 1.5}, "calibrations"), ({"auto": 0.1}, "bands")])
def test_figures_that_are_no_cosines_or_do_not_ascend_are_refused(figures: dict[Figure, float], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        calibration_of("mine", {"mine": figures})
    assert refused.value.field == field
