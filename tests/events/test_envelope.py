"""The envelope: consistency tokens, receipts and meta survive their way through text."""

import pytest
from hypothesis import given

from mnemolog.domain.errors import InvalidInput
from mnemolog.events.envelope import Meta, Position, Receipt, StreamId
from tests.testkit.payloads import ids, metas


@pytest.mark.spec("X10")
@given(ids)
def test_a_token_names_the_stream_and_the_last_seq_of_its_receipt(user: str) -> None:
    receipt = Receipt(StreamId.of_user(user, "acme"), (), 3, 5)

    assert Position.of_token(receipt.token) == Position(receipt.stream, 5)
    assert receipt.stream.owner == user


@pytest.mark.parametrize("token", ["", "@", "acme@5", "acme/@5", "/user:ana@5", "acme/user:ana", "acme/user:ana@-1"])
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Position.of_token(token)

    assert caught.value.field == "after"


@given(metas)
def test_meta_reads_back_as_it_was_written(meta: Meta) -> None:
    assert Meta.from_dict(meta.as_dict()) == meta


def test_meta_leaves_out_what_is_not_known() -> None:
    assert set(Meta("user").as_dict()) == {"actor", "agent_id", "thread_id", "policy_version"}
