"""Clusters of scenes: two roots, groups below them, and how alike they are (C §Layer 2).

A cluster is the label of its scenes: `Private`, or `Private/Friday dinner` below it.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from math import sqrt
from operator import mul
from uuid import UUID, uuid5

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.text import clean

MATCHES = 0.45
"""The least cosine similarity of a scene and the cluster it joins, and of a small cluster and the one it joins, for the
embedding model of C.
"""
SMALL, LARGE = 2, 10
"""A cluster of up to 2 active scenes is merged, one of more than 10 is split."""
MAX_NAME = 100
_IDS = UUID("3c1c6b9e-2a55-5f0e-8a1f-6c0a7b1f4d20")

Vector = Sequence[float]


class Root(StrEnum):
    """The top-level clusters. They are never split or merged."""

    BUSINESS = "Business"
    PRIVATE = "Private"


def cluster_of(label: str) -> str:
    """The cluster that a scene with this label is in. One that no patrol has placed yet belongs to Private."""
    return label or Root.PRIVATE


def root_of(label: str) -> Root:
    return Root(cluster_of(label).partition("/")[0])


def name_of(label: str) -> str:
    """The name of a cluster, without its root."""
    return label.partition("/")[2] or label


def is_root(label: str) -> bool:
    return "/" not in cluster_of(label)


def below(root: Root, name: str) -> str:
    return f"{root}/{name}"


def cluster_id(agent_id: str, label: str) -> UUID:
    return uuid5(_IDS, f"{agent_id}\n{label}")


def label_of(value: object, field: str = "cluster") -> str:
    """A label; raises InvalidInput unless it is a root, or a name below one."""
    text = clean(value, field, max_bytes=4 * MAX_NAME)
    root, slash, name = text.partition("/")
    if root not in set(Root) or bool(slash) is not bool(name) or "/" in name or len(name) > MAX_NAME:
        fix = f"give Business, Private, or a name of up to {MAX_NAME} characters below one: Private/Friday dinner"
        raise InvalidInput(f"{text!r:.60} is not a cluster", field=field, fix=fix)
    return text


def mean(vectors: Sequence[Vector]) -> Vector:
    """The vector of a cluster: the mean of those of its active scenes; empty without any."""
    return [sum(numbers) / len(vectors) for numbers in zip(*vectors, strict=True)]


def cosine(one: Vector, other: Vector) -> float:
    """The cosine similarity in [-1, 1]; 0 if one of them is empty."""
    length = sqrt(sum(map(mul, one, one)) * sum(map(mul, other, other)))
    return sum(map(mul, one, other)) / length if one and other and length else 0.0


def classified(text: str) -> Root:
    """Business or Private, by English words, where no model classifies."""
    return Root.BUSINESS if _WORK.search(text) else Root.PRIVATE


_WORK = lazy_compile(
    r"\b(agenda|audit|boss|budgets?|business|campaign|client|clients|colleagues?|company|contracts?|customers?|deadlines?|"
    r"deploy(ed|ment|s)?|employees?|hired|hiring|interview(ed)?|invest(or|ors|ment)|invoices?|launch(ed)?|manager|market(ing)?|"
    r"meetings?|office|presentation|product|projects?|promot(ed|ion)|proposal|release[sd]?|revenue|roadmap|salary|sales|"
    r"sprint|startup|strategy|supplier|team|vendor|work(ed|ing|shop)?)\b",
    re.IGNORECASE,
)
