"""Puts what is to come above what is over, if a question asks for that."""

from collections.abc import Sequence
from dataclasses import replace

from mnemolog.domain import hydration
from mnemolog.domain.ahead import lasts_until
from mnemolog.domain.change import changes
from mnemolog.domain.message import KIND as MESSAGE
from mnemolog.domain.text import normalize_name
from mnemolog.projections.retrieval import Hit, by_score
from mnemolog.projections.sources.messages import no_answer, tells_something
from mnemolog.projections.sources.source import Asked
from mnemolog.projections.sources.telling import is_told

OVER = 0.5
"""The weight of what was to come when it was said, and is over, if the question asks for what is to come."""


def ahead_first(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """If a question asks for what is to come, what names a day to come first, and what is over by now as former.

    Of what is next, the soonest, unless a later message moves it.
    """
    if asked.ahead is None:
        return hits
    in_time = [_by_now(asked, hit) for hit in hits]
    coming = [hit for hit in in_time if is_ahead(asked, hit)]
    moved = [hit for hit in in_time if _is_to_come(asked, hit) and any(one.firm for one in changes(hit.row["text"]))]
    repeated = {one.id: [hit for hit in moved if _is_repeated(one, hit)] for one in coming}
    coming += [hit for hit in moved if hit not in coming and any(hit in by for by in repeated.values())]
    best = max((hit.score for hit in in_time), default=0.0)
    if asked.ahead.next:
        coming = [hit for hit in coming if not repeated.get(hit.id)]
        coming.sort(key=lambda hit: lasts_until(hit.row["text"], hit.date) or asked.now)
    ids = {hit.id for hit in coming}
    others = [hit for hit in in_time if hit.id not in ids]
    return by_score([*(replace(hit, score=best) for hit in coming), *others])


def is_ahead(asked: Asked, hit: Hit) -> bool:
    """Whether a message names a day to come, of something of the sort that is asked for."""
    if asked.ahead is None or not _is_to_come(asked, hit):
        return False
    return asked.ahead.is_sort(hit.row["text"]) or (asked.slot is not None and is_told(asked.slot, hit))


def _is_to_come(asked: Asked, hit: Hit) -> bool:
    until = lasts_until(hit.row["text"], hit.date) if tells_something(hit) else None
    return until is not None and until > asked.now


def _by_now(asked: Asked, hit: Hit) -> Hit:
    if hit.kind != MESSAGE:
        return hit
    until = lasts_until(hit.row["text"], hit.date)
    if until is not None and until <= asked.now:
        return replace(hit.lowered("over", OVER), current=False)
    return hit if is_ahead(asked, hit) else no_answer(hit)


def _is_repeated(hit: Hit, later: Hit) -> bool:
    """Whether a later message names somebody or something that this one names, too."""
    names = {word for name in hydration.capitalised_names(hit.row["text"]) for word in normalize_name(name).split()}
    return later.date > hit.date and not names.isdisjoint(hydration.capitalised_words(later.row["text"]))
