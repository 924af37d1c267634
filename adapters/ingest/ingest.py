"""Publish turns to JetStream and wait for the engine's receipts, so turns reported as recorded are in the log."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mnemolog.adapters.artifacts.of_messages import with_artifact
from mnemolog.adapters.ingest.source import SourceTurn
from mnemolog.adapters.nats.producer import Sent, TurnSender
from mnemolog.adapters.nats.subjects import Address
from mnemolog.adapters.nats.turn_message import read_turn
from mnemolog.adapters.nats.turns import command_fields
from mnemolog.adapters.services import Services
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.principal import OPERATOR
from mnemolog.events.envelope import Receipt


@dataclass(frozen=True, slots=True)
class SetAside:
    """A turn that was refused. `kept`: it was sent over NATS, and is in the dead-letter stream with its bytes."""

    place: str
    error: dict[str, str]
    kept: bool


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

    Turns of a principal are recorded directly: over NATS they would be the engine's own. So is one for which a message
    of NATS is too small.
    """

    def __init__(
        self, services: Services, turns: Sequence[SourceTurn], progressed: Callable[[int], None] | None = None
    ) -> None:
        self._services, self._tenant = services, services.settings.tenant
        self._turns, self._progressed = turns, progressed or (lambda count: None)
        self.report = IngestReport(turns=len(turns))

    async def run(self) -> IngestReport:
        """Send everything, at most a window ahead of the receipts; a turn without a receipt in time is sent again.

        ServerFailed after a minute without a receipt: the engine that this run is attached to may have ended.
        """
        if self._services.principal:
            for turn in self._turns:
                self._count(turn, await self._recorded(turn.body), sent=False)
            return self.report
        turns = iter(self._turns)
        async with TurnSender(self._services.nats, Address.of(self._tenant, OPERATOR)) as sender:
            async for outcome in sender.send_all(turn.body for turn in self._turns):
                turn = next(turns)
                sent = sender.takes(turn.body)
                self._count(turn, outcome if sent else await self._recorded(turn.body), sent=sent)
        return self.report

    async def _recorded(self, body: bytes) -> Receipt | MnemologError:
        try:
            fields = command_fields(read_turn(body), self._tenant)
            async with with_artifact(self._services, fields) as turn:
                return await self._services.writes.record_turn(turn)
        except MnemologError as error:
            return error

    def _count(self, turn: SourceTurn, outcome: Sent, *, sent: bool) -> None:
        if isinstance(outcome, MnemologError):
            self.report.set_aside.append(SetAside(turn.place, outcome.as_dict(), kept=sent))
        elif outcome and outcome.already:
            self.report.already += 1
            self.report.known.add(turn.user_id)
        else:
            self.report.recorded += 1
        self._progressed(1)
