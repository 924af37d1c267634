"""What rules extracted from a message follows it: deleted, restored, erased, undone; what others state stays."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.erasure.following import FOLLOW, followed
from mnemolog.adapters.jobs.job import JobStatus
from mnemolog.adapters.maintenance import extracting, prompting
from mnemolog.adapters.maintenance.retention import retain
from mnemolog.adapters.operations.batches import forget, rollback
from mnemolog.adapters.operations.memories import undo
from mnemolog.adapters.operations.messages import delete_message, erase_message, restore_message
from mnemolog.adapters.operations.operation import Operation
from mnemolog.domain.memory import PURGE_AFTER
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.teller import Teller
from tests.engine.test_extraction import best, day, hears, limit, told
from tests.testkit.eventually import eventually
from tests.testkit.settings import settings_in

pytestmark = pytest.mark.spec_part("B13")


@pytest.fixture(scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """An engine whose sweep leaves these users alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extracting, "EVERY_SECONDS", 24 * 3600.0)
        patch.setattr(prompting, "QUIET_SECONDS", 24 * 3600.0)
        async with open_engine(settings_in(tmp_path_factory.mktemp("following"), extraction="rules")) as opened:
            yield opened


@pytest.fixture
def ana(engine: Engine, user: str) -> Teller:
    return Teller(engine, user)


async def asked(ana: Teller, operation: Operation[Any, Any], **fields: Any) -> Any:
    """The result of an operation, once its job is done."""
    done = await operation.run(ana.engine, operation.request(user_id=ana.user, **fields))
    await followed_by_jobs(ana)
    return done


async def followed_by_jobs(ana: Teller) -> None:
    async def settled() -> bool:
        jobs = [one for one in await ana.engine.jobs.list(kind=FOLLOW, limit=1000) if one.stream == ana.stream.name]
        return all(one.status is JobStatus.SUCCEEDED for one in jobs)

    await eventually(settled)


async def deleted(ana: Teller, message_id: str) -> Any:
    return await asked(ana, delete_message, message_id=message_id)


async def restored(ana: Teller, message_id: str) -> Any:
    return await asked(ana, restore_message, message_id=message_id)


async def test_a_fact_is_hidden_with_its_message_and_comes_back_with_it(ana: Teller) -> None:
    porto, ghent = await hears(ana, "I live in Porto.", "I moved to Ghent.")
    await deleted(ana, ghent)
    assert await told(ana) == {"ana lives_in Porto"}
    assert [row["object"] for row in await ana.facts(valid_at="any")] == ["Porto"]
    assert (await best(ana, "Where do I live?"))[0].endswith("lives in Porto")
    await restored(ana, ghent)
    assert await told(ana) == {"ana lives_in Ghent"}
    await deleted(ana, porto)
    assert await told(ana, valid_at="any") == {"ana lives_in Ghent"}
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_what_another_message_or_somebody_states_stays(ana: Teller) -> None:
    first, second = await hears(ana, "I live in Porto.", "I live in Porto, near the river.")
    await deleted(ana, first)
    assert await told(ana) == {"ana lives_in Porto"}
    await deleted(ana, second)
    assert await told(ana) == set()
    await restored(ana, first)
    assert await told(ana) == {"ana lives_in Porto"}
    await ana.tells("me", "lives_in", "Porto")
    await deleted(ana, first)
    assert await told(ana) == {"ana lives_in Porto"}


async def test_what_no_job_has_read_waits_for_one_also_if_an_earlier_message_is_deleted(
    ana: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, ana.engine, 3)  # The user, and two facts.
    first, *_, last = await hears(ana, "I love jazz.", "I love tea.", "I love rain.", "I love snow.")
    await deleted(ana, first)
    assert await told(ana) == {"ana likes tea"}
    await deleted(ana, last)
    monkeypatch.undo()
    await restored(ana, last)
    await hears(ana, "Good morning!")
    assert await told(ana) == {"ana likes tea", "ana likes rain", "ana likes snow"}


async def test_what_a_deleted_message_ended_holds_again(ana: Teller) -> None:
    joined, left = await hears(ana, "I work at Acme.", "I left Acme.")
    assert await told(ana) == set()
    await deleted(ana, left)
    assert await told(ana) == {"ana works_at Acme"}
    await deleted(ana, joined)
    assert await told(ana) == set()
    await restored(ana, left)
    assert await told(ana, valid_at="any") == set()
    await restored(ana, joined)
    assert await told(ana) == set()
    assert await told(ana, valid_at=day("2026-03-01")) == {"ana works_at Acme"}


async def test_what_a_deleted_message_corrected_is_right_again(ana: Teller) -> None:
    first, second = await hears(ana, "I joined Acme.", "No, I meant I joined Globex.")
    await deleted(ana, second)
    assert await told(ana) == {"ana works_at Acme"}
    await restored(ana, second)
    assert await told(ana) == {"ana works_at Globex"}
    await deleted(ana, first)
    await deleted(ana, second)
    assert await told(ana, valid_at="any") == set()
    await restored(ana, first)
    assert await told(ana) == {"ana works_at Acme"}


