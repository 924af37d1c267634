"""What each projection builds from one story, and by which version: other rows need a new version.

`story.jsonl.gz` is the export of a user about whom most kinds of events were written, and `versions.json` the digest of
each projection's rows. After a new version:

    python -m tests.upgrades.versions

`--story` tells the story anew, for new kinds of events.
"""

import asyncio
import gzip
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import select

from mnemolog import AsyncMemory
from mnemolog.events.envelope import StreamId
from mnemolog.projections.seal import MAC
from tests.upgrades.write import tell

USER = "ana"
STREAM = StreamId.of_user(USER)
STORY, VERSIONS = (Path(__file__).with_name("data") / name for name in ("story.jsonl.gz", "versions.json"))
# Of floating point numbers that processors compute in different ways, and of the engine's own key.
UNSTABLE = (MAC, "embedding")


async def written(memory: AsyncMemory) -> None:
    """More kinds of writes than `tell`, which older versions had to be able to run."""
    me: Any = {"user_id": USER, "thread_id": "lisbon"}
    await tell(memory, USER)
    said = [{"role": "user", "content": "My sister Marta arrives on Friday", "occurred_at": "2026-03-01T09:00:00Z"}]
    said += [{"role": "assistant", "content": "Noted.", "occurred_at": "2026-03-01T09:00:05Z"}]
    said += [{"role": "user", "content": "On another note: I sold the van", "occurred_at": "2026-03-02T18:00:00Z"}]
    turns = (await memory.add(said, metadata={"source": "chat"}, **me)).message_ids
    await memory.delete_message(turns[1], **me)
    await memory.restore_message(turns[1], **me)
    await memory.erase_message(turns[1], **me)
    await memory.set_focus(topic_focus="the move", pending_questions=["which day?"], **me)
    await memory.set_affect("stressed", confidence=0.8, every_n_messages=2, **me)
    kept = await memory.create("Ana keeps bees", importance=0.9, run_id="import", metadata={"a": 1}, **me)
    await memory.archive(kept.memory_id, **me)
    await memory.restore(kept.memory_id, **me)
    await memory.confirm(kept.memory_id, **me)
    await memory.create("Ana speaks Greek", run_id="wrong", **me)
    await memory.rollback(of_run="wrong", user_id=USER)
    job = await memory.add_fact("me", "works_at", "Acme", since="2024-03", since_precision="month", **me)
    await memory.end_fact(job.relation_id, until="2026-01-15", told_at="2026-02-01T00:00:00Z", **me)
    allergy = await memory.add_fact("me", "allergy", "peanuts", literal=True, source_turn_ids=turns[:1], **me)
    await memory.confirm_fact(allergy.relation_id, **me)
    tea = await memory.add_fact("Marta", "likes", "tea", **me)
    await memory.retire_fact(tea.relation_id, **me)
    await memory.restore_fact(tea.relation_id, **me)
    await memory.delete_fact(tea.relation_id, **me)
    marta = await memory.add_entity("Marta Novak", category="person", aliases=["Marti"], another=True, **me)
    await memory.add_alias(marta.entity_id, "Dr Novak", **me)
    await memory.update_entity(marta.entity_id, attributes={"job": "physiotherapist"}, **me)
    [todo, *_] = await memory.list_todos(user_id=USER)
    await memory.update_todo(todo.todo_id, status="done", **me)
    note = await memory.add_artifact(b"# Lease\n\nThe rent is 900 a month.\n", name="lease.md", **me)
    await memory.describe_artifact(note.artifact_id, "a lease", **me)
    await memory.put_being_entry("rule", {"text": "Answer briefly"}, user_id=USER, agent_id="deanna")
    await memory.context("When does Marta arrive?", **me)
    await memory.envelope("When does Marta arrive?", record=True, **me)
    async with asyncio.timeout(120):
        while not list(await memory.list_summaries(user_id=USER)):  # noqa: ASYNC110  A job writes them.
            await asyncio.sleep(0.5)


async def digests(memory: AsyncMemory) -> Mapping[str, Mapping[str, Any]]:
    """The version, the number of rows and the digest of what each projection builds from the story, by name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "story.jsonl"
        path.write_bytes(gzip.decompress(STORY.read_bytes()))
        seq = (await memory.import_user(path)).last_seq
    engine = await memory._engine()
    built = dict[str, Mapping[str, Any]]()
    for projector in engine.reads.replays._projectors:
        rows = []
        # A replay, because jobs write more events about the user meanwhile.
        async with engine.reads.replays.at(STREAM, seq, [projector.name]) as connection:
            for table in projector.tables.sorted_tables:
                columns = [column for column in table.columns if column.name not in UNSTABLE]
                found = (await connection.execute(select(*columns))).mappings()
                rows += [json.dumps([table.name, dict(row)], default=str, sort_keys=True) for row in found]
        digest = sha256("\n".join(sorted(rows)).encode()).hexdigest()
        built[projector.name] = {"version": projector.version, "rows": len(rows), "sha256": digest}
    return built


@asynccontextmanager
async def opened(directory: Path) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(directory, durable=False, embedder="lexical", engine="in-process") as memory:
        yield memory


async def main(*, anew: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if anew:
            async with opened(Path(folder) / "told") as memory:
                await written(memory)
                await memory.export_user(Path(folder) / "story.jsonl", user_id=USER)
            STORY.write_bytes(gzip.compress((Path(folder) / "story.jsonl").read_bytes(), 9, mtime=0))
        async with opened(Path(folder) / "imported") as memory:
            VERSIONS.write_text(json.dumps(await digests(memory), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main(anew="--story" in sys.argv[1:]))
