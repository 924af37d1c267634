"""Writes a data set with whatever Mnemolog is installed: for the commit that a later one is to be upgraded from.

    git worktree add /tmp/old COMMIT && cd /tmp/old && make .venv/.dev
    .venv/bin/python THIS_FILE OUT_DIRECTORY

leaves `log.sql.gz`, a dump of the database, `master.key`, which opens it, and `reads.json`: what was read at the end.
It holds two users with memories, links, merges, forgettings, an erasure, facts, entities, a profile and todos.
"""

import asyncio
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mnemolog import AsyncMemory
from mnemolog.adapters.embedded.binaries import require


async def main(out: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        async with AsyncMemory(directory, durable=False, embedder="lexical") as memory:
            for user in ("ana", "ben"):
                await tell(memory, user)
            seen = {user: await read(memory, user) for user in ("ana", "ben")}
            keep(Path(directory), out, seen)


def keep(directory: Path, out: Path, seen: dict[str, Any]) -> None:
    """The database of an engine that runs, the key that opens it, and what was read."""
    out.mkdir(parents=True, exist_ok=True)
    out.joinpath("reads.json").write_text(json.dumps(seen, indent=1, sort_keys=True) + "\n")
    out.joinpath("master.key").write_bytes(directory.joinpath("master.key").read_bytes())
    dsn = json.loads(directory.joinpath("engine.json").read_text())["postgres_dsn"]
    dump = [require("postgres").with_name("pg_dump"), "--no-owner", dsn]
    sql = subprocess.run(dump, check=True, capture_output=True).stdout
    out.joinpath("log.sql.gz").write_bytes(gzip.compress(sql, 9, mtime=0))


async def tell(memory: AsyncMemory, user: str) -> None:
    """Every kind of write that leaves a row."""
    me: Any = {"user_id": user}
    for number in range(40):
        await memory.create(f"{user} saw film number {number}", category="activity", **me)
    tea = await memory.create(f"{user} drinks green tea", category="preferences", pinned=True, **me)
    milk = await memory.create(f"{user} avoids milk", category="personal", **me)
    lactose = await memory.create(f"{user} is lactose intolerant", category="personal", **me)
    gone = await memory.create(f"{user} forgets this", **me)
    erased = await memory.create(f"{user} never said Zanzibarquux", **me)
    await memory.update(tea.memory_id, text=f"{user} drinks white tea", **me)
    await memory.link(tea.memory_id, milk.memory_id, strength=0.5, **me)
    await memory.merge(lactose.memory_id, [milk.memory_id], **me)
    await memory.undo(lactose.memory_id, **me)
    await memory.delete(gone.memory_id, reason="asked", **me)
    await memory.erase(erased.memory_id, **me)
    await memory.add("I moved to Lisbon", **me)
    await memory.add_fact(user, "lives_in", "Porto", **me)
    await memory.add_fact(user, "lives_in", "Lisbon", **me)
    await memory.add_fact(user, "likes", "jazz", **me)
    first = await memory.add_entity("Benjamin", category="person", **me)
    second = await memory.add_entity("Benni", category="person", **me)
    await memory.merge_entities(first.entity_id, [second.entity_id], **me)
    await memory.propose_profile("preferred_name", user.title(), **me)
    await memory.add_todo("call mother", **me)


async def read(memory: AsyncMemory, user: str) -> dict[str, Any]:
    """What readers see of a user."""
    me: Any = {"user_id": user}
    return {
        "found": sorted(hit.text for hit in await memory.search("tea lactose film", top_k=100, **me)),
        "facts": sorted([fact.predicate, fact.object or fact.value] for fact in await memory.list_facts(**me)),
        "entities": sorted(entity.name for entity in await memory.list_entities(**me)),
        "profile": {one.field: one.value for one in (await memory.get_profile(**me)).fields},
        "consent": [proposal.value for proposal in await memory.list_consent(**me)],
        "todos": [todo.text for todo in await memory.list_todos(**me)],
        "changes": len((await memory.changes(since=0, **me)).changes),
    }


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
