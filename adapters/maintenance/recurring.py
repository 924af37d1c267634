"""The jobs over all users, and of threads."""

from mnemolog.adapters.artifacts.extraction import extractions
from mnemolog.adapters.artifacts.of_messages import discarding_files
from mnemolog.adapters.artifacts.uploads import discarding
from mnemolog.adapters.jobs.job import Attempt, JobKind
from mnemolog.adapters.maintenance.consolidating import consolidating
from mnemolog.adapters.maintenance.curating import curating
from mnemolog.adapters.maintenance.expiring import expire
from mnemolog.adapters.maintenance.extracting import extracting
from mnemolog.adapters.maintenance.extracting_by_model import extracting_by_model
from mnemolog.adapters.maintenance.finishing import finishing
from mnemolog.adapters.maintenance.following import following
from mnemolog.adapters.maintenance.patrol import patrols
from mnemolog.adapters.maintenance.reflecting import reflecting
from mnemolog.adapters.maintenance.retention import retain
from mnemolog.adapters.maintenance.seeking_insights import seeking_insights
from mnemolog.adapters.maintenance.segmenting import segmenting
from mnemolog.adapters.maintenance.summarizing import summarizing
from mnemolog.adapters.services import Services

MINUTE, HOUR = 60.0, 3600.0


def recurring(engine: Services) -> list[JobKind]:
    """Each decides again under the guard of the log, so running a job twice changes nothing."""

    async def retention(attempt: Attempt) -> None:
        """Fade memories that nobody uses, purge what was deleted long ago."""
        done = await retain(engine, engine.writes.now())
        await attempt.save({name: len(ids) for name, ids in done.as_dict().items()})

    async def proposals(attempt: Attempt) -> None:
        """Expire proposals that nobody decided in time."""
        await attempt.save({"expired": len(await expire(engine))})

    async def indexes(attempt: Attempt) -> None:
        """Keep searches fast of users with many memories (ADR 83). A run that was cut off is continued by the next."""
        await attempt.save({"indexed": await engine.projections.index_vectors()})

    return [
        JobKind(name="retention", every=HOUR, run=retention),
        JobKind(name="expire-proposals", every=HOUR, run=proposals),
        *patrols(engine),
        *extractions(engine),
        discarding(engine),
        discarding_files(engine),
        *extracting(engine),
        *extracting_by_model(engine),
        following(engine),
        finishing(engine),
        *segmenting(engine),
        *summarizing(engine),
        *reflecting(engine),
        seeking_insights(engine),
        *consolidating(engine),
        curating(engine),
        JobKind(name="index-vectors", every=10 * MINUTE, run=indexes, timeout=6 * HOUR),
        *engine.webhooks.kinds(),
    ]
