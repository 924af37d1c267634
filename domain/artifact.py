"""An artifact: a file or link of a conversation, and the texts that stand for it (E §4)."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from mnemolog.domain.errors import Erased, NotFound
from mnemolog.domain.identity import parse_uuid
from mnemolog.domain.memory import Status
from mnemolog.domain.scope import Scope


class ArtifactType(StrEnum):
    IMAGE = "image"
    FILE = "file"
    AUDIO = "audio"
    VIDEO = "video"
    LINK = "link"


class TextKind(StrEnum):
    """What a text of an artifact is (E `artifact_text`)."""

    USER_CAPTION = "user_caption"
    VISION_SHORT = "vision_short"
    VISION_DETAIL = "vision_detail"
    OCR = "ocr"
    FILE_SUMMARY = "file_summary"
    CHUNK = "chunk"
    TRANSCRIPT = "transcript"


class Extraction(StrEnum):
    """How far the extraction of an artifact's text is."""

    PENDING = "pending"
    DONE = "done"
    REFUSED = "refused"


class Refusal(StrEnum):
    """Why no text was extracted from a file."""

    WRONG_TYPE = "wrong_type"
    UNSUPPORTED = "unsupported"
    BROKEN = "broken"
    ENCRYPTED = "encrypted"
    MACROS = "macros"
    ARCHIVE_BOMB = "archive_bomb"
    TOO_MANY_PAGES = "too_many_pages"
    TOO_MANY_PIXELS = "too_many_pixels"
    TOO_MUCH_TEXT = "too_much_text"
    TOO_SLOW = "too_slow"
    TOO_MUCH_MEMORY = "too_much_memory"


# Which text describes an artifact in one line, best first.
DESCRIBING = (TextKind.USER_CAPTION, TextKind.VISION_SHORT, TextKind.FILE_SUMMARY, TextKind.TRANSCRIPT, TextKind.OCR)
LONGEST_SURROGATE = 200


@dataclass(frozen=True, slots=True)
class Artifact:
    """The current state of an artifact. `withdrawn`: the events whose texts were undone."""

    artifact_id: UUID
    type: ArtifactType
    scope: Scope
    agent_id: str
    size_bytes: int
    blob: str
    name: str = ""
    mime: str = ""
    sha256: str = ""
    url: str = ""
    source_turn_ids: tuple[str, ...] = ()
    status: Status = Status.ACTIVE
    purge_at: datetime | None = None
    extraction: Extraction = Extraction.PENDING
    withdrawn: frozenset[UUID] = frozenset()

    @property
    def is_erased(self) -> bool:
        return self.status is Status.PURGED

    def deleted(self, purge_at: datetime) -> "Artifact":
        return replace(self, status=Status.SOFT_DELETED, purge_at=purge_at)

    def restored(self) -> "Artifact":
        return replace(self, status=Status.ACTIVE, purge_at=None)

    def erased(self) -> "Artifact":
        """Without text."""
        return replace(self, name="", mime="", sha256="", url="", status=Status.PURGED, purge_at=None)


URL = "artifact:"


def named_by(url: str) -> UUID | None:
    """The artifact that an attachment's URL names, as `artifact:<id>`; None for any other URL."""
    return parse_uuid(url.removeprefix(URL), "url") if url.startswith(URL) else None


def label(artifact_id: UUID) -> str:
    """A short name for use in a conversation, such as A7F3C2: the end of the id, which is random."""
    return f"A{artifact_id.hex[-6:].upper()}"


def surrogate(type_: ArtifactType, artifact_id: UUID, description: str) -> str:
    """The line that stands for an artifact in the history, such as `[image#A7F3C2] a red bicycle`."""
    line = " ".join(description.split())
    if len(line) > LONGEST_SURROGATE:
        line = line[: LONGEST_SURROGATE - 1].rstrip() + "…"
    return f"[{type_}#{label(artifact_id)}] {line}".rstrip()


def no_such_artifact(user_id: str, artifact_id: UUID) -> NotFound:
    """The error for an artifact that does not exist or is private to another agent."""
    return NotFound(
        f"user {user_id!r} has no artifact {artifact_id}",
        field="artifact_id",
        fix="look it up with `mnemolog artifact list`",
    )


def erased_artifact(artifact_id: UUID) -> Erased:
    fix = "its content is destroyed; add it again"
    return Erased(f"artifact {artifact_id} was erased", field="artifact_id", fix=fix)
