"""The verbs of the Python face that the examples of their docstrings do not show whole."""

from collections.abc import Iterator

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
    assert (again.event_ids, again.already) == (first.event_ids, True)
    assert memory.get(added.memory_id, user_id=user)["text"] == "two"


@pytest.mark.spec("X03")
def test_a_merge_of_entities_is_undone_by_its_event(memory: Memory, user: str) -> None:
    ben, benjamin = (memory.add_entity(name, user_id=user).entity_id for name in ("Ben", "Benjamin"))
    merged = memory.merge_entities(ben, [benjamin], user_id=user)
    memory.undo(event_id=merged.event_ids[0], user_id=user, idempotency_key="once")
    assert memory.undo(event_id=merged.event_ids[0], user_id=user, idempotency_key="once").already
    assert {row["name"] for row in memory.entities(user_id=user)} == {"Ben", "Benjamin"}


def test_an_undo_of_nothing_or_of_two_things_is_refused(memory: Memory, user: str) -> None:
    added = memory.create("one", user_id=user)
    with pytest.raises(InvalidInput) as refused:
        memory.undo(user_id=user)
    assert refused.value.field == "memory_id"
    with pytest.raises(InvalidInput):
        memory.undo(added.memory_id, event_id=added.receipt.event_ids[0], user_id=user)
