"""Lives: what many users leave in the log through the real deciders, made up from a seed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from random import Random
from uuid import UUID

from mnemolog.commands.decider import Command, Decider
from mnemolog.commands.memories import (
    MEMORIES,
    CreateMemory,
    LinkMemories,
    Memories,
    MergeMemories,
    RestoreMemory,
    SoftDeleteMemory,
    UndoChange,
    UpdateMemory,
)
from mnemolog.commands.turns import TURNS, Conversation, RecordTurn
from mnemolog.domain.identity import uuid7
from mnemolog.events.envelope import NewEvent, StreamId
from mnemolog.events.event import memory_tag
from mnemolog.events.log import Append

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
EVERY = timedelta(seconds=20)
CATEGORIES = ("note", "personal", "preferences")
# Of a hundred steps: a turn leaves two events (three with a new speaker), the others one (an undone merge two).
STEPS = {"turn": 80, "fact": 6, "update": 5, "merge": 2, "link": 3, "delete": 2, "restore": 1, "undo": 1}
_COMMON = (
    "the of and to in is was he for it with as his on be at by had not are but from or have an they which one you were"
    " all her she there would their we him been has when who will no more if out so said what up its about into than"
)
COMMON = tuple(_COMMON.split())
ONSETS = ("b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "w", "br", "cl", "st")
NUCLEI = ("a", "e", "i", "o", "u", "ai", "ou")
CODAS = ("", "n", "r", "s", "t", "nd", "l")


def vocabulary(random: Random, size: int = 8000) -> list[str]:
    """Words that are made up, each once."""
    words: dict[str, None] = {}
    while len(words) < size:
        syllables = [random.choice(ONSETS) + random.choice(NUCLEI) + random.choice(CODAS) for _ in range(2)]
        words["".join(syllables[: random.randint(1, 2)]) + random.choice(CODAS)] = None
    return list(words)


class Talk:
    """Sentences of 100 to 200 characters: about half of the words common, the others by Zipf's law."""

    def __init__(self, random: Random) -> None:
        self._random, self._words = random, vocabulary(random)
        self._weights = list(accumulate(1 / rank for rank in range(1, len(self._words) + 1)))

    def sentence(self) -> str:
        length = self._random.randint(100, 200)
        rare = self._random.choices(self._words, cum_weights=self._weights, k=length // 8)
        common = self._random.choices(COMMON, k=length // 8)
        text = " ".join(word for pair in zip(common, rare, strict=True) for word in pair)
        return text[:length].strip().capitalize() + "."


@dataclass
class Life:
    """One user's state as the deciders see it, so that every step is one that the product would take."""

    user: str
    random: Random
    talk: Talk
    conversation: Conversation = field(default_factory=Conversation)
    memories: Memories = field(default_factory=Memories)
    at: datetime = BEGAN

    def step(self) -> list[NewEvent]:
        """What one command leaves; nothing when it does not fit."""
        self.at += EVERY
        [kind] = self.random.choices(list(STEPS), weights=list(STEPS.values()))
        command = self._command(kind)
        if command is None:
            return []
        decider: Decider[Command, Conversation | Memories] = TURNS if kind == "turn" else MEMORIES  # type: ignore[assignment]
        state = self.conversation if kind == "turn" else self.memories
        payloads = decider.decide(state, command)
        events = [NewEvent(self._id(), payload, command.meta(), self.at) for payload in payloads]
        for event in events:
            self.conversation = TURNS.evolve(self.conversation, event)
            self.memories = MEMORIES.evolve(self.memories, event)
        return events

    def _command(self, kind: str) -> Command | None:
        match kind:
            case "turn":
                return self._turn()
            case "fact":
                category = self.random.choice(CATEGORIES)
                return CreateMemory(
                    user_id=self.user, memory_id=self._id(), text=self.talk.sentence(), category=category
                )
            case _ if len(visible := self._visible()) > 3:
                return self._change(kind, visible)
            case _:
                return None

    def _turn(self) -> RecordTurn:
        role, speaker = self.random.choice((("user", self.user), ("assistant", "Bot")))
        if self.random.random() < 0.01:
            speaker = self.talk.sentence().split()[1].capitalize()
        turn = {"turn_id": str(self._id()), "role": role, "speaker": speaker, "text": self.talk.sentence()}
        drawn = {"entity_id": self._id(), "occurred_at": self.at}
        return RecordTurn.model_validate({"user_id": self.user, **turn, **drawn})

    def _change(self, kind: str, visible: Sequence[UUID]) -> Command | None:
        one, *others = self.random.sample(visible, 3)
        match kind:
            case "update":
                return UpdateMemory(user_id=self.user, memory_id=one, text=self.talk.sentence())
            case "merge":
                return MergeMemories(
                    user_id=self.user, memory_id=one, absorbed_ids=tuple(others), text=self.talk.sentence()
                )
            case "link":
                return LinkMemories(user_id=self.user, memory_id=one, to_id=others[0], strength=0.5)
            case "delete":
                return SoftDeleteMemory(user_id=self.user, memory_id=one, reason="no longer true", at=self.at)
            case "restore":
                hidden = [id_ for id_, memory in self.memories.known.items() if memory.status == "soft_deleted"]
                return RestoreMemory(user_id=self.user, memory_id=self.random.choice(hidden)) if hidden else None
            case _:
                return self._undo()

    def _undo(self) -> UndoChange | None:
        """The last change of some memory, where every memory that it changed has seen no later one."""
        changes = self.memories.changes
        for id_ in reversed(list(self.memories.known)):
            last = changes.last(memory_tag(id_))
            if last and all(changes.last(subject) == last for subject in changes.subjects(last)):
                return UndoChange(user_id=self.user, memory_id=id_, event_id=last, at=self.at)
        return None

    def _visible(self) -> list[UUID]:
        """Of what was remembered last."""
        known = list(self.memories.known.values())[-100:]
        return [memory.memory_id for memory in known if memory.visible]

    def _id(self) -> UUID:
        return uuid7(self.at, self.random.randbytes(10))


def appends(users: int, events: int, seed: int = 7) -> Iterator[Append]:
    """About `events` events of `users` users, a command at a time, interleaved as they would come in."""
    random = Random(seed)
    talk = Talk(random)
    lives = [Life(f"user-{number}", random, talk) for number in range(users)]
    count = 0
    while count < events:
        life = random.choice(lives)
        if happened := tuple(life.step()):
            count += len(happened)
            yield Append(StreamId.of_user(life.user), happened)
