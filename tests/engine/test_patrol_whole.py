"""A patrol as C specifies it, figure by figure, on a real engine with scripted models for text and for vectors."""

import json
import math
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from random import Random
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest

from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.maintenance import extracting
from mnemolog.adapters.maintenance import patrol as sweeping
from mnemolog.adapters.maintenance.patrolling import CHARACTERS, NO_MODEL, SHOWN
from mnemolog.adapters.minilm.lexical import Lexical
from mnemolog.adapters.operations.patrol import ClustersRead, list_clusters
from mnemolog.adapters.reads.recalls import Recalls
from mnemolog.commands.memories import ChangeStatus
from mnemolog.commands.tending import TendScenes
from mnemolog.domain.memory import Status
from mnemolog.domain.patrol import Step, What
from mnemolog.domain.scene import Dated
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import BlocksRequest
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.patrols import SCENE, answers, board, entries, noted, notes, of, patrolled
from tests.engine.person import Person
from tests.testkit.model_server import ModelServer
from tests.testkit.settings import settings_in

FADED = 0.05
OTHERS = ("rowing", "baking", "sewing", "judo", "opera", "hiking", "yoga", "tennis", "diving")
SCENE_OF_ALL = {
    "action": "Mia rowed on the lake",
    "actors": ["Mia", "Zoë"],
    "when": ["2026-01-03", {"date": "2026-01-04", "action": "the race"}],
    "setting": "at the lake",
    "dialogue": ["Row!"],
    "sensory": ["cold hands"],
}
EMOTION = {"valence": 0.9, "arousal": 0.5, "dominance": 0.1, "safety": 0.7, "novelty": -0.2, "trust": 1.0}


@pytest.fixture(scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory, server: ModelServer) -> AsyncIterator[Engine]:
    """An engine of their own, whose sweeps leave these users alone."""
    model = {"model_url": server.url, "model_api_key": "sk-1", "chat_model": "m-1", "model_retries": 0}
    with pytest.MonkeyPatch.context() as patch:
        for module in (extracting, sweeping):
            patch.setattr(module, "EVERY_SECONDS", 24 * 3600.0)
        own = settings_in(tmp_path_factory.mktemp("patrol"), extraction="off", embedding_model="e-1", **model)
        async with open_engine(own) as opened:
            yield opened


@pytest.fixture
def mia(engine: Engine, server: ModelServer, user: str, monkeypatch: pytest.MonkeyPatch) -> Person:
    """Its recalls are written when the test, or a patrol, asks for it."""
    recalls = Recalls(engine.writes.handle, seconds=3600)
    monkeypatch.setattr(engine.reads, "recalled", recalls.note)
    monkeypatch.setattr(engine, "recalls", recalls)
    server.replies.clear()
    server.requests.clear()
    server.chat = answers
    return Person(engine, user, agent="mia")


@pytest.fixture
def mute(mia: Person, monkeypatch: pytest.MonkeyPatch) -> Person:
    """A being whose engine has no chat model."""
    monkeypatch.setattr(type(mia.engine.models), "chat", None, raising=False)
    return mia


async def lives(mia: Person, text: str, cluster: str = "", **fields: Any) -> UUID:
    return await mia.creates(text, experience={"cluster": cluster}, **{**SCENE, **fields})


async def row(mia: Person, memory_id: UUID) -> dict[str, Any]:
    await mia.engine.recalls.flush()
    return dict(await mia.engine.reads.memory(mia.viewer, memory_id, await mia.caught_up()))


async def clusters(mia: Person) -> dict[str, Any]:
    await mia.engine.settled(60)
    asked = ClustersRead.model_validate({"user_id": mia.user, "agent_id": mia.agent})
    found = await list_clusters.run(mia.engine, asked)
    return {one.label: one for one in found.items}


async def vectors(mia: Person) -> dict[str, np.ndarray[Any, Any]]:
    return {text: np.array(one.vector) for text, one in (await board(mia)).items()}


async def dead(mia: Person, memory_id: UUID) -> None:
    """As a patrol leaves it: dying by cycles, then dead."""
    fields = {"user_id": mia.user, "agent_id": mia.agent, "actor": "patrol", "step": "4 consolidate", "at": now()}
    await patrolled(mia, str(uuid4()))
    await mia.engine.writes.handle(TendScenes.model_validate({**fields, "make_dead": (memory_id,)}))
    assert (await row(mia, memory_id))["status"] == Status.DORMANT


