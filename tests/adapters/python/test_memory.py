"""The verbs of the Python face that the examples of their docstrings do not show whole."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemolog import Memory
from mnemolog.domain.errors import InvalidInput


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("verbs"), durable=False, embedder="lexical") as opened:
        yield opened


@pytest.mark.spec("X03", "X14")
def test_an_undo_with_a_key_goes_one_change_back_however_often_it_is_sent(memory: Memory, user: str) -> None:
    added = memory.create("one", user_id=user)
    for text in ("two", "three"):
        memory.update(added.memory_id, user_id=user, text=text)
    first = memory.undo(added.memory_id, user_id=user, idempotency_key="once")
    again = memory.undo(added.memory_id, user_id=user, idempotency_key="once")
    assert again.receipt
    assert first.receipt
    assert (again.receipt.event_ids, again.receipt.already) == (first.receipt.event_ids, True)
    assert memory.get(added.memory_id, user_id=user).text == "two"


@pytest.mark.spec("X03")
def test_a_merge_of_entities_is_undone_by_its_event(memory: Memory, user: str) -> None:
    ben, benjamin = (memory.add_entity(name, user_id=user).entity_id for name in ("Ben", "Benjamin"))
    merged = memory.merge_entities(ben, [benjamin], user_id=user)
    memory.undo(event_id=merged.event_ids[0], user_id=user, idempotency_key="once")
    again = memory.undo(event_id=merged.event_ids[0], user_id=user, idempotency_key="once").receipt
    assert again
    assert again.already
    assert {one.name for one in memory.list_entities(user_id=user)} == {"Ben", "Benjamin"}


@pytest.mark.spec("A19", "X03")
def test_a_forgotten_session_is_brought_back_by_its_event_and_by_its_batch(memory: Memory, user: str) -> None:
    memory.add("I moved to Lisbon", user_id=user)
    first = memory.forget("session", user_id=user, thread_id="main")
    assert first.receipt
    planned = memory.undo(event_id=first.receipt.event_ids[0], user_id=user, dry_run=True)
    assert ([change.type for change in planned.changes], planned.receipt) == (["SessionReverted"], None)
    assert memory.undo(event_id=first.receipt.event_ids[0], user_id=user).undone == first.receipt.event_ids
    second = memory.forget("session", user_id=user, thread_id="main")
    assert second.receipt
    assert not second.receipt.already, "there is a session to forget again"
    assert len(memory.rollback(user_id=user, of_batch=second.batch).undone) == 1


def test_an_undo_of_nothing_or_of_two_things_is_refused(memory: Memory, user: str) -> None:
    added = memory.create("one", user_id=user)
    with pytest.raises(InvalidInput) as refused:
        memory.undo(user_id=user)
    assert refused.value.field == "memory_id"
    with pytest.raises(InvalidInput):
        memory.undo(added.memory_id, event_id=added.event_ids[0], user_id=user)


@pytest.mark.spec("X07", "X16", "A19")
def test_an_entity_is_erased_with_its_facts_and_the_proof_holds(memory: Memory, user: str) -> None:
    fact = memory.add_fact("Zanzibarquux", "lives_in", "Lisbon", user_id=user)
    [entity] = memory.list_entities(user_id=user, name="Zanzibarquux")
    id_ = entity.entity_id
    assert not memory.prove_erased(user_id=user, entity_id=id_, text="Zanzibarquux").erased
    gone = memory.erase_entity(id_, user_id=user)
    assert set(gone.known) == {f"entity:{id_}", f"relation:{fact.relation_id}"}
    assert memory.prove_erased(user_id=user, entity_id=id_, text="Zanzibarquux").erased
    assert len(memory.list_entities(user_id=user, name="Zanzibarquux")) == 0


@pytest.mark.spec("X17")
def test_a_user_is_exported_to_a_file_and_imported_under_another_name(
    memory: Memory, user: str, tmp_path: Path
) -> None:
    added = memory.create("one", user_id=user)
    memory.update(added.memory_id, user_id=user, text="two")
    file = tmp_path / "user.jsonl"
    assert memory.export_user(file, user_id=user) == 2
    with pytest.raises(InvalidInput):
        memory.export_user(file, user_id=user)
    other = f"{user}-other"
    assert not memory.import_user(file, user_id=other).already
    assert memory.import_user(file, user_id=other).already
    assert memory.get(added.memory_id, user_id=other).text == "two"
    assert memory.get(added.memory_id, user_id=other, as_of=1).text == "one"


@pytest.mark.spec("A07")
@pytest.mark.spec_part("D13")
def test_an_entity_is_renamed_and_its_variants_are_named(memory: Memory, user: str) -> None:
    makesh, mukesh = (memory.add_entity(name, user_id=user).entity_id for name in ("Makesh", "Mukesh"))
    assert [one.entity_id for one in memory.list_variants(makesh, user_id=user)] == [mukesh]
    memory.update_entity(mukesh, user_id=user, name="Roberta", attributes={"age": 40})
    changed = memory.get_entity(mukesh, user_id=user)
    assert (changed.name, changed.aliases, changed.attributes) == ("Roberta", ["Mukesh"], {"age": 40})


def test_a_hit_and_a_context_print_as_they_go_into_a_prompt(memory: Memory, user: str) -> None:
    said = {"I live in Berlin": "2025-01-05T10:00:00Z", "I moved to Leipzig": "2025-09-30T10:00:00Z"}
    memory.add([{"content": text, "occurred_at": at} for text, at in said.items()], user_id=user)
    found = memory.search("Where do I live?", user_id=user, kinds=["message"])
    assert [str(hit) for hit in found] == [
        "[message] I moved to Leipzig (2025-09-30)",
        "[message] I live in Berlin (2025-01-05; former)",
    ]
    memory.create("Lives near the canal", user_id=user, pinned=True)
    [note] = [hit for hit in memory.search("canal", user_id=user) if hit.text == "Lives near the canal"]
    assert str(note) == f"[note] Lives near the canal ({note.date:%Y-%m-%d})"
    context = memory.context("canal", user_id=user)
    assert str(context) == context.text
    assert "Lives near the canal" in str(context)
    assert str(note) in map(str, context.bullets)
