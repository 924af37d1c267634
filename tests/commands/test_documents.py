"""Documents: added once for the same source, changed chunk by chunk, deleted, undone."""

from typing import Any
from uuid import UUID, uuid5

import pytest

from mnemolog.commands.documents import (
    DOCUMENTS,
    AddDocument,
    DeleteDocument,
    RestoreDocument,
    UndoDocument,
)
from mnemolog.commands.portions import TEXT_BYTES
from mnemolog.domain.errors import Conflict, Erased, NotFound, NotPermitted
from mnemolog.domain.memory import PURGE_AFTER, Status
from mnemolog.domain.principal import ALL, Principal, Role
from mnemolog.events import documents as events
from mnemolog.events.documents import StoredChunk
from mnemolog.events.envelope import NewEvent, StreamId
from tests.testkit.clock import START
from tests.testkit.decider import Story, given
from tests.testkit.events import new

pytestmark = pytest.mark.spec("A21")

SLEEP, OTHER, REVISION = UUID(int=1), UUID(int=2), UUID(int=3)
WHO: dict[str, Any] = {"agent_id": "coach"}
DELETE = DeleteDocument(agent_id="coach", document_id=SLEEP, at=START)


def add(*texts: str, revision: UUID = REVISION, **fields: Any) -> AddDocument:
    chunks = tuple(StoredChunk(text=text, place="Sleep") for text in texts)
    file = {"sha256": "|".join(texts), "size_bytes": 9, "mime": "text/markdown", "reader": "markdown"}
    own = {"document_id": SLEEP, "revision_id": revision, "source": "docs/sleep.md", "chunks": chunks}
    return AddDocument.model_validate({**WHO, **own, **file, **fields})


def chunk(place: int, revision: UUID = REVISION) -> UUID:
    return uuid5(revision, str(place))


def texts(story: Story[Any, Any], document_id: UUID = SLEEP) -> list[str]:
    ranks = story.state.known[document_id].ranks
    return [story.state.chunks[document_id][one].text for one in sorted(ranks, key=ranks.__getitem__)]


def changes(story: Story[Any, Any], command: AddDocument) -> events.RevisionEvent:
    [one] = [event for event in story.when(command).events() if isinstance(event, events.RevisionEvent)]
    return one


KNOWN = given(DOCUMENTS).after(add("a", "b", "c", domain="health"))


def test_a_document_is_in_the_stream_of_its_agent() -> None:
    assert add("a").stream() == StreamId("default", "agent:coach")


def test_the_same_file_again_changes_nothing() -> None:
    KNOWN.when(add("a", "b", "c", document_id=OTHER, revision=OTHER)).then_nothing()
    KNOWN.when(add("a", "b", "c", chunks=None)).then_nothing()


def test_a_changed_file_names_only_the_chunks_that_changed() -> None:
    again = add("a", "x", "c", document_id=OTHER, revision=OTHER)
    revised, stored = KNOWN.when(again).events()

    assert isinstance(revised, events.DocumentRevised)
    assert [one.chunk_id for one in revised.added] == [chunk(1, OTHER)]
    assert (revised.removed, revised.moved, revised.domain) == ((chunk(1),), (), "health")
    assert isinstance(stored, events.DocumentChunksStored)
    assert stored.chunk_ids == (chunk(1, OTHER),)
    assert texts(KNOWN.after(again)) == ["a", "x", "c"]


def test_chunks_in_another_order_are_moved() -> None:
    revised = changes(KNOWN, add("c", "a", "b", revision=OTHER))
    assert ([one.chunk_id for one in revised.moved], revised.added, revised.removed) == ([chunk(2)], (), ())


def test_a_chunk_that_comes_back_keeps_its_id_and_is_not_stored_again() -> None:
    without = KNOWN.after(add("a", "c", revision=OTHER))
    back = add("a", "b", "c", revision=UUID(int=9))
    [revised] = without.when(back).events()
    assert isinstance(revised, events.DocumentRevised)
    assert [one.chunk_id for one in revised.added] == [chunk(1)]
    assert texts(without.after(back)) == ["a", "b", "c"]


def test_equal_chunks_are_told_apart() -> None:
    twice = given(DOCUMENTS).after(add("a", "a", "b"))
    assert len(twice.state.known[SLEEP].ranks) == 3
    twice.when(add("a", "a", "b", revision=OTHER)).then_nothing()
    once = changes(twice, add("a", "b", revision=OTHER))
    assert (len(once.removed), once.added) == (1, ())