@pytest.mark.spec("C03")
async def test_a_scene_shows_every_field_of_a_node(mute: Person) -> None:
    experience = {"scene": SCENE_OF_ALL, "feeling": "proud", "themes": ["sport", "lake"], "emotion": EMOTION}
    id_ = await mute.creates("Mia rowed", experience=experience, importance=0.052, **SCENE)
    born = await row(mute, id_)
    await patrolled(mute)

    assert born["experience"] == {**experience, "cluster": ""}
    assert (born["importance"], born["status"], born["fresh"], born["pinned"]) == (0.052, "active", True, False)
    assert (born["session_count"], born["reactivation_count"]) == (0, 0)
    [cluster] = [one for one in (await clusters(mute)).values() if id_ in one.memory_ids]
    assert (cluster.label, cluster.is_parent) == ("Private", True)
    told = "2026-01-03\n2026-01-04 the race\nMia rowed on the lake\nproud"
    [scene] = (await board(mute)).values()
    [expected] = Lexical().embed([told])
    assert scene.vector is not None
    assert np.allclose(scene.vector, expected, atol=2e-3)

    before = (await row(mute, id_))["last_accessed"]
    await mute.engine.reads.recall_memory(mute.viewer, "Private", moment=Moment())
    recalled = await row(mute, id_)
    assert (recalled["reactivation_count"], recalled["last_accessed"] > before) == (1, True)
    await patrolled(mute, "2")
    await patrolled(mute, "3")
    aged = await row(mute, id_)
    assert (aged["session_count"], aged["status"], aged["fresh"]) == (2, "dying", True)
    await mute.updates(id_, pinned=True)
    assert (await row(mute, id_))["pinned"] is True


@pytest.mark.spec("C05")
async def test_notes_become_scenes_with_one_embedding_call(mia: Person, server: ModelServer) -> None:
    before = {await lives(mia, f"Mia rowed on the cold river {n}", "Private/River") for n in range(3)}
    await mia.engine.settled(60)
    weights = {
        "Mia rowed on the cold river": 3,
        "Mia sent the invoice to Acme": -1,
        "Grandmother poured tea": None,
    }
    texts = [noted(text, **({} if weight is None else {"importance": weight})) for text, weight in weights.items()]
    await notes(mia, *texts, "Mia {rowed", "[]")
    await mia.engine.settled(60)
    server.requests.clear()

    done = await patrolled(mia)
    await mia.engine.settled(60)

    embedded = [one for one in server.requests if one.path.endswith("/embeddings")]
    assert [len(one.json["input"]) for one in embedded] == [3]
    assert of(done, Step.NOTES) == [
        (What.CREATED, "Private/River"),
        (What.CREATED, "Business"),
        (What.CREATED, "Private"),
        *[(What.FAILED, "")] * 2,
    ]
    kept = await entries(mia)
    assert [text for store, text, read in kept if store == "note" and not read] == [
        "[PARSE_FAILED] Mia {rowed",
        "[PARSE_FAILED] []",
    ]
    new = [one for one in (await board(mia)).values() if one.memory_id not in before]
    importance = {one.text.partition(" — ")[2]: one.node.importance for one in new}
    assert importance == dict(zip(weights, (1.0, 0.0, 0.5), strict=True))
    of_river = (await clusters(mia))["Private/River"]
    shown = [vector for text, vector in (await vectors(mia)).items() if "river" in text]
    assert len(of_river.memory_ids) == len(shown) == 4
    assert np.allclose(of_river.vector, np.mean(shown, axis=0), atol=1e-5)


