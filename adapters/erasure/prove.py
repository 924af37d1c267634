"""Checks every place where an erased text could be stored (X16)."""

from collections.abc import AsyncIterator
from pathlib import Path

from mnemolog.adapters.erasure import stores, tables
from mnemolog.adapters.erasure.messages import forms
from mnemolog.adapters.erasure.proof import NAMED, Proof, ProofPlace, tallied
from mnemolog.adapters.erasure.target import ProofSubject, Target, target_of
from mnemolog.adapters.redis.client import connect
from mnemolog.adapters.services import Services
from mnemolog.domain.errors import ServerFailed
from mnemolog.domain.principal import Role
from mnemolog.events.envelope import AGENT, USER
from mnemolog.projections.owner import owner_of

BACKUPS = (
    "backups that were made before the erasure: they hold the wrapped keys. `mnemolog master-key rotate`, and then "
    "destroying every copy of the old master key, makes them unreadable"
)
REPLICAS = "replicas of Postgres and Redis: they follow, each with its own delay"
SNAPSHOTS = "snapshots of JetStream: events in them are sealed; turns that were waiting then are not"
DISK = (
    "pages that a server freed and did not overwrite yet (dead rows, destroyed keys, WAL): `mnemolog scrub` clears"
    " them, and a disk that is encrypted shows none of it"
)
MEM0 = (
    "mem0: its store cannot be opened from this process ({error}). If it is a folder, the engine has it open: ask over"
    " HTTP, `POST /v1/prove-erased`"
)
SCRUBBED = frozenset({"postgres", "redis"})
# The files hold live data too, of all users.
CLEARED_BY = ": `mnemolog scrub` clears what was freed and not overwritten yet"


async def prove(
    engine: Services,
    subject: ProofSubject,
    phrase: str | None = None,
    *,
    agent_id: str | None = None,
) -> Proof:
    """Check every place, and report each by name. NotFound if nothing of the subject was ever written.

    With a phrase, every row, value and message of the user is also searched for it, and the files on this machine.
    `agent_id` is the requesting agent, if given. A principal needs the role erase and access to every agent to which
    the subject is private. A phrase may occur in any agent's data, so it takes the role admin and access to all agents,
    and leaves out the files, which contain all tenants.
    """
    if engine.principal and agent_id is not None:
        engine.principal.require_agent(agent_id)
    target = await target_of(engine.log, subject, _reached(engine, subject, phrase))
    places, unseen = [], _unseen(engine, phrase)
    async for place in _places(engine, target, phrase):
        engine.report(place.name)
        places.append(place)
    try:
        if copies := await _copies_in_mem0(engine, target, phrase):
            places.append(copies)
    except ServerFailed as error:
        unseen.append(MEM0.format(error=error))
    return Proof(tuple(places), tuple(unseen))


def _reached(engine: Services, subject: ProofSubject, phrase: str | None) -> frozenset[str] | None:
    """The agents whose private memory may be checked; None for all."""
    principal = engine.principal
    if principal is None:
        return None
    principal.require(Role.ERASE if phrase is None else Role.ADMIN)
    if subject.stream.kind == AGENT:
        principal.require_library(subject.stream.tenant, subject.stream.owner)
        principal.require_every_user()
    else:
        principal.require_user(subject.stream.tenant, subject.stream.owner)
    if subject.everything or phrase is not None:
        principal.require_every_agent()
    return principal.bound_agents


async def _places(engine: Services, target: Target, phrase: str | None) -> AsyncIterator[ProofPlace]:
    yield ProofPlace("log", len(target.event_ids), target.opened, "events that the keys open")
    databases = {"postgres": engine.projections.beside_log}
    if engine.projections.split:
        databases["projections"] = engine.projections.live
    for name, database in databases.items():
        async with database.connect() as connection:
            async for place in tables.look_through(connection, name, target, phrase):
                yield place
    if points := await _points(engine, target):
        yield points
    if phrase:
        yield await _checkpoints(engine, target, phrase)
    jetstream = engine.nats.jetstream()
    yield await stores.events_on_jetstream(jetstream, engine.log, target, phrase)
    keyed = await engine.api_keys.producers()
    async for place in stores.turns_on_jetstream(jetstream, target, phrase, keyed):
        yield place
    redis = await connect(engine.endpoints.redis_url)
    try:
        yield await stores.keys_in_redis(redis, target, phrase)
    finally:
        await redis.aclose()
    # What is left of an erased artifact cannot be decrypted, but should not be there.
    kept = {name.partition("/")[2] async for name in engine.blobs.names(target.subject.stream)}
    found = sorted(kept & target.blobs)
    yield ProofPlace("artifacts", len(kept), len(found), found=tuple(found[:NAMED]))
    for place in stores.files(engine.settings.directory, phrase if engine.principal is None else None):
        yield place


async def _points(engine: Services, target: Target) -> ProofPlace | None:
    """The user's vectors on a server beside Postgres, of which each names its subject and holds no text."""
    held = await engine.projections.index.held_outside(owner_of(target.subject.stream))
    if held is None:
        return None
    return tallied("qdrant", ((f"{subject} in {place}", subject in target.ids) for place, subject in held))


async def _checkpoints(engine: Services, target: Target, phrase: str) -> ProofPlace:
    """The checkpoints that keys open, of any thread: their tables show ciphertext alone."""
    stream, wanted, verdicts = target.subject.stream, forms(phrase), list[tuple[str, bool]]()
    for thread in await engine.checkpoints.threads(stream.tenant, stream):
        for place, _ in await engine.checkpoints.places(thread):
            if found := await engine.checkpoints.load(thread, *place):
                values = [found.state, found.metadata, *(value for _, value in found.values.values())]
                texts = (
                    one.data.decode(errors="replace").lower() for one in (*values, *(w.value for w in found.writes))
                )
                shown = any(form in text for text in texts for form in wanted)
                verdicts.append((f"checkpoint {place[1]} of {thread.agent_id} in {thread.thread_id}", shown))
    return tallied("checkpoints", verdicts)


async def _copies_in_mem0(engine: Services, target: Target, phrase: str | None) -> ProofPlace | None:
    """What mem0 holds of the user; None if nothing of the user is copied."""
    store, stream = engine.mem0, target.subject.stream
    if store is None or (stream.kind, stream.tenant) != (USER, store.tenant):
        return None
    gone, wanted = target.ids | target.summaries, forms(phrase) if phrase else set[str]()
    held = await store.held(stream.owner)
    return tallied(
        "mem0",
        (
            (f"memory {one.item_id}", one.subject_id in gone or any(form in one.shown.lower() for form in wanted))
            for one in held
        ),
    )


def _unseen(engine: Services, phrase: str | None) -> list[str]:
    """Places that no query shows; for servers on this machine, how many files still contain the phrase's bytes."""
    shown = phrase if engine.principal is None else None
    return [BACKUPS, REPLICAS, SNAPSHOTS, DISK, *(_on_disk(engine.settings.directory, shown) if shown else ())]


def _on_disk(directory: Path, phrase: str) -> list[str]:
    return [
        f"{one.name}: {one.readable} of {one.looked_at} files hold the bytes of the phrase"
        + (CLEARED_BY if one.readable and one.name in SCRUBBED else "")
        + "".join(f"; {where}" for where in one.found)
        for one in stores.pages(directory, phrase)
    ]
