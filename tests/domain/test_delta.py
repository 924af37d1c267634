"""The delta header, in the exact format of B §1."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.delta import MAX_TEXT, SIGNS, Change, Entry, bullet, header, shortened

ANA, SHIP, LACTOSE, TEA = (UUID(int=number) for number in range(4))

texts = st.text(max_size=400)
entries = st.lists(
    st.builds(
        Entry,
        rev=st.integers(1, 30),
        memory_id=st.sampled_from([ANA, SHIP, LACTOSE, TEA]),
        change=st.sampled_from(Change),
        category=st.sampled_from(["personal", "recent_activity"]),
        text=texts,
        importance=st.floats(0, 1),
        combined=st.integers(2, 9),
    ),
    unique_by=lambda entry: entry.rev,
)


def entry(rev: int, memory_id: UUID, change: Change, text: str = "Tea", category: str = "note") -> Entry:
    return Entry(rev, memory_id, change, category, text, importance=0.25, combined=2)


@pytest.mark.spec("B01")
def test_header_reads_as_the_example_of_the_specification() -> None:
    changes = [
        entry(8, ANA, Change.CREATED, "Preferred name is Ana", "personal"),
        entry(9, SHIP, Change.UPDATED, "Ship v1 by Sep", "goals"),
        entry(10, LACTOSE, Change.MERGED, "lactose intolerance", "personal"),
    ]

    assert header(7, changes) == (
        "Memory updates since rev 7:\n"
        "- +created: [Personal] Preferred name is Ana (imp=2)\n"
        "- ↑updated: [Goals] Ship v1 by Sep\n"
        "- ↔merged: Combined 2 notes about lactose intolerance"
    )


@pytest.mark.spec("B01")
@pytest.mark.parametrize(
    ("change", "line"),
    [
        (Change.DELETED, "- -deleted: [Note] Tea"),
        (Change.SOFT_DELETED, "- -soft_deleted: [Note] Tea"),
        (Change.RESTORED, "- ↺restored: [Note] Tea"),
    ],
)
def test_bullets_that_the_specification_does_not_show_follow_its_form(change: Change, line: str) -> None:
    assert bullet(entry(1, TEA, change)) == line


def test_every_change_has_a_sign() -> None:
    assert set(SIGNS) == set(Change)


@pytest.mark.spec("B01")
def test_header_is_empty_when_nothing_changed() -> None:
    assert header(0, []) == ""


@given(entries)
def test_header_is_empty_exactly_when_no_change_is_newer(changes: list[Entry]) -> None:
    newest = max((change.rev for change in changes), default=0)

    assert header(newest, changes) == ""
    assert (header(newest - 1, changes) == "") == (not changes)


@pytest.mark.spec("B01")
@given(st.integers(0, 30), entries)
def test_header_has_one_line_for_each_memory_and_at_most_three(since: int, changes: list[Entry]) -> None:
    changed = {change.memory_id for change in changes if change.rev > since}

    lines = header(since, changes).splitlines()

    assert len(lines) == (1 + min(3, len(changed)) if changed else 0)
    assert all(line.startswith("- ") for line in lines[1:])


@given(st.integers(0, 30), entries)
def test_header_does_not_depend_on_the_order_of_its_entries(since: int, changes: list[Entry]) -> None:
    assert header(since, sorted(changes, key=lambda change: -change.rev)) == header(since, changes)


def test_header_shows_the_newest_three_oldest_first() -> None:
    changes = [entry(rev, UUID(int=rev), Change.CREATED, f"number {rev}") for rev in range(1, 6)]

    assert [line.split("] ")[1] for line in header(0, changes).splitlines()[1:]] == [
        "number 3 (imp=2)",
        "number 4 (imp=2)",
        "number 5 (imp=2)",
    ]


def test_what_was_created_and_then_updated_is_new_with_its_last_text() -> None:
    changes = [entry(1, TEA, Change.CREATED, "Tea"), entry(2, TEA, Change.UPDATED, "Green tea")]

    assert header(0, changes) == "Memory updates since rev 0:\n- +created: [Note] Green tea (imp=2)"


def test_what_was_created_before_the_reader_looked_is_updated() -> None:
    changes = [entry(1, TEA, Change.CREATED, "Tea"), entry(2, TEA, Change.UPDATED, "Green tea")]

    assert header(1, changes) == "Memory updates since rev 1:\n- ↑updated: [Note] Green tea"


@given(texts)
def test_a_shortened_text_is_one_line_within_the_limit(text: str) -> None:
    short = shortened(text)

    assert len(short) <= MAX_TEXT
    assert len(short.splitlines()) <= 1


@given(st.text(max_size=MAX_TEXT))
def test_a_short_text_keeps_its_words(text: str) -> None:
    assert shortened(text).split() == text.split()


def test_a_long_text_is_cut_at_a_word() -> None:
    assert shortened("Ana drinks tea, coffee and water", limit=17) == "Ana drinks tea…"
