"""Keeps searches fast of users with many memories: an approximate index for each, in the background (ADR 83)."""

from mnemolog.adapters.jobs.job import Attempt, Kind
from mnemolog.adapters.services import Services

MINUTE, HOUR = 60.0, 3600.0


def indexing(engine: Services) -> Kind:
    """The job over all users. If it is cut off, the next one begins with the index that was not complete."""

    async def work(attempt: Attempt) -> None:
        await attempt.save({"indexed": await engine.projections.index_vectors()})

    return Kind(name="index-vectors", every=10 * MINUTE, run=work, timeout=6 * HOUR)
