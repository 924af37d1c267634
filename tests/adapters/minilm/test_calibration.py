"""The calibration of the shipped model, measured again: its figures part the pairs as its comment says."""

import pytest

from mnemolog.adapters.minilm.embedder import MiniLM
from tests.adapters.minilm.pairs import NEWER, RELATED, SAME, UNRELATED, Pairs


def similarities(model: MiniLM, pairs: Pairs) -> list[float]:
    one, other = (model.embed([pair[at] for pair in pairs]) for at in (0, 1))
    return [float(left @ right) for left, right in zip(one, other, strict=True)]


@pytest.mark.spec_part("B02", "D13")
def test_the_bands_and_links_part_the_pairs_as_they_say() -> None:
    model = MiniLM()
    same, newer, related, unrelated = (similarities(model, pairs) for pairs in (SAME, NEWER, RELATED, UNRELATED))
    bands, link_min = model.calibration.bands, model.calibration.link_min

    def passing(values: list[float], least: float) -> int:
        return sum(value >= least for value in values)

    assert [passing(values, bands.auto) for values in (same, newer, related, unrelated)] == [4, 0, 0, 0]
    assert [passing(values, bands.check_low) for values in (same, newer, related, unrelated)] == [12, 10, 1, 0]
    assert [passing(values, bands.fallback_low) for values in (same, newer, related, unrelated)] == [12, 12, 4, 0]
    assert [passing(values, link_min) for values in (same, newer, related, unrelated)] == [12, 12, 11, 1]
