"""Output for people: threads, sessions and episodes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mnemolog.adapters.cli import output
from mnemolog.adapters.operations.episodes import (
    CarriedTurn,
    Episode,
    EpisodeFound,
    Stretch,
    Thread,
    ThreadSession,
    ThreadSessionFound,
)
from mnemolog.adapters.operations.results import Page
from mnemolog.domain.episode import EpisodeStatus


def _threads(page: Page[Thread]) -> None:
    rows = [(one.thread_id, one.turns, output.when(one.last_activity_at), one.active_episode_id or "–") for one in page]
    output.show(("thread", "turns", "latest turn", "open episode"), rows, nothing="no threads", short=True)


def _thread(one: Thread) -> None:
    output.line("turns:", str(one.turns))
    output.line("began:", output.when(one.started_at))
    output.line("latest turn:", output.when(one.last_activity_at))
    output.line("open session:", str(one.active_session_id or "none"))
    output.line("open episode:", str(one.active_episode_id or "none"))


def _sessions(page: Page[ThreadSession]) -> None:
    rows = [(one.thread_id, one.turns, output.when(one.started_at), _ended(one), one.session_id) for one in page]
    output.show(("thread", "turns", "began", "ended", "id"), rows, nothing="no sessions", short=True)


def _session(one: ThreadSessionFound) -> None:
    _stretch(one, one.carried_over)


def _episodes(page: Page[Episode]) -> None:
    rows = [
        (
            one.topic_label or "–",
            one.thread_id,
            one.turns,
            output.when(one.started_at),
            _why(one),
            _ended(one),
            one.episode_id,
        )
        for one in page
    ]
    columns = ("topic", "thread", "turns", "began", "because", "ended", "id")
    output.show(columns, rows, nothing="no episodes", short=True)


def _episode(one: EpisodeFound) -> None:
    if one.topic_label:
        output.line("topic:", one.topic_label)
    output.line("began because:", _why(one))
    if one.similarities:
        output.line("similarities:", f"{', '.join(map(str, one.similarities))}, below {one.least_similarity}")
    if one.marker_kind:
        output.line("announced by:", f"a phrase of kind {one.marker_kind}, language {one.marker_language}")
    if one.merged_into:
        output.line("merged into:", str(one.merged_into))
    _stretch(one, one.carried_over)


def _stretch(one: Stretch, carried: Sequence[CarriedTurn]) -> None:
    output.line("thread:", one.thread_id)
    output.line("turns:", str(one.turns))
    output.line("began:", output.when(one.started_at))
    output.line("ended:", _ended(one) + (f", {_word(one.closed_by)}" if one.closed_by else ""))
    if one.previous_id:
        output.line("after:", str(one.previous_id))
    for turn in carried:
        output.line(f"carried over, {turn.role}:", turn.text)


def _ended(one: Stretch) -> str:
    return output.when(one.ended_at) if one.ended_at else str(EpisodeStatus(one.status))


def _why(one: Episode) -> str:
    return _word(one.starts_by)


def _word(boundary: str) -> str:
    return boundary.replace("_", " ")


SHOWN: Mapping[type, Callable[[Any], None]] = {
    Page[Thread]: _threads,
    Thread: _thread,
    Page[ThreadSession]: _sessions,
    ThreadSessionFound: _session,
    Page[Episode]: _episodes,
    EpisodeFound: _episode,
}
