"""What is to be erased, as the command line and Python name it: one thing of a user, or everything."""

from collections.abc import Mapping
from uuid import UUID

from mnemolog.commands.erasure import Erase, EraseKnown, EraseMemory, EraseThread, EraseUser
from mnemolog.domain.errors import InvalidInput
from mnemolog.events.fields import validated


def wanted(
    who: Mapping[str, str],
    memory_id: UUID | str | None,
    thread_id: str | None,
    known: str | None,
    *,
    everything: bool,
    keep_turns: bool,
    with_survivors: bool,
) -> Erase | EraseUser:
    """`known` is a kind and an id: `entity:ID`, `relation:ID`, `profile:FIELD`, `todo:ID`."""
    if [memory_id is not None, thread_id is not None, known is not None, everything].count(True) != 1:
        raise InvalidInput(
            "one thing at a time is erased",
            field="memory_id",
            fix="name one: a memory, a thread, something known, or everything",
        )
    if memory_id is not None:
        options = {"keep_turns": keep_turns, "with_survivors": with_survivors}
        return validated(EraseMemory, {**who, **options, "memory_id": memory_id})
    if thread_id is not None:
        return validated(EraseThread, {**who, "with_survivors": with_survivors, "thread_id": thread_id})
    if known is not None:
        kind, _, name = known.partition(":")
        return validated(EraseKnown, {**who, "kind": kind, "name": name})
    return validated(EraseUser, who)
