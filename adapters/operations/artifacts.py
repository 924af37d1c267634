"""Operations on artifacts: files and links of a conversation, and the texts that stand for them (E §4).

Adding and downloading a file are not in the registry, since each face carries bytes in its own way.
"""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, Strict

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import PagedRead, Read, Write, fields_of, stream_of, viewer_of
from mnemolog.adapters.operations.results import Page, Result, Written, written
from mnemolog.commands.artifacts import DeleteArtifact, DescribeArtifact, RestoreArtifact
from mnemolog.domain.artifact import ArtifactType, Extraction, Refusal, TextKind
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.memory import Status
from mnemolog.domain.scope import Scope
from mnemolog.events.artifacts import Skipped
from mnemolog.events.fields import WHOLE, Id, Instant, Label, Text, Uuid


class AddArtifact(Write):
    """A file, whose bytes come beside this, or a link."""

    name: Annotated[Label, Field(description="The file name.", examples=["invoice.pdf"])] = ""
    mime: Annotated[Label, Field(description="The media type. Default: from the name or the content.")] = ""
    type: Annotated[ArtifactType | None, Field(description="The type. Default: from the media type.")] = None
    caption: Annotated[Label, Field(description="What the user says about it.")] = ""
    url: Annotated[Label, Field(description="The address, for a link. It is never fetched.")] = ""
    scope: Annotated[Scope, Field(description="`global`, or `agent` for this agent only.")] = Scope.GLOBAL
    source_turn_ids: Annotated[
        tuple[Id, ...], Field(description="The turns that it is attached to. It is erased with the last of them.")
    ] = ()


class ArtifactRead(Read):
    """One artifact."""

    artifact_id: Annotated[Uuid, Field(description="The artifact's id.")]


class ArtifactsRead(PagedRead):
    """The artifacts of a user, the most recently changed first."""

    type: Annotated[ArtifactType | None, Field(description="Only artifacts of this type.")] = None
    status: Annotated[
        Literal[Status.ACTIVE, Status.SOFT_DELETED], Field(description="Only artifacts with this status.")
    ] = Status.ACTIVE
    label: Annotated[
        Label | None,
        Field(max_length=7, description="Only the artifact with this label, as in its surrogate.", examples=["A7F3C2"]),
    ] = None


class ArtifactTextsRead(PagedRead):
    """The texts of an artifact, by kind, in their order."""

    artifact_id: Annotated[Uuid, Field(description="The artifact's id.")]
    text_kind: Annotated[TextKind | None, Field(description="Only texts of this kind.")] = None


class ArtifactText(Result):
    """A text that stands for an artifact, or a part of it."""

    text_id: UUID
    text_kind: TextKind
    position: int = Field(description="Its place among the texts of its kind.")
    place: str = Field(description='Where it stands in the file: a page, a heading, a time; or "".')
    text: str
    writer: str = Field(description="The program, the model or the person that wrote it.")
    confidence: float | None
    created_at: Instant


class ArtifactSearch(Read):
    """A search of the texts of artifacts."""

    query: Annotated[Text, Field(description="What to search for.")]
    artifact_id: Annotated[Uuid | None, Field(description="Only texts of this artifact.")] = None
    type: Annotated[ArtifactType | None, Field(description="Only texts of artifacts of this type.")] = None
    text_kind: Annotated[TextKind | None, Field(description="Only texts of this kind.")] = None
    top_k: Annotated[int, Strict(), Field(ge=1, le=100, description="The maximum number of results."), WHOLE] = 5


class ArtifactHit(ArtifactText):
    """A text that matches a query, with its artifact and its scores."""

    artifact_id: UUID
    surrogate: str
    occurred_at: Instant = Field(description="When its message was sent; without one, when it was added.")
    score: float = Field(description="The fused score, in [0, 1].")
    similarity: float | None = Field(description="The cosine similarity to the query.")
    text_rank: float | None = Field(description="The keyword (BM25) score.")


class ArtifactView(Result):
    """A file or link. `surrogate` is the line that stands for it in a conversation."""

    user_id: str
    artifact_id: UUID
    label: str = Field(examples=["A7F3C2"])
    surrogate: str = Field(examples=["[image#A7F3C2] a red bicycle"])
    type: ArtifactType
    scope: Scope
    agent_id: str
    name: str
    mime: str
    size_bytes: int
    sha256: str
    url: str
    status: Status
    purge_at: Instant | None
    forgotten_at: Instant | None = Field(description="When it was hidden.")
    forget_reason: str = Field(description='The reason for its deletion, or "".')
    extraction: Extraction = Field(description="`pending` until its text is extracted.")
    refused: Refusal | None = Field(description="Why no text was extracted.")
    detail: str = Field(description='More about the refusal, or "".')
    pages: int | None
    skipped: list[Skipped] = Field(description="The kinds of text that were not extracted, and what was missing.")
    source_turn_ids: list[str]
    thread_id: str
    run_id: str | None
    actor_id: str
    occurred_at: Instant = Field(description="When its message was sent; without one, when it was added.")
    created_at: Instant
    updated_at: Instant
    seq: int