async def test_a_death_that_is_taken_back_ends_nothing(ana: Teller) -> None:
    _, died = await hears(ana, "I have a dog called Bruno.", "We had to put Bruno down yesterday.")
    await deleted(ana, died)
    assert await told(ana) == {"ana dog Bruno"}


async def test_the_end_that_a_later_message_states_too_stays(ana: Teller) -> None:
    _, left, again = await hears(ana, "I work at Acme.", "I left Acme.", "I don't work at Acme any more.")
    await deleted(ana, left)
    assert await told(ana) == set()
    await deleted(ana, again)
    assert await told(ana) == {"ana works_at Acme"}


async def test_an_undone_deletion_brings_the_facts_back(ana: Teller) -> None:
    [turn_id] = await hears(ana, "I live in Porto.")
    written = await deleted(ana, turn_id)
    await asked(ana, undo, event_id=written.event_ids[0])
    assert await told(ana) == {"ana lives_in Porto"}
    undone = await asked(ana, undo, event_id=written.event_ids[0])
    assert undone.receipt.already


@pytest.mark.spec_part("X15")
async def test_a_withdrawal_is_one_run_that_is_explained_and_undone_for_good(ana: Teller) -> None:
    [turn_id] = await hears(ana, "I live in Porto. I love jazz.")
    await deleted(ana, turn_id)
    events = await ana.engine.log.read(ana.stream)
    withdrawn = [one for one in events if one.payload.type_name() == "RelationWithdrawn"]
    [run_id] = {one.meta.run_id for one in withdrawn}
    assert run_id
    assert run_id.startswith("withdrawal-")
    fact = withdrawn[0].payload.key_scope().removeprefix("relation:")
    last = (await ana.history(UUID(fact)))[-1]
    assert (last["event"], last["meta"]["deleted_turn_ids"], last["run_id"]) == ("DELETE", [turn_id], run_id)
    await asked(ana, rollback, of_run=run_id)
    assert await told(ana) == {"ana lives_in Porto", "ana likes jazz"}
    await restored(ana, turn_id)
    await deleted(ana, turn_id)
    assert await told(ana) == {"ana lives_in Porto", "ana likes jazz"}
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_facts_that_somebody_undid_do_not_come_back_with_their_message(ana: Teller) -> None:
    [turn_id] = await hears(ana, "I live in Porto.")
    [fact] = await ana.facts()
    await ana.retires(fact["relation_id"])
    await deleted(ana, turn_id)
    await restored(ana, turn_id)
    assert await told(ana) == set()


@pytest.mark.spec_part("X07")
async def test_an_erased_message_takes_its_facts_and_what_they_ended_holds_again(ana: Teller) -> None:
    _, ghent = await hears(ana, "I live in Porto.", "I moved to Ghent.")
    await asked(ana, erase_message, message_id=ghent)
    assert await told(ana) == {"ana lives_in Porto"}
    _, left = await hears(ana, "I work at Acme.", "I left Acme.")
    await asked(ana, erase_message, message_id=left)
    assert await told(ana) == {"ana lives_in Porto", "ana works_at Acme"}
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_what_is_purged_with_a_deleted_message_is_its_facts(ana: Teller) -> None:
    [turn_id] = await hears(ana, "I live in Porto.")
    [fact] = await ana.facts()
    await deleted(ana, turn_id)
    done = await retain(ana.engine, now() + PURGE_AFTER)
    assert fact["relation_id"] in done.purged_facts
    assert turn_id in done.purged_messages


async def test_a_forgotten_session_takes_its_facts_and_a_rollback_brings_both_back(ana: Teller) -> None:
    await hears(ana, "I live in Porto.", occurred_at=now())
    done = await asked(ana, forget, scope="session", thread_id="main", with_episodes=True)
    assert await told(ana) == set()
    await asked(ana, rollback, of_batch=done.batch)
    assert await told(ana) == {"ana lives_in Porto"}


async def test_a_message_that_was_restored_before_a_job_read_it_is_read(ana: Teller) -> None:
    turn_id = f"{ana.user}-hidden"
    await ana.says("I live in Porto.", turn_id=turn_id, speaker="")
    await ana.deletes_message(turn_id)
    await hears(ana, "Good morning!")
    assert await told(ana) == set()
    await restored(ana, turn_id)
    assert await told(ana) == {"ana lives_in Porto"}


async def test_a_crash_after_a_deletion_leaves_its_job(ana: Teller) -> None:
    [turn_id] = await hears(ana, "I live in Porto.")

    async def crashes() -> None:
        async with followed(ana.engine, ana.stream):
            await ana.deletes_message(turn_id)
            raise ConnectionError

    with pytest.raises(ConnectionError):
        await crashes()
    [left] = [one for one in await ana.engine.jobs.list(kind=FOLLOW) if one.stream == ana.stream.name]
    assert (left.status, left.payload) == (JobStatus.QUEUED, {"after": await ana.engine.log.head(ana.stream) - 1})
    await ana.engine.jobs.enqueue(FOLLOW, left.payload, stream=ana.stream)
    await ana.engine.jobs.withdraw(left.job_id)
    await followed_by_jobs(ana)
    assert await told(ana) == set()
