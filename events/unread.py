"""A placeholder for an event that cannot be read, used by erasures, which only need the header (X07)."""

from collections.abc import Iterator

from mnemolog.events.event import Event


class Unread(Event):
    """`shape` is the event without its personal fields, if its open fields can be read; never written."""

    type: str
    header_tags: frozenset[str]
    shape: Event | None = None

    def tags(self) -> frozenset[str]:
        return self.header_tags

    def names(self, kind: str) -> Iterator[str]:
        """The ids in the tags of a kind, such as `memory`."""
        return (tag.removeprefix(f"{kind}:") for tag in sorted(self.header_tags) if tag.startswith(f"{kind}:"))
