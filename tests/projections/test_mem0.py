"""What the mem0 projection makes a store hold: facts, episodes and final summaries, under the id of their episode."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from mnemolog.adapters.engine import wiring
from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.adapters.maintenance import segmenting, summarizing
from mnemolog.adapters.maintenance.segmenting import segment
from mnemolog.adapters.maintenance.summarizing import summarize_ended
from mnemolog.adapters.mem0.store import Mem0Unavailable
from mnemolog.adapters.postgres.pauses import Pause
from mnemolog.commands.erasure import EraseMemory, EraseThread, EraseUser
from mnemolog.domain.summary import SummaryKind
from mnemolog.events.episodes import EpisodeClosed
from mnemolog.projections.mem0.item import Held as Copied
from mnemolog.projections.mem0.item import Item
from mnemolog.projections.mem0.tables import NAME as MEM0
from tests.engine.equality import assert_live_equals_rebuilt, assert_live_equals_replayed
from tests.engine.person import Person
from tests.testkit.eventually import eventually
from tests.testkit.settings import settings_in

pytestmark = pytest.mark.spec_part("E08")
DAY = timedelta(days=1)


class Held:
    """A store in this process that a test can look into, and take down."""

    tenant = "default"

    def __init__(self) -> None:
        self.items: dict[str, dict[UUID, Item]] = {}
        self.down, self.changed = False, 0

    async def write(self, user_id: str, items: Mapping[UUID, Item | None]) -> None:
        self._require_up()
        theirs = self.items.setdefault(user_id, {})
        for subject_id, item in items.items():
            self.changed += theirs.get(subject_id) != item
            theirs.pop(subject_id, None)
            if item is not None:
                theirs[subject_id] = item

    async def forget(self, user_id: str) -> None:
        self._require_up()
        self.items.pop(user_id, None)

    async def held(self, user_id: str) -> list[Copied]:
        self._require_up()
        theirs = self.items.get(user_id, {})
        return [Copied(f"m-{id_}", id_, one.text) for id_, one in theirs.items()]

    def texts(self, user_id: str) -> dict[str, str | None]:
        """The texts of a user with their runs."""
        return {one.text: one.run_id for one in self.items.get(user_id, {}).values()}

    def _require_up(self) -> None:
        if self.down:
            raise Mem0Unavailable("mem0 failed", field="mem0_file", fix="start it")


@pytest.fixture(scope="module")
def held() -> Held:
    return Held()


@pytest.fixture(scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory, held: Held) -> AsyncIterator[Engine]:
    """An engine with the projection, whose sweeps leave these users alone."""
    async with copying(tmp_path_factory.mktemp("mem0"), held) as opened:
        yield opened


@asynccontextmanager
async def copying(directory: Path, held: Held) -> AsyncIterator[Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wiring, "mem0_store", lambda stack, settings: held)
        for module in (summarizing, segmenting):
            patch.setattr(module, "EVERY_SECONDS", 24 * 3600.0)
        async with open_engine(settings_in(directory)) as opened:
            yield opened


@pytest.fixture
def ana(engine: Engine, user: str) -> Person:
    return Person(engine, user)


async def test_facts_and_episodes_are_copied_and_follow_every_change(ana: Person, held: Held) -> None:
    tea = await ana.creates("Ana drinks tea", run_id="r-1", metadata={"project": "kitchen"})
    lisbon = await ana.creates("Ana lives in Lisbon")
    await ana.creates("Ana may be tired of coffee", kind="insight")
    await ana.creates("Ana went to Porto", kind="episode")
    await ana.engine.settled(60)
    assert held.texts(ana.user) == {"Ana drinks tea": "r-1", "Ana lives in Lisbon": None, "Ana went to Porto": None}
    types = {one.text: one.type for one in held.items[ana.user].values()}
    assert (types["Ana drinks tea"], types["Ana went to Porto"]) == ("factual", "episodic")
    assert held.items[ana.user][tea].metadata == {"project": "kitchen"}

    await ana.updates(tea, text="Ana drinks green tea")
    await ana.deletes(lisbon)
    await ana.engine.settled(60)
    assert held.texts(ana.user) == {"Ana drinks green tea": "r-1", "Ana went to Porto": None}

    await ana.restores(lisbon)
    await ana.merges(tea, lisbon, text="Ana drinks green tea in Lisbon")
    await ana.engine.settled(60)
    assert held.texts(ana.user) == {"Ana drinks green tea in Lisbon": "r-1", "Ana went to Porto": None}

    await ana.undoes(tea)
    await ana.engine.settled(60)
    assert set(held.texts(ana.user)) == {"Ana drinks green tea", "Ana lives in Lisbon", "Ana went to Porto"}
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_what_is_one_agents_own_names_the_agent(engine: Engine, user: str, held: Held) -> None:
    ana = Person(engine, user, agent="coach")
    own = await ana.creates("Ana asked me to be brief", scope="agent")
    shared = await ana.creates("Ana drinks tea")
    await ana.engine.settled(60)
    assert (held.items[ana.user][own].agent_id, held.items[ana.user][shared].agent_id) == (ana.agent, None)


async def test_another_tenant_is_not_copied(engine: Engine, user: str, held: Held) -> None:
    await Person(engine, user, tenant="acme").creates("Ana drinks tea")
    await engine.settled(60)
    assert user not in held.items


async def closed(ana: Person) -> str:
    """Close the episode of the thread, with its final summary; returns its id."""
    await ana.engine.settled(60)
    await segment(ana.engine, ana.stream, ana.agent, ana.thread, now() + DAY)
    await ana.engine.settled(60)
    [episode] = await ana.engine.reads.episodes(ana.viewer)
    await summarize_ended(ana.engine, ana.stream, SummaryKind.FINAL, episode["episode_id"])
    await ana.engine.settled(60)
    return str(episode["episode_id"])


@pytest.mark.spec("E08")
async def test_what_was_said_in_an_episode_and_its_final_summary_have_its_id_as_their_run(
    ana: Person, held: Held
) -> None:
    await ana.remembers("I moved to Lisbon in May")
    await ana.engine.settled(60)
    assert held.texts(ana.user) == {"Ana: I moved to Lisbon in May": None}

    episode = await closed(ana)

    runs = held.texts(ana.user)
    [summary] = [one for one in held.items[ana.user].values() if one.category == "summary"]
    assert (runs.pop(summary.text), summary.type, summary.agent_id) == (episode, "episodic", ana.agent)
    assert runs == {"Ana: I moved to Lisbon in May": episode}
    await assert_live_equals_replayed(ana.engine, ana.stream)

    events = await ana.engine.log.read(ana.stream)
    [closing] = [one for one in events if isinstance(one.payload, EpisodeClosed)]
    await ana.engine.writes.undo_event(ana.stream, closing.event_id, agent_id=ana.agent)
    await ana.engine.settled(60)
    assert held.texts(ana.user) == {"Ana: I moved to Lisbon in May": episode}
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.spec_part("X07")
async def test_an_erasure_reaches_the_store(ana: Person, held: Held) -> None:
    kept = await ana.creates("Ana drinks tea")
    secret = await ana.creates("Ana is afraid of spiders")
    await ana.remembers("I moved to Lisbon in May")
    await closed(ana)
    assert len(held.texts(ana.user)) == 4

    await erase(ana.engine, EraseMemory(user_id=ana.user, memory_id=secret, keep_turns=False))
    assert "Ana is afraid of spiders" not in held.texts(ana.user)
    await erase(ana.engine, EraseThread(user_id=ana.user, thread_id=ana.thread))
    assert all("Lisbon" not in text for text in held.texts(ana.user))
    await assert_live_equals_replayed(ana.engine, ana.stream)
    if kept in held.items[ana.user]:
        assert held.texts(ana.user) == {"Ana drinks tea": None}
    await erase(ana.engine, EraseUser(user_id=ana.user))
    assert held.texts(ana.user) == {}
    await ana.creates("Ana is back")
    await ana.engine.settled(60)
    assert held.texts(ana.user) == {"Ana is back": None}


@pytest.mark.spec_part("X16")
async def test_a_proof_finds_the_copy_that_the_store_still_holds(ana: Person, held: Held) -> None:
    secret = await ana.creates("Ana is afraid of spiders")
    await ana.creates("Ana drinks tea")
    await ana.remembers("I moved to Lisbon in May")
    await closed(ana)
    [summary] = [id_ for id_, one in held.items[ana.user].items() if one.category == "summary"]
    before = dict(held.items[ana.user])
    of_secret = ProofSubject(ana.stream, memory_id=secret)

    async def in_mem0(subject: ProofSubject, phrase: str | None = None) -> tuple[int, tuple[str, ...]]:
        [place] = [one for one in (await prove(ana.engine, subject, phrase)).places if one.name == "mem0"]
        assert place.readable == len(place.found)
        return place.looked_at, place.found

    await erase(ana.engine, EraseMemory(user_id=ana.user, memory_id=secret, keep_turns=False))
    assert await in_mem0(of_secret, "spiders") == (3, ())
    held.items[ana.user][secret] = before[secret]
    assert await in_mem0(of_secret) == (4, (f"memory m-{secret}",))
    assert not (await prove(ana.engine, of_secret)).holds

    whole = ProofSubject(ana.stream, thread_id=ana.thread)
    await erase(ana.engine, EraseThread(user_id=ana.user, thread_id=ana.thread))
    assert (await in_mem0(whole))[1] == ()
    held.items[ana.user][summary] = before[summary]
    assert (await in_mem0(whole))[1] == (f"memory m-{summary}",)

    await erase(ana.engine, EraseUser(user_id=ana.user))
    assert await in_mem0(ProofSubject(ana.stream)) == (0, ())
    held.items[ana.user] = before
    assert (
        (await in_mem0(ProofSubject(ana.stream)))[0] == len(before) == len((await in_mem0(ProofSubject(ana.stream)))[1])
    )


@pytest.mark.spec_part("X16")
async def test_a_proof_says_that_a_store_cannot_be_opened(ana: Person, held: Held) -> None:
    await ana.creates("Ana drinks tea")
    await ana.engine.settled(60)
    held.down = True
    try:
        proof = await prove(ana.engine, ProofSubject(ana.stream))
    finally:
        held.down = False
    assert "mem0" not in {one.name for one in proof.places}
    assert [one for one in proof.unseen if one.startswith("mem0: its store cannot be opened")]


@pytest.mark.spec_part("X07")
@pytest.mark.parametrize("everything", [False, True])
async def test_an_erasure_while_the_store_is_down_reaches_it_later(
    ana: Person, held: Held, *, everything: bool
) -> None:
    secret = await ana.creates("Ana is afraid of spiders")
    await ana.creates("Ana drinks tea")
    await ana.engine.settled(60)
    await ana.engine.projections.pause(MEM0, Pause(now(), "operator"))
    held.down = True
    one = EraseMemory(user_id=ana.user, memory_id=secret, keep_turns=False)
    erased = await erase(ana.engine, EraseUser(user_id=ana.user) if everything else one)
    assert set(erased.held_up) == {MEM0}
    held.down = False
    await ana.engine.projections.resume(MEM0)
    await ana.engine.settled(60)
    assert held.texts(ana.user) == ({} if everything else {"Ana drinks tea": None})


async def test_while_the_store_is_down_only_this_projection_waits(ana: Person, held: Held) -> None:
    held.down = True
    try:
        await ana.creates("Ana drinks tea")
        assert await ana.finds("tea") == ["Ana drinks tea"]
        behind = {one.name: one.lag_events for one in await ana.engine.projections.status(now())}
        assert (behind[MEM0], behind["memories"]) == (1, 0)
        assert await ana.engine.projections.stopped() == {}
    finally:
        held.down = False
    await ana.engine.settled(60)
    assert held.texts(ana.user) == {"Ana drinks tea": None}


async def test_a_stream_that_is_read_again_changes_nothing(ana: Person, held: Held) -> None:
    tea = await ana.creates("Ana drinks tea")
    await ana.deletes(await ana.creates("Ana drinks coffee"))
    await ana.updates(tea, text="Ana drinks green tea")
    await ana.engine.settled(60)
    before = dict(held.items[ana.user])

    projection = ana.engine.projections.running[MEM0]
    await projection.heal(ana.stream)
    assert held.items[ana.user] == before

    async for batch in ana.engine.log.scan(ana.stream):
        await projection.deliver(batch)
    assert held.items[ana.user] == before


async def test_a_rebuild_writes_again_what_the_store_has_lost(ana: Person, held: Held) -> None:
    await ana.creates("Ana drinks tea")
    await ana.engine.settled(60)
    held.items.clear()
    await assert_live_equals_rebuilt(ana.engine, MEM0)

    async def written() -> bool:
        return held.texts(ana.user) == {"Ana drinks tea": None}

    await eventually(written)
    await ana.engine.settled(60)
