"""The scenes of a being as its patrol sees them, and what is due of their clusters (C, patrols 1, 5, 6 and 7)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from mnemolog.domain.cluster import LARGE, MATCHES, SMALL, Vector, cluster_of, cosine, is_root, mean, root_of
from mnemolog.domain.memory import Status
from mnemolog.domain.patrol import ACTIVATED, Node
from mnemolog.domain.scene import Experience


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneNode:
    """A scene that is active, dying or dead. `merged`: it lives on in another scene, which absorbed it.

    `text` is how it reads. `vector` is None until the index has it.
    """

    memory_id: UUID
    text: str
    experience: Experience
    node: Node
    fresh: bool
    external: bool = False
    merged: bool = False
    vector: Vector | None = None

    @property
    def cluster(self) -> str:
        return cluster_of(self.experience.cluster)

    @property
    def placed(self) -> bool:
        return bool(self.experience.cluster)

    @property
    def active(self) -> bool:
        return self.node.status is Status.ACTIVE

    @property
    def dying(self) -> bool:
        return self.node.status is Status.DYING

    @property
    def dead(self) -> bool:
        return self.node.status is Status.DORMANT


Board = Mapping[UUID, SceneNode]


def clusters(board: Board) -> Mapping[str, Sequence[SceneNode]]:
    """The scenes of each cluster, dead ones included, by label."""
    found: dict[str, list[SceneNode]] = {}
    for one in board.values():
        found.setdefault(one.cluster, []).append(one)
    return dict(sorted(found.items()))


def vector_of(scenes: Iterable[SceneNode]) -> Vector:
    """The vector of a cluster: the mean of its active scenes (C §Layer 2)."""
    return mean([one.vector for one in scenes if one.active and one.vector is not None])


def matching(vector: Vector, vectors: Mapping[str, Vector], least: float = MATCHES) -> str | None:
    """The cluster most like a scene, if it is like it at all (C ❶)."""
    alike = {label: cosine(vector, other) for label, other in vectors.items() if other}
    best = max(alike, key=lambda label: (alike[label], label), default=None)
    return best if best is not None and alike[best] >= least else None


def revived(board: Board) -> Sequence[UUID]:
    """The dead scenes that live again (C ❺). What was absorbed does not: it lives on in its survivor."""
    return [id_ for id_, one in board.items() if one.dead and not one.merged and one.node.lives]


def large(board: Board) -> Mapping[str, Sequence[SceneNode]]:
    """The active scenes of each cluster that is to be split (C ❻); never those of a root."""
    found = {label: [one for one in scenes if one.active] for label, scenes in clusters(board).items()}
    return {label: scenes for label, scenes in found.items() if not is_root(label) and len(scenes) > LARGE}


def merging(board: Board, least: float = MATCHES) -> Mapping[UUID, str]:
    """Where the scenes of small clusters go: to the sibling most like theirs, or to the root (C ❼)."""
    moves: dict[UUID, str] = {}
    for label in clusters(board):
        grouped = clusters(board)
        if is_root(label) or sum(one.active for one in grouped[label]) > SMALL:
            continue
        own = vector_of(grouped[label])
        siblings = {
            other: cosine(own, vector_of(scenes))
            for other, scenes in grouped.items()
            if other != label and not is_root(other) and root_of(other) is root_of(label)
        }
        best = max(siblings, key=lambda other: (siblings[other], other), default=None)
        goal = best if best is not None and siblings[best] > least else root_of(label).value
        news = {one.memory_id: goal for one in grouped[label]}
        board, moves = moved(board, news), {**moves, **news}
    return moves


def moved(board: Board, moves: Mapping[UUID, str]) -> Board:
    """The board after scenes moved to these clusters."""
    found = {
        id_: replace(one, experience=replace(one.experience, cluster=moves[id_]))
        for id_, one in board.items()
        if id_ in moves
    }
    return {**board, **found}


def cycled(board: Board) -> Board:
    """The board after a cycle ended: counted, dying or active again (C ❷, ❸)."""
    return {id_: replace(one, node=one.node.after_cycle()) for id_, one in board.items()}


def turned(board: Board, ids: Iterable[UUID], status: Status) -> Board:
    """The board after these scenes got a status. Who becomes active is activated."""
    news = {}
    for id_ in ids:
        count = ACTIVATED if status is Status.ACTIVE else board[id_].node.session_count
        news[id_] = replace(board[id_], node=replace(board[id_].node, status=status, session_count=count))
    return {**board, **news}
