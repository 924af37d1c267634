"""A patrol with a chat model: notes, consolidation, split, diary and think_md, and a model that fails (C)."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.maintenance import extracting
from mnemolog.adapters.maintenance import patrol as sweeping
from mnemolog.adapters.maintenance.patrolling import NO_MODEL
from mnemolog.commands.rollback import Rollback
from mnemolog.domain.memory import Status
from mnemolog.domain.patrol import Step, What
from mnemolog.domain.scene import Dated
from mnemolog.events.envelope import StreamId
from mnemolog.events.fields import validated
from mnemolog.events.patrol import Purpose, ScenesReviewed
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.patrols import NAMES, SCENE, answers, board, entries, noted, notes, of, patrolled, whats
from tests.engine.person import Person
from tests.testkit.model_server import ModelServer, error
from tests.testkit.settings import settings_in


@pytest.fixture(scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory, server: ModelServer) -> AsyncIterator[Engine]:
    """An engine of their own, whose sweeps leave these users alone."""
    model = {"model_url": server.url, "model_api_key": "sk-1", "chat_model": "m-1", "model_retries": 0}
    with pytest.MonkeyPatch.context() as patch:
        for module in (extracting, sweeping):
            patch.setattr(module, "EVERY_SECONDS", 24 * 3600.0)
        async with open_engine(settings_in(tmp_path_factory.mktemp("patrol"), extraction="off", **model)) as opened:
            yield opened


@pytest.fixture
def mia(engine: Engine, server: ModelServer, user: str) -> Person:
    server.replies.clear()
    server.requests.clear()
    server.chat = answers
    return Person(engine, user, agent="mia")


@pytest.mark.spec_part("C05", "C07", "C11")
async def test_notes_become_scenes_and_the_day_is_written_down(mia: Person, server: ModelServer) -> None:
    await notes(mia, noted("Mia rowed on the lake", feeling="proud", importance=2), "Mia {rowed")
    await notes(mia, noted("Mia rowed over the lake"), noted("Mia sent the invoice"))
    before = await entries(mia)
    head = await mia.engine.log.head(mia.stream)

    dry = await patrolled(mia, dry_run=True)
    assert (await mia.engine.log.head(mia.stream), dry.fault) == (head, None)
    done = await patrolled(mia)

    assert whats(done) == whats(dry)
    created = [(What.CREATED, "Private"), (What.CREATED, "Private"), (What.CREATED, "Business")]
    assert of(done, Step.NOTES) == [*created, (What.FAILED, "")]
    assert [what for what, _ in of(done, Step.CONSOLIDATE)] == [What.ABSORBED]
    found = await board(mia)
    survivor = found["2026-01-03 — Mia rowed on the lake — (proud)"]
    assert survivor.experience.scene
    assert survivor.experience.scene.when == ("2026-01-03", Dated("2026-01-03", "Mia rowed over the lake"))
    absorbed = found["2026-01-03 — Mia rowed over the lake"]
    assert (survivor.node.importance, survivor.fresh, survivor.active) == (1.0, False, True)
    assert (absorbed.merged, absorbed.dead) == (True, True)
    kept = await entries(mia)
    assert ("note", "[PARSE_FAILED] Mia {rowed", False) in kept
    assert [read for store, text, read in kept if store == "note" and "invoice" in text] == [True]
    assert ("diary", "I rowed with Zoë.\nI was proud.\nThe lake was cold.", False) in kept
    assert ("snapshot", "- Zoë likes the lake\n- Ask about the race\n- Bring gloves", False) in kept
    events = await mia.engine.log.read(mia.stream)
    reviews = [one.payload for one in events if isinstance(one.payload, ScenesReviewed)]
    assert {one.purpose for one in reviews} == {Purpose.CLASSIFY, Purpose.CONSOLIDATE, Purpose.REFLECT}
    by = {(one.generation.model, one.generation.prompt_version) for one in reviews}
    assert by == {("m-1", 1), ("rules-1", 0)}  # No model is asked about a fresh scene that is alone in its cluster.
    await mia.engine.settled(60)
    await assert_live_equals_replayed(mia.engine, StreamId.of_user(mia.user))

    again = await patrolled(mia)
    assert (of(again, Step.NOTES), of(again, Step.REFLECT)) == ([], [])
    rollback = {"user_id": mia.user, "agent_id": mia.agent, "of_run": f"{mia.user}-1", "at": now()}
    await mia.engine.writes.rollback(validated(Rollback, rollback))
    assert await entries(mia) == before
    assert await board(mia) == {}
    await mia.engine.settled(60)
    await assert_live_equals_replayed(mia.engine, StreamId.of_user(mia.user))


@pytest.mark.spec_part("C07", "C09")
async def test_a_large_cluster_is_split_and_a_dying_scene_that_nobody_misses_dies(mia: Person) -> None:
    label = {"cluster": "Private/Hobbies"}
    for name in NAMES:
        await mia.creates(f"Mia tried {name}", experience=label, **SCENE)
    await mia.creates("Mia met a snail", importance=0.01, experience=label, **SCENE)

    done = await patrolled(mia)

    assert [what for what, _ in of(done, Step.CONSOLIDATE)] == [What.DEAD]
    assert of(done, Step.SPLIT) == [(What.MOVED, "Private/Board games")] * 2
    found = await board(mia)
    assert found["Mia met a snail"].node.status is Status.DORMANT
    assert not any(one.fresh for one in found.values() if one.active)
    events = await mia.engine.log.read(mia.stream)
    split = [one.payload for one in events if getattr(one.payload, "purpose", None) is Purpose.SPLIT]
    assert len(split) == 1
    await mia.engine.settled(60)
    await assert_live_equals_replayed(mia.engine, StreamId.of_user(mia.user))


async def test_a_model_that_fails_is_asked_once_and_costs_its_steps_only(mia: Person, server: ModelServer) -> None:
    await notes(mia, noted("Mia rowed on the lake"), noted("Mia rowed over the lake"))
    server.replies.extend([error(500)] * 9)

    done = await patrolled(mia)

    assert server.asked == 1
    assert done.fault is not None
    told = {one.step: one.why for one in done.steps}
    for step in (Step.CONSOLIDATE, Step.REFLECT):
        assert "the chat model failed" in told[step]
    assert of(done, Step.NOTES) == [(What.CREATED, "Private")] * 2
    assert len(of(done, Step.COUNT)) == 2
    server.replies.clear()
    later = await patrolled(mia, "2")
    assert [what for what, _ in of(later, Step.CONSOLIDATE)] == [What.ABSORBED]


@pytest.mark.parametrize("call", range(3), ids=["classify", "consolidate", "reflect"])
async def test_a_run_that_is_repeated_after_its_model_failed_loses_and_doubles_nothing(
    call: int, mia: Person, server: ModelServer
) -> None:
    """As the job of a being repeats it, under its id."""
    asked = 0

    def fails_once(request: dict[str, Any]) -> str:
        nonlocal asked
        asked += 1
        return "{" if asked - 1 in (call, call + 1) else answers(request)  # What does not fit is sent back once.

    server.chat = fails_once
    told = ("Mia rowed on the lake", "Mia rowed over the lake", "Mia sent the invoice")
    await notes(mia, *map(noted, told), "not a scene")

    failed = await patrolled(mia)
    repeated = await patrolled(mia)
    head = await mia.engine.log.head(mia.stream)
    idle = await patrolled(mia)

    assert (failed.fault is not None, repeated.fault, idle.fault) == (True, None, None)
    assert await mia.engine.log.head(mia.stream) == head
    found = {text: (one.cluster, one.merged, one.node.session_count) for text, one in (await board(mia)).items()}
    assert found == {
        "2026-01-03 — Mia rowed on the lake": ("Private", False, 1),
        "2026-01-03 — Mia rowed over the lake": ("Private", True, 1),
        "2026-01-03 — Mia sent the invoice": ("Business", False, 1),
    }
    stores = [(store, read) for store, _, read in await entries(mia)]
    assert stores == [("diary", False), ("note", False), *[("note", True)] * 3, ("snapshot", False)]
    await mia.engine.settled(60)
    await assert_live_equals_replayed(mia.engine, StreamId.of_user(mia.user))


@pytest.mark.spec_part("C04", "C05")
async def test_without_a_model_exactly_the_steps_of_a_model_are_skipped(
    mia: Person, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(mia.engine.models), "chat", None, raising=False)
    await notes(mia, noted("Mia rowed on the lake"), noted("Mia rowed over the lake"))

    done = await patrolled(mia)

    skipped = {one.step for one in done.steps if one.why == NO_MODEL}
    assert skipped == {Step.CONSOLIDATE, Step.SPLIT, Step.REFLECT}
    assert (len(of(done, Step.NOTES)), len(of(done, Step.COUNT))) == (2, 2)
    assert (server.asked, done.fault) == (0, None)
    assert [store for store, _, _ in await entries(mia)] == ["note", "note"]
