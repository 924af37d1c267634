"""Similarity thresholds of an embedding model (design §2)."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal

from mnemolog.domain.bands import Bands
from mnemolog.domain.cluster import MATCHES
from mnemolog.domain.errors import InvalidInput

Figure = Literal[
    "question_floor",
    "question_gap",
    "link_min",
    "topic_similarity",
    "recall_floor",
    "cluster_match",
    "nothing_below",
    "auto",
    "check_low",
    "fallback_low",
]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Cosine similarities in [-1, 1], measured for one model. The specifications' figures are for another."""

    question_floor: float
    """The best match for a query must reach this to be relevant (A §6.3's 0.65)."""
    question_gap: float
    """The maximum distance of other matches from the best one (A §6.3's 0.12)."""
    link_min: float
    """Memories are linked on writing from this similarity on (B §2)."""
    bands: Bands
    """The merge bands (B §4, §13)."""
    topic_similarity: float
    """What a message about the same topic has at least with what was said lately (E §Episode Lifecycle's 0.70)."""
    recall_floor: float
    """What comes to mind is at least this similar (C §Recall Flow's 0.35)."""
    nothing_below: float = -1.0
    """A best match below this has nothing to do with the question. Cautious; -1 if it was not measured."""
    cluster_match: float = MATCHES
    """What a scene has at least with the cluster that it joins, and a small cluster with another (C ❶, ❼)."""

    def relevant_above(self, best: float) -> float:
        """The similarity that a match must exceed beside the best one (A §6.3)."""
        return max(self.question_floor, best - self.question_gap)


# The specifications' own figures are for this model (A §6.3, E §Episode Lifecycle). They give none for bands and links:
# these are cautious, so that too little is merged rather than too much, and a policy may set others.
SPECIFIED = Calibration(
    question_floor=0.65,
    question_gap=0.12,
    link_min=0.35,
    bands=Bands(auto=0.95, check_low=0.80, fallback_low=0.60),
    topic_similarity=0.70,
    recall_floor=0.35,
)
MEASURED: Mapping[str, Calibration] = {"text-embedding-3-small": SPECIFIED}


def calibration_of(model: str, figures: Mapping[str, Mapping[Figure, float]] | None = None) -> Calibration:
    """What `figures` says of a model, by its name; the specifications' figures for what nobody measured.

    InvalidInput, naming `calibrations`, for a figure outside [-1, 1] and for bands that do not ascend.
    """
    known = MEASURED.get(model, SPECIFIED)
    given: dict[str, float] = dict((figures or {}).get(model, {}).items())
    if wrong := [name for name, figure in given.items() if not -1 <= figure <= 1]:
        raise InvalidInput(f"{wrong[0]} of {model} is not between -1 and 1", field="calibrations", fix="give a cosine")
    bands = {one.name: given.get(one.name, getattr(known.bands, one.name)) for one in fields(Bands)}
    others = {name: figure for name, figure in given.items() if name not in bands}
    return replace(known, bands=Bands(**bands), **others)
