"""What another policy would have decided: each recorded decision of a stream, made again under two policies (X06)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from mnemolog.commands.backtest.memories import category_of, is_known
from mnemolog.commands.backtest.profile import rule_of
from mnemolog.domain.bands import Bands, judged
from mnemolog.domain.memory import Memory
from mnemolog.domain.policy import Policy
from mnemolog.domain.turn import Role
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Recorded
from mnemolog.events.memory import MemoryCreated, MemoryObserved, MemoryUpdated
from mnemolog.events.memory_fold import MEMORY
from mnemolog.events.profile import ProfileProposed

UNRELATED = "unrelated"
PRONOUN = "pronoun"
Statement = MemoryCreated | MemoryUpdated | MemoryObserved
# The kind of a decision, its subject's id, a text, and its outcome under both policies.
Outcome = tuple[str, str, str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Difference:
    """A decision that differs. `decision` is what was decided, such as `merge`; `id` is that of its subject.

    `now` and `then` are the outcomes under the policy in effect and under the other one. `seq` is None for what no
    event decided yet.
    """

    decision: str
    seq: int | None
    id: str
    text: str
    now: str
    then: str


@dataclass(slots=True)
class Judgement:
    """Both policies, with the bands that apply if they have none. `model`: the one whose similarities the bands mean.

    `looked_at` counts the decisions by kind, `unread` those that cannot be made again.
    """

    now: Policy
    then: Policy
    bands: Bands
    model: str
    looked_at: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)

    def differences(self, events: Iterable[Recorded]) -> Iterator[Difference]:
        """Each decision is made with what was known before it in the log; the consequences of another one are not."""
        known = dict[UUID, Memory]()
        for event in events:
            for kind, id_, text, (now, then) in self._outcomes(event, known):
                self.looked_at[kind] += 1
                if now != then:
                    yield Difference(kind, event.seq, id_, text, now, then)
            known.update(MEMORY.evolve(known, event.payload))

    def _outcomes(self, event: Recorded, known: Mapping[UUID, Memory]) -> Iterator[Outcome]:
        match event.payload:
            case MemoryCreated() | MemoryUpdated() | MemoryObserved() as statement:
                yield from self._merge(event, statement, known)
                if category := category_of(statement):
                    ways = _category(self.now, category), _category(self.then, category)
                    yield "category", str(statement.memory_id), category, ways
            case ProfileProposed() as proposed:
                ways = _consent(self.now, proposed.field), _consent(self.then, proposed.field)
                yield "consent", str(proposed.patch_id), proposed.field, ways
            case TurnRecorded(role=Role.USER) as turn if event.erased:
                self.unread["message"] += 1
            case TurnRecorded(role=Role.USER) as turn:
                if not turn.mentioned_ids:  # A known name opens the gate under any policy.
                    ways = _gate(self.now, turn.text), _gate(self.then, turn.text)
                    yield "gate", turn.turn_id, turn.text, ways
                ways = _reader(self.now, turn.text), _reader(self.then, turn.text)
                yield "extraction", turn.turn_id, turn.text, ways
                if turn.text:
                    ways = _pronouns(self.now, turn.text), _pronouns(self.then, turn.text)
                    yield PRONOUN, turn.turn_id, turn.text, ways

    def _merge(self, event: Recorded, statement: Statement, known: Mapping[UUID, Memory]) -> Iterator[Outcome]:
        """Of a statement whose similarity to a known memory was recorded. It is about the subject that it got then."""
        found = statement.match
        if found is None or found.similarity is None:
            return
        candidate = known.get(found.candidate_id) if found.candidate_id else None
        if event.erased or candidate is None or not candidate.content.text or found.model != self.model:
            self.unread["merge"] += 1
            return
        text = statement.text or candidate.content.text
        identity = statement.identity if isinstance(statement, MemoryCreated) else candidate.identity
        ways = [
            judged(policy.bands or self.bands, found.similarity, candidate, text, identity)
            for policy in (self.now, self.then)
        ]
        now, then = (band.value if band else UNRELATED for band in ways)
        yield "merge", str(statement.memory_id), text, (now, then)


def _category(policy: Policy, category: str) -> str:
    return "accepted" if is_known(policy.categories, category) else "refused"


def _consent(policy: Policy, field: str) -> str:
    needed = rule_of(policy, field)
    if needed is None:
        return "refused"
    return "needs consent" if needed else "needs no consent"


def _gate(policy: Policy, text: str) -> str:
    return "searches" if policy.gate.decide(text).search else "does not search"


def _reader(policy: Policy, text: str) -> str:
    return "read by the model" if len(text) >= policy.extraction.long_message else "read by the rules"


def _pronouns(policy: Policy, text: str) -> str:
    """The words that are looked up in the conversation, and what they stand for."""
    found = policy.pronouns.found_in(text)
    words = [f"{one.text} ({one.meant})" for one in found.pronouns]
    return ", ".join([*words, *([f"{found.opening} (elliptic)"] if found.opening else [])]) or "nothing"
