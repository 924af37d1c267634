"""Every error that Mnemolog raises on purpose, in one tree.

    MnemologError
     ├─ InvalidInput            a field of a request is wrong
     │   ├─ CategoryNotAllowed
     │   ├─ NestedTooDeep
     │   ├─ PolicyRefused
     │   ├─ Unstorable          it could not be read again
     │   └─ UnreadableTurn
     ├─ Unauthenticated         who asks is not known
     ├─ NotPermitted            who asks may not do this
     ├─ NotFound
     │   └─ Erased              it was there, and its text is destroyed
     ├─ Conflict
     │   ├─ ConcurrencyConflict
     │   ├─ IdempotencyConflict
     │   ├─ TransitionRefused
     │   ├─ ConsentRequired
     │   ├─ AmbiguousEntity      several bear this name
     │   └─ UndoConflict
     ├─ LogError
     │   ├─ UnknownEvent
     │   ├─ MalformedEvent
     │   └─ ProjectionPoisoned
     ├─ Tampered                something was changed behind the engine's back
     │   ├─ TamperedEvent        in the log itself: nothing is shown or rebuilt from it
     │   │   └─ KeyMissing       a text has lost its key, and no event erased it
     │   └─ TamperedRow          in a projection: it is rebuilt from the log
     ├─ ReadTimeout
     │   └─ ProjectionPaused
     ├─ AppendTimeout
     ├─ Overloaded
     ├─ TooManyRequests         one caller asks for too much at once
     └─ EngineError
         ├─ DataDirectoryInUse
         ├─ DatabaseRolledBack
         ├─ EngineEnded          the one whose servers were used
         ├─ EngineSettingDiffers it runs with another value than this client asks for
         ├─ LeaseLost            another may do by now what this process did
         ├─ ServerFailed
         └─ ModelMissing

Each says what happened (`message`), to which field (`field`, a dotted path, or "") and what to do (`fix`).
The docstring of a class is its default message. `code` is stable and is what HTTP, CLI and programs match on.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


class MnemologError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "error"

    def __init_subclass__(cls) -> None:
        cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def __init__(self, message: str = "", *, field: str = "", fix: str = "") -> None:
        self.message = message or (type(self).__doc__ or "").split("\n")[0]
        self.field = field
        self.fix = fix
        super().__init__(self.message)

    def __str__(self) -> str:
        where = f"{self.field}: " if self.field else ""
        what_to_do = f" ({self.fix})" if self.fix else ""
        return f"{where}{self.message}{what_to_do}"

    def as_dict(self) -> dict[str, Any]:
        """The error for programs: `code`, `message`, `field`, `fix`, and what more there is to tell."""
        return self.plain()

    def plain(self) -> dict[str, Any]:
        """`code`, `message`, `field` and `fix` alone, which tell nothing of what is stored."""
        return {"code": self.code, "message": self.message, "field": self.field, "fix": self.fix}


class InvalidInput(MnemologError):
    """The value cannot be accepted."""


class AmbiguousId(InvalidInput):
    """Several ids begin like this."""


class CategoryNotAllowed(InvalidInput):
    """The agent may not read this category (B §5)."""


class NestedTooDeep(InvalidInput):
    """More lists and objects are within each other than are accepted."""


@dataclass(frozen=True, slots=True)
class PolicyFault:
    """Something in a policy file that cannot be accepted; `line` is 0 where the file itself is at fault."""

    file: str
    line: int
    path: str
    message: str
    fix: str

    @property
    def place(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where} {self.path}".strip()

    def __str__(self) -> str:
        return f"{self.place}: {self.message} ({self.fix})"


class PolicyRefused(InvalidInput):
    """The policy file cannot be accepted."""

    def __init__(self, faults: Sequence[PolicyFault]) -> None:
        first = faults[0]
        if len(faults) == 1:
            super().__init__(first.message, field=first.place, fix=first.fix)
        else:
            told = "".join(f"\n  {fault}" for fault in faults)
            super().__init__(f"has {len(faults)} faults:{told}", field=first.file, fix="correct them all")
        self.faults = tuple(faults)


class UnreadableTurn(InvalidInput):
    """The turn cannot be read."""


class Unstorable(InvalidInput):
    """What is asked for cannot be stored so that it can be read again."""


class Unauthenticated(MnemologError):
    """Who asks is not known."""


class NotPermitted(MnemologError):
    """Who asks may not do this."""


class NotFound(MnemologError):
    """There is nothing under this id."""


class Erased(NotFound):
    """Its text was destroyed and cannot be brought back."""


class Conflict(MnemologError):
    """The request does not fit what is stored."""


class ConcurrencyConflict(Conflict):
    """Another write came first."""

    def __init__(self, stream: str, expected: int, actual: int) -> None:
        super().__init__(
            f"another write to {stream} came first: expected nothing after seq {expected}, found seq {actual}",
            fix="read again and retry",
        )
        self.stream, self.expected, self.actual = stream, expected, actual


class IdempotencyConflict(Conflict):
    """The idempotency key was used before with other content."""


class TransitionRefused(Conflict):
    """The memory's status does not allow this change."""


