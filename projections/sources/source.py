"""A source of a search: what is known of one kind, and how a question finds it."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import hydration
from mnemolog.domain.ahead import Ahead, asked_ahead
from mnemolog.domain.entity import ME, proper_name
from mnemolog.domain.hydration import Match
from mnemolog.domain.origin import Origin
from mnemolog.domain.predicates import PredicatePolicy
from mnemolog.domain.ranking import DEFAULT, Cutoff, Profile
from mnemolog.domain.slots import Wanted, wanted_slot
from mnemolog.domain.state import Past, asked_past, asks_of_present
from mnemolog.domain.text import ends_of, name_key
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.graph.facts import Point
from mnemolog.projections.memories.filters import Candidates
from mnemolog.projections.requests import Filters
from mnemolog.projections.retrieval import Hit
from mnemolog.projections.vectors.index import VectorIndex
from mnemolog.projections.vectors.question import Question

# The filters by time and by conversation.
SAID = frozenset({"since", "until", "thread_id", "session_id", "episode_id"})
# Those by where it comes from.
OF_ORIGIN = frozenset({"origin", "trusted_only"})


ENOUGH = 0.5
"""The part of what is asked for that a text must have, if it is not similar to the question."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question, who asks it of what, and at which point in time.

    `among`: the memories and messages that it may find. `entity_ids`: what it is about, beside what it names.
    `former`: whether superseded values are wanted. `kinds`: the kinds that are wanted; all if empty.
    `profile`: how hits are ranked; `cutoff`: another one than the profile's. `held`: how much the source
    that is asked said that it holds. `asked_at`: when it is asked, if not at the `point`. `passages`: what a search of
    the agent's library found.
    """

    connection: AsyncConnection
    viewer: Viewer
    question: Question
    index: VectorIndex
    predicates: PredicatePolicy
    point: Point
    among: Candidates
    limit: int
    threshold: float | None = None
    entity_ids: Collection[UUID] = ()
    former: bool = True
    profile: Profile = DEFAULT
    cutoff: Cutoff | None = None
    held: int = 1
    kinds: frozenset[str] = frozenset()
    asked_at: datetime | None = None
    passages: Sequence[Mapping[str, Any]] = ()

    def wants(self, kind: str) -> bool:
        return not self.kinds or kind in self.kinds

    @cached_property
    def text(self) -> str:
        """The question as rules read it; words and meaning are those of the whole."""
        return ends_of(self.question.text)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of what it asks for."""
        return hydration.question_stems(self.text)

    @cached_property
    def own_name(self) -> str:
        """The key of the user's name, by which their entity is found."""
        return name_key(proper_name(self.viewer.user_id, ME))

    @cached_property
    def about_user(self) -> bool:
        return hydration.asks_about_user(self.text)

    @cached_property
    def present(self) -> bool:
        """Whether it asks for what is so now, or does not say of which time."""
        return asks_of_present(self.text)

    @cached_property
    def past(self) -> Past | None:
        """The time that it asks for, if that is past."""
        return asked_past(self.text, self.now)

    @cached_property
    def slot(self) -> Wanted | None:
        """What it asks for again and again, such as the user's home, if it is that."""
        return wanted_slot(self.text)

    @cached_property
    def ahead(self) -> Ahead | None:
        """What it asks for that is to come, if it does."""
        return asked_ahead(self.text)

    @property
    def now(self) -> datetime:
        """When it is asked."""
        return self.asked_at or self.point.valid_at

    def match(self, text: str) -> float:
        """How well a text without a similarity answers, in [0, 1]: by the words that it has of the question.

        0 without any; more if the question is about the user.
        """
        words = hydration.stems(text) & self.stems
        return Match(words).score(self.stems, 1 if self.about_user else 0) if words else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Hits in any order. A source that knows entities tells those that the question names, and the other names.

    `called`: the names by which the question calls the user.
    """

    hits: Sequence[Hit] = ()
    named: Sequence[str] = ()
    unborne: Sequence[str] | None = None
    called: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A search asks it if it `holds` something and if it can apply all that the request filters by.

    `category` is that of everything in it, or None: then only a search without categories asks it. `filters` are the
    names of the filters that it applies, beside those by origin. `similar`: its hits have a cosine similarity.
    `origins`: where what it has comes from; if that is in several places, it applies the filters by origin itself.
    """

    kinds: frozenset[str]
    projections: tuple[str, ...]
    holds: Callable[[Viewer], ColumnElement[Any]]
    find: Callable[[Asked], Awaitable[Found]]
    category: str | None = None
    filters: frozenset[str] = field(default_factory=frozenset)
    similar: bool = False
    origins: frozenset[Origin] = frozenset(Origin)

    def applies(self, filters: Filters) -> bool:
        """Whether it can apply all of these, and has something that comes from where they say."""
        known = filters.model_dump(exclude_defaults=True).keys() <= self.filters | OF_ORIGIN
        return known and not self.origins.isdisjoint(filters.origins)


def hit_of(
    kind: str,
    id_: str,
    category: str,
    text: str,
    *,
    date: datetime,
    score: float,
    details: Mapping[str, Any],
    when: str | None = None,
    parts: Mapping[str, float] | None = None,
    similarity: float | None = None,
    text_rank: float | None = None,
    origin: Origin = Origin.USER,
    label: str = "",
    line: str = "",
) -> Hit:
    """A hit that is neither a memory nor a message. In its bullet `when` replaces the date, `label` the category, and
    `line` the text.
    """
    row = {"kind": kind, "category": category, "text": text, "occurred_at": date, "when": when, "details": details}
    row |= {"origin": origin, "label": label, "line": line}
    return Hit(id_, kind, category, text, score, similarity, text_rank, row, parts=parts or {})
