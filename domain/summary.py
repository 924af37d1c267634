"""Summaries: their kinds, their forms (D §SessionSummary, §SummarySpine; E §3), and how long they may be."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from mnemolog.domain.turn import Role


class SummaryKind(StrEnum):
    """What a summary is of. A spine is of all that a user said, in every thread."""

    ROLLING = "rolling"
    RUNNING = "running"
    CHUNK = "chunk"
    SESSION = "session"
    FINAL = "final"
    SPINE = "spine"


ROLLING_LIMIT = 600
"""Characters of a rolling summary (D §SessionState)."""
ONE_LINE = 160
LIMITS: Mapping[SummaryKind, int] = {
    SummaryKind.ROLLING: ROLLING_LIMIT,
    SummaryKind.RUNNING: 1200,
    SummaryKind.CHUNK: ROLLING_LIMIT,
    SummaryKind.SESSION: ONE_LINE,
    SummaryKind.FINAL: 1200,
}
"""Characters of a text. That of a spine is made of its items."""
ITEM, ITEMS = 200, 12
"""Characters of an item in a list, and items in a list."""


@dataclass(frozen=True, slots=True)
class Message:
    """What was said in a conversation, by whom and when."""

    role: Role
    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class PlainSummary:
    """A rolling summary, or one of a chunk."""

    summary: str


@dataclass(frozen=True, slots=True)
class RunningSummary:
    """An open episode up to now (E §Summarization Strategy)."""

    summary: str
    open_loops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session in brief, for the beginning of the next one (D §SessionSummary)."""

    one_liner: str
    what_mattered: tuple[str, ...] = ()
    open_loops: tuple[str, ...] = ()
    commitments: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    tone: str = ""


@dataclass(frozen=True, slots=True)
class FactCandidate:
    """What may be worth remembering, and its confidence from 0 to 1."""

    text: str
    confidence: float


@dataclass(frozen=True, slots=True)
class ArtifactNote:
    """An artifact that was shown or sent, and what was said of it."""

    artifact_id: str
    note: str


@dataclass(frozen=True, slots=True)
class EpisodeSummary:
    """The `summary_json` of an episode (E §3)."""

    topic: str
    decisions: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    facts_candidates: tuple[FactCandidate, ...] = ()
    entities: tuple[str, ...] = ()
    artifacts: tuple[ArtifactNote, ...] = ()
    open_questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FinalSummary(EpisodeSummary):
    """A closed episode: the same as a short text."""

    summary: str = ""


@dataclass(frozen=True, slots=True)
class Spine:
    """What a user is about, over all conversations (D §SummarySpine)."""

    profile: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    open_loops: tuple[str, ...] = ()

    @classmethod
    def of(cls, summary_json: Mapping[str, Any]) -> "Spine":
        """The spine that a `summary_json` stands for."""
        return cls(**{name.lower(): tuple(items) for name, items in summary_json.items()})


Form = PlainSummary | RunningSummary | SessionSummary | FinalSummary | Spine
FORMS: Mapping[SummaryKind, type[Form]] = {
    SummaryKind.ROLLING: PlainSummary,
    SummaryKind.RUNNING: RunningSummary,
    SummaryKind.CHUNK: PlainSummary,
    SummaryKind.SESSION: SessionSummary,
    SummaryKind.FINAL: FinalSummary,
    SummaryKind.SPINE: Spine,
}


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary as it is recorded: a text, and for some kinds the same in fields."""

    text: str
    summary_json: dict[str, Any]


def summary_of(kind: SummaryKind, form: Form) -> Summary:
    """A summary within the limits of its kind. "" is the text of one that says nothing.

    >>> summary_of(SummaryKind.SPINE, Spine(people=("Marta",))).text
    'PEOPLE\\n- Marta'
    """
    fields: dict[str, Any] = {name: _bounded(value) for name, value in asdict(form).items() if name != "summary"}
    match form:
        case Spine():
            sections = {name.upper(): items for name, items in fields.items()}
            shown = ("\n".join([name, *(f"- {item}" for item in items)]) for name, items in sections.items() if items)
            return Summary("\n\n".join(shown), sections)
        case SessionSummary():
            text = shortened(form.one_liner.strip(), LIMITS[kind])
            return Summary(text, {**fields, "one_liner": text})
        case _:
            return Summary(shortened(form.summary.strip(), LIMITS[kind]), fields)


def _bounded(value: Any) -> Any:
    match value:
        case str():
            return shortened(value.strip(), ITEM)
        case float():
            return min(1.0, max(0.0, value))
        case dict():
            return {name: _bounded(one) for name, one in value.items()}
        case _:
            return [one for one in map(_bounded, value) if one][:ITEMS]


def shortened(text: str, limit: int) -> str:
    """At most so long, cut at the end of a word if there is one in the last fifth."""
    if len(text) <= limit:
        return text
    cut = text[: max(0, limit - 1)]
    words = cut.rpartition(" ")[0]
    return f"{words if len(words) > 0.8 * len(cut) else cut}…"[:limit]
