"""The error classes of Mnemolog.

    MnemologError
     ├─ InvalidInput            a field of a request is wrong
     │   ├─ CategoryNotAllowed
     │   ├─ EnvelopeInvalid      an inference envelope is not as its contract says
     │   ├─ NestedTooDeep
     │   ├─ PolicyRefused
     │   ├─ Unstorable          it could not be read back
     │   └─ UnreadableTurn
     ├─ Unauthenticated         the caller is not known
     ├─ NotPermitted            the caller may not do this
     ├─ NotFound
     │   └─ Erased              it existed, but its text is destroyed
     ├─ Conflict
     │   ├─ ConcurrencyConflict
     │   ├─ IdempotencyConflict
     │   ├─ TransitionRefused
     │   ├─ ConsentRequired
     │   ├─ UntrustedOrigin      what came from outside needs the user's word
     │   ├─ AmbiguousEntity      several have this name
     │   └─ UndoConflict
     ├─ LogError
     │   ├─ UnknownEvent
     │   ├─ MalformedEvent
     │   └─ ProjectionPoisoned
     ├─ Tampered                stored data was tampered with
     │   ├─ TamperedEvent        in the log itself: nothing is shown or rebuilt from it
     │   │   └─ KeyMissing       an encryption key is missing, and no event erased it
     │   └─ TamperedRow          in a projection: it is rebuilt from the log
     ├─ ReadTimeout
     │   └─ ProjectionPaused
     ├─ AppendTimeout
     ├─ Overloaded
     ├─ TooManyRequests         one caller has too many open reads
     └─ EngineError
         ├─ DataDirectoryInUse
         ├─ DatabaseRolledBack
         ├─ EngineEnded           the engine of this client stopped
         │   └─ MemoryClosed      this client was closed
         ├─ EngineSettingDiffers its value of a setting is not the client's
         ├─ LeaseLost            another process may have taken over
         ├─ ServerFailed
         │   └─ ModelUnavailable
         ├─ ModelMissing
         ├─ ModelRequestRefused
         │   └─ ModelNotAccessible    until a setting or the server is corrected
         ├─ ModelOutputInvalid
         └─ ModelBudgetExceeded

Each has a `message`, the `field` concerned (a dotted path, or "") and a `fix`. The docstring of a class is its default
message. `code` is stable: HTTP, CLI and programs match on it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
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
        """The error for programs: `code`, `message`, `field`, `fix`, and the attributes of its class."""
        return self.plain()

    def plain(self) -> dict[str, Any]:
        """Only `code`, `message`, `field` and `fix`, which contain no stored data."""
        return {"code": self.code, "message": self.message, "field": self.field, "fix": self.fix}


class InvalidInput(MnemologError):
    """The value cannot be accepted."""


class AmbiguousId(InvalidInput):
    """Several ids have this prefix."""


class CategoryNotAllowed(InvalidInput):
    """The agent may not read this category (B §5)."""


class EnvelopeInvalid(InvalidInput):
    """The inference envelope does not match the slot contract."""


class NestedTooDeep(InvalidInput):
    """The value is nested too deeply."""


@dataclass(frozen=True, slots=True)
class PolicyFault:
    """A fault in a policy file; `line` is 0 if it concerns the file as a whole."""

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
            lines = "".join(f"\n  {fault}" for fault in faults)
            super().__init__(f"has {len(faults)} faults:{lines}", field=first.file, fix="correct them all")
        self.faults = tuple(faults)


class UnreadableTurn(InvalidInput):
    """The turn cannot be read."""


class Unstorable(InvalidInput):
    """The value cannot be stored so that it can be read back."""


class Unauthenticated(MnemologError):
    """Invalid or revoked API key."""


class NotPermitted(MnemologError):
    """The caller is not permitted to do this."""


class NotFound(MnemologError):
    """There is nothing with this id."""


class Erased(NotFound):
    """Its text was erased and cannot be restored."""


class Conflict(MnemologError):
    """The request conflicts with stored data."""


class ConcurrencyConflict(Conflict):
    """Another write came first."""

    def __init__(self, stream: str, expected: int, actual: int) -> None:
        super().__init__(
            f"another write to {stream} came first: expected nothing after seq {expected}, found seq {actual}",
            fix="read again and retry",
        )
        self.stream, self.expected, self.actual = stream, expected, actual


class IdempotencyConflict(Conflict):
    """The idempotency key was already used with different content."""


class TransitionRefused(Conflict):
    """The memory's status does not allow this change."""


class ConsentRequired(Conflict):
    """The user must consent to this change."""


class UntrustedOrigin(Conflict):
    """What came from outside needs the user's or an operator's word for this."""


