"""Long loops over events let others run after every few events."""

import asyncio
from pathlib import Path
from uuid import uuid4

from mnemolog.adapters.export.form import EventLine, Head, written
from mnemolog.adapters.export.importing import Checked
from mnemolog.adapters.fairness import let_others_run
from tests.testkit.clock import START
from tests.testkit.events import META, created


async def test_a_batch_of_a_projection_lets_others_run_in_between() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    running = asyncio.create_task(other())
    await asyncio.sleep(0)
    for done in range(500):
        await let_others_run(done)
    running.cancel()

    assert turns >= 4, "none waits for all 500"


def test_an_import_reads_few_events_before_others_run(tmp_path: Path) -> None:
    count = 450
    head = Head(user_id="ana", events=count, head=count)
    path = tmp_path / "ana.jsonl"
    path.write_bytes(b"".join([written(head), *(written(line(seq)) for seq in range(1, count + 1))]))

    batches = [len(batch) for batch in Checked(path, head, uuid4()).batches()]

    assert sum(batches) == count
    assert max(batches) <= 100


def line(seq: int) -> EventLine:
    payload = created()
    return EventLine(
        seq=seq,
        event_id=uuid4(),
        type=payload.type_name(),
        version=payload.version,
        meta=META.as_dict(),
        occurred_at=START,
        recorded_at=START,
        data=payload.model_dump(mode="json"),
    )