def test_a_domain_changes_without_its_chunks() -> None:
    [revised] = KNOWN.when(add("a", "b", "c", domain="sport", chunks=None)).events()
    assert isinstance(revised, events.DocumentRevised)
    assert (revised.domain, revised.added, revised.moved, revised.removed) == ("sport", (), (), ())
    assert changes(KNOWN, add("a", "b", "c", domain="", chunks=None)).domain == ""


def test_a_file_that_changed_meanwhile_is_not_taken_for_the_known_one() -> None:
    KNOWN.when(add("a", "b", "c", chunks=None, sha256="other")).then_refused(Conflict, "source")
    given(DOCUMENTS).when(add("a", chunks=None)).then_refused(Conflict, "source")


def test_text_is_stored_in_events_of_bounded_size() -> None:
    first, *stored = given(DOCUMENTS).when(add(*(str(number).ljust(1500, "x") for number in range(100)))).events()
    assert isinstance(first, events.DocumentAdded)
    assert sum(len(one.chunks) for one in stored if isinstance(one, events.DocumentChunksStored)) == 100
    assert len(stored) > 1
    assert all(len(one.model_dump_json()) < 2 * TEXT_BYTES for one in stored)


def test_a_deleted_document_is_restored_when_it_is_added_again() -> None:
    deleted = KNOWN.after(DELETE)
    assert deleted.state.known[SLEEP].purge_at == START + PURGE_AFTER
    deleted.when(add("a", "b", "c")).then(events.DocumentRestored(document_id=SLEEP))
    kinds = [type(one) for one in deleted.when(add("a", "d", revision=OTHER)).events()]
    assert kinds == [events.DocumentRestored, events.DocumentRevised, events.DocumentChunksStored]


def test_deleting_and_restoring_again_changes_nothing() -> None:
    deleted = KNOWN.after(DELETE)
    deleted.when(DELETE).then_nothing()
    KNOWN.when(RestoreDocument(**WHO, document_id=SLEEP)).then_nothing()


def test_an_unknown_or_erased_document_is_refused() -> None:
    KNOWN.when(RestoreDocument(**WHO, document_id=OTHER)).then_refused(NotFound, "document_id")
    erased = KNOWN.and_then(events.DocumentErased(document_id=SLEEP))
    erased.when(RestoreDocument(**WHO, document_id=SLEEP)).then_refused(Erased, "document_id")


def test_an_erased_source_can_be_added_anew() -> None:
    erased = KNOWN.and_then(events.DocumentErased(document_id=SLEEP))
    added, _ = erased.when(add("a", document_id=OTHER)).events()
    assert isinstance(added, events.DocumentAdded)
    assert added.document_id == OTHER


def decided(story: Story[Any, Any], command: AddDocument) -> list[NewEvent]:
    return [new(one) for one in story.when(command).events()]


def test_an_undo_brings_back_the_chunks_and_their_order() -> None:
    first = decided(given(DOCUMENTS), add("a", "b"))
    story = given(DOCUMENTS, *first)
    then = decided(story, add("b", "c", revision=OTHER))
    changed = story.and_then(*then)
    assert texts(changed) == ["b", "c"]
    undone = changed.after(UndoDocument(**WHO, document_id=SLEEP, event_id=then[0].event_id))
    assert texts(undone) == ["a", "b"]
    undone.when(UndoDocument(**WHO, document_id=SLEEP, event_id=then[0].event_id)).then_nothing()
    gone = undone.after(UndoDocument(**WHO, document_id=SLEEP, event_id=first[0].event_id))
    assert gone.state.known[SLEEP].status is Status.SOFT_DELETED


@pytest.mark.parametrize(
    ("agents", "users", "tenant", "refused"),
    [
        ((ALL,), (ALL,), "default", None),
        (("coach",), (ALL,), "default", None),
        (("other",), (ALL,), "default", NotPermitted),
        ((ALL,), ("ana",), "default", NotPermitted),
        ((ALL,), (ALL,), "acme", NotFound),
    ],
)
def test_who_may_change_a_library(
    agents: tuple[str, ...], users: tuple[str, ...], tenant: str, refused: type[Exception] | None
) -> None:
    principal = Principal("key", tenant, frozenset(agents), frozenset(users), frozenset({Role.WRITE}))
    if refused is None:
        add("a").require_scope(principal)
        return
    with pytest.raises(refused):
        add("a").require_scope(principal)
