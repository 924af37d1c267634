"""A read as of a moment shows nothing of a log that was changed, whichever way it was."""

from collections.abc import Awaitable, Callable
from uuid import uuid4

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.domain.errors import TamperedEvent
from mnemolog.projections.reads.moment import Moment
from tests.engine.person import Person
from tests.tamper.attacker import Attacker
from tests.tamper.test_events import changes_what_was_said, changes_who_did_it


async def removes_one(mallory: Attacker) -> None:
    await mallory.removes(2)


async def replays_one(mallory: Attacker) -> None:
    await mallory.inserts({**await mallory.event(2), "seq": await mallory.head() + 1, "event_id": uuid4()})
    await mallory.sql("UPDATE mnemolog.heads SET seq = seq + 1 WHERE tenant = %(tenant)s AND stream = %(stream)s")


@pytest.mark.spec("X02", "X08")
@pytest.mark.parametrize("attack", [changes_what_was_said, changes_who_did_it, removes_one, replays_one])
async def test_a_damaged_log_is_not_shown_as_of_any_moment_after_the_damage(
    victim: Engine, ana: Person, mallory: Attacker, attack: Callable[[Attacker], Awaitable[None]]
) -> None:
    await attack(mallory)
    moment = Moment(as_of=await mallory.head())
    await victim.reads.replays.aclose()

    with pytest.raises(TamperedEvent):
        await victim.reads.newest(ana.viewer, 5, moment)
    with pytest.raises(TamperedEvent):
        await victim.reads.session(ana.viewer, ana.thread, moment)
    assert await victim.reads.newest(ana.viewer, 5, Moment(as_of=1)) is not None
