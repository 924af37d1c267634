"""The keyed chain: a link covers the header, the data and all that went before, and nothing else."""

import json
from dataclasses import replace
from datetime import timedelta, timezone
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mnemolog.events.chain import START, canonical, derived_key, link
from mnemolog.events.envelope import Header, NewEvent, StreamId
from tests.testkit.clock import START as AT
from tests.testkit.events import KEY, STREAM, header_of
from tests.testkit.payloads import ids, instants, new_events, texts, uuids, zones

streams = st.builds(StreamId, ids, ids)
headers = st.builds(header_of, new_events, st.integers(1, 2**53), streams, instants)
links = st.binary(min_size=32, max_size=32)
OTHERS: dict[str, st.SearchStrategy[Any]] = {
    "stream": streams,
    "seq": st.integers(1, 2**53),
    "event_id": uuids,
    "type": ids,
    "version": st.integers(1, 99),
    "tags": st.lists(texts, max_size=3).map(tuple),
    "meta": st.dictionaries(texts, texts, max_size=3),
    "occurred_at": instants,
    "recorded_at": instants,
}


@pytest.mark.spec("X08")
@pytest.mark.parametrize("field", sorted(OTHERS))
@given(data=st.data(), header=headers, body=st.binary(max_size=50), previous=links)
def test_a_changed_header_changes_the_link(
    field: str, data: st.DataObject, header: Header, body: bytes, previous: bytes
) -> None:
    other = data.draw(OTHERS[field])
    same = set if field == "tags" else lambda value: value
    assume(same(other) != same(getattr(header, field)))

    changed = replace(header, **{field: other})

    assert link(KEY, previous, changed, body) != link(KEY, previous, header, body)


def test_no_field_of_a_header_is_left_out() -> None:
    assert set(OTHERS) == set(Header.__slots__)


@pytest.mark.spec("X08")
@given(headers, st.binary(max_size=50), st.binary(max_size=50), links, links)
def test_other_data_another_key_or_another_past_change_the_link(
    header: Header, data: bytes, other_data: bytes, previous: bytes, other_previous: bytes
) -> None:
    first = link(KEY, previous, header, data)

    assert len(first) == 32
    assert (link(KEY, previous, header, other_data) == first) == (data == other_data)
    assert (link(KEY, other_previous, header, data) == first) == (previous == other_previous)
    assert link(b"\x01" * 32, previous, header, data) != first


@given(headers, st.binary(max_size=20), st.binary(max_size=20))
def test_bytes_cannot_move_between_header_and_data(header: Header, head: bytes, tail: bytes) -> None:
    assume(head)

    assert link(KEY, START, header, head + tail) != link(KEY, START, header, tail)


@given(st.randoms(use_true_random=False), zones, new_events)
def test_the_canonical_form_knows_neither_order_nor_time_zone(random: Random, zone: timezone, event: NewEvent) -> None:
    header = header_of(event)
    tags, meta = list(header.tags), list(header.meta.items())
    random.shuffle(tags)
    random.shuffle(meta)

    same = replace(
        header,
        tags=tuple(tags),
        meta=dict(meta),
        occurred_at=header.occurred_at.astimezone(zone),
        recorded_at=header.recorded_at.astimezone(zone),
    )

    assert canonical(same) == canonical(header)


def test_a_microsecond_is_seen() -> None:
    header = _header()

    later = replace(header, occurred_at=header.occurred_at + timedelta(microseconds=1))

    assert canonical(later) != canonical(header)


@given(headers)
def test_the_canonical_form_is_that_of_the_standard_library(header: Header) -> None:
    """Logs have links that were made with it, and may contain any text."""
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode

    assert encode(json.loads(canonical(header))).encode() == canonical(header)


def test_the_canonical_form_stays_as_it_is() -> None:
    """A golden value: were it to change, every link in every log would be wrong."""
    golden = (
        b'["default","user:ana",3,"01942b6e-7c00-7000-8000-000000000000","MemoryCreated",1,["a","b"],'
        b'{"actor":"user","agent_id":"caf\xc3\xa9"},"2026-01-03T01:02:10.000000+00:00",'
        b'"2026-01-03T01:02:10.000000+00:00"]'
    )

    assert canonical(_header()) == golden
    assert (
        link(KEY, START, _header(), b"data").hex() == "6ac3af17af95db8401d90ec978c0f9d2af66d42d2976f6639f05c4ce80d17ef6"
    )


def test_keys_for_different_purposes_differ() -> None:
    keys = {derived_key(master, purpose) for master in (KEY, b"\x01" * 32) for purpose in ("chain", "fingerprint")}

    assert len(keys) == 4
    assert all(len(key) == 32 for key in keys)
    assert derived_key(KEY, "chain").hex() == "d8824879012afadc3a3644d189ccde232afaccae4dc0a0fd5cb8ae5ce75aaa8d"


def _header() -> Header:
    event_id = UUID("01942b6e-7c00-7000-8000-000000000000")
    meta = {"agent_id": "café", "actor": "user"}
    return Header(STREAM, 3, event_id, "MemoryCreated", 1, ("b", "a"), meta, AT, AT)
