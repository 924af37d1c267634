"""Extracts the text of artifacts, in durable jobs off the hot path (ADR 47).

The text is recorded in events: replay extracts nothing and asks no model.
"""

import re
import shutil
from base64 import b64decode
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from mnemolog.adapters.artifacts.chunks import Section, pieces
from mnemolog.adapters.artifacts.content import load
from mnemolog.adapters.artifacts.reading import Found, Refused
from mnemolog.adapters.artifacts.sandbox import read_apart, run
from mnemolog.adapters.jobs.job import LATER, Attempt, JobKind
from mnemolog.adapters.services import Services
from mnemolog.commands.artifacts import ARTIFACTS, ExtractedText, RecordExtraction
from mnemolog.commands.models import Completion, ImageDescription
from mnemolog.commands.prompts import load as prompt
from mnemolog.domain.artifact import Artifact, Extraction, TextKind
from mnemolog.domain.errors import (
    Erased,
    ModelBudgetExceeded,
    ModelOutputInvalid,
    ModelRequestRefused,
    ModelUnavailable,
    NotFound,
)
from mnemolog.domain.text import MAX_TEXT_BYTES
from mnemolog.events.artifacts import Passage, Skipped
from mnemolog.events.envelope import StreamId
from mnemolog.events.fields import validated
from mnemolog.events.generation import Generation
from mnemolog.projections.artifacts import reader

T = TypeVar("T")

EXTRACT, FIND = "extract-artifact", "extract-artifacts"
FIVE_MINUTES = 300.0
ACTOR = "extractor"
SUMMARY, SUMMARIZED = 600, 24_000
OCR_SECONDS = 60.0
_WORD_LEVEL = "5"


@dataclass(frozen=True, slots=True)
class FileSummary:
    """What a file says, in short."""

    summary: str


@dataclass(slots=True)
class _Result:
    """`last`: there is no further attempt, so texts that a model does not return are skipped."""

    last: bool
    texts: list[ExtractedText] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    pages: int | None = None

    def add(self, kind: TextKind, text: str, generation: Generation, confidence: float | None = None) -> None:
        if text := text.encode()[:MAX_TEXT_BYTES].decode(errors="ignore").strip():
            passages = (Passage(text=text),)
            self.texts.append(
                ExtractedText(text_kind=kind, generation=generation, passages=passages, confidence=confidence)
            )

    def skip(self, reason: str, *kinds: TextKind) -> None:
        self.skipped += [Skipped(text_kind=kind, reason=reason) for kind in kinds]


def extractions(engine: Services) -> list[JobKind]:
    """The job of one artifact, and the one that finds artifacts whose job was never enqueued."""
    return [
        JobKind(name=EXTRACT, run=partial(_extract, engine)),
        JobKind(name=FIND, every=FIVE_MINUTES, run=partial(_find, engine)),
    ]


async def enqueue(engine: Services, stream: StreamId, artifact_id: UUID) -> None:
    """Have the text of an artifact extracted, once."""
    await engine.jobs.enqueue(EXTRACT, {"artifact_id": artifact_id}, stream=stream, unique_key=str(artifact_id))


async def _find(engine: Services, attempt: Attempt) -> None:
    """Finds artifacts without a job, after a crash between write and enqueuing, an import or a restore."""
    found = 0
    async with engine.projections.live.connect() as connection:
        async for page in reader.pending(connection):
            await connection.commit()  # No transaction stays open while jobs are enqueued.
            for stream, artifact_id in page:
                await enqueue(engine, stream, artifact_id)
            found += len(page)
    await attempt.save({"pending": found})


async def _extract(engine: Services, attempt: Attempt) -> None:
    stream, artifact_id = attempt.job.owner, UUID(str(attempt.job.payload["artifact_id"]))
    who = {"tenant": stream.tenant, "user_id": stream.owner, "actor": ACTOR, "artifact_id": artifact_id}
    empty = validated(RecordExtraction, who)
    state = await engine.writes.handler.read(ARTIFACTS, empty)
    artifact = state.known.get(artifact_id)
    if artifact is None or artifact.is_erased or artifact.extraction is not Extraction.PENDING:
        return
    try:
        content = await load(engine, stream, artifact_id)
    except Erased:
        return
    try:
        found = await read_apart(content, artifact.name, artifact.mime)
        result = _Result(last=attempt.job.attempts >= attempt.job.max_attempts, pages=found.pages)
        # What ends by itself is raised, such as ModelUnavailable: the job is retried.
        match found.kind:
            case "document":
                await _document(engine, stream.tenant, found, result)
            case "image":
                await _image(engine, stream.tenant, found, state.caption(artifact_id), result)
            case "audio":
                await _audio(engine, stream.tenant, artifact, content, result)
            case _:
                result.skip("recordings with pictures are not supported", TextKind.TRANSCRIPT)
        command = empty.model_copy(
            update={"texts": tuple(result.texts), "skipped": tuple(result.skipped), "pages": result.pages}
        )
    except Refused as refused:
        command = empty.model_copy(update={"refused": refused.reason, "detail": refused.detail})
    try:
        await engine.writes.handler.handle(ARTIFACTS, command.model_copy(update={"agent_id": artifact.agent_id}))
    except NotFound:  # The user was erased meanwhile.
        return


