"""Artifacts on a real engine: read, undone, erased, exported, backed up; live equals rebuilt."""

import asyncio
import json
from base64 import b64encode
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest
from pydantic import ValidationError
from sqlalchemy import select

import mnemolog
from mnemolog.adapters.artifacts.content import UNKNOWN
from mnemolog.adapters.artifacts.of_messages import DISCARD, discarding_files
from mnemolog.adapters.backup.backing_up import back_up
from mnemolog.adapters.backup.restoring import restore
from mnemolog.adapters.blobs.store import FileBlobs
from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.erasure import erasing
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.erasure.forgetting import forget
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.adapters.export.exporting import head_of, lines
from mnemolog.adapters.export.importing import checked, imported
from mnemolog.adapters.jobs.job import Attempt, Job
from mnemolog.adapters.maintenance.retention import retain
from mnemolog.adapters.operations.artifacts import (
    AddArtifact,
    ArtifactDetail,
    ArtifactRead,
    ArtifactSearch,
    add_artifact,
    download_artifact,
    get_artifact,
    search_artifacts,
)
from mnemolog.adapters.operations.conversation import Add, SessionRead, add
from mnemolog.adapters.operations.conversation import session as read_session
from mnemolog.adapters.pgvector.tables import vectors
from mnemolog.commands.artifacts import DeleteArtifact
from mnemolog.commands.erasure import EraseKnown, EraseMessages, EraseThread, EraseUser
from mnemolog.commands.scopes import EraseScope, ForgetScope, Reach
from mnemolog.commands.writes.writes import Writes
from mnemolog.domain.errors import Erased, IdempotencyConflict, InvalidInput, MnemologError, NotFound, NotPermitted
from mnemolog.domain.memory import PURGE_AFTER
from mnemolog.domain.principal import Role
from mnemolog.events.envelope import StreamId
from mnemolog.events.fields import validated
from tests.adapters.artifacts import files
from tests.adapters.backup.test_backup import settings_in, silent
from tests.adapters.principals.keys import principal
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person

pytestmark = pytest.mark.spec_part("E05")
SECRET = b"Zanzibarquux is the password"
NOWHERE = f"artifact:{UUID(int=1)}"


@pytest.fixture
def ana(engine: Engine, user: str) -> Person:
    return Person(engine, user)


async def added(ana: Person, content: bytes | None = SECRET, **fields: Any) -> UUID:
    asked = AddArtifact.model_validate({"user_id": ana.user, "agent_id": ana.agent, "name": "note.txt", **fields})
    return (await add_artifact(ana.engine, asked, content)).artifact_id


async def read(ana: Person, artifact_id: UUID, **fields: Any) -> ArtifactDetail:
    asked = {"user_id": ana.user, "agent_id": ana.agent, "artifact_id": artifact_id}
    return await get_artifact.run(ana.engine, ArtifactRead.model_validate({**asked, **fields}))


async def downloaded(ana: Person, artifact_id: UUID) -> bytes:
    asked = {"user_id": ana.user, "agent_id": ana.agent, "artifact_id": artifact_id}
    return (await download_artifact(ana.engine, ArtifactRead.model_validate(asked)))[1]


async def blobs(ana: Person) -> list[str]:
    return [name async for name in ana.engine.blobs.names(ana.stream)]


async def test_a_file_is_stored_once_encrypted_and_read_back(ana: Person) -> None:
    first = await added(ana, caption="my note")
    assert await added(ana, name="again.txt") == first
    found = await read(ana, first)
    assert (found.surrogate, found.mime, found.size_bytes) == (
        f"[file#{found.label}] my note",
        "text/plain",
        len(SECRET),
    )
    assert await downloaded(ana, first) == SECRET
    [name] = await blobs(ana)
    assert SECRET not in (await ana.engine.blobs.get(name) or b"")
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.spec("A01")
async def test_another_agent_sees_no_private_artifact(ana: Person) -> None:
    coach, planner = Person(ana.engine, ana.user, agent="coach"), Person(ana.engine, ana.user, agent="planner")
    private = await added(coach, scope="agent")
    assert await downloaded(coach, private) == SECRET
    for ask in (read, downloaded):
        with pytest.raises(NotFound):
            await ask(planner, private)
    assert await added(planner) != private
    assert len(await blobs(ana)) == 2


