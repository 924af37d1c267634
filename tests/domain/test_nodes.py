"""What is due of a being's scenes: where they belong, who lives again, what is split and merged (C)."""

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.cluster import LARGE, MATCHES, SMALL, Vector, is_root, root_of
from mnemolog.domain.memory import Status
from mnemolog.domain.nodes import (
    Board,
    SceneNode,
    clusters,
    cycled,
    large,
    matching,
    merging,
    moved,
    revived,
    vector_of,
)
from mnemolog.domain.patrol import Node
from mnemolog.domain.scene import Experience

EAST, NORTH, BETWEEN = (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)
LABELS = ["", "Private", "Business", "Private/rowing", "Private/lakes", "Private/opera", "Business/launch"]


def node(
    number: int,
    cluster: str = "Private/rowing",
    vector: Vector | None = EAST,
    status: Status = Status.ACTIVE,
    *,
    merged: bool = False,
    importance: float = 0.5,
    count: int = 0,
    pinned: bool = False,
) -> SceneNode:
    return SceneNode(
        memory_id=UUID(int=number),
        text=f"scene {number}",
        experience=Experience(cluster=cluster),
        node=Node(status, importance, pinned=pinned, session_count=count),
        fresh=False,
        merged=merged,
        vector=vector,
    )


def board(*scenes: SceneNode) -> Board:
    return {one.memory_id: one for one in scenes}


def labels(found: Board) -> list[str]:
    return [one.cluster for one in found.values()]


numbers = st.floats(-1, 1)
nodes = st.builds(
    node,
    number=st.integers(0, 500),
    cluster=st.sampled_from(LABELS),
    vector=st.none() | st.tuples(numbers, numbers),
    status=st.sampled_from([Status.ACTIVE, Status.DYING, Status.DORMANT]),
    merged=st.booleans(),
    importance=st.floats(0, 1),
    count=st.integers(0, 200),
    pinned=st.booleans(),
)
boards = st.lists(nodes, max_size=30).map(lambda scenes: board(*scenes))


@pytest.mark.spec_part("C04")
def test_the_vector_of_a_cluster_leaves_out_what_is_not_active() -> None:
    scenes = [
        node(1, vector=EAST),
        node(2, vector=NORTH),
        node(3, vector=(9, 9), status=Status.DYING),
        node(4, vector=(9, 9), status=Status.DORMANT),
        node(5, vector=None),
    ]

    assert list(vector_of(scenes)) == [0.5, 0.5]
    assert list(vector_of(scenes[2:])) == []


@pytest.mark.spec_part("C05")
def test_a_scene_joins_the_cluster_most_like_it_from_the_threshold_on() -> None:
    at, below = (MATCHES, (1 - MATCHES**2) ** 0.5), (MATCHES - 0.001, (1 - (MATCHES - 0.001) ** 2) ** 0.5)

    assert matching(BETWEEN, {"Private": (1.0, 0.2), "Private/lakes": (1.0, 0.9), "Business": ()}) == "Private/lakes"
    assert matching(at, {"Private": EAST}) == "Private"
    assert matching(below, {"Private": EAST}) is None
    assert matching(below, {"Private": EAST}, 0.4) == "Private"
    assert matching(EAST, {}) is None


@pytest.mark.spec_part("C08")
def test_a_dead_scene_lives_again_if_enough_is_left_of_it_and_it_was_not_absorbed() -> None:
    dead = Status.DORMANT
    found = board(
        node(1, status=dead, count=0),
        node(2, status=dead, count=70),
        node(3, status=dead, count=0, merged=True),
        node(4, status=dead, count=0, importance=0.05),
        node(5, status=Status.DYING, count=0),
    )

    assert revived(found) == [UUID(int=1)]


@pytest.mark.spec_part("C09")
def test_only_a_cluster_below_a_root_with_more_than_ten_active_scenes_is_split() -> None:
    ten = [node(number) for number in range(LARGE)]

    assert large(board(*ten, node(90, status=Status.DYING), node(91, status=Status.DORMANT))) == {}
    assert list(large(board(*ten, node(99)))) == ["Private/rowing"]
    assert large(board(*(replace(one, experience=Experience(cluster="Private")) for one in (*ten, node(99))))) == {}


@pytest.mark.spec_part("C09")
def test_a_small_cluster_joins_the_sibling_most_like_it_with_its_dead() -> None:
    lakes = [node(number, "Private/lakes", (1.0, 0.9)) for number in range(10, 13)]
    opera = [node(number, "Private/opera", (1.0, 0.1)) for number in range(20, 23)]
    launch = [node(number, "Business/launch", EAST) for number in range(30, 33)]
    small = [node(1), node(2, vector=NORTH, status=Status.DORMANT)]

    goals = merging(board(*small, *lakes, *opera, *launch))

    assert goals == {UUID(int=1): "Private/opera", UUID(int=2): "Private/opera"}


@pytest.mark.spec_part("C09")
def test_a_small_cluster_that_is_like_no_sibling_joins_its_root() -> None:
    north = [node(number, "Private/lakes", NORTH) for number in range(10, 13)]

    assert merging(board(node(1), *north)) == {UUID(int=1): "Private"}
    assert merging(board(node(1, "Business/launch", None), *north)) == {UUID(int=1): "Business"}
    assert merging(board(node(1, status=Status.DORMANT))) == {UUID(int=1): "Private"}
    assert merging(board(node(1), node(2), node(3))) == {}


@pytest.mark.spec_part("C04", "C09")
@given(boards)
def test_after_a_merge_no_small_cluster_is_left_and_no_scene_has_changed_its_root(found: Board) -> None:
    after = moved(found, merging(found))

    assert after.keys() == found.keys()
    assert sum(map(len, clusters(after).values())) == len(found)
    for label, scenes in clusters(after).items():
        assert is_root(label) or sum(one.active for one in scenes) > SMALL
    assert [root_of(one) for one in labels(after)] == [root_of(one) for one in labels(found)]
    assert merging(after) == {}


@pytest.mark.spec_part("C06")
@given(boards, st.integers(1, 100))
def test_no_number_of_cycles_lets_a_pinned_scene_die(found: Board, times: int) -> None:
    for _ in range(times):
        found = cycled(found)
    turned = [one for one in found.values() if one.node.pinned and one.dying]
    assert turned == []
