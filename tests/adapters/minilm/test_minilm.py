"""The shipped embedder."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mnemolog.adapters.minilm import embedder
from mnemolog.adapters.minilm.embedder import MiniLM
from mnemolog.domain.errors import ModelMissing

TEXTS = [
    "Ana: I moved to Lisbon last week!",
    "ok",
    "The new flat has a balcony over the river, and on Sundays the whole street smells of coffee and grilled fish. "
    * 3,
    "Ben hates spiders",
    "昨日、黒猫を見た",
    "🎉",
]


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM()


def test_rows_have_length_one_in_the_order_given(minilm: MiniLM) -> None:
    rows = minilm.embed(TEXTS)

    assert rows.shape == (len(TEXTS), minilm.dimensions)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.array_equal(rows[::-1], minilm.embed(TEXTS[::-1]))


def test_no_text_gives_no_rows(minilm: MiniLM) -> None:
    assert minilm.embed([]).shape == (0, 384)


def test_a_vector_depends_on_nothing_but_its_text(minilm: MiniLM) -> None:
    together = minilm.embed(TEXTS)
    alone = np.concatenate([minilm.embed([text]) for text in TEXTS])
    one_thread = MiniLM(threads=1).embed(TEXTS)

    assert together.tobytes() == alone.tobytes() == one_thread.tobytes()


def test_meaning_is_nearer_than_words(minilm: MiniLM) -> None:
    question, answer, same_words = minilm.embed(
        ["Where does Ana live now?", "Ana moved to Lisbon last week.", "Where does it hurt now?"]
    )

    assert question @ answer > question @ same_words
    assert question @ answer > minilm.calibration.question_floor > question @ same_words


def test_text_beyond_256_word_pieces_is_not_read(minilm: MiniLM) -> None:
    head = "tea " * 254
    rows = minilm.embed([head, head + "and a bicycle", "tea " * 200 + "and a bicycle"])

    assert np.array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2])


def test_the_empty_text_and_a_huge_one_are_embedded(minilm: MiniLM) -> None:
    assert np.isfinite(minilm.embed(["", " \n", "word " * 60_000])).all()


def test_the_shipped_files_are_the_published_ones(minilm: MiniLM) -> None:
    minilm.verify()


def test_a_missing_model_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="cannot be read: No such file") as refused:
        MiniLM(folder=tmp_path).embed(["Ana"])

    assert "pip install" in refused.value.fix


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    shutil.copytree(Path(embedder.__file__).parent / "model", tmp_path, dirs_exist_ok=True)
    with (tmp_path / "tokenizer.json").open("a") as tokenizer:
        tokenizer.write(" ")

    with pytest.raises(ModelMissing, match=r"tokenizer\.json is damaged"):
        MiniLM(folder=tmp_path).verify()


def test_nothing_is_loaded_before_the_first_text() -> None:
    script = (
        "import sys; from mnemolog.adapters.minilm.embedder import MiniLM; MiniLM().embed([]);"
        "sys.exit(bool({'onnxruntime', 'tokenizers'} & set(sys.modules)))"
    )

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