@pytest.mark.spec("X02", "X07")
async def test_an_erased_artifact_is_gone_from_every_moment_and_place(ana: Person) -> None:
    artifact_id = await added(ana, caption="Zanzibarquux")
    before = await ana.engine.log.head(ana.stream)
    assert (await read(ana, artifact_id, as_of=before)).texts[0].text == "Zanzibarquux"

    await erase(ana.engine, EraseKnown(user_id=ana.user, kind="artifact", name=str(artifact_id)))

    for moment in ({}, {"as_of": before}):
        with pytest.raises(Erased):
            await read(ana, artifact_id, **moment)
    with pytest.raises(Erased):
        await downloaded(ana, artifact_id)
    assert await blobs(ana) == []
    subject = ProofSubject(ana.stream, None, None, f"artifact:{artifact_id}")
    assert (await prove(ana.engine, subject, "Zanzibarquux")).holds
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.spec("X07")
@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice"])
async def test_an_erasure_whose_caller_is_cancelled_leaves_no_embedding_and_no_file(
    ana: Person, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact_id = await added(ana, caption="Zanzibarquux")
    await ana.engine.settled(60)
    began, clean = asyncio.Event(), erasing._clean

    async def noticed(*args: Any) -> Any:
        began.set()
        await asyncio.sleep(0.05)
        return await clean(*args)

    monkeypatch.setattr(erasing, "_clean", noticed)
    command = EraseKnown(user_id=ana.user, kind="artifact", name=str(artifact_id))
    erasure = asyncio.create_task(erase(ana.engine, command))
    await began.wait()
    for _ in range(times):
        erasure.cancel()
        await asyncio.sleep(0)

    with pytest.raises(asyncio.CancelledError):
        await erasure

    assert await blobs(ana) == []
    subject = ProofSubject(ana.stream, None, None, f"artifact:{artifact_id}")
    assert (await prove(ana.engine, subject, "Zanzibarquux")).holds
    assert (await ana.engine.projections.rebuild("vectors")).equal


async def test_a_blob_that_is_left_is_found_by_the_proof(ana: Person) -> None:
    artifact_id = await added(ana)
    [name] = await blobs(ana)
    box = await ana.engine.blobs.get(name)
    assert box
    await erase(ana.engine, EraseUser(user_id=ana.user))
    assert (await prove(ana.engine, ProofSubject(ana.stream))).holds
    await ana.engine.blobs.put(name, box)
    [place] = [one for one in (await prove(ana.engine, ProofSubject(ana.stream))).places if one.readable]
    assert (place.name, place.readable) == ("artifacts", 1)
    await erase(ana.engine, EraseUser(user_id=ana.user))
    assert await blobs(ana) == [], f"erasing again deletes the rest of {artifact_id}"


@pytest.mark.spec("X07")
async def test_attachments_are_erased_with_their_thread(ana: Person) -> None:
    await ana.says("look", turn_id=f"{ana.user}-1", thread_id="trip")
    await ana.says("and here", turn_id=f"{ana.user}-2", thread_id="home")
    both = await added(ana, source_turn_ids=[f"{ana.user}-1"])
    await added(ana, source_turn_ids=[f"{ana.user}-2"])
    alone = await added(ana, b"another secret", source_turn_ids=[f"{ana.user}-1"])
    free = await added(ana, b"of no message")

    await erase(ana.engine, EraseThread(user_id=ana.user, thread_id="trip"))

    with pytest.raises(Erased):
        await read(ana, alone)
    assert await downloaded(ana, both) == SECRET
    assert await downloaded(ana, free) == b"of no message"
    assert len(await blobs(ana)) == 2


async def test_forgetting_a_scope_hides_its_artifacts(ana: Person) -> None:
    artifact_id = await added(ana)
    done = await forget(ana.engine, ForgetScope(user_id=ana.user, scope=Reach.GLOBAL))
    assert list(done.extent.artifacts) == [artifact_id]
    assert (await read(ana, artifact_id)).status == "soft_deleted"


@pytest.mark.spec("X17")
async def test_an_export_carries_files_and_an_import_checks_them(ana: Person, tmp_path: Path) -> None:
    artifact_id = await added(ana, caption="my note")
    gone = await added(ana, b"gone")
    await erase(ana.engine, EraseKnown(user_id=ana.user, kind="artifact", name=str(gone)))
    head = await head_of(ana.engine, ana.stream)
    text = b"".join([piece async for _, piece in lines(ana.engine, ana.stream, head)])
    (file := tmp_path / "ana.jsonl").write_bytes(text)
    bob = Person(ana.engine, f"{ana.user}-bob")

    await imported(ana.engine, checked(file, now()), bob.user)
    await erase(ana.engine, EraseUser(user_id=ana.user))

    assert await downloaded(bob, artifact_id) == SECRET
    assert (await read(bob, artifact_id)).texts[0].text == "my note"
    [line] = [one for one in text.splitlines() if one.startswith(b'{"blob"')]
    changed = json.dumps({**json.loads(line), "content": "AAAA"}, separators=(",", ":")).encode()
    file.write_bytes(text.replace(line, changed))
    with pytest.raises(InvalidInput, match="does not match its hash"):
        checked(file, now())
    file.write_bytes(text.replace(line + b"\n", b""))
    with pytest.raises(InvalidInput, match="content of all artifacts"):
        checked(file, now())
    file.write_bytes(text + line.replace(b'{"blob":"', b'{"blob":"' + b"0" * 64, 1)[: len(line)] + b"\n")
    with pytest.raises(InvalidInput):
        checked(file, now())


async def test_an_artifact_whose_file_is_lost_is_exported_without_it(ana: Person, tmp_path: Path) -> None:
    artifact_id = await added(ana)
    for name in await blobs(ana):
        await ana.engine.blobs.delete(name)
    head = await head_of(ana.engine, ana.stream)
    text = b"".join([piece async for _, piece in lines(ana.engine, ana.stream, head)])
    (file := tmp_path / "ana.jsonl").write_bytes(text)
    bob = Person(ana.engine, f"{ana.user}-bob")

    await imported(ana.engine, checked(file, now()), bob.user)

    assert (await read(bob, artifact_id)).status == "active"
    assert not await blobs(bob)


async def test_a_backup_holds_the_files(tmp_path: Path) -> None:
    file, stream = tmp_path / "backup.zip", StreamId.of_user("ana")
    async with open_engine(settings_in(tmp_path / "source")) as source:
        artifact_id = await added(Person(source, "ana"))
        await back_up(
            source.endpoints.postgres_dsn,
            source.settings,
            source.verifier.anchors,
            file,
            now(),
            mnemolog.__version__,
            lambda count: None,
            with_master_key=True,
        )
    settings = settings_in(tmp_path / "restored")
    assert (await restore(settings, file, silent)).report.clean
    assert [name async for name in FileBlobs(settings.directory / "artifacts").names(stream)]
    async with open_engine(settings) as engine:
        assert await downloaded(Person(engine, "ana"), artifact_id) == SECRET


async def test_the_type_of_a_file_that_nobody_declared_is_taken_from_its_content(ana: Person) -> None:
    for number, (content, name, mime, kind, type_) in enumerate(
        (
            (files.picture(), "", "", "image", "image/png"),
            (files.picture("JPEG"), "photo", UNKNOWN, "image", "image/jpeg"),
            (files.pdf("tea"), "", "", "file", "application/pdf"),
            (b"ID3" + b"\0" * 9, "", "", "audio", "audio/mpeg"),
            (files.picture("GIF"), "a.gif", UNKNOWN, "image", "image/gif"),
            (b"tea", "", "", "file", UNKNOWN),
        )
    ):
        found = await read(ana, await added(ana, content, name=name, mime=mime))
        assert (number, found.type, found.mime) == (number, kind, type_)


async def test_the_type_of_a_link_that_nobody_declared_is_taken_from_its_name(ana: Person) -> None:
    for name, mime in (("plan.pdf", "application/pdf"), ("plan", "")):
        found = await read(ana, await added(ana, None, url=f"https://a.example/{name}", name=name))
        assert (found.type, found.mime) == ("link", mime)


@pytest.mark.parametrize("type_", ["link", "image"])
async def test_a_link_of_any_type_has_no_file_to_download(ana: Person, type_: str) -> None:
    link = await added(ana, None, url="https://a.example/bike.png", type=type_)
    with pytest.raises(InvalidInput, match="has no file"):
        await downloaded(ana, link)


async def test_a_file_that_is_empty_or_too_large_is_refused(ana: Person) -> None:
    for content in (b"", b"x" * (ana.engine.settings.artifact_max_bytes + 1)):
        with pytest.raises(InvalidInput):
            await added(ana, content)
    with pytest.raises(InvalidInput, match="either a file or a URL"):
        await added(ana, url="https://example.org")
    with pytest.raises(InvalidInput, match="but a file was sent") as refused:
        await added(ana, type="link")
    assert refused.value.field == "type"
    assert await blobs(ana) == []


async def finds(ana: Person, query: str, **fields: Any) -> list[str]:
    asked = {"user_id": ana.user, "agent_id": ana.agent, "query": query, **fields}
    found = await search_artifacts.run(ana.engine, ArtifactSearch.model_validate(asked))
    return [one.text for one in found]


@pytest.mark.spec("A01", "X02", "X03")
async def test_texts_are_found_by_whoever_may_see_them_and_as_they_stood(ana: Person) -> None:
    coach, planner = Person(ana.engine, ana.user, agent="coach"), Person(ana.engine, ana.user, agent="planner")
    links: dict[str, Any] = {"content": None, "name": ""}  # Nothing is extracted from them.
    contract: dict[str, Any] = {"url": "https://a.example", "caption": "a contract about rent", "type": "image"}
    own = await added(coach, **links, **contract, scope="agent")
    bike = await added(planner, **links, url="https://b.example", caption="a red bicycle, rent to buy")
    assert set(await finds(coach, "rent")) == {"a contract about rent", "a red bicycle, rent to buy"}
    assert await finds(coach, "rent", type="image") == ["a contract about rent"]
    assert await finds(coach, "rent", artifact_id=str(bike)) == ["a red bicycle, rent to buy"]
    assert await finds(coach, "rent", text_kind="ocr") == []
    assert await finds(planner, "contract about rent") == ["a red bicycle, rent to buy"]
    before = await ana.engine.log.head(ana.stream)
    await ana.engine.writes.handle(
        validated(
            DeleteArtifact,
            {"user_id": ana.user, "agent_id": "coach", "artifact_id": own, "at": ana.engine.writes.now()},
        )
    )
    assert await finds(coach, "contract about rent") == ["a red bicycle, rent to buy"]
    assert set(await finds(coach, "rent", as_of=before)) == {"a contract about rent", "a red bicycle, rent to buy"}
    added_text = (await ana.engine.log.read(ana.stream, tags=[f"artifact:{bike}"]))[1]
    await ana.engine.writes.undo_event(ana.stream, added_text.event_id, None, agent_id="planner")
    assert await finds(planner, "rent") == []


@pytest.mark.spec("X07")
async def test_an_erasure_leaves_no_vector_of_a_text(ana: Person) -> None:
    artifact_id = await added(ana, caption="Zanzibarquux")
    assert "Zanzibarquux" in await finds(ana, "Zanzibarquux")  # Soon what the file says is found as well.
    await erase(ana.engine, EraseKnown(user_id=ana.user, kind="artifact", name=str(artifact_id)))
    assert (await prove(ana.engine, ProofSubject(ana.stream, None, None, f"artifact:{artifact_id}"))).holds
    async with ana.engine.projections.live.connect() as connection:
        left = await connection.execute(select(vectors).where(vectors.c.user_id == ana.user))
        assert left.all() == []
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def session(ana: Person) -> list[str]:
    asked = SessionRead.model_validate({"user_id": ana.user, "agent_id": ana.agent})
    return [turn.text for turn in (await read_session.run(ana.engine, asked)).turns]


@pytest.mark.spec_part("A04")
async def test_a_session_shows_the_artifacts_of_its_turns_as_the_history_does(ana: Person) -> None:
    turn = {"turn_id": f"{ana.user}-1"}
    await ana.says("Look!", **turn)
    await ana.says("Nice, is it not?")
    assert await session(ana) == ["Look!", "Nice, is it not?"]
    seen = [{"type": "image", "url": "https://a.example/tram.jpg", "caption": "a tram"}]
    await ana.says("And this", thread_id="trams", attachments=seen)
    trams = SessionRead.model_validate({"user_id": ana.user, "agent_id": ana.agent, "thread_id": "trams"})
    assert [one.text for one in (await read_session.run(ana.engine, trams)).turns] == ["And this [image: a tram]"]

    bike = await added(ana, name="bike.jpg", caption="a red bicycle", source_turn_ids=(turn["turn_id"],))
    hers = Person(ana.engine, ana.user, agent="coach")
    await added(hers, b"private", scope="agent", source_turn_ids=(turn["turn_id"],))

    surrogate = (await read(ana, bike)).surrogate
    assert await session(ana) == [f"Look! {surrogate}", "Nice, is it not?"]
    named = {"user_id": ana.user, "agent_id": ana.agent, "artifact_id": bike}
    await ana.engine.writes.handle(
        validated(DeleteArtifact, {**named, "reason": "blurred", "at": ana.engine.writes.now()})
    )
    assert await session(ana) == ["Look!", "Nice, is it not?"]
    hidden = await read(ana, bike)
    assert hidden.forget_reason == "blurred"
    assert hidden.forgotten_at
    assert hidden.created_at < hidden.forgotten_at <= hidden.updated_at
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.spec("X07")
async def test_an_attachment_that_names_an_artifact_shows_its_surrogate_and_takes_it_along(ana: Person) -> None:
    artifact_id = await added(ana, caption="a red bicycle")
    turn = {"turn_id": f"{ana.user}-1", "thread_id": "trip"}
    await ana.says("Look!", **turn, attachments=[{"type": "image", "url": f"artifact:{artifact_id}"}])
    [message] = await ana.engine.reads.messages(ana.viewer, "trip", 10, await ana.caught_up())
    found = await read(ana, artifact_id)
    assert message["surrogates"] == [found.surrogate]
    assert message["line"] == f"Ana: Look! {found.surrogate}"
    assert found.source_turn_ids == [turn["turn_id"]]
    coach = Person(ana.engine, ana.user, agent="coach")
    private = await added(coach, b"private", scope="agent")
    for url in (f"artifact:{private}", f"artifact:{UUID(int=1)}", "artifact:nonsense"):
        with pytest.raises(MnemologError) as refused:
            await ana.says("And this", attachments=[{"type": "file", "url": url}])
        assert refused.value.field == "attachments[0].url"

    await erase(ana.engine, EraseThread(user_id=ana.user, thread_id="trip"))

    with pytest.raises(Erased):
        await read(ana, artifact_id)
    assert len(await blobs(ana)) == 1


@pytest.mark.spec("X07")
async def test_a_file_without_words_stands_in_the_history_as_its_surrogate(ana: Person) -> None:
    artifact_id = await added(ana, caption="a red bicycle")
    message_id = f"{ana.user}-1"
    alone = {"message_id": message_id, "attachments": [{"type": "file", "url": f"artifact:{artifact_id}"}]}
    asked = Add.model_validate({"user_id": ana.user, "agent_id": ana.agent, "messages": [alone]})
    made = await add.run(ana.engine, asked)
    found = await read(ana, artifact_id)

    message = await ana.engine.reads.message(ana.viewer, made.message_ids[0], await ana.caught_up())
    assert (message["text"], message["line"]) == (f"[file#{found.label}]", found.surrogate)
    assert await session(ana) == [found.surrogate]
    assert (await add.run(ana.engine, asked)).event_ids == made.event_ids
    await assert_live_equals_replayed(ana.engine, ana.stream)
    head = await head_of(ana.engine, ana.stream)
    exported = b"".join([piece async for _, piece in lines(ana.engine, ana.stream, head)])
    assert f'"text":"{message["text"]}"' in exported.decode().replace('": "', '":"')

    await erase(ana.engine, EraseMessages(user_id=ana.user, message_ids=(message_id,)))

    with pytest.raises(Erased):
        await read(ana, artifact_id)
    assert (await add.run(ana.engine, asked)).erased


def in_words(content: bytes) -> dict[str, Any]:
    """A part of a message, as the OpenAI API has an image."""
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64encode(content).decode()}"}}