class ArtifactDetail(ArtifactView):
    """A file or link, with its short texts: caption, description, OCR, summary."""

    texts: list[ArtifactText]


class ArtifactAdded(Written):
    """The receipt, and the artifact's id. For content that is known already, it is the first one's."""

    artifact_id: UUID


async def add_artifact(engine: Engine, request: AddArtifact, content: bytes | None) -> ArtifactAdded:
    """Add a file or link. Its text is extracted in the background."""
    from mnemolog.adapters.artifacts import content as contents
    from mnemolog.adapters.artifacts.extraction import enqueue

    fields = {name: value for name, value in fields_of(engine, request).items() if value is not None}
    artifact_id, receipt = await contents.store(engine, content, fields, request.idempotency_key)
    if content is not None and not receipt.already:
        await enqueue(engine, receipt.stream, artifact_id)
    return ArtifactAdded.of(receipt, artifact_id=artifact_id)


async def download_artifact(engine: Engine, request: ArtifactRead) -> tuple[ArtifactView, bytes]:
    """An artifact, and the bytes of its file."""
    from mnemolog.adapters.artifacts import content as contents

    found = await get_artifact.run(engine, request)
    if found.url:
        raise InvalidInput("is a link, which has no file", field="artifact_id", fix="open its `url`")
    return found, await contents.load(engine, stream_of(engine, request), request.artifact_id)


@operation(
    "artifact search",
    "POST /artifacts/search",
    tag="artifacts",
    arguments=("query",),
    example={"user_id": "ana", "query": "how much is the rent?"},
)
async def search_artifacts(engine: Engine, request: ArtifactSearch) -> Page[ArtifactHit]:
    """Search the texts of artifacts, by meaning and by words."""
    from mnemolog.projections.artifacts.reader import TextCandidates

    among = TextCandidates(artifact_id=request.artifact_id, type=request.type, kind=request.text_kind)
    found = await engine.reads.search_artifacts(
        viewer_of(engine, request), request.query, among, request.top_k, request.moment()
    )
    return Page[ArtifactHit].model_validate({"items": found})


@operation("artifact list", "GET /artifacts", tag="artifacts")
async def list_artifacts(engine: Engine, request: ArtifactsRead) -> Page[ArtifactView]:
    """List artifacts, the most recently changed first."""
    viewer, moment, status = viewer_of(engine, request), request.moment(), Status(request.status)
    rows = await engine.reads.artifacts(
        viewer, request.type, status, request.label, request.limit, moment, request.cursor
    )
    return Page[ArtifactView].of(rows)


@operation("artifact get", "GET /artifacts/{artifact_id}", tag="artifacts")
async def get_artifact(engine: Engine, request: ArtifactRead) -> ArtifactDetail:
    """Read an artifact: what it is, and its short texts.

    Deleted artifacts can be read too.
    """
    found = await engine.reads.artifact(viewer_of(engine, request), request.artifact_id, request.moment())
    return ArtifactDetail.model_validate(found)


@operation("artifact texts", "GET /artifacts/{artifact_id}/texts", tag="artifacts")
async def list_artifact_texts(engine: Engine, request: ArtifactTextsRead) -> Page[ArtifactText]:
    """List the texts of an artifact: captions, descriptions, and what was extracted from it."""
    viewer, moment = viewer_of(engine, request), request.moment()
    rows = await engine.reads.artifact_texts(
        viewer, request.artifact_id, request.text_kind, request.limit, moment, request.cursor
    )
    return Page[ArtifactText].of(rows)


@operation(
    "artifact describe",
    "POST /artifacts/{artifact_id}/texts",
    DescribeArtifact,
    tag="artifacts",
    arguments=("text",),
    done="Described",
    status=201,
    example={"user_id": "ana", "text": "My new bicycle"},
)
async def describe_artifact(engine: Engine, request: Write) -> Written:
    """Add a text that stands for an artifact: a caption, or what your own model sees in it."""
    return await written(engine, DescribeArtifact, request)


@operation("artifact delete", "DELETE /artifacts/{artifact_id}", DeleteArtifact, tag="artifacts", done="Deleted")
async def delete_artifact(engine: Engine, request: Write) -> Written:
    """Delete an artifact: hidden at once, and erased after 30 days unless it is restored."""
    return await written(engine, DeleteArtifact, request)


@operation(
    "artifact restore",
    "POST /artifacts/{artifact_id}/restore",
    RestoreArtifact,
    tag="artifacts",
    done="Restored",
    example={"user_id": "ana"},
)
async def restore_artifact(engine: Engine, request: Write) -> Written:
    """Restore a deleted artifact."""
    return await written(engine, RestoreArtifact, request)
