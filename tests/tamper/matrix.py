"""`python -m tests.tamper.matrix`: every kind of edit, on rows and on the log, as whatever reads meets it (X08).

Each cell is an attack on a story that was told and projected. It is `refused` (a typed error), `healed` (the truth is
shown again), or `reported`: the truth was shown, or less than it, and the audit kept an incident within its pass.
`served` is what was false and nobody told of; there must be none. The last line is one JSON object.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from rich.console import Console
from rich.table import Table

from mnemolog.adapters.config import Settings, load
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.jobs.worker import Worker
from mnemolog.adapters.verify.damage import Damage
from mnemolog.adapters.verify.incidents import By, Done, Incidents
from mnemolog.domain.errors import DatabaseRolledBack, MnemologError, NotFound, ProjectionPoisoned, Tampered
from mnemolog.events.envelope import StreamId
from mnemolog.projections.reads.moment import NOW, Moment
from tests.engine.person import Person
from tests.tamper.attacker import Attacker, attacking
from tests.tamper.edits import EDITS, KINDS, LOG, ROWS, Target, snapshot

REFUSALS = (Tampered, DatabaseRolledBack, ProjectionPoisoned)
REFUSED, HEALED, REPORTED, SERVED = "refused", "healed", "reported", "served"
Told = dict[str, Any]


@dataclass
class Stage:
    """An engine, one whose story was told on it, what of it is true, and what is kept of incidents since the attack."""

    engine: Engine
    ana: Person
    target: Target
    ids: Sequence[UUID]
    truth: Told = field(default_factory=dict)

    async def told(self, moment: Moment = NOW) -> Told:
        """All that reads tell; an error of the kind that refuses goes through."""
        reads, viewer = self.engine.reads, self.ana.viewer

        return {
            "newest": await reads.newest(viewer, 1000, moment),
            "memories": [await or_none(reads.memory(viewer, id_, moment)) for id_ in self.ids],
            "answer": [hit.text for hit in (await self.ana.asks("tea Lisbon lactose", moment)).hits],
        }

    async def explained(self) -> Told:
        """What explains: of each memory why it is known, and what happened to it."""
        reads, viewer = self.engine.reads, self.ana.viewer
        return {
            "why": [await or_none(reads.why(viewer, str(id_))) for id_ in self.ids],
            "history": [await or_none(reads.history(viewer, id_)) for id_ in self.ids],
        }


async def or_none(read: Awaitable[Any]) -> Any:
    try:
        return await read
    except NotFound:
        return None


class Recorded:
    """What incidents were recorded, whether they were known before or not."""

    def __init__(self) -> None:
        self.damages: list[Damage] = []
        record = Incidents.record

        async def recorded(own: Incidents, damage: Damage, found_by: By, done: Done) -> None:
            self.damages.append(damage)
            await record(own, damage, found_by, done)

        Incidents.record = recorded  # type: ignore[method-assign, assignment]


def settings_in(directory: Path) -> Settings:
    return load(
        data_dir=directory / "data",
        anchor_file=directory / "anchors.jsonl",
        durable=False,
        embedder="lexical",
        http_port=0,
        recall_seconds=0,
        audit_share=0,  # It is called when its turn is.
    )


async def prepared(engine: Engine, mallory: Attacker) -> Stage:
    """Two people of their own, all of theirs anchored and projected; the attacker keeps a copy of the database."""
    ana, bob = Person(engine, mallory.stream.owner), Person(engine, f"{mallory.stream.owner}-bob")
    ids: list[UUID] = []
    for person in (bob, ana):
        await person.says("I moved to Lisbon")
        ids = [
            await person.creates("Ana drinks green tea", importance=0.25),
            await person.creates("Ana is lactose intolerant", importance=0.5),
        ]
    await engine.settled(120)
    older = await snapshot(engine, mallory)
    await ana.updates(ids[0], text="Ana drinks white tea", pinned=True)
    ids.append(await ana.creates("Ana sings in a choir"))
    await ana.updates(ids[1], text="Ana avoids lactose")
    await engine.settled(120)
    await engine.anchoring.flush()
    stage = Stage(engine, ana, Target(engine, mallory, bob.stream, ids[0], ids[1], older), ids)
    stage.truth = {**await stage.told(), **await stage.explained()}
    await mallory.sql("DROP SCHEMA IF EXISTS attic CASCADE")
    await mallory.copies_database()
    return stage


@asynccontextmanager
async def staged(engine: Engine, name: str) -> AsyncIterator[Stage]:
    """What one attack is made on; the database is put back afterwards."""
    async with attacking(engine, StreamId.of_user(name)) as mallory:
        stage = await prepared(engine, mallory)
        try:
            yield stage
        finally:
            await put_back(engine, mallory)


async def put_back(engine: Engine, mallory: Attacker) -> None:
    await mallory.restores_database()
    await mallory.sql("DROP SCHEMA attic CASCADE")


# What meets an attack: each gives what it showed, to be held against the truth.


async def reads(stage: Stage) -> Told:
    return {**await stage.told(), **await stage.explained()}


async def heals(stage: Stage) -> Told:
    for projection in stage.engine.projections.running.values():
        await projection.heal(stage.ana.stream)
    return await stage.told()


async def replays(stage: Stage) -> Told:
    await stage.engine.projections.rebuild_all(["memories", "history"])
    return await stage.told()


async def as_of(stage: Stage) -> Told:
    return await stage.told(Moment(as_of=datetime.now(UTC)))


async def verifies(stage: Stage) -> Told:
    report = await stage.engine.verifier.verify()
    if not report.clean:
        raise Tampered(f"verify names {report.total}")
    return {}


MEETS: dict[str, Callable[[Stage], Awaitable[Told]]] = {
    "reads": reads,
    "heal": heals,
    "replay": replays,
    "as-of": as_of,
    "verify": verifies,
}


async def met(stage: Stage, meet: Callable[[Stage], Awaitable[Told]], recorded: Recorded) -> str:
    """What became of an attack that is made already."""
    recorded.damages.clear()
    try:
        shown = await meet(stage)
    except REFUSALS:
        return REFUSED
    true = all(shown[name] == stage.truth[name] for name in shown)
    if true and (recorded.damages or meet in (heals, replays)):
        return HEALED
    if not true and meet is not reads:  # Nothing false may be built or replayed; less than the truth may be read.
        return SERVED
    await stage.engine.audit.walk()
    return REPORTED if recorded.damages else SERVED


async def starts(settings: Settings, recorded: Recorded) -> str:
    """An engine that starts on what was attacked while none ran, and comes to the end of its first audit."""
    recorded.damages.clear()
    try:
        async with open_engine(settings) as engine:
            await engine.audit.walk()
    except REFUSALS:
        return REFUSED
    return REPORTED if recorded.damages else SERVED


async def cells(
    settings: Settings, meets: Sequence[str], kinds: Sequence[str]
) -> AsyncIterator[tuple[str, str, str, str]]:
    """Surface, kind, what met it, and what became of it."""
    recorded = Recorded()
    places = [(surface, kind) for surface in (ROWS, LOG) for kind in kinds]
    async with open_engine(settings) as engine:
        for number, (surface, kind) in enumerate(places):
            for name in meets:
                if name in MEETS:
                    async with staged(engine, f"u{number}{name}") as stage:
                        await EDITS[surface, kind](stage.target)
                        yield surface, kind, name, await met(stage, MEETS[name], recorded)
    if "start" not in meets:
        return
    for number, (surface, kind) in enumerate(places):
        stream = StreamId.of_user(f"s{number}")
        async with open_engine(settings) as engine, attacking(engine, stream) as mallory:
            target = (await prepared(engine, mallory)).target
        async with open_engine(settings, passive=True) as engine, attacking(engine, stream) as mallory:
            await EDITS[surface, kind](replace(target, engine=engine, mallory=mallory))
        yield surface, kind, "start", await starts(settings, recorded)
        async with open_engine(settings, passive=True) as engine, attacking(engine, stream) as mallory:
            await put_back(engine, mallory)


async def run(settings: Settings, meets: Sequence[str], kinds: Sequence[str]) -> dict[tuple[str, str, str], str]:
    found = {}
    async for surface, kind, name, word in cells(settings, meets, kinds):
        found[surface, kind, name] = word
        print(f"{surface:<5} {kind:<11} {name:<7} {word}", file=sys.stderr, flush=True)  # noqa: T201
    return found


def summary(found: dict[tuple[str, str, str], str]) -> dict[str, Any]:
    """For programs."""
    served = [" / ".join(place) for place, word in found.items() if word == SERVED]
    words = {word: sum(one == word for one in found.values()) for word in (REFUSED, HEALED, REPORTED)}
    told = {"cells": len(found), "refused_or_reported": len(found) - len(served), **words, "served": served}
    return {**told, "matrix": {" / ".join(place): word for place, word in found.items()}}


def shown(found: dict[tuple[str, str, str], str], meets: Sequence[str], kinds: Sequence[str]) -> Table:
    table = Table("on", "edit", *meets, box=None)
    for surface in (ROWS, LOG):
        for kind in kinds:
            table.add_row(surface, kind, *(found[surface, kind, name] for name in meets))
    return table


async def without_jobs(_: Worker) -> None:
    """Runs none: what a job appends between the copy of the database and its return is then missing from the log."""
    await asyncio.Event().wait()


def main() -> int:
    meets = (*MEETS, "start")
    Worker.run = without_jobs  # type: ignore[method-assign, assignment]
    with tempfile.TemporaryDirectory(prefix="mnemolog-matrix-") as directory:
        found = asyncio.run(run(settings_in(Path(directory)), meets, KINDS))
    Console().print(shown(found, meets, KINDS))
    told = summary(found)
    print(json.dumps(told))  # noqa: T201
    return int(bool(told["served"]))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except MnemologError as error:
        sys.exit(str(error))
