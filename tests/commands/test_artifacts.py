"""Artifacts: stored once for the same content, described, deleted, undone, and extracted once."""

from typing import Any
from uuid import UUID

import pytest

from mnemolog.commands.artifacts import (
    ARTIFACTS,
    DeleteArtifact,
    DescribeArtifact,
    ExtractedText,
    RecordExtraction,
    StoreArtifact,
    UndoArtifact,
)
from mnemolog.commands.portions import TEXT_BYTES
from mnemolog.domain.artifact import ArtifactType, Refusal, TextKind
from mnemolog.domain.errors import Erased, NotFound, TransitionRefused
from mnemolog.domain.memory import PURGE_AFTER, Status
from mnemolog.domain.scope import Scope
from mnemolog.events import artifacts as events
from mnemolog.events.artifacts import Passage
from mnemolog.events.erasure import UserErased
from mnemolog.events.generation import Generation
from tests.testkit.clock import START
from tests.testkit.decider import given
from tests.testkit.events import new

pytestmark = pytest.mark.spec_part("E05")

BIKE, OTHER = UUID(int=1), UUID(int=2)
WHO: dict[str, Any] = {"user_id": "ana", "agent_id": "coach"}
BLOB, HASH = "ab" * 32, "cd" * 32
STORED = events.ArtifactStored(
    artifact_id=BIKE, type=ArtifactType.IMAGE, scope=Scope.GLOBAL, agent_id="coach", blob=BLOB, sha256=HASH
)
DELETED = events.ArtifactDeleted(artifact_id=BIKE, purge_at=START + PURGE_AFTER)
RED = events.ArtifactTextAdded(
    artifact_id=BIKE,
    text_kind=TextKind.USER_CAPTION,
    generation=Generation(model="agent:coach"),
    count=1,
    passages=(Passage(text="a red bicycle"),),
)


def store(**fields: Any) -> StoreArtifact:
    own = {"artifact_id": OTHER, "type": "image", "sha256": HASH, "blob": "ef" * 32}
    return StoreArtifact.model_validate({**WHO, **own, **fields})


def describe(**fields: Any) -> DescribeArtifact:
    return DescribeArtifact.model_validate({**WHO, "artifact_id": BIKE, "text": "a red bicycle", **fields})


def extracted(**fields: Any) -> RecordExtraction:
    return RecordExtraction.model_validate({**WHO, "artifact_id": BIKE, **fields})


def test_the_same_content_is_stored_once_and_attached_to_each_of_its_messages() -> None:
    given(ARTIFACTS, STORED).when(store()).then_nothing()
    attached = events.ArtifactAttached(artifact_id=BIKE, source_turn_ids=("m2",))
    given(ARTIFACTS, STORED).when(store(source_turn_ids=("m2",))).then(attached)
    given(ARTIFACTS, STORED, attached).when(store(source_turn_ids=("m2",))).then_nothing()
    restored = events.ArtifactRestored(artifact_id=BIKE)
    given(ARTIFACTS, STORED, DELETED).when(store(caption="a red bicycle")).then(restored, RED)


def test_private_or_erased_content_is_stored_again() -> None:
    private = store(scope="agent").model_copy(update={"artifact_id": OTHER})
    [stored] = given(ARTIFACTS, STORED).when(private).events()
    assert isinstance(stored, events.ArtifactStored)
    assert stored.artifact_id == OTHER
    erasures = (events.ArtifactErased(artifact_id=BIKE), UserErased())
    for erasure in erasures:
        [stored] = given(ARTIFACTS, STORED, erasure).when(store()).events()
        assert isinstance(stored, events.ArtifactStored)


def test_content_that_was_refused_under_another_type_is_stored_again() -> None:
    as_pdf = STORED.model_copy(update={"mime": "application/pdf"})
    refused = events.ArtifactRefused(artifact_id=BIKE, reason=Refusal.WRONG_TYPE)
    [stored] = given(ARTIFACTS, as_pdf, refused).when(store(mime="image/png")).events()
    assert isinstance(stored, events.ArtifactStored)
    assert stored.artifact_id == OTHER
    given(ARTIFACTS, as_pdf, refused).when(store(mime="application/pdf")).then_nothing()
    given(ARTIFACTS, as_pdf, refused, stored).when(store(mime="image/png")).then_nothing()
    given(ARTIFACTS, as_pdf).when(store(mime="image/png")).then_nothing()


