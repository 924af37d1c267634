"""Import of memories exported by mem0: `get_all()` as JSON, under one import id."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from pydantic import BaseModel, ConfigDict, ValidationError

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.export.form import FORMAT
from mnemolog.adapters.ingest.restoring import restored
from mnemolog.commands.memories import CreateMemory
from mnemolog.domain.errors import InvalidInput, NestedTooDeep
from mnemolog.domain.json_value import parsed_json
from mnemolog.domain.origin import Origin
from mnemolog.domain.profile import CATEGORY as PROFILE
from mnemolog.events.fields import Id, Instant, Text, invalid_input, validated
from mnemolog.events.memory import MemoryReverted

ACTOR = "mem0"
# For ids of mem0 and of imported files.
NAMESPACE = UUID("6b1f0f6e-1b0c-5a35-9c53-0d7f2d1b8f30")
BESIDE = frozenset({"agent_id", "run_id", "actor_id", "role", "expiration_date"})  # Of a memory; stored as metadata.
UNKNOWN = datetime.min.replace(tzinfo=UTC)


class Exported(BaseModel):
    """A memory of mem0. What has no field here is left out: the hash, and the time of the last change."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    id: Id
    memory: Text
    user_id: Id
    agent_id: Id | None = None
    run_id: Id | None = None
    actor_id: str | None = None
    role: str | None = None
    expiration_date: str | None = None
    created_at: Instant | None = None
    metadata: dict[str, Any] | None = None
    categories: list[str] | None = None

    @property
    def wishes(self) -> Sequence[str]:
        """The categories that it names, most certain first."""
        named = (self.metadata or {}).get("category")
        return [*([named] if isinstance(named, str) else []), *(self.categories or ())]


@dataclass(slots=True)
class Report:
    """The outcome for the memories."""

    import_id: UUID
    memories: int
    recorded: int = 0
    restored: int = 0
    already: int = 0

    def as_dict(self) -> dict[str, Any]:
        return {
            "import_id": str(self.import_id),
            "memories": self.memories,
            "recorded": self.recorded,
            "restored": self.restored,
            "already": self.already,
        }


def is_export(path: Path) -> bool:
    """Whether a file looks like a mem0 export: a JSON document, not lines in our format."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return FORMAT.encode() not in file.readline()


def import_id(path: Path) -> UUID:
    """The same for the same file, so that an interrupted import continues under the same id."""
    return uuid5(NAMESPACE, sha256(path.read_bytes()).hexdigest())


def read(path: Path, user_id: str | None = None) -> Sequence[Exported]:
    """The memories of a file, oldest first; InvalidInput names the first invalid one. Nothing is written."""
    if not path.is_file():
        raise InvalidInput(f"there is no file {path}", field="path", fix="correct the path")
    found = [_checked(one, f"results[{index}]", user_id) for index, one in enumerate(_results(path))]
    return sorted(found, key=lambda one: one.created_at or UNKNOWN)


async def take_in(
    engine: Engine, memories: Sequence[Exported], id_: UUID, progressed: Callable[[int], None] = lambda count: None
) -> Report:
    """Write what is missing, and restore what was rolled back.

    Run again after a crash, it counts what is in the log as `already`.
    """
    report = Report(id_, len(memories))
    for one in memories:
        # All agents of the user see it, as all searches of mem0 find it.
        known = engine.policy.categories.categories
        fields = {
            "tenant": engine.settings.tenant,
            "user_id": one.user_id,
            "memory_id": uuid5(NAMESPACE, f"{one.user_id}\n{one.id}"),
            "text": one.memory,
            "category": next((name for name in one.wishes if name in known and name != PROFILE), "note"),
            "origin": Origin.IMPORT,
            "run_id": one.run_id,
            "actor": ACTOR,
            "correlation_id": id_,
            "metadata": {**(one.metadata or {}), **one.model_dump(include=set(BESIDE), exclude_none=True)},
        }
        receipt = await engine.writes.execute(validated(CreateMemory, fields), occurred_at=one.created_at)
        report.already += receipt.already
        report.recorded += not receipt.already
        progressed(1)
    if report.already:
        users = sorted({one.user_id for one in memories})
        report.restored = await restored(engine, users, id_, MemoryReverted)
        report.already -= report.restored
    return report


def _results(path: Path) -> Sequence[Any]:
    try:
        document = parsed_json(path.read_bytes(), "path")
    except NestedTooDeep:
        raise
    except InvalidInput as error:
        raise InvalidInput(
            "is neither an exported user nor a JSON export of mem0", field="path", fix="use one of these formats"
        ) from error
    found = document.get("results", document.get("memories")) if isinstance(document, dict) else document
    if not isinstance(found, list):
        raise InvalidInput("has no list `results`", field="path", fix="save the result of mem0's get_all()")
    return found


def _checked(one: object, place: str, user_id: str | None) -> Exported:
    fields = {**one, **({"user_id": user_id} if user_id else {})} if isinstance(one, Mapping) else one
    try:
        return Exported.model_validate(fields)
    except ValidationError as error:
        invalid = invalid_input(error)
        missing = invalid.field == "user_id"
        fix = "say whose it is with --user" if missing else invalid.fix
        raise InvalidInput(
            error.errors()[0]["msg"].lower(), field=f"{place}.{invalid.field}".rstrip("."), fix=fix
        ) from error
