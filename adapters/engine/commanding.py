"""The command handler of an engine, with metrics and traces, and turns for its callers."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Self, TypeVar
from uuid import UUID

from mnemolog.adapters import telemetry
from mnemolog.adapters.reads.limits import Caller, Callers, Unlimited
from mnemolog.commands.decider import Command, Decider
from mnemolog.commands.handler import Handler, Keyed
from mnemolog.domain.principal import Principal
from mnemolog.events.envelope import NewEvent, Receipt, StreamId
from mnemolog.events.log import EventLog, Outcome

C = TypeVar("C", bound=Command)
S = TypeVar("S")


class ObservedHandler(Handler):
    """Records the name of each command, never its content. The writes of a caller take turns while others ask, too."""

    def __init__(
        self,
        log: EventLog,
        now: Callable[[], datetime],
        new_id: Callable[[], UUID],
        policy_version: str,
        decided: Callable[[Sequence[NewEvent]], None],
        callers: Callers,
    ) -> None:
        super().__init__(log, now, new_id, policy_version, decided)
        self._callers = callers
        self._caller: Caller = Unlimited()

    def by(self, principal: Principal | None) -> Self:
        bound = super().by(principal)
        bound._caller = self._callers.of(principal.tenant, principal.name) if principal else Unlimited()
        return bound

    def turn(self) -> AbstractAsyncContextManager[None]:
        return self._caller.write()

    async def handle(
        self,
        decider: Decider[C, S],
        command: C,
        *,
        occurred_at: datetime | None = None,
        idempotency_key: str | Keyed | None = None,
    ) -> Receipt:
        async with self._caller.write():
            with telemetry.step("command", **_attributes(command)):
                return await super().handle(decider, command, occurred_at=occurred_at, idempotency_key=idempotency_key)

    async def handle_all(
        self,
        decider: Decider[C, S],
        stream: StreamId,
        commands: Sequence[tuple[C, datetime]],
        keyed: Keyed | None = None,
    ) -> Sequence[Outcome]:
        if not commands:
            return await super().handle_all(decider, stream, commands, keyed)
        async with self._caller.write():
            with telemetry.step("command", commands=len(commands), **_attributes(commands[0][0])):
                return await super().handle_all(decider, stream, commands, keyed)


def _attributes(command: Command) -> dict[str, str]:
    attributes = {"command": type(command).__name__}
    return (
        attributes if command.correlation_id is None else {**attributes, "correlation_id": str(command.correlation_id)}
    )
