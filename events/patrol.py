"""Events of the patrol, which ages an agent's scenes."""

from mnemolog.events.event import Event


class CycleClosed(Event):
    """A patrol cycle of an agent ended: each of its active scenes is one cycle older and no longer fresh (C ❷).

    It does not list the scenes; those that become dying or are revived get their own events. It changes no memory as
    seen by deciders and has its own tag, so it never conflicts with writers.
    """

    agent_id: str

    def tags(self) -> frozenset[str]:
        return frozenset({cycle_tag(self.agent_id)})


def cycle_tag(agent_id: str) -> str:
    return f"cycle:{agent_id}"
