"""What stands for an event that cannot be read, where its header is enough: for erasures (X07)."""

from collections.abc import Iterator

from mnemolog.events.event import Event


class Unread(Event):
    """`shape` is the event with its personal fields left out, where its open fields can be read; never written."""

    type: str
    header_tags: frozenset[str]
    shape: Event | None = None

    def tags(self) -> frozenset[str]:
        return self.header_tags

    def names(self, kind: str) -> Iterator[str]:
        """What the tags of a kind, such as `memory`, name."""
        return (tag.removeprefix(f"{kind}:") for tag in sorted(self.header_tags) if tag.startswith(f"{kind}:"))
