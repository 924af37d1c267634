"""Start and erase the checkpoints of an agent's graph in a thread (ADR 54)."""

from typing import ClassVar

from mnemolog.commands.decider import Command, Decider
from mnemolog.domain.principal import Role
from mnemolog.events.checkpoints import CheckpointsErased, CheckpointsStarted, checkpoints_tag
from mnemolog.events.erasure import USER


class StartCheckpoints(Command):
    """Makes the key of the checkpoints of `agent_id` in `thread_id`."""


class EraseCheckpoints(Command):
    """Erases the checkpoints of `agent_id` in `thread_id`."""

    needs: ClassVar[Role] = Role.ERASE


def _tags(state: None, command: Command) -> frozenset[str]:
    return frozenset({checkpoints_tag(command.agent_id, command.thread_id), USER})


def _start(state: None, command: StartCheckpoints) -> list[CheckpointsStarted]:
    agent_id, thread_id = command.agent_id, command.thread_id
    return [CheckpointsStarted(agent_id=agent_id, thread_id=thread_id, key_check="checkpoints")]


# Whoever starts or erases them found a missing key, or one to destroy. Repeating it changes nothing.
CHECKPOINTS_START: Decider[StartCheckpoints, None] = Decider(
    initial=None,
    subject=lambda command: checkpoints_tag(command.agent_id, command.thread_id),
    tags=_tags,
    evolve=lambda state, event: None,
    decide=_start,
)
CHECKPOINTS_ERASURE: Decider[EraseCheckpoints, None] = Decider(
    initial=None,
    subject=lambda command: checkpoints_tag(command.agent_id, command.thread_id),
    tags=_tags,
    evolve=lambda state, event: None,
    decide=lambda state, command: [CheckpointsErased(agent_id=command.agent_id, thread_id=command.thread_id)],
)