@pytest.mark.spec_part("C05")
async def test_how_alike_a_scene_and_its_cluster_are_belongs_to_the_embedding_model(
    mute: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = await mute.engine.projections.embedder()
    for number in range(3):
        await lives(mute, f"Mia rowed on the cold river {number}", "Private/River")
    labels = []
    for run, least in enumerate((0.45, 0.999)):
        monkeypatch.setattr(embedder, "calibration", replace(embedder.calibration, cluster_match=least))
        await notes(mute, noted(f"Mia rowed on the cold river {run + 7}"))
        labels += of(await patrolled(mute, str(run)), Step.NOTES)

    assert labels == [(What.CREATED, "Private/River"), (What.CREATED, "Private")]


@pytest.mark.spec("C06")
async def test_a_scene_fades_by_sessions_as_the_formula_says(mute: Person) -> None:
    weights = (0.052, 0.055, 0.06, 0.9)
    ids = [await lives(mute, f"Mia saw bird {number}", importance=one) for number, one in enumerate(weights)]
    pinned = await lives(mute, "Mia was named", pinned=True)
    other = Person(mute.engine, mute.user, agent="noah")
    theirs = await lives(other, "Noah slept", importance=0.052)

    for session in range(1, 7):
        await patrolled(mute, str(session))
        for id_, weight in zip(ids, weights, strict=True):
            shown = await row(mute, id_)
            faded = next(n for n in range(1, 200) if weight * math.exp(-n / 30) <= FADED)
            assert shown["status"] == ("dying" if session >= faded else "active"), (session, weight)
            assert shown["session_count"] == min(session, faded)
    assert ((await row(mute, pinned))["status"], (await row(mute, pinned))["session_count"]) == ("active", 6)
    assert ((await row(other, theirs))["status"], (await row(other, theirs))["session_count"]) == ("active", 0)
    await assert_live_equals_replayed(mute.engine, mute.stream)


@pytest.mark.spec("C07")
async def test_a_cluster_with_fresh_or_dying_scenes_is_consolidated(mia: Person, server: ModelServer) -> None:
    when = {"actors": ["Mia"], "when": ["2026-01-01"]}
    kept, taken, high, low = [
        await mia.creates(
            text, experience={"cluster": cluster, "scene": {"action": text, **when}}, importance=one, **SCENE
        )
        for text, cluster, one in (
            ("Mia rowed on the lake", "Private/Lake", 0.5),
            ("Mia swam in the lake", "Private/Lake", 0.4),
            ("Mia raced on the lake", "Private/Race", 0.98),
            ("Mia won on the lake", "Private/Race", 0.2),
        )
    ]
    faint = await lives(mia, "Mia met a snail", "Private/Lake", importance=0.01)
    alone = await lives(mia, "Mia sang", "Private/Songs")
    pinned = await lives(mia, "Mia was named", "Private/Lake", pinned=True)

    await patrolled(mia)
    shown = {id_: await row(mia, id_) for id_ in (kept, taken, high, low, faint, pinned)}

    assert [shown[id_]["importance"] for id_ in (kept, high)] == pytest.approx([0.55, 1.0])
    assert (shown[taken]["merged_into"], shown[low]["merged_into"]) == (kept, high)
    found = {one.memory_id: one for one in (await board(mia)).values()}
    assert [found[id_].dead for id_ in (kept, taken, high, low, faint, pinned)] == [
        False,
        True,
        False,
        True,
        True,
        False,
    ]
    scene = found[kept].experience.scene
    assert scene
    assert scene.when == ("2026-01-01", Dated("2026-01-01", "Mia swam in the lake"))
    assert not any(one.fresh for one in found.values() if one.active)
    assert found[alone].active
    assert "Mia sang" not in str([one.json for one in server.requests if "tidy" in str(one.json)])

    asked = server.asked
    await patrolled(mia, "2")
    tidied = [one for one in server.requests[asked:] if "tidy" in str(one.json)]
    assert tidied == [], "nothing is fresh or dying any more"
    await assert_live_equals_replayed(mia.engine, mia.stream)


@pytest.mark.spec("C08")
async def test_what_is_recalled_counts_by_the_table_and_dead_scenes_live_again(mute: Person) -> None:
    label = "Private/Lake"
    alive = await lives(mute, "Mia rowed on the lake", label)
    others = [await lives(mute, f"Grandmother poured tea {number}", label) for number in range(2)]
    gone = await lives(mute, "Mia sank in the lake", label, importance=0.0501)
    archived = await lives(mute, "Mia hid by the lake", label)
    await mute.engine.writes.execute(
        ChangeStatus(user_id=mute.user, agent_id="mia", memory_id=archived, status=Status.DORMANT)
    )
    await dead(mute, gone)
    reads, viewer = mute.engine.reads, mute.viewer

    async def counts() -> tuple[int, int]:
        return (await row(mute, alive))["reactivation_count"], (await row(mute, gone))["reactivation_count"]

    found = await reads.recall(viewer, "Mia rowed on the lake", Random(1), await mute.caught_up())
    assert (found.memory_ids, await counts()) == ([alive], (1, 0))
    await reads.recall_memory(viewer, label, moment=Moment())
    assert await counts() == (2, 2)
    await reads.search_memory(viewer, "lake", moment=Moment())
    assert await counts() == (3, 4)

    assert [(await row(mute, id_))["reactivation_count"] for id_ in others] == [1, 1]

    done = await patrolled(mute, "last")
    assert of(done, Step.REVIVE) == [(What.REVIVED, "")]
    assert [(await row(mute, id_))["status"] for id_ in (gone, archived)] == ["active", "dormant"]
    await assert_live_equals_replayed(mute.engine, mute.stream)


@pytest.mark.spec("C04", "C09")
async def test_clusters_are_split_and_merged_and_roots_stay(mia: Person, server: ModelServer) -> None:
    games = [await lives(mia, f"Mia played {name}", "Private/Hobbies") for name in (*OTHERS, "chess", "poker")]
    root = [await lives(mia, f"Mia saw {number}", "Private") for number in range(11)]
    few = await lives(mia, "Mia rowed on the cold river", "Private/Boats")
    like = [await lives(mia, f"Mia rowed on the cold river {number}", "Private/River") for number in range(3)]
    alone = await lives(mia, "Mia sent the invoice", "Business/Acme")

    done = await patrolled(mia)
    found = await clusters(mia)

    assert of(done, Step.SPLIT) == [(What.MOVED, "Private/Board games")] * 2
    split = [one for one in server.requests if "divide a cluster" in str(one.json)]
    assert len(split) == 1, "roots are not split"
    assert {label for label, one in found.items() if one.is_parent} == {"Business", "Private"}
    assert "Private/Boats" not in found
    assert "Business/Acme" not in found
    where = {id_: label for label, one in found.items() for id_ in one.memory_ids}
    assert where[few] == "Private/River"
    assert where[alone] == "Business"
    assert {where[id_] for id_ in root} == {"Private"}
    assert {where[id_] for id_ in like} == {"Private/River"}
    assert [where[id_] for id_ in games[:9]] == ["Private/Hobbies"] * 9
    shown = {one.memory_id: one for one in (await board(mia)).values()}
    for one in found.values():
        active = [np.array(shown[id_].vector) for id_ in one.memory_ids if shown[id_].active]
        assert np.allclose(one.vector, np.mean(active, axis=0) if active else [], atol=1e-5)
    assert len({one.cluster_id for one in found.values()}) == len(found)


@pytest.mark.spec_part("C07", "C09")
async def test_of_a_cluster_a_model_is_shown_every_scene(mia: Person, server: ModelServer) -> None:
    told = [f"Mia saw bird {number} " + "over the hills " * 40 for number in range(SHOWN + 1)]
    for text in told:
        await lives(mia, text, "Private/Birds")

    await patrolled(mia)

    for prompt in ("tidy the long-term memory", "divide a cluster"):
        [asked] = [one.json["messages"] for one in server.requests if prompt in str(one.json)]
        lines = re.findall(r"^\d+\. .*Mia saw bird (\d+) .*$", asked[-1]["content"], re.MULTILINE)
        assert sorted(map(int, lines)) == list(range(SHOWN + 1))
        assert len(asked[-1]["content"]) < SHOWN * (CHARACTERS + 60)


@pytest.mark.spec("C10")
async def test_a_day_has_one_diary_entry_and_the_next_session_what_the_being_thought(
    mia: Person, server: ModelServer
) -> None:
    said: dict[str, list[str]] = {"diary": [f"Line {n}." for n in range(9)], "think": [f"Note {n}" for n in range(9)]}

    def chat(request: dict[str, Any]) -> str:
        writes = "you are the being" in request["messages"][0]["content"].casefold()
        return json.dumps(said) if writes else answers(request)

    server.chat = chat
    for number in range(2):
        await notes(mia, noted(f"Mia rowed {number}"))
        await patrolled(mia, str(number))
    written = [(store, text) for store, text, _ in await entries(mia) if store != "note"]
    assert written == [
        ("diary", "\n".join(f"Line {n}." for n in range(5))),
        ("snapshot", "\n".join(f"- Note {n}" for n in range(7))),
    ]
    prompt, _ = await mia.engine.reads.blocks(mia.viewer, BlocksRequest(), now(), await mia.caught_up())
    assert "- Note 6" in prompt.blocks[0].text
    assert any("Line 4." in block.text for block in prompt.blocks[1:])

    said |= {"diary": ["One.", "Two."], "think": ["One", "Two"]}
    await notes(mia, noted("Mia rowed again"))
    done = await patrolled(mia, "few")
    assert [one.why for one in done.steps if one.step is Step.REFLECT] == ["the model wrote too few lines"]
    assert [(store, text) for store, text, _ in await entries(mia) if store != "note"] == written


@pytest.mark.spec("C11")
async def test_without_a_key_exactly_four_six_and_the_diary_are_skipped(
    mute: Person, server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "mnemolog.patrol")
    gone = await lives(mute, "Mia sank in the lake", "Private/Lake", importance=0.0501)
    await dead(mute, gone)
    await mute.engine.reads.search_memory(mute.viewer, "lake", moment=Moment())
    await lives(mute, "Mia rowed on the lake", "Private/Boats", importance=0.01)
    for number in range(11):
        await lives(mute, f"Mia played chess {number}", "Private/Chess")
    await notes(mute, noted("Mia won"))
    server.requests.clear()

    caplog.clear()
    done = await patrolled(mute, "last")

    said = [one.getMessage() for one in caplog.records if one.name == "mnemolog.patrol"]
    assert said == ["[graph] BYOK key not set: skipping ❹❻ diary/think_md (mechanical processing only)"]
    assert {one.step for one in done.steps if one.why == NO_MODEL} == {Step.CONSOLIDATE, Step.SPLIT, Step.REFLECT}
    assert {one.step for one in done.steps if one.changes} == {
        *(Step.NOTES, Step.COUNT, Step.FLAG, Step.REVIVE, Step.MERGE),
    }
    assert done.fault is None
    assert not any("chat" in one.path for one in server.requests)