class ConsentRequired(Conflict):
    """The person himself, or somebody for him, must agree to this."""


class AmbiguousEntity(Conflict):
    """Several bear this name, and nothing tells who is meant."""

    def __init__(self, field: str, question: str, candidates: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(field=field, fix="name one by its id, or by an alias that only one bears")
        self.question, self.candidates = question, candidates

    def as_dict(self) -> dict[str, Any]:
        """With `question`, to be put to the user, and the `candidates`: for who may read, and in no log or message."""
        return {**self.plain(), "question": self.question, "candidates": list(self.candidates)}


class UndoConflict(Conflict):
    """Later changes stand in the way of this undo."""


class LogError(MnemologError):
    """The event log holds something that cannot be read."""


class UnknownEvent(LogError):
    """The event's type or version is not registered."""


class MalformedEvent(LogError):
    """The event's data does not fit its type."""


class ProjectionPoisoned(LogError):
    """A projection stopped at an event that it cannot apply."""


class Tampered(MnemologError):
    """What is stored was changed behind the engine's back."""


class TamperedEvent(Tampered):
    """An event of the log was changed, forged or removed behind the engine's back."""

    def __init__(self, stream: str, seq: int, detail: str, event_id: str = "") -> None:
        super().__init__(
            f"the log of {stream} is damaged at event {seq}: {detail}",
            field="stream",
            fix="run `mnemolog verify`; restore the log from a copy from before",
        )
        self.stream, self.seq, self.detail, self.event_id = stream, seq, detail, event_id


class KeyMissing(TamperedEvent):
    """The key of a text is gone or does not open, and no event says that it was erased."""

    def __init__(self, stream: str, seq: int, detail: str, event_id: str = "") -> None:
        super().__init__(stream, seq, detail, event_id)
        self.fix = "restore the schema mnemolog_keys from a backup"


class TamperedRow(Tampered):
    """A row of a projection is not one that its projector wrote."""

    def __init__(self, projection: str, table: str, key: Mapping[str, str]) -> None:
        super().__init__(
            f"a row of {projection}.{table} is not one that its projector wrote: {dict(key)}",
            field=projection,
            fix="run `mnemolog verify --heal`: projections are rebuilt from the log",
        )
        self.projection, self.table, self.key = projection, table, key


class ReadTimeout(MnemologError):
    """The projection did not reach the awaited write in time."""


class ProjectionPaused(ReadTimeout):
    """A projection that the read waits for is paused."""


class AppendTimeout(MnemologError):
    """The log did not confirm a write in time: it may or may not be written."""


class Overloaded(MnemologError):
    """More is asked than can be taken now: nothing was written."""


class TooManyRequests(MnemologError):
    """This caller asks for more at once than one caller may."""


class EngineError(MnemologError):
    """The engine cannot run."""


class DataDirectoryInUse(EngineError):
    """Another engine runs on this data directory."""


class DatabaseRolledBack(EngineError):
    """The database is older than what was anchored outside of it."""


class EngineEnded(EngineError):
    """The engine that ran on this data directory ended."""


class EngineSettingDiffers(EngineError):
    """The engine that runs on this data directory has another value of this setting."""


class LeaseLost(EngineError):
    """The database did not hear of this process for so long that another may lead by now."""


class ServerFailed(EngineError):
    """A server that the engine needs does not answer."""


class ModelMissing(EngineError):
    """The embedding model's files are missing or damaged."""