@pytest.mark.spec("X07", "X14")
async def test_an_image_within_a_message_is_stored_once_and_goes_with_it(ana: Person) -> None:
    first, second = files.picture(), files.picture(size=(20, 20))
    messages = [
        {"message_id": f"{ana.user}-1", "content": [in_words(first)]},
        {"message_id": f"{ana.user}-2", "content": [{"type": "text", "text": "Both"}, *map(in_words, (first, second))]},
    ]
    asked = Add.model_validate({"user_id": ana.user, "agent_id": ana.agent, "messages": messages})

    made, again = await add.run(ana.engine, asked), await add.run(ana.engine, asked)

    assert (again.already, again.event_ids, again.message_ids) == (True, made.event_ids, made.message_ids)
    stored = await ana.engine.reads.artifacts(ana.viewer, moment=await ana.caught_up())
    by_content = {await downloaded(ana, one["artifact_id"]): one for one in stored}
    assert by_content.keys() == {first, second}
    assert by_content[first]["source_turn_ids"] == list(made.message_ids)
    alone = await ana.engine.reads.message(ana.viewer, made.message_ids[0])
    both = await ana.engine.reads.message(ana.viewer, made.message_ids[1])
    assert alone["text"] == f"[image#{by_content[first]['label']}]"
    assert both["text"] == "Both"
    assert [one["url"] for one in both["attachments"]] == [
        f"artifact:{by_content[content]['artifact_id']}" for content in (first, second)
    ]
    other = Add.model_validate({**asked.model_dump(), "messages": [{**messages[0], "content": [in_words(second)]}]})
    with pytest.raises(IdempotencyConflict):
        await add.run(ana.engine, other)

    await erase(ana.engine, EraseMessages(user_id=ana.user, message_ids=tuple(made.message_ids)))

    assert (await add.run(ana.engine, asked)).erased
    assert await ana.engine.reads.artifacts(ana.viewer, moment=await ana.caught_up()) == []
    assert await blobs(ana) == []
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.spec("X14")
async def test_who_may_publish_messages_may_send_files_in_them_and_no_others(ana: Person) -> None:
    producer = ana.engine.by(principal("juno", tenant=ana.tenant, users=[ana.user], roles=[Role.PUBLISH]))
    long = "Lisbon is where I live now. " * 12_000
    messages = [
        {"message_id": "1", "content": [in_words(files.picture())]},
        {"message_id": "2", "content": long},
    ]
    asked = Add.model_validate({"user_id": ana.user, "messages": messages})

    made, again = [await add.run(producer, asked) for _ in range(2)]

    assert (again.already, again.event_ids) == (True, made.event_ids)
    stored = await ana.engine.reads.artifacts(ana.viewer, moment=await ana.caught_up())
    assert sorted(one["type"] for one in stored) == ["file", "image"]
    with pytest.raises(NotPermitted):
        await add_artifact(producer, AddArtifact(user_id=ana.user), files.picture())


