"""All sources of a search."""

from mnemolog.domain.errors import InvalidInput
from mnemolog.projections.sources.artifacts import ARTIFACTS
from mnemolog.projections.sources.graph import FACTS
from mnemolog.projections.sources.profile import FIELDS, TODOS
from mnemolog.projections.sources.recorded import RECORDED
from mnemolog.projections.sources.summaries import SUMMARIES

SOURCES = (FACTS, RECORDED, FIELDS, TODOS, SUMMARIES, ARTIFACTS)
KINDS = frozenset().union(*(source.kinds for source in SOURCES))


def known_kind(value: object, path: str) -> str:
    """A kind of hit; raises InvalidInput for any other."""
    if not isinstance(value, str) or value not in KINDS:
        fix = f"use one of {', '.join(sorted(KINDS))}"
        raise InvalidInput(f"there is no kind {value!r:.80}", field=path, fix=fix)
    return value
