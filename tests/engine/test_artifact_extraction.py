"""Extraction as a durable job: text by kind, what was skipped, refusals, and models that answer or do not."""

import asyncio
import re
import shutil
from base64 import b64encode
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from mnemolog.adapters.artifacts import content as contents
from mnemolog.adapters.artifacts.extraction import EXTRACT, _extract, _find, _Result
from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.jobs.job import Attempt, Payload
from mnemolog.adapters.operations.artifacts import ArtifactDetail, ArtifactSearch, search_artifacts
from mnemolog.adapters.operations.conversation import Add, add
from mnemolog.commands.erasure import EraseKnown
from mnemolog.commands.models import Completion, ImageDescription, Transcript
from mnemolog.domain.artifact import Extraction, Refusal, TextKind
from mnemolog.domain.errors import ModelNotAccessible, ModelOutputInvalid, ModelUnavailable
from mnemolog.events.generation import Generation
from mnemolog.projections.artifacts.reader import TextCandidates
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import ContextRequest, MemoryQuery
from tests.adapters.artifacts import files
from tests.bullets import undated
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.engine.test_artifacts import added, finds, read

pytestmark = pytest.mark.spec_part("E05")


@pytest.fixture
def ana(engine: Engine, user: str) -> Person:
    return Person(engine, user)


async def extracted(ana: Person, artifact_id: UUID) -> ArtifactDetail:
    for _ in range(600):
        if (found := await read(ana, artifact_id)).extraction is not Extraction.PENDING:
            return found
        await asyncio.sleep(0.1)
    raise TimeoutError("the text is not extracted")


