"""All sources of a search."""

from mnemolog.projections.sources.artifacts import ARTIFACTS
from mnemolog.projections.sources.graph import FACTS
from mnemolog.projections.sources.passages import PASSAGES
from mnemolog.projections.sources.profile import FIELDS, TODOS
from mnemolog.projections.sources.recorded import RECORDED
from mnemolog.projections.sources.summaries import SUMMARIES

SOURCES = (FACTS, RECORDED, FIELDS, TODOS, SUMMARIES, ARTIFACTS, PASSAGES)
