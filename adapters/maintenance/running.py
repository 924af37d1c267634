"""The jobs of each mind, and one run of a mind for one user, on request."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from mnemolog.adapters.maintenance import (
    consolidating,
    curating,
    extracting,
    patrol,
    reflecting,
    seeking_insights,
    segmenting,
    summarizing,
)
from mnemolog.adapters.maintenance.minds import Ran, Run
from mnemolog.domain.minds.mind import Mind
from mnemolog.events.envelope import DEFAULT_AGENT

JOBS: Mapping[Mind, tuple[str, ...]] = {
    Mind.EXTRACTION: extracting.EXTRACTING,
    Mind.EPISODES: (segmenting.THREAD,),
    Mind.SUMMARIES: (summarizing.THREAD, summarizing.ENDED),
    Mind.REFLECTION: (reflecting.THREAD,),
    Mind.INSIGHTS: (seeking_insights.JOB,),
    Mind.CONSOLIDATION: (consolidating.JOB,),
    Mind.CURATOR: (curating.JOB,),
    Mind.PATROL: (patrol.PATROL,),
}
"""The kinds of jobs that work for each mind."""
_RUNS: Mapping[Mind, Callable[[Run], Awaitable[Ran]]] = {
    Mind.REFLECTION: reflecting.reflect,
    Mind.INSIGHTS: seeking_insights.seek_insights,
    Mind.CONSOLIDATION: consolidating.consolidate,
    Mind.CURATOR: curating.curate,
    Mind.PATROL: patrol.run_patrol,
}


_OF_USER = frozenset({Mind.CONSOLIDATION, Mind.CURATOR})
"""The minds that work for a user: what they did, and their limits of a day, count for all agents."""


async def run_mind(run: Run) -> Ran:
    """Let a mind work for one user and agent now, as its jobs do.

    ModelUnavailable, ModelBudgetExceeded and ModelOutputInvalid if the model fails.
    """
    return await _RUNS[run.mind](replace(run, agent_id=DEFAULT_AGENT) if run.mind in _OF_USER else run)
