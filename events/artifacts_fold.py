"""The fold of artifacts."""

from dataclasses import replace
from uuid import UUID

from mnemolog.domain.artifact import Artifact, Extraction, no_such_artifact
from mnemolog.events import artifacts as events
from mnemolog.events.subject import Subject


def _stored(_: Artifact | None, event: events.ArtifactStored) -> Artifact:
    return Artifact(
        artifact_id=event.artifact_id,
        type=event.type,
        scope=event.scope,
        agent_id=event.agent_id,
        size_bytes=event.size_bytes,
        blob=event.blob,
        name=event.name,
        mime=event.mime,
        sha256=event.sha256,
        url=event.url,
        source_turn_ids=event.source_turn_ids or (),
        extraction=Extraction.PENDING if event.blob else Extraction.DONE,
    )


def _attached(artifact: Artifact, event: events.ArtifactAttached) -> Artifact:
    turns = dict.fromkeys((*artifact.source_turn_ids, *event.source_turn_ids))
    return replace(artifact, source_turn_ids=tuple(turns))


def _reverted(artifact: Artifact, event: events.ArtifactReverted) -> Artifact:
    return replace(artifact, status=event.status, purge_at=event.purge_at, withdrawn=frozenset(event.withdrawn))


ARTIFACT: Subject[UUID, Artifact] = Subject(
    name="artifact",
    read_id=UUID,
    ids=lambda event: (event.artifact_id,),
    begins=frozenset({events.ArtifactStored}),
    folds={
        events.ArtifactStored: _stored,
        events.ArtifactAttached: _attached,
        events.ArtifactTextAdded: lambda artifact, event: artifact,
        events.ArtifactExtracted: lambda artifact, event: replace(artifact, extraction=Extraction.DONE),
        events.ArtifactRefused: lambda artifact, event: replace(artifact, extraction=Extraction.REFUSED),
        events.ArtifactDeleted: lambda artifact, event: artifact.deleted(event.purge_at),
        events.ArtifactRestored: lambda artifact, event: artifact.restored(),
        events.ArtifactReverted: _reverted,
        events.ArtifactErased: lambda artifact, event: artifact.erased(),
    },
    erased=Artifact.erased,
    erase=lambda artifact_id: events.ArtifactErased(artifact_id=artifact_id),
    missing=no_such_artifact,
)