@pytest.mark.parametrize("large", [False, True])
async def test_an_image_of_a_message_that_is_refused_is_not_stored(ana: Person, large: bool) -> None:
    content = b"x" * (ana.engine.settings.artifact_max_bytes + 1) if large else files.picture()
    wrong = {"content": "And", "attachments": [{"type": "file", "url": NOWHERE}]}
    shown = [{"content": [in_words(one)]} for one in (files.picture(), content)]
    asked = {"user_id": ana.user, "messages": [*shown, wrong]}

    with pytest.raises(MnemologError) as refused:
        await add.run(ana.engine, Add.model_validate(asked))

    assert refused.value.field == ("messages[1]" if large else "messages[2]") + ".attachments[0].url"
    assert await ana.engine.reads.artifacts(ana.viewer, moment=await ana.caught_up()) == []


async def test_a_message_that_is_too_long_becomes_an_artifact_with_a_surrogate(ana: Person) -> None:
    text = "Lisbon is where I live now. " * 12_000
    long = {"content": text, "message_id": f"{ana.user}-long"}
    asked = Add.model_validate({"user_id": ana.user, "messages": [long, "short"]})
    made = await add.run(ana.engine, asked)
    assert (await add.run(ana.engine, asked.model_copy(update={"messages": asked.messages[:1]}))).already
    message = await ana.engine.reads.message(ana.viewer, made.message_ids[0], await ana.caught_up())
    [artifact] = await ana.engine.reads.artifacts(ana.viewer, moment=await ana.caught_up())
    assert message["text"].startswith(f"[file#{artifact['label']}] the whole message\nLisbon is where I live now.")
    assert len(message["text"]) < 3000
    assert (await downloaded(ana, artifact["artifact_id"])).decode() == text.strip()
    assert artifact["source_turn_ids"] == [made.message_ids[0]]
    with pytest.raises(ValidationError, match="at most"):
        Add.model_validate({"user_id": ana.user, "messages": "x" * 9_000_000})


