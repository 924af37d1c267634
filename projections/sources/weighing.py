"""Weighs what the sources found by a ranking profile."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from mnemolog.domain.memory import Kind
from mnemolog.domain.ranking import Cutoff, Signals
from mnemolog.projections.retrieval import Hit
from mnemolog.projections.sources.source import Asked

CutoffChoice = Annotated[
    Cutoff | None,
    Field(
        description="Leave out what is much less similar than the best hit (`relative`), or than what comes to mind"
        " (`floor`). By default as the profile says: `relative` for `twin`, `floor` for `being`, else `none`."
    ),
]
RankingProfile = Annotated[
    Literal["default", "twin", "delta", "being", "persona"],
    Field(
        description="How hits are ranked. `default` is tuned on conversations; the others weigh similarity, age,"
        " frequency, links and insights differently."
    ),
]


def weighed(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits with their score by the profile and what it was made of, the best first."""
    profile = asked.profile
    named = Counter(one for hit in hits for one in _entities(hit)) if profile.frequency else Counter[object]()
    most = max(named.values(), default=1)
    found = []
    for hit in hits:
        signals = Signals(
            relevance=hit.score,
            similarity=hit.similarity,
            age=asked.point.valid_at - hit.date,
            frequency=max((named[one] for one in _entities(hit)), default=0) / most,
            links=hit.parts.get("links", 0.0),
            insight=hit.kind == Kind.INSIGHT,
        )
        found.append(replace(hit, score=profile.score(signals), parts={**hit.parts, **profile.parts(signals)}))
    return sorted(found, key=lambda hit: -hit.score)


def relevant(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits that the cutoff leaves. One without a similarity, such as a fact, was found for other reasons."""
    best = max((hit.similarity for hit in hits if hit.similarity is not None), default=0.0)
    above = (asked.cutoff or asked.profile.cutoff).above(asked.question.calibration, best)
    return [hit for hit in hits if hit.similarity is None or hit.similarity > above]


def _entities(hit: Hit) -> Iterator[object]:
    """The entities that it is about: ids, and references of memories."""
    about = hit.row.get("details", hit.row)
    ids = (*about.get("entity_ids", ()), *about.get("entity_refs", ()))
    ends = (about.get(name) for name in ("subject_id", "object_id", "entity_id", "speaker_entity_id"))
    yield from {*ids, *filter(None, ends)}
