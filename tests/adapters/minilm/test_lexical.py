"""The embedder for tests."""

import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.adapters.minilm.lexical import Lexical

lexical = Lexical()


@given(st.lists(st.text(), max_size=4))
def test_rows_have_length_one_for_any_text(texts: list[str]) -> None:
    rows = lexical.embed(texts)

    assert rows.shape == (len(texts), lexical.dimensions)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_shared_words_are_nearer_than_shared_letters_and_both_nearer_than_nothing() -> None:
    moved, word, part, other = lexical.embed(
        ["Ana moved to Lisbon", "Lisbon is where Ana lives", "movement in Lisbonne", "Ben hates spiders"]
    )

    assert moved @ word > moved @ part > moved @ other
    assert abs(moved @ other) < 0.2


def test_case_accents_and_stop_words_do_not_count() -> None:
    one, other = lexical.embed(["The café in ŁÓDŹ", "cafe lodz"])

    assert np.array_equal(one, other)


def test_parts_of_unspaced_scripts_are_shared() -> None:
    document, question, other = lexical.embed(["黒猫が東京にいる", "東京", "大阪"])

    assert document @ question > 0.3 > document @ other


def test_another_process_gives_the_same_bytes() -> None:
    script = (
        "import sys; from mnemolog.adapters.minilm.lexical import Lexical;"
        "sys.stdout.buffer.write(Lexical().embed(['Ana moved to Lisbon', '東京']).tobytes())"
    )
    elsewhere = [
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]

    assert elsewhere == [lexical.embed(["Ana moved to Lisbon", "東京"]).tobytes()] * 2