async def test_a_document_is_read_in_the_background(ana: Person) -> None:
    found = await extracted(ana, await added(ana, files.pdf("Buy milk", "and eggs"), name="list.pdf"))
    assert (found.extraction, found.pages, found.skipped) == (Extraction.DONE, 2, [])
    assert [(one.text_kind, one.text, one.writer) for one in found.texts] == [
        (TextKind.FILE_SUMMARY, "Buy milk", "extract")
    ]
    assert found.surrogate == f"[file#{found.label}] Buy milk"
    chunks = await ana.engine.reads.artifact_texts(ana.viewer, found.artifact_id, TextKind.CHUNK)
    assert [(one["place"], one["text"]) for one in chunks] == [("page 1", "Buy milk"), ("page 2", "and eggs")]
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_without_models_it_says_what_was_skipped(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    image = await extracted(ana, await added(ana, files.picture(), name="a.png"))
    assert {one.text_kind: one.reason for one in image.skipped} == {
        TextKind.VISION_SHORT: "no vision model is set (`vision_model`)",
        TextKind.VISION_DETAIL: "no vision model is set (`vision_model`)",
        TextKind.OCR: "tesseract is not installed",
    }
    song = await extracted(ana, await added(ana, b"ID3" + b"\0" * 99, name="a.mp3"))
    assert [(one.text_kind, one.reason) for one in song.skipped] == [
        (TextKind.TRANSCRIPT, "no transcription model is set (`transcription_model`)")
    ]


async def test_a_hostile_file_is_refused_and_the_turn_survives(ana: Person) -> None:
    await ana.says("look at this", turn_id=f"{ana.user}-1")
    bomb = await added(ana, files.zip_bomb(), name="a.docx", source_turn_ids=[f"{ana.user}-1"])
    found = await extracted(ana, bomb)
    assert (found.extraction, found.refused) == (Extraction.REFUSED, Refusal.ARCHIVE_BOMB)
    assert "unpack" in found.detail
    assert await ana.finds("look at this")


class Vision:
    """Answers, or raises."""

    model = "eye"

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.asked = error, 0
        self.captions: list[str] = []

    async def describe(self, tenant: str, image: bytes, media_type: str, *, caption: str = "") -> Completion[Any]:
        self.asked += 1
        self.captions.append(caption)
        if self.error:
            raise self.error
        assert (tenant, media_type, image[:4]) == ("default", "image/png", b"\x89PNG")
        generation = Generation(model="eye", prompt="image_description", prompt_version=1, input_tokens=9)
        return Completion(ImageDescription("a red square", "It is red.", "STOP"), generation)


class Ear:
    model = "ear"

    async def transcribe(self, tenant: str, audio: bytes, file_name: str) -> Completion[Transcript]:
        assert file_name.endswith(".mp3")
        return Completion(Transcript("I moved to Lisbon"), Generation(model="ear"))


@dataclass
class Tried:
    """An attempt of the job, made by hand."""

    job: Any

    async def save(self, progress: Payload) -> None:
        pass


def tried(ana: Person, artifact_id: UUID, attempts: int = 1) -> Attempt:
    payload: Mapping[str, str] = {"artifact_id": str(artifact_id)}
    job = SimpleNamespace(payload=payload, owner=ana.stream, attempts=attempts, max_attempts=8)
    return cast(Attempt, Tried(job))


def with_models(engine: Engine, vision: Vision) -> Engine:
    seeing = copy(engine)
    seeing.models = replace(engine.models, vision=vision, transcription=Ear())
    return seeing


async def stored(ana: Person, content: bytes, name: str) -> UUID:
    """Without its job."""
    artifact_id, _ = await contents.store(ana.engine, content, {"user_id": ana.user, "name": name})
    return artifact_id


async def test_models_describe_images_and_transcribe_recordings_once(
    ana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    engine = with_models(ana.engine, vision := Vision())
    image, song = await stored(ana, files.picture(), "a.png"), await stored(ana, b"ID3" + b"\0" * 99, "a.mp3")
    for _ in range(2):
        await _extract(engine, tried(ana, image))
        await _extract(engine, tried(ana, song))
    assert vision.asked == 1
    found = await read(ana, image)
    assert {one.text_kind: (one.text, one.writer) for one in found.texts} == {
        TextKind.VISION_SHORT: ("a red square", "eye"),
        TextKind.VISION_DETAIL: ("It is red.", "eye"),
        TextKind.OCR: ("STOP", "eye"),
    }
    assert found.surrogate == f"[image#{found.label}] a red square"
    assert (await read(ana, song)).surrogate.endswith("] I moved to Lisbon")


@pytest.mark.spec("X21")
async def test_what_a_file_says_of_itself_is_quoted_in_a_context(ana: Person) -> None:
    for number, caption in enumerate(("", "a note by Bob")):
        await ana.says("Read this", turn_id=f"{ana.user}-{number}")
        turns = (f"{ana.user}-{number}",)
        file = await added(ana, f"Obey note {number}".encode(), source_turn_ids=turns, caption=caption)
        await extracted(ana, file)

    async def shown(**fields: Any) -> list[str]:
        request = ContextRequest.model_validate({"query": "tea", "recent": 2, **fields})
        found = await ana.engine.reads.context(ana.viewer, request, await ana.caught_up())
        return [undated(hit.bullet).removeprefix("[message] ") for hit in found.recent]

    assert [re.sub("#A[0-9A-F]{6}", "#A", one) for one in await shown()] == [
        'Ana: Read this [file#A] (from outside, from a document) "Obey note 0"',
        "Ana: Read this [file#A] a note by Bob",
    ]
    assert not [one for one in await shown(trusted_only=True) if "Obey" in one]
    seen = [{"type": "image", "url": f"artifact:{file}", "caption": "note"}]
    await ana.says("note", turn_id=f"{ana.user}-2", attachments=seen)
    assert re.sub("#A[0-9A-F]{6}", "#A", (await shown())[-1]) == "Ana: note [image: note] [file#A] a note by Bob"
    await ana.says("Obey this tool", turn_id=f"{ana.user}-3", role="tool", speaker="")
    assert (await shown())[-1] == '"tool: Obey this tool"'
    assert len(await shown(trusted_only=True)) == 1


@pytest.mark.spec("E05")
async def test_what_a_conversation_carries_has_texts_and_surrogates_and_is_found_on_its_own(
    ana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    seeing = with_models(ana.engine, vision := Vision())
    sent = {
        "image": (files.picture(size=(5, 5)), "a.png"),
        "file": (b"# Plan\n\n## Paint\n\nPaint the hall.\n\n## Move\n\nMove the piano.", "plan.md"),
        "audio": (b"ID3" + b"\0" * 98, "a.mp3"),
        "video": (b"\0\0\0\x18ftypmp42" + b"\0" * 90, "a.mp4"),
        "link": (None, "https://example.org/flat"),
    }
    ids = dict[str, UUID]()
    for type_, (content, name) in sent.items():
        await ana.says(f"My {type_}", turn_id=f"{ana.user}-{type_}")
        place = {"name": name} if content else {"name": "", "url": name}
        about = {"user_id": ana.user, "caption": f"the {type_}", "source_turn_ids": (f"{ana.user}-{type_}",), **place}
        ids[type_], _ = await contents.store(ana.engine, content, about)
        if content:
            assert (await contents.store(ana.engine, content, about))[0] == ids[type_]  # By its sha256.
            await _extract(seeing, tried(ana, ids[type_]))

    assert vision.captions == ["the image"]
    shown = {type_: await read(ana, id_) for type_, id_ in ids.items()}
    assert {type_: one.type for type_, one in shown.items()} == {type_: type_ for type_ in sent}
    assert [(shown["image"].mime, shown["image"].size_bytes, shown["image"].sha256)] == [
        ("image/png", len(sent["image"][0] or b""), sha256(sent["image"][0] or b"").hexdigest())
    ]
    kinds = {type_: [one.text_kind.value for one in found.texts] for type_, found in shown.items()}
    assert kinds == {
        "image": ["user_caption", "vision_short", "vision_detail", "ocr"],
        "file": ["user_caption", "file_summary"],
        "audio": ["user_caption", "transcript"],
        "video": ["user_caption"],
        "link": ["user_caption"],
    }
    chunks = await ana.engine.reads.artifact_texts(ana.viewer, ids["file"], TextKind.CHUNK)
    assert [(one["place"], one["text"]) for one in chunks] == [
        ("Plan > Paint", "Paint the hall."),
        ("Plan > Move", "Move the piano."),
    ]
    messages = await ana.engine.reads.messages(ana.viewer, None, 10, await ana.caught_up())
    assert [one["line"] for one in reversed(messages)] == [
        f"Ana: My {type_} [{type_}#{found.label}] the {type_}" for type_, found in shown.items()
    ]
    for query, type_ in (("STOP", "image"), ("Where is the piano?", "file"), ("Who moved to Lisbon?", "audio")):
        [best] = await ana.engine.reads.search_artifacts(
            ana.viewer, query, TextCandidates(), limit=1, moment=await ana.caught_up()
        )
        assert best["artifact_id"] == ids[type_]
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_an_unavailable_model_is_retried_and_finally_skipped(ana: Person) -> None:
    image = await stored(ana, files.picture(size=(8, 8)), "a.png")
    engine = with_models(ana.engine, Vision(ModelUnavailable()))
    with pytest.raises(ModelUnavailable):
        await _extract(engine, tried(ana, image))
    assert (await read(ana, image)).extraction is Extraction.PENDING
    await _extract(engine, tried(ana, image, attempts=8))
    skipped = {one.text_kind: one.reason for one in (await read(ana, image)).skipped}
    assert skipped[TextKind.VISION_SHORT] == "the model gave nothing (model_unavailable)"
    other = await stored(ana, files.picture(size=(9, 9)), "b.png")
    await _extract(with_models(ana.engine, Vision(ModelOutputInvalid())), tried(ana, other))
    assert (await read(ana, other)).extraction is Extraction.DONE


def test_of_a_text_without_end_as_much_is_kept_as_one_message_may_have() -> None:
    result = _Result(last=False)
    result.add(TextKind.OCR, "é" * 200_000, Generation(model="eye"))
    [[passage]] = [one.passages for one in result.texts]
    assert passage.text == "é" * 131_072


async def test_a_wrong_key_leaves_the_file_pending_until_it_is_corrected(ana: Person) -> None:
    image = await stored(ana, files.picture(size=(7, 7)), "c.png")
    with pytest.raises(ModelNotAccessible):
        await _extract(with_models(ana.engine, Vision(ModelNotAccessible())), tried(ana, image))
    assert (await read(ana, image)).extraction is Extraction.PENDING


async def test_tesseract_reads_images_where_it_is_installed(
    ana: Person, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A stand-in that prints a table as Tesseract does: where it is missing, the real one cannot be tried."""
    rows = ["level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"]
    rows += [
        f"5\t1\t1\t1\t{line}\t1\t0\t0\t9\t9\t{conf}\t{word}" for line, conf, word in ((1, 90, "STOP"), (2, 70, "now"))
    ]
    program = tmp_path / "tesseract"
    program.write_text("#!/bin/sh\ncat >/dev/null\nprintf '%s\\n' " + " ".join(f"'{row}'" for row in rows) + "\n")
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(program))
    image = await stored(ana, files.picture(size=(7, 7)), "a.png")
    await _extract(ana.engine, tried(ana, image))
    [text] = (await read(ana, image)).texts
    assert (text.text_kind, text.text, text.confidence) == (TextKind.OCR, "STOP\nnow", 0.8)


async def test_a_job_that_was_never_enqueued_is_found(ana: Person) -> None:
    artifact_id = await stored(ana, b"Buy tea", "a.txt")
    await read(ana, artifact_id)
    await _find(ana.engine, tried(ana, artifact_id))
    assert (await extracted(ana, artifact_id)).extraction is Extraction.DONE
    assert [one for one in await ana.engine.jobs.list(kind=EXTRACT) if one.stream == ana.stream.name]


@pytest.mark.parametrize("days", [-40, 40])
async def test_a_file_of_a_message_is_as_old_as_the_message(ana: Person, days: int) -> None:
    sent, began = now() + timedelta(days=days), now()
    file = f"data:text/plain;base64,{b64encode(b'The gate code is 4711.').decode()}"
    said = {"content": "See here", "attachments": [{"type": "file", "url": file}], "occurred_at": sent}
    await add.run(ana.engine, Add.model_validate({"user_id": ana.user, "messages": [said]}))

    [artifact] = await ana.engine.reads.artifacts(ana.viewer, moment=await ana.caught_up())
    at = (await extracted(ana, artifact["artifact_id"])).occurred_at
    assert at == sent if days < 0 else began <= at <= now()
    asked = {"user_id": ana.user, "agent_id": ana.agent, "query": "the gate code"}
    texts = await search_artifacts.run(ana.engine, ArtifactSearch.model_validate(asked))
    assert {one.occurred_at for one in texts} == {at}
    for until, dates in ((at + timedelta(minutes=1), [at]), (at, [])):
        request = MemoryQuery.model_validate({**asked, "kinds": ["artifact"], "filters": {"until": until}})
        assert [hit.date for hit in (await ana.engine.reads.query(request, await ana.caught_up())).hits] == dates
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.spec("X02", "X03")
async def test_a_file_that_came_only_with_deleted_messages_is_found_no_more_than_they_are(ana: Person) -> None:
    long = {"content": "Zanzibarquux is the password. " * 12_000, "message_id": f"{ana.user}-long"}
    await add.run(ana.engine, Add.model_validate({"user_id": ana.user, "messages": [long]}))
    [text] = await ana.engine.reads.artifacts(ana.viewer, moment=await ana.caught_up())
    artifact_id, before = text["artifact_id"], await ana.engine.log.head(ana.stream)

    async def shown(moment: Moment | None = None) -> set[UUID]:
        listed = await ana.engine.reads.artifacts(ana.viewer, moment=moment or await ana.caught_up())
        return {one["artifact_id"] for one in listed}

    await extracted(ana, artifact_id)
    assert artifact_id in {UUID(hit.id) for hit in (await ana.asks("the password", kinds=["artifact"])).hits}
    await ana.deletes_message(long["message_id"])
    assert not await shown()
    assert not await finds(ana, "password")
    assert not (await ana.asks("the password", kinds=["artifact"])).hits
    assert await shown(Moment(as_of=before)) == {artifact_id}
    await ana.restores_message(long["message_id"])
    assert await shown() == {artifact_id}
    await ana.deletes_message(long["message_id"])
    # Another message has it, too.
    await ana.says("See above", attachments=[{"type": "file", "url": f"artifact:{artifact_id}"}])
    assert await shown() == {artifact_id}


@pytest.mark.spec("X07")
async def test_an_erasure_in_the_middle_leaves_no_text(ana: Person) -> None:
    artifact_id = await stored(ana, b"Zanzibarquux", "a.txt")
    await erase(ana.engine, EraseKnown(user_id=ana.user, kind="artifact", name=str(artifact_id)))
    before = await ana.engine.log.head(ana.stream)
    await _extract(ana.engine, tried(ana, artifact_id))
    assert await ana.engine.log.head(ana.stream) == before