class AmbiguousEntity(Conflict):
    """Several entities have this name, and it is unclear which one is meant."""

    def __init__(self, field: str, question: str, candidates: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(field=field, fix="give the id of one, or an alias that only one of them has")
        self.question, self.candidates = question, candidates

    def as_dict(self) -> dict[str, Any]:
        """Adds `question`, to ask the user, and the `candidates`: only for callers with the role `read`, and never
        logged.
        """
        return {**self.plain(), "question": self.question, "candidates": list(self.candidates)}


class UndoConflict(Conflict):
    """Later changes depend on the one to undo."""


class LogError(MnemologError):
    """The event log contains something that cannot be read."""


class UnknownEvent(LogError):
    """The event's type or version is not registered."""


class MalformedEvent(LogError):
    """The event's data does not match its type."""


class ProjectionPoisoned(LogError):
    """A projection stopped at an event it cannot apply. `projection` is its name, if a read waited for it."""

    def __init__(self, message: str = "", *, field: str = "", fix: str = "", projection: str = "") -> None:
        super().__init__(message, field=field, fix=fix)
        self.projection = projection


class Tampered(MnemologError):
    """Stored data was tampered with."""


class TamperedEvent(Tampered):
    """An event in the log was changed, forged or removed."""

    def __init__(self, stream: str, seq: int, detail: str, event_id: str = "") -> None:
        super().__init__(
            f"the log of {stream} is damaged at event {seq}: {detail}",
            field="stream",
            fix="run `mnemolog verify`; restore the log from an earlier backup",
        )
        self.stream, self.seq, self.detail, self.event_id = stream, seq, detail, event_id


class KeyMissing(TamperedEvent):
    """An encryption key is missing or invalid, although no event erased it."""

    def __init__(self, stream: str, seq: int, detail: str, event_id: str = "") -> None:
        super().__init__(stream, seq, detail, event_id)
        self.fix = "restore the schema mnemolog_keys from a backup"


class TamperedRow(Tampered):
    """A row of a projection was not written by its projector, or is missing."""

    def __init__(self, projection: str, table: str, key: Mapping[str, str], *, missing: bool = False) -> None:
        fault = "is missing" if missing else "was not written by its projector"
        super().__init__(
            f"a row of {projection}.{table} {fault}: {dict(key)}",
            field=projection,
            fix="run `mnemolog verify --heal`: projections are rebuilt from the log",
        )
        self.projection, self.table, self.key, self.missing = projection, table, key, missing


class ReadTimeout(MnemologError):
    """The projection did not catch up with the write in time."""


class ProjectionPaused(ReadTimeout):
    """A projection that the read waits for is paused."""

    def __init__(self, message: str = "", *, field: str = "", fix: str = "", projection: str = "") -> None:
        super().__init__(message, field=field, fix=fix)
        self.projection = projection


class AppendTimeout(MnemologError):
    """The log did not confirm the write in time; it may or may not have been written."""


class Overloaded(MnemologError):
    """The engine is overloaded; nothing was written."""


class TooManyRequests(MnemologError):
    """This caller has too many open requests."""


class EngineError(MnemologError):
    """The engine cannot run."""


class DataDirectoryInUse(EngineError):
    """Another engine runs on this data directory."""


class DatabaseRolledBack(EngineError):
    """The database is older than its last anchor."""


class EngineEnded(EngineError):
    """The engine of this data directory has stopped."""


class MemoryClosed(EngineEnded):
    """The object was closed during this call."""


class EngineSettingDiffers(EngineError):
    """The running engine has a different value for this setting."""


class LeaseLost(EngineError):
    """The database has not heard from this process for so long that another may have taken over."""


class ServerFailed(EngineError):
    """A server does not answer."""


class ModelUnavailable(ServerFailed):
    """The model's server does not answer, or answers that it cannot now."""

    def __init__(self, message: str = "", retry_after: float = 0.0, *, field: str = "", fix: str = "") -> None:
        super().__init__(message, field=field, fix=fix)
        self.retry_after = retry_after


class ModelRequestRefused(EngineError):
    """The model's server refused the request: a setting is wrong, or it does not support this."""

    def __init__(self, message: str = "", status: int = 0, param: str = "", *, field: str = "", fix: str = "") -> None:
        super().__init__(message, field=field, fix=fix)
        self.status, self.param = status, param


class ModelNotAccessible(ModelRequestRefused):
    """The model's server does not accept the key, or does not have the model."""

    retry_after = 300.0


class ModelOutputInvalid(EngineError):
    """The model's answer cannot be used."""


class ModelBudgetExceeded(EngineError):
    """The tenant's tokens for today are used up."""

    def __init__(self, message: str = "", retry_after: float = 0.0, *, field: str = "", fix: str = "") -> None:
        super().__init__(message, field=field, fix=fix)
        self.retry_after = retry_after


class ModelMissing(EngineError):
    """The embedding model's files are missing or damaged."""


def error_of(fields: Mapping[str, Any]) -> MnemologError:
    """The error that `as_dict` told, in the class of its code.

    A code that this version does not know gives a plain `MnemologError`. The attributes of its class are those in
    `fields`, and no others.
    """
    told = dict(fields)
    classes = {one.code: one for one in _with_subclasses(MnemologError)}
    found = classes.get(told.pop("code", ""), MnemologError)
    error = found.__new__(found)
    MnemologError.__init__(error, told.pop("message", ""), field=told.pop("field", ""), fix=told.pop("fix", ""))
    vars(error).update(told)
    return error


def _with_subclasses(kind: type[MnemologError]) -> Iterator[type[MnemologError]]:
    yield kind
    for one in kind.__subclasses__():
        yield from _with_subclasses(one)
