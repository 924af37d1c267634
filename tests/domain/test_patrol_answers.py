"""What of a model's answers a patrol does: nothing pinned, nothing twice, nothing that is not there (C)."""

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.consolidation import (
    DIARY,
    LEAST_PART,
    THINK,
    Absorption,
    Consolidated,
    Group,
    Part,
    Split,
    absorptions,
    lines,
    made_dead,
    parts,
)
from mnemolog.domain.memory import Status
from mnemolog.domain.nodes import SceneNode
from tests.domain.test_nodes import node

A, B, C, D = (UUID(int=number) for number in range(4))
FOUR = [node(0), node(1), node(2, status=Status.DYING), node(3, status=Status.DYING, pinned=True)]
numbers = st.integers(-1, 14)
groups = st.builds(Group, numbers, st.lists(numbers, max_size=6).map(tuple))
answers = st.builds(Consolidated, st.lists(groups, max_size=5).map(tuple), st.lists(numbers, max_size=6).map(tuple))
scenes = st.lists(
    st.builds(
        node,
        number=st.integers(0, 500),
        status=st.sampled_from([Status.ACTIVE, Status.DYING]),
        pinned=st.booleans(),
    ),
    max_size=13,
    unique_by=lambda one: one.memory_id,
)


def merging(*groups: tuple[int, tuple[int, ...]]) -> Consolidated:
    return Consolidated(tuple(Group(*one) for one in groups))


@pytest.mark.spec_part("C07")
def test_a_scene_absorbs_others_once() -> None:
    assert absorptions(merging((1, (2, 3))), FOUR) == [Absorption(A, (B, C))]
    assert absorptions(merging((1, (2,)), (3, (2,)), (2, (3,))), FOUR) == [Absorption(A, (B,))]
    assert absorptions(merging((1, (1, 2, 2, 9, 0))), FOUR) == [Absorption(A, (B,))]


@pytest.mark.spec_part("C07")
def test_nothing_pinned_is_absorbed_and_nothing_across_where_it_comes_from() -> None:
    outside = [FOUR[0], replace(FOUR[1], external=True), replace(FOUR[2], external=True)]

    assert absorptions(merging((1, (4,))), FOUR) == []
    assert absorptions(merging((4, (1,))), FOUR) == [Absorption(D, (A,))]
    assert absorptions(merging((1, (2,)), (2, (3,))), outside) == [Absorption(B, (C,))]


@pytest.mark.spec_part("C07")
def test_only_what_is_dying_unpinned_and_in_no_merge_becomes_dead() -> None:
    answer = Consolidated(make_dead=(1, 3, 3, 4, 9, 0))

    assert made_dead(answer, FOUR, ()) == [C]
    assert made_dead(answer, FOUR, {C}) == []


@pytest.mark.spec_part("C07")
@given(answers, scenes)
def test_whatever_a_model_answers_each_scene_has_one_fate(answer: Consolidated, found: list[SceneNode]) -> None:
    merges = absorptions(answer, found)
    taken = [id_ for one in merges for id_ in (one.survivor_id, *one.absorbed_ids)]
    dead = list(made_dead(answer, found, set(taken)))
    known = {one.memory_id: one for one in found}

    assert len({*taken, *dead}) == len(taken) + len(dead)
    assert {*taken, *dead} <= known.keys()
    gone = [known[id_] for id_ in (*dead, *(id_ for one in merges for id_ in one.absorbed_ids))]
    assert not [one for one in gone if one.node.pinned]
    assert all(known[id_].dying for id_ in dead)


@pytest.mark.spec_part("C09")
def test_a_part_has_a_name_of_its_own_and_two_scenes_and_two_stay() -> None:
    found = [node(number) for number in range(6)]

    def split(*said: tuple[str, tuple[int, ...]]) -> list[tuple[str, list[int]]]:
        answer = Split(tuple(Part(*one) for one in said))
        return [(name, [id_.int for id_ in ids]) for name, ids in parts(answer, found, {"Rowing"})]

    assert split(("Chess", (1, 2)), ("Opera", (3, 4))) == [("Chess", [0, 1]), ("Opera", [2, 3])]
    assert split(("Chess", (1, 2, 3, 4, 5))) == []
    assert split(("Chess", (1, 2, 2)), ("Opera", (2, 3))) == [("Chess", [0, 1])]
    assert split(("Chess", (1,)), ("rowing", (1, 2)), (" ", (1, 2)), ("Chess", (8, 9))) == []
    assert split(("Chess/\nboard  games", (1, 2)), ("chess board games", (3, 4))) == [("Chess board games", [0, 1])]


@pytest.mark.spec_part("C09")
@given(st.lists(st.builds(Part, st.text(max_size=8), st.lists(numbers, max_size=8).map(tuple)), max_size=6), scenes)
def test_whatever_a_model_answers_each_part_and_the_rest_have_two_scenes(
    said: list[Part], found: list[SceneNode]
) -> None:
    made = parts(Split(tuple(said)), found, {"Rowing"})
    ids = [id_ for _, scenes in made for id_ in scenes]

    assert all(len(scenes) >= LEAST_PART for _, scenes in made)
    assert len(set(ids)) == len(ids)
    assert not made or len(found) - len(ids) >= LEAST_PART
    assert len({name.casefold() for name, _ in made}) == len(made)
    assert not [name for name, _ in made if "/" in name or not name.strip()]


@pytest.mark.spec_part("C10")
def test_a_diary_has_three_to_five_lines_and_think_md_three_to_seven_bullets() -> None:
    said = ["- I rowed.", " ", "* It was\ncold.", "• Zoë won.", "I slept.", "d", "e", "f", "g", "h"]

    assert lines(said, DIARY) == ["I rowed.", "It was cold.", "Zoë won.", "I slept.", "d"]
    assert len(lines(said, THINK)) == 7
    assert lines(said[:3], DIARY) == []
