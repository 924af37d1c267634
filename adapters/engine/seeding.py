"""Give a user an initial profile: fields, memories and facts, all under one correlation id (D14)."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from mnemolog.adapters.engine.writes import Writes
from mnemolog.commands.decider import Command
from mnemolog.commands.facts import Remember
from mnemolog.commands.memories import CreateMemory
from mnemolog.commands.seed import Seed, SeedUser
from mnemolog.domain.consent import APPLIED
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.profile import SEEDED
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import validated

# What a part of a seed does not say of itself: the seed does.
_OF_THE_SEED = frozenset({*Command.model_fields, "source", "scope"})


@dataclass(frozen=True, slots=True)
class Seeded:
    """What came of a seed. `seed` is the correlation id of it all; the fields in `queued` wait for consent."""

    seed: UUID
    applied: tuple[str, ...]
    queued: tuple[str, ...]
    memory_ids: tuple[UUID, ...]
    facts: int
    receipt: Receipt

    @property
    def parts(self) -> dict[str, Any]:
        """What it wrote."""
        return {
            "seed": str(self.seed),
            "applied": list(self.applied),
            "queued": list(self.queued),
            "memory_ids": [str(id_) for id_ in self.memory_ids],
            "facts": self.facts,
        }

    def as_dict(self) -> dict[str, Any]:
        return {**self.parts, "receipt": self.receipt.as_dict()}


async def seed(
    writes: Writes,
    who: Mapping[str, Any],
    content: Mapping[str, Any],
    progressed: Callable[[int], None] = lambda count: None,
) -> Seeded:
    """The receipt is that of the last write. The same seed again writes what is still lacking, and else nothing.

    What cannot be accepted is told before anything is written. `progressed` is called after each part.
    """
    given = validated(Seed, content)
    generated = writes.new_id()
    command = validated(SeedUser, {**who, "seed": generated, "correlation_id": generated, "content": given})
    _check(writes, given, who)
    seed_id, receipt = await writes.begin_seed(command)
    under = {**who, "correlation_id": seed_id}
    applied, queued, memory_ids = list[str](), list[str](), list[UUID]()
    for place, (field, value) in enumerate(given.values):
        asked = {**under, **_proposal(field, value)}
        key = f"{seed_id}/profile/{place}"
        proposed = await writes.propose(asked, key, consented=given.consent)
        (applied if proposed.status in APPLIED else queued).append(field)
        receipt = _later(receipt, proposed.receipt)
        progressed(1)
    for place, memory in enumerate(given.memories):
        memory_id, written = await writes.create({**under, **memory, "source": SEEDED}, f"{seed_id}/memory/{place}")
        memory_ids.append(memory_id)
        receipt = _later(receipt, written)
        progressed(1)
    for place, fact in enumerate(given.facts):
        _, written = await writes.remember({**under, **fact}, f"{seed_id}/fact/{place}")
        receipt = _later(receipt, written)
        progressed(1)
    return Seeded(seed_id, tuple(applied), tuple(queued), tuple(memory_ids), len(given.facts), receipt)


def _proposal(field: str, value: str) -> dict[str, Any]:
    return {"field": field, "value": value, "confidence": 1.0, "source": SEEDED}


def _check(writes: Writes, given: Seed, who: Mapping[str, Any]) -> None:
    """Refuse a seed of which a part would be refused."""
    for field, value in given.values:
        with _within(f"profile.{field}"):
            writes.proposal({**who, **_proposal(field, value)}, consented=given.consent)
    for place, memory in enumerate(given.memories):
        with _within(f"memories[{place}]"):
            _require_own(CreateMemory, memory)
            writes.require_category(validated(CreateMemory, {**who, **memory, "memory_id": writes.new_id()}).category)
    for place, fact in enumerate(given.facts):
        with _within(f"facts[{place}]"):
            _require_own(Remember, fact)
            writes.fact({**who, **fact})


def _require_own(kind: type[Command], part: Mapping[str, Any]) -> None:
    if others := sorted((_OF_THE_SEED | kind.generated).intersection(part)):
        raise InvalidInput("is not known here: the seed says it", field=others[0], fix="leave it out")


@contextmanager
def _within(path: str) -> Iterator[None]:
    """Faults of a part as faults of the seed."""
    try:
        yield
    except InvalidInput as error:
        field = path if error.field == "field" else f"{path}.{error.field}"
        raise type(error)(error.message, field=field, fix=error.fix) from error


def _later(one: Receipt, other: Receipt) -> Receipt:
    """Of two receipts the one that a reader must wait for; all was there already when it was for both."""
    last = max(one, other, key=lambda receipt: receipt.last_seq)
    return replace(last, already=one.already and other.already)
