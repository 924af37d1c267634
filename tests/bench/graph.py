"""Links written by many at once, and entities found by name among many: the two figures of the graph.

python -m tests.bench.graph [--edges 4000] [--writers 32] [--entities 100000] [--users 1000] [--lookups 5000]

Edges go through the engine as any caller's do: decided under a guard, sealed, appended to a durable log. They are
written by several at once, whose appends the log groups; `ms_per_edge`, 2 at most (B02), is the wall time over all
edges, of an engine that only writes, and beside it of one that projects in the same process. Entities are looked up by
name or alias, in another spelling than the stored one, one after another through the engine's reads, so that a figure
is one caller's wait: connection, statement, and the check of each row's seal.
"""

import asyncio
import json
import random
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

from rich.console import Console
from rich.table import Table

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, new_id, now, open_engine
from mnemolog.commands.memories import LinkMemories
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.scope import Scope
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_TENANT, Meta, NewEvent, StreamId
from mnemolog.events.graph import EntityObserved
from mnemolog.events.log import Append
from mnemolog.projections.filling import fill

MEMORIES_A_USER = 40
USERS_THAT_LINK = 20
GROUP = 10
GIVEN = ("Márta", "Jürgen", "Alice", "Ελένη", "Борис", "さくら", "Noor", "Zoë", "Makesh", "Iñigo")
FAMILY = ("Silva", "Müller", "Okafor", "Παππάς", "Иванова", "田中", "Haddad", "O'Brien", "García", "Lindqvist")


async def measure(options: Namespace) -> dict[str, Any]:
    """The figures, each on an engine of its own in a new directory."""
    with tempfile.TemporaryDirectory(prefix="mnemolog-bench-") as temporary:
        async with open_engine(_settings(Path(temporary) / "links"), passive=True) as engine:
            alone = await _links(engine, options)
        async with open_engine(_settings(Path(temporary) / "projected")) as engine:
            links = {"edges": options.edges, "writers": options.writers, "ms_per_edge": alone}
            links["ms_per_edge_projected"] = await _links(engine, options)
        async with open_engine(_settings(Path(temporary) / "entities"), passive=True) as engine:
            return {**links, **await _entities(engine, options)}


def _settings(directory: Path) -> Any:
    return load(data_dir=directory, http_port=0, embedder="lexical")


async def _links(engine: Engine, options: Namespace) -> float:
    """Milliseconds for each edge, the work of projections included where the engine does it."""
    users = [f"user-{number}" for number in range(USERS_THAT_LINK)]
    ids = {user: [await _memory(engine, user, number) for number in range(MEMORIES_A_USER)] for user in users}
    edges = iter(list(_edges(ids, options.edges)))

    async def write() -> None:
        for user, from_id, to_id, strength in edges:
            asked = LinkMemories(user_id=user, memory_id=from_id, to_id=to_id, strength=strength)
            await engine.writes.execute(asked)

    async def write_all() -> None:
        await asyncio.gather(*(write() for _ in range(options.writers)))

    milliseconds = 1000 * await _seconds(write_all)
    return round(milliseconds / int(options.edges), 3)


async def _memory(engine: Engine, user: str, number: int) -> UUID:
    memory_id, _ = await engine.writes.create({"user_id": user, "text": f"thing {number} of {user}", "kind": "episode"})
    return memory_id


def _edges(ids: dict[str, list[UUID]], count: int) -> Iterator[tuple[str, UUID, UUID, float]]:
    """Each of another user than the one before, and no edge twice."""
    pairs = [(one, other) for one in range(MEMORIES_A_USER) for other in range(MEMORIES_A_USER) if one != other]
    random.shuffle(pairs)
    users = list(ids)
    for place in range(count):
        user = users[place % len(users)]
        one, other = pairs[place // len(users) % len(pairs)]
        yield user, ids[user][one], ids[user][other], random.random()


async def _entities(engine: Engine, options: Namespace) -> dict[str, Any]:
    names = {f"user-{user}": _names(options.entities // options.users) for user in range(options.users)}
    appends = (_append(user, found) for user, found in names.items())
    while group := list(islice(appends, GROUP)):
        refused = [one for one in await engine.log.append(group) if isinstance(one, MnemologError)]
        if refused:
            raise refused[0]
    await fill(engine.log, [engine.projections.stores["graph"]])
    asked = [_question(names) for _ in range(options.lookups)]
    for viewer, name in asked[: options.lookups // 10]:
        await engine.reads.entities(viewer, name=name)  # Warm: caches of statements and of pages.
    waits = [await _seconds(partial(_found, engine, *one)) for one in asked]
    return {
        "entities": sum(map(len, names.values())),
        "users": options.users,
        "lookups": len(waits),
        "entity_lookup_p50_ms": _percentile(waits, 50),
        "entity_lookup_p95_ms": _percentile(waits, 95),
        "entity_lookup_p99_ms": _percentile(waits, 99),
    }


def _names(count: int) -> Sequence[str]:
    return [f"{random.choice(GIVEN)} {random.choice(FAMILY)} {number % 97}" for number in range(count)]


def _append(user: str, names: Sequence[str]) -> Append:
    meta, at = Meta("user"), now()
    seen = (
        EntityObserved(
            entity_id=new_id(), category="Person", scope=Scope.GLOBAL, name=name, aliases=(f"{name} of {user}",)
        )
        for name in names
    )
    return Append(StreamId.of_user(user), tuple(NewEvent(new_id(), one, meta, at) for one in seen))


def _question(names: dict[str, Sequence[str]]) -> tuple[Viewer, str]:
    user = random.choice(list(names))
    name = random.choice(names[user])
    spelt = random.choice((name.upper(), name.lower(), f"{name} OF {user}"))
    return Viewer(DEFAULT_TENANT, user, DEFAULT_AGENT), spelt


async def _found(engine: Engine, viewer: Viewer, name: str) -> None:
    assert await engine.reads.entities(viewer, name=name), f"{viewer.user_id} has nobody who is called {name}"


async def _seconds(act: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await act()
    return time.perf_counter() - began


def _percentile(seconds: Sequence[float], share: int) -> float:
    ordered = sorted(seconds)
    return round(1000 * ordered[min(len(ordered) - 1, len(ordered) * share // 100)], 3)


def _options(arguments: Sequence[str]) -> Namespace:
    parser = ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--edges", type=int, default=4_000)
    parser.add_argument("--writers", type=int, default=32)
    parser.add_argument("--entities", type=int, default=100_000)
    parser.add_argument("--users", type=int, default=1_000)
    parser.add_argument("--lookups", type=int, default=5_000)
    return parser.parse_args(arguments)


def _show(figures: dict[str, Any], console: Console) -> None:
    table = Table("what", "ms", "budget", title="The graph, durable log", title_justify="left")
    edges = f"{figures['edges']:,} links by {figures['writers']} writers, each"
    table.add_row(edges, str(figures["ms_per_edge"]), "2")
    table.add_row("the same, in a process that projects them, too", str(figures["ms_per_edge_projected"]), "")
    among = f"an entity by name among {figures['entities']:,} of {figures['users']:,} users"
    for share, budget in (("50", ""), ("95", "2"), ("99", "")):
        table.add_row(f"{among}, p{share}", str(figures[f"entity_lookup_p{share}_ms"]), budget)
    console.print(table)


def main() -> int:
    figures = asyncio.run(measure(_options(sys.argv[1:])))
    console = Console()
    _show(figures, console)
    console.print(json.dumps(figures), soft_wrap=True, highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
