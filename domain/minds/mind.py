"""The minds: jobs that propose what to remember, from what is there, off the path of writes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from mnemolog.domain.errors import InvalidInput


class Mind(StrEnum):
    """What can be paused and resumed by its name. A mind that `reflects` can also be run for one user."""

    EXTRACTION = "extraction"
    EPISODES = "episodes"
    SUMMARIES = "summaries"
    REFLECTION = "reflection"
    INSIGHTS = "insights"
    CONSOLIDATION = "consolidation"
    CURATOR = "curator"
    PATROL = "patrol"

    @property
    def reflects(self) -> bool:
        return self in REFLECTING


REFLECTING = frozenset({Mind.REFLECTION, Mind.INSIGHTS, Mind.CONSOLIDATION, Mind.CURATOR, Mind.PATROL})
WITHOUT_MODEL: Mapping[Mind, str] = {
    Mind.EXTRACTION: "rules extract plain English statements; the rest is skipped",
    Mind.EPISODES: "makes no difference",
    Mind.SUMMARIES: "summaries are extracts",
    Mind.REFLECTION: "no reflections; unsure memories that a newer one contradicts are still archived",
    Mind.INSIGHTS: "no insights",
    Mind.CONSOLIDATION: "merges what rules can tell to be the same; other pairs wait for a model",
    Mind.CURATOR: "folds nothing; trivial memories that nobody uses are still archived",
    Mind.PATROL: "scenes are not consolidated, clusters not split; no diary and no think_md",
}
"""What a mind does without a chat model (X12)."""


@dataclass(frozen=True, slots=True)
class MindPolicy:
    """When the slow brain reflects, and what it takes for unsure.

    A conversation is reflected on when it was quiet for `quiet_minutes` (A §7.2: 5 to 10), or after `batch` messages. A
    memory with a confidence below `unsure` is archived when a newer, surer one contradicts it.
    """

    quiet_minutes: float = 5.0
    batch: int = 20
    unsure: float = 0.5

    def __post_init__(self) -> None:
        if self.quiet_minutes < 1:
            raise InvalidInput(
                f"{self.quiet_minutes} is too short", field="minds.quiet_minutes", fix="give 1 minute or more"
            )

    @property
    def quiet(self) -> timedelta:
        return timedelta(minutes=self.quiet_minutes)
