"""Dead letters: found with their reason and their bytes, sent again once, and let go."""

import base64
import json
from collections.abc import Sequence
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.nats.dead_letters import DeadLetter, DeadLetters
from mnemolog.adapters.nats.subjects import DEAD_LETTERS
from mnemolog.domain.errors import InvalidInput, MnemologError, NotFound
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Receipt
from tests.adapters.nats.test_turns import all_taken, message, publish, recorded


@pytest.fixture
def tenant(user: str) -> str:
    return f"acme.{user}"


async def letters(engine: Engine, tenant: str, reason: str | None = None) -> Sequence[DeadLetter]:
    return [letter async for letter in DeadLetters(engine.nats).all(tenant, reason)]


async def refused(engine: Engine, tenant: str, body: bytes, headers: dict[str, str] | None = None) -> DeadLetter:
    """A letter of this body."""
    await publish(engine, tenant, body, headers)
    await all_taken(engine)
    return (await letters(engine, tenant))[-1]


def encoded(user: str, **fields: Any) -> bytes:
    return json.dumps(message(user, **fields)).encode()


async def test_a_letter_tells_why_when_and_what_byte_for_byte(engine: Engine, tenant: str, user: str) -> None:
    body = b"\xff\xfe not a turn"

    letter = await refused(engine, tenant, body, {"Trace": "7"})

    assert (letter.tenant, letter.body, letter.size, letter.cut) == (tenant, body, len(body), False)
    assert (letter.reason["code"], letter.reason["field"], bool(letter.reason["fix"])) == (
        "unreadable_turn",
        "message",
        True,
    )
    assert letter.headers == {"Trace": "7"}
    shown = letter.as_dict()
    assert base64.b64decode(shown["base64"]) == body
    assert shown["text"] == "\\xff\\xfe not a turn"
    json.dumps(shown)


async def test_letters_are_filtered_by_tenant_and_by_reason(engine: Engine, tenant: str, user: str) -> None:
    await refused(engine, tenant, b"{")
    await refused(engine, tenant, encoded(user, text=""))
    await refused(engine, f"{tenant}-other", b"{")

    assert [one.reason["code"] for one in await letters(engine, tenant)] == ["unreadable_turn", "invalid_input"]
    assert [one.body for one in await letters(engine, tenant, "invalid_input")] == [encoded(user, text="")]
    assert await letters(engine, tenant, "no_such_code") == []


async def test_a_turn_that_is_refused_again_stays_the_same_letter(engine: Engine, tenant: str, user: str) -> None:
    letter = await refused(engine, tenant, encoded(user, text=""))

    outcome = await DeadLetters(engine.nats).replay(letter.id)

    assert isinstance(outcome, InvalidInput)
    assert (outcome.code, outcome.field) == ("invalid_input", "text")
    assert [one.id for one in await letters(engine, tenant)] == [letter.id]


@pytest.mark.spec("X14")
async def test_a_letter_is_removed_once_its_corrected_turn_is_in_the_log(
    engine: Engine, tenant: str, user: str
) -> None:
    letter = await refused(engine, tenant, encoded(user, text=""))

    outcome = await DeadLetters(engine.nats).replay(letter.id, encoded(user))

    assert isinstance(outcome, Receipt)
    assert await letters(engine, tenant) == []
    assert [event.event_id for event in await recorded(engine, user, tenant)] == list(outcome.event_ids)
    with pytest.raises(NotFound):
        await DeadLetters(engine.nats).get(letter.id)


@pytest.mark.spec("X14")
async def test_a_turn_that_was_accepted_meanwhile_is_not_recorded_twice(engine: Engine, tenant: str, user: str) -> None:
    """A letter whose cause has passed: its words under another role were refused, and the first record is gone."""
    await publish(engine, tenant, encoded(user))
    letter = await refused(engine, tenant, encoded(user, text="Other words"))
    assert (letter.reason["code"], letter.reason["field"]) == ("idempotency_conflict", "message_id")

    outcome = await DeadLetters(engine.nats).replay(letter.id, encoded(user))

    assert isinstance(outcome, Receipt)
    assert outcome.already
    turns = [one.payload for one in await recorded(engine, user, tenant) if isinstance(one.payload, TurnRecorded)]
    assert len(turns) == 1


async def test_a_replacement_that_is_no_turn_is_refused_before_it_is_sent(
    engine: Engine, tenant: str, user: str
) -> None:
    letter = await refused(engine, tenant, b"{")

    with pytest.raises(MnemologError):
        await DeadLetters(engine.nats).replay(letter.id, b"still {")
    assert [one.id for one in await letters(engine, tenant)] == [letter.id]


@pytest.mark.parametrize("size", [40_000, 2_000_000])
async def test_a_long_turn_is_cut_and_says_how_long_it_was_and_cannot_be_sent_again(
    engine: Engine, tenant: str, user: str, size: int
) -> None:
    letter = await refused(engine, tenant, b"x" * size)

    outcome = await DeadLetters(engine.nats).replay(letter.id)

    assert (letter.cut, letter.size, len(letter.body)) == (True, size, engine.settings.dead_letter_bytes)
    assert isinstance(outcome, InvalidInput)
    assert f"of its {size:,} bytes were kept" in outcome.message
    assert [one.id for one in await letters(engine, tenant)] == [letter.id]


async def test_forty_large_bad_messages_fill_little(engine: Engine, tenant: str, user: str) -> None:
    """They were 73 MB, kept for ever."""
    before = (await engine.nats.jetstream().stream_info(DEAD_LETTERS)).state.bytes

    for _ in range(40):
        await publish(engine, tenant, b"x" * 1_900_000)
    await all_taken(engine)

    assert len(await letters(engine, tenant)) == 40
    assert (await engine.nats.jetstream().stream_info(DEAD_LETTERS)).state.bytes - before < 2_000_000


async def test_what_is_discarded_is_gone_and_its_neighbours_stay(engine: Engine, tenant: str, user: str) -> None:
    first, second = await refused(engine, tenant, b"{1"), await refused(engine, tenant, b"{2")

    await DeadLetters(engine.nats).discard(first.id)

    assert [one.id for one in await letters(engine, tenant)] == [second.id]
    with pytest.raises(NotFound):
        await DeadLetters(engine.nats).discard(first.id)
