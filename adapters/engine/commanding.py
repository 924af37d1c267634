"""The command handler of an engine, with metrics and traces."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from mnemolog.adapters import telemetry
from mnemolog.commands.decider import Command, Decider
from mnemolog.commands.handler import Handler, Keyed
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.events.log import Outcome

C = TypeVar("C", bound=Command)
S = TypeVar("S")


class ObservedHandler(Handler):
    """Records the name of each command, never its content."""

    async def handle(
        self,
        decider: Decider[C, S],
        command: C,
        *,
        occurred_at: datetime | None = None,
        idempotency_key: str | Keyed | None = None,
    ) -> Receipt:
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
        with telemetry.step("command", commands=len(commands), **_attributes(commands[0][0])):
            return await super().handle_all(decider, stream, commands, keyed)


def _attributes(command: Command) -> dict[str, str]:
    attributes = {"command": type(command).__name__}
    return (
        attributes if command.correlation_id is None else {**attributes, "correlation_id": str(command.correlation_id)}
    )