@pytest.mark.spec("X07")
async def test_a_scope_whose_files_go_with_their_messages_is_erased_by_a_write(ana: Person) -> None:
    long = {"content": "Zanzibarquux is the password. " * 12_000}
    await add.run(ana.engine, Add.model_validate({"user_id": ana.user, "messages": [long]}))

    erased = await forget(ana.engine, EraseScope(user_id=ana.user, agent_id=ana.agent, scope=Reach.GLOBAL))

    assert (len(erased.extent.messages), len(erased.extent.artifacts)) == (1, 1)
    assert erased.receipt
    assert not erased.receipt.already


@pytest.mark.spec("X07")
@pytest.mark.parametrize("asked", [True, False], ids=["asked", "purged"])
async def test_a_file_goes_with_the_last_message_that_it_came_with_even_if_memories_stay(
    ana: Person, asked: bool
) -> None:
    """A long message is all in its file: without it, neither a retention nor a purge would end what was said."""
    long = {"content": "Zanzibarquux is the password. " * 12_000, "message_id": f"{ana.user}-long"}
    await add.run(ana.engine, Add.model_validate({"user_id": ana.user, "messages": [long]}))
    [text] = await ana.engine.reads.artifacts(ana.viewer, moment=await ana.caught_up())
    bike = await added(ana, name="bike.jpg")
    for number in range(2):
        attached = [{"type": "image", "url": f"artifact:{bike}"}]
        await ana.says("My bike", turn_id=f"{ana.user}-{number}", attachments=attached)
    going = (long["message_id"], f"{ana.user}-0")
    kept = await ana.creates("Ana has a password", source_turn_ids=[long["message_id"]])

    if asked:
        named = {"user_id": ana.user, "message_ids": going, "keep_memories": True}
        erasure = await erase(ana.engine, EraseMessages.model_validate(named))
        assert erasure.extent.known == (f"artifact:{text['artifact_id']}",)
    else:
        for one in going:
            await ana.deletes_message(one)
        await ana.engine.settled(60)
        await retain(ana.engine, now() + PURGE_AFTER + timedelta(hours=1))

    with pytest.raises(Erased):
        await read(ana, text["artifact_id"])
    assert (await read(ana, bike)).status == "active"
    assert (await ana.engine.reads.memory(ana.viewer, kept))["text"] == "Ana has a password"
    assert len(await blobs(ana)) == 1
    subject = ProofSubject(ana.stream, None, None, f"artifact:{text['artifact_id']}")
    assert (await prove(ana.engine, subject)).holds
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_a_file_that_is_hidden_with_its_message_and_added_again_is_another_one(ana: Person) -> None:
    first = await added(ana)
    await ana.says("See", turn_id=f"{ana.user}-1", attachments=[{"type": "file", "url": f"artifact:{first}"}])
    assert await added(ana) == first
    await ana.deletes_message(f"{ana.user}-1")

    again = await added(ana)

    assert again != first
    assert await added(ana) == again
    listed = await ana.engine.reads.artifacts(ana.viewer, moment=await ana.caught_up())
    assert [one["artifact_id"] for one in listed] == [again]
    assert await downloaded(ana, again) == SECRET
    await ana.restores_message(f"{ana.user}-1")
    assert await added(ana) == first
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.spec("X07")
async def test_a_long_message_that_is_sent_again_after_its_erasure_leaves_no_artifact(ana: Person) -> None:
    long = {"content": "Zanzibarquux is the password. " * 12_000, "message_id": f"{ana.user}-long"}
    asked = Add.model_validate({"user_id": ana.user, "messages": [long]})
    await add.run(ana.engine, asked)
    await erase(ana.engine, EraseMessages(user_id=ana.user, message_ids=(long["message_id"],)))

    again = await add.run(ana.engine, asked)

    assert (again.already, again.erased) == (True, True)
    assert await ana.engine.reads.artifacts(ana.viewer, moment=await ana.caught_up()) == []
    assert await blobs(ana) == []