async def _document(engine: Services, tenant: str, found: Found, result: _Result) -> None:
    if not found.chunks:
        result.skip("the file holds no text; a scan has pictures of its pages", TextKind.CHUNK, TextKind.FILE_SUMMARY)
        return
    passages = tuple(Passage(text=text, place=place) for place, text in found.chunks)
    read_by = Generation(model=found.reader)
    result.texts.append(ExtractedText(text_kind=TextKind.CHUNK, generation=read_by, passages=passages))
    if (chat := engine.models.chat) is None:
        result.add(TextKind.FILE_SUMMARY, _beginning(found), Generation(model="extract"))
        return
    text = "\n\n".join(f"{place}\n{text}".strip() for place, text in found.chunks)[:SUMMARIZED]
    completed = await _completed(
        result,
        TextKind.FILE_SUMMARY,
        lambda: chat.complete(tenant, prompt("file_summary", limit=SUMMARY), text, FileSummary),
    )
    if completed:
        result.add(TextKind.FILE_SUMMARY, completed.output.summary[: 2 * SUMMARY], completed.generation)
    else:
        result.add(TextKind.FILE_SUMMARY, _beginning(found), Generation(model="extract"))


def _beginning(found: Found) -> str:
    """A summary without a model: the title, and the beginning of the text."""
    place, text = found.chunks[0]
    title = found.title or ("" if place.startswith("page ") else place)
    begins = f"{title}: {' '.join(text.split())}".removeprefix(": ")
    return begins if len(begins) <= SUMMARY else begins[: SUMMARY - 1].rstrip() + "…"


async def _image(engine: Services, tenant: str, found: Found, caption: str, result: _Result) -> None:
    picture = b64decode(found.picture)
    seen: Completion[ImageDescription] | None = None
    if (vision := engine.models.vision) is None:
        result.skip("no vision model is set (`vision_model`)", TextKind.VISION_SHORT, TextKind.VISION_DETAIL)
    else:
        describe = partial(vision.describe, tenant, picture, found.media_type, caption=caption)
        seen = await _completed(result, TextKind.VISION_SHORT, describe)
    if seen:
        result.add(TextKind.VISION_SHORT, seen.output.short, seen.generation)
        result.add(TextKind.VISION_DETAIL, seen.output.detail, seen.generation)
    if (tesseract := shutil.which("tesseract")) is not None:
        text, confidence = await _ocr(tesseract, picture)
        result.add(TextKind.OCR, text, Generation(model="tesseract"), confidence)
    elif seen:
        result.add(TextKind.OCR, seen.output.text, seen.generation)
    else:
        result.skip("tesseract is not installed", TextKind.OCR)


async def _ocr(tesseract: str, picture: bytes) -> tuple[str, float | None]:
    """The text that Tesseract reads, and its mean confidence."""
    code, out = await run([tesseract, "stdin", "stdout", "tsv"], picture, OCR_SECONDS)
    if code:
        return "", None
    lines: dict[tuple[str, ...], list[str]] = {}
    scores = []
    for row in (line.split("\t") for line in out.decode(errors="replace").splitlines()[1:]):
        if len(row) == 12 and row[0] == _WORD_LEVEL and row[11].strip():
            lines.setdefault(tuple(row[1:5]), []).append(row[11].strip())
            scores.append(float(row[10]))
    text = re.sub(r"[\x00-\x08\x0b-\x1f]", "", "\n".join(" ".join(words) for words in lines.values()))
    return text, round(max(0.0, sum(scores) / len(scores) / 100), 3) if scores else None


async def _audio(engine: Services, tenant: str, artifact: Artifact, content: bytes, result: _Result) -> None:
    if (transcription := engine.models.transcription) is None:
        result.skip("no transcription model is set (`transcription_model`)", TextKind.TRANSCRIPT)
        return
    name = artifact.name or f"audio.{artifact.mime.rpartition('/')[2]}"
    heard = await _completed(result, TextKind.TRANSCRIPT, lambda: transcription.transcribe(tenant, content, name))
    if heard:
        passages = tuple(Passage(text=text) for _, text in pieces([Section("", heard.output.text)]))
        found = ExtractedText(text_kind=TextKind.TRANSCRIPT, generation=heard.generation, passages=passages)
        result.texts += [found] if passages else []


async def _completed(
    result: _Result, kind: TextKind, ask: Callable[[], Awaitable[Completion[Any]]]
) -> Completion[Any] | None:
    """A model's answer; None if it gives none, which is recorded as skipped."""
    try:
        return await ask()
    except (ModelRequestRefused, ModelOutputInvalid, ModelUnavailable, ModelBudgetExceeded) as error:
        if isinstance(error, LATER) and not result.last:
            raise
        result.skip(f"the model gave nothing ({error.code})", kind)
        return None
