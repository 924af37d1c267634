"""Clusters as labels: two roots, names below them, and how alike they are (C)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.cluster import (
    MAX_NAME,
    Root,
    below,
    classified,
    cluster_id,
    cluster_of,
    cosine,
    is_root,
    label_of,
    mean,
    name_of,
    root_of,
)
from mnemolog.domain.errors import InvalidInput

vectors = st.lists(st.floats(-1, 1), min_size=3, max_size=3)


@pytest.mark.spec_part("C04")
def test_a_label_says_its_root_and_its_name() -> None:
    label = below(Root.PRIVATE, "Friday dinner")

    assert label_of(label) == "Private/Friday dinner"
    assert (root_of(label), name_of(label), is_root(label)) == (Root.PRIVATE, "Friday dinner", False)
    assert (root_of("Business"), name_of("Business"), is_root("Business")) == (Root.BUSINESS, "Business", True)
    assert (cluster_of(""), root_of(""), is_root("")) == ("Private", Root.PRIVATE, True)


@pytest.mark.parametrize(
    "value", ["", "Holiday", "private", "Private/", "/x", "Private/a/b", f"Private/{'x' * 101}", 7]
)
def test_anything_else_is_no_cluster(value: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        label_of(value, "experience.cluster")
    assert refused.value.field == "experience.cluster"
    assert label_of(f"Private/{'x' * MAX_NAME}")


def test_the_same_label_of_two_agents_has_two_ids() -> None:
    assert cluster_id("mia", "Private") == cluster_id("mia", "Private")
    assert len({cluster_id(agent, label) for agent in ("mia", "noah") for label in ("Private", "Business")}) == 4


@pytest.mark.spec_part("C04")
@given(st.lists(vectors, max_size=5))
def test_the_vector_of_a_cluster_is_the_mean_of_its_scenes(found: list[list[float]]) -> None:
    assert list(mean(found)) == [pytest.approx(sum(column) / len(found)) for column in zip(*found, strict=True)]


@given(vectors, vectors)
def test_a_similarity_has_bounds_and_no_order(one: list[float], other: list[float]) -> None:
    assert -1.000001 <= cosine(one, other) <= 1.000001
    assert cosine(one, other) == pytest.approx(cosine(other, one))
    assert cosine([], one) == cosine(one, []) == cosine([0, 0, 0], one) == 0.0


@pytest.mark.spec_part("C05", "C11")
@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("Mia sent the invoice to the client", Root.BUSINESS),
        ("The meeting was moved", Root.BUSINESS),
        ("Mia baked a cake with Zoë", Root.PRIVATE),
        ("a homework assistant", Root.PRIVATE),
        ("", Root.PRIVATE),
    ],
)
def test_words_tell_business_from_private_where_no_model_does(text: str, root: Root) -> None:
    assert classified(text) is root