async def test_a_long_message_of_which_only_the_artifact_was_erased_changes_nothing_when_it_is_sent_again(
    ana: Person,
) -> None:
    long = {"content": "Lisbon is where I live now. " * 12_000, "message_id": f"{ana.user}-long"}
    asked = Add.model_validate({"user_id": ana.user, "messages": [long]})
    await add.run(ana.engine, asked)
    [artifact] = await ana.engine.reads.artifacts(ana.viewer, moment=await ana.caught_up())
    await erase(ana.engine, EraseKnown(user_id=ana.user, kind="artifact", name=str(artifact["artifact_id"])))
    head = await ana.engine.log.head(ana.stream)

    assert (await add.run(ana.engine, asked)).already
    assert await ana.engine.log.head(ana.stream) == head


@pytest.mark.parametrize("fields", [{}, {"message_id": "new", "attachments": [{"type": "file", "url": NOWHERE}]}])
async def test_a_long_message_that_is_refused_leaves_no_artifact(ana: Person, fields: dict[str, Any]) -> None:
    await ana.says("Something else", turn_id=f"{ana.user}-long")
    long = {"content": "Lisbon is where I live now. " * 12_000, "message_id": f"{ana.user}-long", **fields}
    asked = Add.model_validate({"user_id": ana.user, "messages": [long]})

    with pytest.raises(MnemologError, match=r"used for another|no artifact") as refused:
        await add.run(ana.engine, asked)

    assert refused.value.field.startswith("messages[0].")
    assert await ana.engine.reads.artifacts(ana.viewer, moment=await ana.caught_up()) == []


