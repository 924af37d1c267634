"""What another process appends is published at once, without the relay's next look."""

from pathlib import Path

import pytest

from mnemolog.adapters.engine.engine import open_engine
from mnemolog.adapters.nats import relay
from mnemolog.events.envelope import StreamId
from mnemolog.events.log import Append
from tests.testkit.events import created, new
from tests.testkit.eventually import eventually
from tests.testkit.settings import settings_in


@pytest.mark.spec_part("X01")
async def test_an_append_of_an_attached_program_wakes_the_relay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "IDLE_SECONDS", 3600)
    ana = StreamId.of_user("ana")

    async def published() -> bool:
        return await engine.outbox.size() == 0

    async with open_engine(settings_in(tmp_path)) as engine, open_engine(engine.settings, attach=True) as attached:
        for _ in range(5):  # The first ones may come before the relay is idle.
            await attached.log.append([Append(ana, (new(created()),))])
            await eventually(published)
