"""The services of an open engine."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Self

from nats.aio.client import Client

from mnemolog.adapters.blobs.store import BlobStore
from mnemolog.adapters.checkpoints.store import CheckpointStore
from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded import Endpoints
from mnemolog.adapters.jobs.queue import JobQueue
from mnemolog.adapters.openai.models import Models
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.outbox import Outbox
from mnemolog.adapters.postgres.policies import Policies
from mnemolog.adapters.projecting.projections import Projections
from mnemolog.adapters.reads.reads import Reads
from mnemolog.adapters.reads.recalls import Recalls
from mnemolog.adapters.verify.anchoring import Anchoring
from mnemolog.adapters.verify.audit import Audit
from mnemolog.adapters.verify.incidents import Incidents
from mnemolog.adapters.verify.verification import Verifier
from mnemolog.adapters.watching.appends import Appends
from mnemolog.adapters.webhooks.webhooks import Webhooks
from mnemolog.commands.writes.api_keys import ApiKeys
from mnemolog.commands.writes.writes import Writes
from mnemolog.domain.policy import Policy
from mnemolog.domain.principal import Principal
from mnemolog.projections.mem0.item import ItemStore


@dataclass(kw_only=True, eq=False, repr=False)
class Services:
    """The connected parts of an engine. `reads` and `writes` are restricted to `principal`; None is unrestricted.

    `session_key` signs the sessions of the console. `mem0` holds copies, if the settings name a store. A long operation
    calls `report` with how far it is, such as "45%".
    """

    settings: Settings
    endpoints: Endpoints
    log: PostgresLog
    outbox: Outbox
    projections: Projections
    reads: Reads
    writes: Writes
    nats: Client
    verifier: Verifier
    anchoring: Anchoring
    incidents: Incidents
    audit: Audit
    policy: Policy
    policies: Policies
    api_keys: ApiKeys
    recalls: Recalls
    jobs: JobQueue
    models: Models
    checkpoints: CheckpointStore
    blobs: BlobStore
    session_key: bytes
    appends: Appends
    webhooks: Webhooks
    mem0: ItemStore | None = None
    principal: Principal | None = None
    report: Callable[[str], None] = lambda how_far: None

    def by(self, principal: Principal | None) -> Self:
        """The same services acting for this principal, restricted to its scope."""
        if principal is None:
            return self
        bound = copy(self)
        bound.principal, bound.settings = principal, self.settings.model_copy(update={"tenant": principal.tenant})
        bound.reads, bound.writes = self.reads.by(principal), self.writes.by(principal)
        bound.checkpoints = self.checkpoints.by(principal, bound.writes.handler)
        return bound

    def by_itself(self) -> Self:
        """The same services for what the engine does by itself, after the principal was admitted."""
        bound = copy(self)
        bound.principal, bound.writes = None, self.writes.by(None)
        return bound
