"""The memory key of D, and the references that it is made of."""

import pytest

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.memory_key import EntityType, FactType, MemoryType, entity_ref, memory_key


@pytest.mark.spec("D04")
def test_the_key_of_the_specification() -> None:
    refs = ["person:john_doe", "org:acme_corp"]

    assert memory_key(MemoryType.PEOPLE, None, refs, FactType.RELATIONSHIP) == "people|person|john_doe|relationship"
    assert memory_key(MemoryType.PROJECT, EntityType.ORG, refs, FactType.FACT) == "project|org|john_doe|fact"


@pytest.mark.parametrize(
    ("kind", "refs", "fact_type"),
    [
        (None, ["person:ana"], FactType.FACT),
        (MemoryType.PEOPLE, [], FactType.FACT),
        (MemoryType.PEOPLE, ["place:x"], None),
    ],
)
def test_without_one_of_its_parts_there_is_no_key(
    kind: MemoryType | None, refs: list[str], fact_type: FactType | None
) -> None:
    assert memory_key(kind, None, refs, fact_type) == ""


@pytest.mark.spec("D02")
@pytest.mark.parametrize("ref", ["person:john_doe", "place:東京", "org:हिंदी", "project:dashboard_redesign"])
def test_a_reference_in_any_script(ref: str) -> None:
    assert entity_ref(ref, "entity_refs[0]") == ref


@pytest.mark.spec("D02")
@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("person:John-Doe!", "person:john_doe"),
        ("Person:John Doe", "person:john_doe"),
        ("place:Austin, Texas", "place:austin_texas"),
        ("org:Acme Corp.", "org:acme_corp"),
        ("person:Ána  Müller", "person:ana_muller"),
        ("project:a|b:c", "project:abc"),
    ],
)
def test_a_reference_is_kept_as_a_slug_however_it_is_written(said: str, kept: str) -> None:
    assert entity_ref(said, "entity_refs[0]") == kept
    assert entity_ref(kept, "entity_refs[0]") == kept


@pytest.mark.parametrize("ref", ["john", "animal:rex", "person:", "person:!!", ":john", "x" * 2000, 7])
def test_what_is_no_reference_is_refused(ref: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        entity_ref(ref, "entity_refs[0]")

    assert refused.value.field == "entity_refs[0]"
