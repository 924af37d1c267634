"""Give a user an initial profile: fields, memories and facts, all under one correlation id (D14)."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from mnemolog.commands.decider import Command
from mnemolog.commands.facts import Remember
from mnemolog.commands.memories import CreateMemory
from mnemolog.commands.profile import ProposeProfile
from mnemolog.commands.seed import SEED, Seed, SeedUser, seed_of
from mnemolog.commands.writes.graph import GraphWrites
from mnemolog.commands.writes.profile import ProfileWrites
from mnemolog.domain.category import CategoryPolicy
from mnemolog.domain.consent import APPLIED
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.profile import SEEDED
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import validated, within

# What a part of a seed does not say of itself: the seed does.
_OF_THE_SEED = frozenset({*Command.model_fields, "source", "scope"})
_WHO = {"tenant", "user_id", "agent_id", "thread_id", "run_id"}


@dataclass(frozen=True, slots=True)
class Seeded:
    """What came of a seed. The fields in `queued` wait for consent."""

    correlation_id: UUID
    applied: tuple[str, ...]
    queued: tuple[str, ...]
    memory_ids: tuple[UUID, ...]
    facts: int
    receipt: Receipt


class SeedWrites(ProfileWrites, GraphWrites):
    """What `Writes` does to give a user an initial profile."""

    _policy: CategoryPolicy

    @abstractmethod
    async def _created(self, command: CreateMemory, idempotency_key: str | None) -> tuple[UUID, Receipt]: ...

    async def seed(self, command: SeedUser, idempotency_key: str | None = None) -> Seeded:
        """Fields, memories and facts; the receipt is that of the last write.

        The same seed again writes what is still missing, or nothing. What cannot be accepted is refused before anything
        is written.
        """
        proposals, memories, facts = self._parts(command.content, command.model_dump(include=_WHO, exclude_unset=True))
        receipt = await self._handler.handle(SEED, command, idempotency_key=idempotency_key)
        seed_id = seed_of(await self._handler.read(SEED, command), command)
        under = {"correlation_id": seed_id}
        applied, queued, memory_ids = list[str](), list[str](), list[UUID]()
        for place, proposal in enumerate(proposals):
            proposed = await self._proposed(proposal.model_copy(update=under), f"{seed_id}/profile/{place}")
            (applied if proposed.status in APPLIED else queued).append(proposal.field)
            receipt = _later(receipt, proposed.receipt)
        for place, memory in enumerate(memories):
            memory_id, written = await self._created(memory.model_copy(update=under), f"{seed_id}/memory/{place}")
            memory_ids.append(memory_id)
            receipt = _later(receipt, written)
        for place, fact in enumerate(facts):
            _, written = await self._remembered(fact.model_copy(update=under), f"{seed_id}/fact/{place}")
            receipt = _later(receipt, written)
        return Seeded(seed_id, tuple(applied), tuple(queued), tuple(memory_ids), len(facts), receipt)

    def _parts(
        self, given: Seed, context: Mapping[str, Any]
    ) -> tuple[Sequence[ProposeProfile], Sequence[CreateMemory], Sequence[Remember]]:
        """The commands that a seed holds."""
        proposals, memories, facts = list[ProposeProfile](), list[CreateMemory](), list[Remember]()
        for field, value in given.values:
            fields = {**context, "field": field, "value": value, "confidence": 1.0, "source": SEEDED}
            with within(f"content.profile.{field}"):
                proposals.append(self.proposal(fields, consented=given.consent))
        for place, memory in enumerate(given.memories):
            with within(f"content.memories[{place}]"):
                _require_own(CreateMemory, memory)
                fields = {**context, **memory, "source": SEEDED, "memory_id": self._handler.new_id()}
                memories.append(validated(CreateMemory, fields))
                self._policy.known(memories[-1].category)
        for place, fact in enumerate(given.facts):
            with within(f"content.facts[{place}]"):
                _require_own(Remember, fact)
                facts.append(self.fact({**context, **fact}))
        return proposals, memories, facts


def _require_own(kind: type[Command], part: Mapping[str, Any]) -> None:
    if others := sorted((_OF_THE_SEED | kind.generated).intersection(part)):
        raise InvalidInput("is not allowed here: it is part of the seed itself", field=others[0], fix="leave it out")


def _later(one: Receipt, other: Receipt) -> Receipt:
    """Of two receipts the one that a reader must wait for; all was there already when it was for both."""
    last = max(one, other, key=lambda receipt: receipt.last_seq)
    return replace(last, already=one.already and other.already)
