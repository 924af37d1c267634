"""Commands on artifacts: store, attach, describe, delete, restore, undo; and what an extraction found (E §4)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from mnemolog.commands.change_history import ChangeHistory
from mnemolog.commands.decider import Command, Decider, Decisions
from mnemolog.commands.portions import portions
from mnemolog.commands.scoped import Scoped
from mnemolog.domain import memory
from mnemolog.domain.artifact import (
    Artifact,
    ArtifactType,
    Extraction,
    Refusal,
    TextKind,
    erased_artifact,
    no_such_artifact,
)
from mnemolog.domain.errors import TransitionRefused
from mnemolog.domain.memory import Status
from mnemolog.domain.principal import Role
from mnemolog.domain.scope import readable
from mnemolog.domain.updated import updated
from mnemolog.events import artifacts as events
from mnemolog.events.artifacts import Passage, Skipped, artifact_tag, file_tag
from mnemolog.events.artifacts_fold import ARTIFACT
from mnemolog.events.conversation import turn_tag
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import USER
from mnemolog.events.event import Event
from mnemolog.events.fields import Id, Instant, Label, Text, Unit, Uuid
from mnemolog.events.generation import Generation
from mnemolog.events.message import MessageEvent, MessageRestored

# An artifact of more messages, such as a sticker, is not looked at for whether all of them are hidden.
MOST_SOURCES = 100


class ArtifactCommand(Command):
    """A request about one artifact."""

    artifact_id: Annotated[Uuid, Field(description="The artifact's id.")]


class StoreArtifact(ArtifactCommand, Scoped):
    """Stores a file or link. The same content of the same owner is stored once: it is attached and restored."""

    generated: ClassVar[frozenset[str]] = frozenset({"artifact_id", "blob", "content_key"})

    type: ArtifactType
    name: Label = ""
    mime: Label = ""
    size_bytes: int = 0
    sha256: str
    blob: str = ""
    content_key: str = ""
    url: Label = ""
    caption: Label = ""
    source_turn_ids: tuple[Id, ...] = ()


class StoreFileOfMessage(StoreArtifact):
    """Stores a file that came within a message: who may publish the message may."""

    needs: ClassVar[Role] = Role.PUBLISH


class DescribeArtifact(ArtifactCommand):
    """Adds a text that stands for an artifact."""

    text: Annotated[Text, Field(description="The text.")]
    text_kind: Annotated[TextKind, Field(description="What the text is.")] = TextKind.USER_CAPTION
    confidence: Annotated[Unit | None, Field(description="The confidence, 0 to 1.")] = None


class DeleteArtifact(ArtifactCommand):
    """Hides an artifact. It can be restored until it is erased after 30 days."""

    generated: ClassVar[frozenset[str]] = frozenset({"at"})

    reason: Annotated[Label, Field(description="The reason, stored encrypted.")] = ""
    at: Instant


class DiscardFileOfMessage(DeleteArtifact):
    """Hides a file whose message was refused after it was stored, unless it belongs to another message."""

    needs: ClassVar[Role] = Role.PUBLISH


class RestoreArtifact(ArtifactCommand):
    """Restores a deleted artifact."""


class UndoArtifact(ArtifactCommand):
    """Undoes the change `event_id`."""

    event_id: Uuid


class ExtractedText(BaseModel):
    """What an extraction found of one kind, in order."""

    model_config = ConfigDict(frozen=True)

    text_kind: TextKind
    generation: Generation
    passages: tuple[Passage, ...]
    confidence: float | None = None


class RecordExtraction(ArtifactCommand):
    """Records what an extraction found, or why it was refused. The first extraction of an artifact counts."""

    texts: tuple[ExtractedText, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    pages: int | None = None
    refused: Refusal | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Artifacts:
    """The artifacts of a decision, and every change of them.

    `texts`: the events that added text. `described`: a short text of an artifact, by the event that added it. `hidden`:
    by message, whether it is hidden.
    """

    known: Mapping[UUID, Artifact] = field(default_factory=dict)
    changes: ChangeHistory[Artifact] = field(default_factory=ChangeHistory)
    texts: frozenset[UUID] = frozenset()
    described: Mapping[tuple[UUID, TextKind, str], UUID] = field(default_factory=dict)
    hidden: Mapping[str, bool] = field(default_factory=dict)

    def says(self, artifact_id: UUID, kind: TextKind, text: str) -> bool:
        """Whether an artifact has this text, and it was not undone."""
        added_by = self.described.get((artifact_id, kind, text))
        return added_by is not None and added_by not in self.known[artifact_id].withdrawn

    def caption(self, artifact_id: UUID) -> str:
        """What the user said last about an artifact, unless that was undone; "" if nothing."""
        said = (text for id_, kind, text in self.described if (id_, kind) == (artifact_id, TextKind.USER_CAPTION))
        return next((one for one in reversed(list(said)) if self.says(artifact_id, TextKind.USER_CAPTION, one)), "")


_CHANGES = (events.ArtifactStored, events.ArtifactTextAdded, events.ArtifactDeleted, events.ArtifactRestored)


def evolve(state: Artifacts, event: Happened) -> Artifacts:
    payload = event.payload
    changed = ARTIFACT.evolve(state.known, payload)
    if changed and isinstance(payload, (*_CHANGES, events.ArtifactReverted)):
        befores, undoes = ARTIFACT.befores(state.known, payload), getattr(payload, "undoes", None)
        added = isinstance(payload, events.ArtifactTextAdded)  # A text does not prevent an undo of earlier changes.
        state = replace(state, changes=state.changes.with_change(event, befores, undoes, observation=added))
    if changed and isinstance(payload, events.ArtifactTextAdded):
        said = {(payload.artifact_id, payload.text_kind, one.text): event.event_id for one in payload.passages}
        state = replace(state, texts=state.texts | {event.event_id}, described=updated(state.described, said))
    if isinstance(payload, MessageEvent):
        shown = isinstance(payload, MessageRestored) or getattr(payload, "status", None) in memory.VISIBLE
        state = replace(state, hidden=updated(state.hidden, {payload.turn_id: not shown}))
    return replace(state, known=updated(state.known, changed))


_decide = Decisions[ArtifactCommand, Artifacts]()


@_decide.register
def _store(command: StoreArtifact, state: Artifacts) -> Sequence[Event]:
    found = same_content(state, command)
    if found is None:
        stored = events.ArtifactStored(
            **command.model_dump(include=_STORED), source_turn_ids=command.source_turn_ids or None
        )
        return [stored, *_caption(command, command.artifact_id, state)]
    id_ = found.artifact_id
    restored = [events.ArtifactRestored(artifact_id=id_)] if found.status is Status.SOFT_DELETED else []
    return [*restored, *attached(found, command.source_turn_ids), *_caption(command, id_, state)]


_STORED = {"artifact_id", "type", "scope", "agent_id", "size_bytes", "blob", "name", "mime", "sha256"} | {
    "content_key",
    "url",
}


def attached(artifact: Artifact, turn_ids: Sequence[str]) -> Sequence[Event]:
    """The event that makes it an attachment of these messages; none if it already is."""
    new = tuple(one for one in turn_ids if one not in artifact.source_turn_ids)
    return [events.ArtifactAttached(artifact_id=artifact.artifact_id, source_turn_ids=new)] if new else []


def same_content(state: Artifacts, command: StoreArtifact) -> Artifact | None:
    """The artifact that has this content already, if the owner is the same.

    One that was refused under another type does not count, so that the file is read once it comes with the right one.
    Nor does one that is hidden with its messages, and will go with them.
    """
    same = (
        one
        for one in _of_content(state, command)
        if one.scope is command.scope
        and (one.extraction is not Extraction.REFUSED or one.mime == command.mime)
        and not (one.source_turn_ids and all(state.hidden.get(turn_id) for turn_id in one.source_turn_ids))
    )
    own = command.agent_id
    return next((one for one in same if not one.is_erased and readable(one.scope, one.agent_id, own)), None)


def _of_content(state: Artifacts, command: StoreArtifact) -> Sequence[Artifact]:
    return [one for one in state.known.values() if one.sha256 == command.sha256]


def _caption(command: StoreArtifact, id_: UUID, state: Artifacts) -> Sequence[Event]:
    if not command.caption or state.says(id_, TextKind.USER_CAPTION, command.caption):
        return []
    return [_text(id_, TextKind.USER_CAPTION, Generation(model=command.actor), [Passage(text=command.caption)])]


@_decide.register
def _describe(command: DescribeArtifact, state: Artifacts) -> Sequence[Event]:
    found = _get(state, command)
    if found.status is not Status.ACTIVE:
        message = f"artifact {command.artifact_id} is deleted and cannot be described"
        raise TransitionRefused(message, field="artifact_id", fix="restore it first")
    if state.says(found.artifact_id, command.text_kind, command.text):
        return []
    passage = [Passage(text=command.text)]
    return [_text(found.artifact_id, command.text_kind, Generation(model=command.actor), passage, command.confidence)]


@_decide.register
def _delete(command: DeleteArtifact, state: Artifacts) -> Sequence[Event]:
    found = _get(state, command)
    if found.status is Status.SOFT_DELETED:
        return []
    purge_at = command.at + memory.PURGE_AFTER
    return [events.ArtifactDeleted(artifact_id=command.artifact_id, purge_at=purge_at, reason=command.reason)]


@_decide.register
def _discard(command: DiscardFileOfMessage, state: Artifacts) -> Sequence[Event]:
    return [] if _get(state, command).source_turn_ids else _delete(command, state)


@_decide.register
def _restore(command: RestoreArtifact, state: Artifacts) -> Sequence[Event]:
    found = _get(state, command)
    if found.status is Status.ACTIVE:
        return []
    return [events.ArtifactRestored(artifact_id=command.artifact_id)]


@_decide.register
def _undo(command: UndoArtifact, state: Artifacts) -> Sequence[Event]:
    """An artifact that was stored by the change is deleted, and texts that it added are withdrawn."""
    found = _get(state, command)
    if state.changes.undone(command.event_id):
        return []
    if command.event_id in state.texts:  # No other change depends on a text.
        then = replace(found, withdrawn=found.withdrawn | {command.event_id})
    else:
        [before] = state.changes.befores(command.event_id).values()
        then = before or replace(found, status=Status.SOFT_DELETED)
    return [
        events.ArtifactReverted(
            artifact_id=found.artifact_id,
            undoes=command.event_id,
            status=then.status,
            purge_at=then.purge_at,
            withdrawn=tuple(sorted(then.withdrawn)),
        )
    ]


@_decide.register
def _record(command: RecordExtraction, state: Artifacts) -> Sequence[Event]:
    """Nothing if the artifact was erased meanwhile: its text must not come back."""
    found, id_ = state.known.get(command.artifact_id), command.artifact_id
    if found is None:
        raise no_such_artifact(command.user_id, id_)
    if found.is_erased or found.extraction is not Extraction.PENDING:
        return []
    if command.refused:
        return [events.ArtifactRefused(artifact_id=id_, reason=command.refused, detail=command.detail)]
    texts = [event for one in command.texts for event in _texts(id_, one)]
    return [*texts, events.ArtifactExtracted(artifact_id=id_, pages=command.pages, skipped=command.skipped)]


def _texts(id_: UUID, found: ExtractedText) -> Iterator[Event]:
    first = 0
    for portion in portions(found.passages, lambda one: len(one.text.encode())):
        yield _text(id_, found.text_kind, found.generation, portion, found.confidence, first)
        first += len(portion)


def _text(
    id_: UUID,
    kind: TextKind,
    generation: Generation,
    passages: Sequence[Passage],
    confidence: float | None = None,
    first: int = 0,
) -> Event:
    return events.ArtifactTextAdded(
        artifact_id=id_,
        text_kind=kind,
        generation=generation,
        first=first,
        count=len(passages),
        confidence=confidence,
        passages=tuple(passages),
    )


def _get(state: Artifacts, command: ArtifactCommand) -> Artifact:
    return visible(state, command.artifact_id, command, "artifact_id")


def visible(state: Artifacts, id_: UUID, command: Command, field: str) -> Artifact:
    """The artifact, as the command's agent sees it; NotFound or Erased, which name the field."""
    found = state.known.get(id_)
    error = None
    if found is None or not readable(found.scope, found.agent_id, command.agent_id):
        error = no_such_artifact(command.user_id, id_)
    elif found.is_erased:
        error = erased_artifact(id_)
    if found is None or error:
        assert error
        error.field = field
        raise error
    return found


def _subject(command: ArtifactCommand) -> str:
    if isinstance(command, StoreArtifact):
        return file_tag(command.scope, command.agent_id, command.sha256)
    return artifact_tag(command.artifact_id)


def _tags(state: Artifacts, command: ArtifactCommand) -> frozenset[str]:
    tags = {USER, _subject(command)}
    for one in _of_content(state, command) if isinstance(command, StoreArtifact) else ():
        tags.add(artifact_tag(one.artifact_id))
        if len(one.source_turn_ids) <= MOST_SOURCES:
            tags.update(map(turn_tag, one.source_turn_ids))
    return frozenset(tags)


ARTIFACTS: Decider[ArtifactCommand, Artifacts] = Decider(
    initial=Artifacts(),
    subject=_subject,
    tags=_tags,
    evolve=evolve,
    decide=_decide,
)
