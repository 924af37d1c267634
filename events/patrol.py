"""What the patrol of a being does to all of its scenes at once."""

from mnemolog.events.event import Event


class CycleClosed(Event):
    """A patrol cycle of a being ends: each of its active scenes is one cycle older, and none is fresh any more (C ❷).

    It names no scene, however many there are; those that begin to die or are revived have events of their own beside
    it. It changes no memory as deciders see it, so it stands in no writer's way: it has a tag of its own.
    """

    agent_id: str

    def tags(self) -> frozenset[str]:
        return frozenset({cycle_tag(self.agent_id)})


def cycle_tag(agent_id: str) -> str:
    return f"cycle:{agent_id}"