def test_a_text_is_added_once_unless_it_was_undone() -> None:
    given(ARTIFACTS, STORED).when(describe()).then(RED)
    added = new(RED)
    given(ARTIFACTS, STORED, added).when(describe()).then_nothing()
    given(ARTIFACTS, STORED, DELETED).when(describe()).then_refused(TransitionRefused, "artifact_id")
    undo = UndoArtifact(**WHO, artifact_id=BIKE, event_id=added.event_id)
    undone = given(ARTIFACTS, STORED, added).after(undo)
    undone.when(describe()).then(RED)
    undone.when(undo).then_nothing()


def test_the_caption_is_what_was_said_last_and_not_undone() -> None:
    first, second = new(RED), new(RED.model_copy(update={"passages": (Passage(text="my new bicycle"),)}))
    undo = UndoArtifact(**WHO, artifact_id=BIKE, event_id=second.event_id)
    assert given(ARTIFACTS, STORED).state.caption(BIKE) == ""
    assert given(ARTIFACTS, STORED, first).state.caption(BIKE) == "a red bicycle"
    assert given(ARTIFACTS, STORED, first, second).state.caption(BIKE) == "my new bicycle"
    assert given(ARTIFACTS, STORED, first, second).after(undo).state.caption(BIKE) == "a red bicycle"


@pytest.mark.spec("X03")
def test_undo_withdraws_texts_and_deletes_what_was_stored() -> None:
    stored, first, second = new(STORED), new(RED), new(RED.model_copy(update={"text_kind": TextKind.OCR}))
    story = given(ARTIFACTS, stored, first, second)
    for one in (first, second):
        story = story.after(UndoArtifact(**WHO, artifact_id=BIKE, event_id=one.event_id))
    assert story.state.known[BIKE].withdrawn == {first.event_id, second.event_id}
    [reverted] = (
        given(ARTIFACTS, stored, first).when(UndoArtifact(**WHO, artifact_id=BIKE, event_id=stored.event_id)).events()
    )
    assert isinstance(reverted, events.ArtifactReverted)
    assert reverted.status is Status.SOFT_DELETED


@pytest.mark.spec("X03")
def test_undo_of_a_deletion_restores() -> None:
    deleted = new(DELETED)
    story = given(ARTIFACTS, STORED, deleted)
    story = story.after(UndoArtifact(**WHO, artifact_id=BIKE, event_id=deleted.event_id))
    assert story.state.known[BIKE].status is Status.ACTIVE
    story.when(DeleteArtifact(**WHO, artifact_id=BIKE, at=START)).then(DELETED)


@pytest.mark.spec("X07")
def test_an_erased_artifact_gets_no_text_any_more() -> None:
    story = given(ARTIFACTS, STORED, events.ArtifactErased(artifact_id=BIKE))
    story.when(describe()).then_refused(Erased, "artifact_id")
    story.when(extracted(texts=[text("late")])).then_nothing()


def test_another_agent_finds_no_private_artifact() -> None:
    story = given(ARTIFACTS, STORED.model_copy(update={"scope": Scope.AGENT}))
    story.when(describe(agent_id="planner")).then_refused(NotFound, "artifact_id")


def test_the_first_extraction_counts_and_a_refusal_ends_it() -> None:
    refused = extracted(refused=Refusal.BROKEN, detail="no end")
    given(ARTIFACTS, STORED).when(refused).then(
        events.ArtifactRefused(artifact_id=BIKE, reason=Refusal.BROKEN, detail="no end")
    )
    given(ARTIFACTS, STORED).after(refused).when(extracted(texts=[text("late")])).then_nothing()
    done = given(ARTIFACTS, STORED).after(extracted(texts=[text("tea")]))
    done.when(extracted(texts=[text("tea")])).then_nothing()


def test_a_long_text_is_written_in_events_of_bounded_size_and_keeps_its_order() -> None:
    passages = tuple(Passage(text=str(place) + "x" * 20_000) for place in range(10))
    found = ExtractedText(text_kind=TextKind.CHUNK, generation=Generation(model="pypdf"), passages=passages)
    *texts, _ = given(ARTIFACTS, STORED).when(extracted(texts=[found])).events()
    parts = [one for one in texts if isinstance(one, events.ArtifactTextAdded)]
    assert len(parts) > 1
    assert all(sum(len(one.text) for one in part.passages) <= TEXT_BYTES for part in parts)
    placed = {part.first + place: one for part in parts for place, one in enumerate(part.passages)}
    assert [placed[place] for place in range(10)] == list(passages)


def text(words: str) -> ExtractedText:
    return ExtractedText(
        text_kind=TextKind.CHUNK, generation=Generation(model="plain"), passages=(Passage(text=words),)
    )