async def test_a_long_message_whose_caller_gives_up_leaves_no_artifact(
    ana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def given_up(*_: Any, **__: Any) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(Writes, "add", given_up)
    long = {"content": "Lisbon is where I live now. " * 12_000}

    with pytest.raises(asyncio.CancelledError):
        await add.run(ana.engine, Add.model_validate({"user_id": ana.user, "messages": [long]}))

    assert await ana.engine.reads.artifacts(ana.viewer, moment=await ana.caught_up()) == []


async def test_a_long_message_that_a_crash_cut_off_leaves_no_artifact_for_long(
    ana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException): ...

    async def killed(*_: Any, **__: Any) -> None:
        raise Killed

    async def jobs() -> list[Job]:
        return [one for one in await ana.engine.jobs.list(kind=DISCARD) if one.owner == ana.stream]

    long = {"content": "Lisbon is where I live now. " * 12_000}
    asked = Add.model_validate({"user_id": ana.user, "messages": [long]})
    with monkeypatch.context() as patched:
        patched.setattr(Writes, "add", killed)
        with pytest.raises(Killed):
            await add.run(ana.engine, asked)
    [job] = await jobs()

    await discarding_files(ana.engine).run(cast(Attempt, SimpleNamespace(job=job)))

    assert await ana.engine.reads.artifacts(ana.viewer, moment=await ana.caught_up()) == []
    await add.run(ana.engine, asked)
    await discarding_files(ana.engine).run(cast(Attempt, SimpleNamespace(job=job)))
    assert len(await ana.engine.reads.artifacts(ana.viewer, moment=await ana.caught_up())) == 1
    assert await jobs() == []


async def test_an_id_that_comes_again_with_another_text_leaves_no_artifact(ana: Person) -> None:
    said = [{"content": word * 60_000, "message_id": f"{ana.user}-long"} for word in ("Lisbon ", "Porto, ")]

    with pytest.raises(IdempotencyConflict) as refused:
        await add.run(ana.engine, Add.model_validate({"user_id": ana.user, "messages": said}))

    assert refused.value.field == "messages[1].message_id"
    assert await ana.engine.reads.artifacts(ana.viewer, moment=await ana.caught_up()) == []


async def test_of_long_texts_that_are_added_at_once_under_one_id_only_that_of_the_message_stays(ana: Person) -> None:
    said = [{"content": word * 60_000, "message_id": f"{ana.user}-long"} for word in ("Lisbon ", "Porto, ", "Braga, ")]
    asked = [Add.model_validate({"user_id": ana.user, "messages": [one]}) for one in said]

    done = await asyncio.gather(*(add.run(ana.engine, one) for one in asked), return_exceptions=True)

    assert sum(isinstance(one, IdempotencyConflict) for one in done) == 2
    [artifact] = await ana.engine.reads.artifacts(ana.viewer, moment=await ana.caught_up())
    assert artifact["source_turn_ids"] == [f"{ana.user}-long"]
