"""Publish turns to JetStream and wait for the engine's receipts, so turns reported as recorded are in the log."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field

from nats.aio.client import Client

from mnemolog.adapters.artifacts.of_messages import with_artifact
from mnemolog.adapters.ingest.source import SourceTurn
from mnemolog.adapters.nats.producer import Sent, TurnSender
from mnemolog.adapters.nats.subjects import Address
from mnemolog.adapters.nats.turn_message import read_turn
from mnemolog.adapters.nats.turns import command_fields
from mnemolog.adapters.services import Services
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.principal import OPERATOR


@dataclass(frozen=True, slots=True)
class SetAside:
    """A turn that was refused; one sent over NATS is in the dead-letter stream with its bytes."""

    place: str
    error: dict[str, str]


@dataclass(slots=True)
class IngestReport:
    """Every turn of the source is recorded, was there already, or is set aside. `known`: whose turns were there."""

    turns: int = 0
    recorded: int = 0
    already: int = 0
    set_aside: list[SetAside] = field(default_factory=list)
    known: set[str] = field(default_factory=set)


class Ingest:
    """One run over one source. Run again after a crash, it counts turns that are in the log as `already`.

    With `services`, turns are recorded through them, for their principal: over NATS they would be the engine's own.
    """

    def __init__(
        self,
        nats: Client,
        tenant: str,
        turns: Sequence[SourceTurn],
        progressed: Callable[[int], None] | None = None,
        services: Services | None = None,
    ) -> None:
        self._nats, self._tenant, self._services = nats, tenant, services
        self._turns, self._progressed = turns, progressed or (lambda count: None)
        self.report = IngestReport(turns=len(turns))

    async def run(self) -> IngestReport:
        """Send everything, at most a window ahead of the receipts; a turn without a receipt in time is sent again.

        ServerFailed after a minute without a receipt: the engine that this run is attached to may have ended.
        """
        if self._services:
            return await self._counted(self._recorded_by(self._services))
        async with TurnSender(self._nats, Address.of(self._tenant, OPERATOR)) as sender:
            return await self._counted(sender.send_all(self._bodies()))

    async def _recorded_by(self, services: Services) -> AsyncIterator[Sent]:
        for body in self._bodies():
            try:
                turn = await with_artifact(services, command_fields(read_turn(body), self._tenant))
                yield await services.writes.record_turn(turn)
            except MnemologError as error:
                yield error

    async def _counted(self, outcomes: AsyncIterator[Sent]) -> IngestReport:
        turns = iter(self._turns)
        async for outcome in outcomes:
            turn = next(turns)
            if isinstance(outcome, MnemologError):
                self.report.set_aside.append(SetAside(turn.place, outcome.as_dict()))
            elif outcome and outcome.already:
                self.report.already += 1
                self.report.known.add(turn.user_id)
            else:
                self.report.recorded += 1
            self._progressed(1)
        return self.report

    def _bodies(self) -> Iterator[bytes]:
        return (turn.body for turn in self._turns)
