"""Events on the wire: they read back as they stand in the log, and subjects stay few."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.adapters.nats import wire
from mnemolog.adapters.nats.subjects import PARTITIONS, Address, event_subject
from mnemolog.domain.errors import MalformedEvent
from mnemolog.events.envelope import NewEvent, StoredEvent, StreamId
from mnemolog.events.registry import REGISTRY
from tests.testkit.events import created, header_of, new, stored
from tests.testkit.payloads import ids, instants, new_events

streams = st.builds(StreamId, ids, ids)
tenants = st.from_regex(r"[A-Za-z0-9._-]{1,40}", fullmatch=True)
producers = st.from_regex(r"[A-Za-z0-9_-]{0,40}", fullmatch=True)
NOBODY = Address.of("acme")


@given(new_events, streams, instants, st.binary(max_size=99), st.binary(min_size=32, max_size=32))
def test_an_event_reads_back_as_it_was_sent(
    event: NewEvent, stream: StreamId, at: Any, data: bytes, link: bytes
) -> None:
    sent = StoredEvent(header_of(event, 7, stream, at), data, link)

    assert wire.unpack(wire.pack(sent)) == sent


@given(streams, st.sampled_from(sorted(REGISTRY.types)))
def test_subjects_are_as_few_as_partitions_and_types_whatever_the_ids(stream: StreamId, name: str) -> None:
    subject = event_subject(stream, name)

    match = re.fullmatch(rf"mnemolog\.events\.p(\d+)\.{name}", subject)
    assert match is not None
    assert int(match[1]) < PARTITIONS


@given(streams)
def test_all_events_of_a_stream_share_a_partition(stream: StreamId) -> None:
    assert len({event_subject(stream, name).split(".")[2] for name in REGISTRY.types}) == 1


@given(tenants, producers)
def test_tenant_and_producer_are_one_token_each_of_their_subjects(tenant: str, producer: str) -> None:
    address = Address.of(tenant, producer)

    assert re.fullmatch(r"mnemolog\.turns(\.[^\s.*>]+){1,2}", address.turns)
    assert address.turns.count(".") == (3 if producer else 2)
    assert Address.on(address.turns) == Address.on(address.dead_letters) == address
    assert (address.tenant, address.producer) == (tenant, producer)


@given(tenants, producers.filter(bool), tenants, producers)
def test_a_producer_is_answered_among_its_own_receipts_alone(
    tenant: str, producer: str, other_tenant: str, other: str
) -> None:
    one, two = Address.of(tenant, producer), Address.of(other_tenant, other)

    assert one.answerable(f"{one.receipts}.run.7")
    assert one.answerable(f"{two.receipts}.run.7") == (one.receipts == two.receipts)
    assert not one.answerable("_INBOX.abc.def")


def test_the_headers_name_the_event_and_are_fresh_each_time() -> None:
    event = stored(new(created()), seq=7)

    headers = wire.headers(event)

    assert headers["Nats-Msg-Id"] == str(event.header.event_id)
    assert (headers["Mnemolog-Stream"], headers["Mnemolog-Seq"]) == (event.header.stream.name, "7")
    assert wire.headers(event) is not headers


@pytest.mark.parametrize(
    "header",
    [{"Mnemolog-Seq": "9" * 5000}, {"Mnemolog-Seq": "-1"}, {"Mnemolog-Tenant": "a\0b"}, {"Mnemolog-Stream": "user:\0"}],
)
def test_headers_that_name_no_place_of_a_log_name_none(header: dict[str, str]) -> None:
    headers = wire.headers(stored(new(created())))

    assert wire.place(headers)
    assert wire.place({**headers, **header}) is None


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{}", b"\xff", b"[" * 100_000])
def test_a_message_that_is_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedEvent):
        wire.unpack(body)


@pytest.mark.parametrize(
    "change",
    [
        {"seq": "1"},
        {"seq": 0},
        {"seq": None},
        {"version": "1"},
        {"tags": [1]},
        {"tags": None},
        {"meta": {"actor": 1}},
        {"event_id": "no"},
        {"recorded_at": "2026-01-03T01:02:10"},
        {"data": "no base64!"},
        {"data": None},
        {"link": "xyz"},
        {"link": 5},
        {"tenant": 5},
    ],
)
def test_a_field_that_does_not_fit_is_refused(change: dict[str, Any]) -> None:
    """Whatever gets past here would stop the projections of everybody."""
    body = json.loads(wire.pack(stored(new(created()))))

    with pytest.raises(MalformedEvent):
        wire.unpack(json.dumps({**body, **change}).encode())


def test_an_event_that_is_too_large_for_a_message_announces_itself_without_its_data() -> None:
    event = stored(new(created(text="\x01" * 256 * 1024)))

    body = wire.pack(event, 1_000_000)

    assert len(wire.pack(event)) > 2 * 1024 * 1024
    assert json.loads(body) == {**json.loads(wire.pack(event)), "data": None}
    with pytest.raises(MalformedEvent):
        wire.unpack(body)


@pytest.mark.parametrize("subject", ["_INBOX.abc.def", "replies", "app.replies.7", "mnemolog.receipts.acme.juno.7"])
def test_a_receipt_may_go_to_an_inbox_of_an_unnamed_sender(subject: str) -> None:
    assert NOBODY.answerable(subject)


@pytest.mark.parametrize(
    "subject",
    [
        "",
        ".",
        "a..b",
        "a.",
        "a b",
        "a b c",
        "a\r\nPUB x 0",
        "a.*",
        "a.>",
        "mnemolog.turns.acme",
        "mnemolog.receipts.acme",
        "mnemolog.receipts.other.juno.7",
        "mnemolog.receipts.acme.>",
        "$JS.API.STREAM.DELETE.MNEMOLOG_EVENTS",
        "$SYS.REQ.SERVER.PING",
        "x" * 256,
    ],
)
def test_a_receipt_is_never_sent_to_a_subject_that_would_act_on_it(subject: str) -> None:
    assert not NOBODY.answerable(subject)
    assert not Address.of("acme", "juno").answerable(subject)
