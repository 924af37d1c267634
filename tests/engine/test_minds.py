"""Insights and consolidation on a real engine: caps, fingerprints, undo, and a model that fails."""

import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.jobs import worker
from mnemolog.adapters.maintenance import consolidating, curating, extracting, reflecting, segmenting, summarizing
from mnemolog.adapters.maintenance.minds import Ran, Run
from mnemolog.adapters.maintenance.running import run_mind
from mnemolog.commands.recalls import RecordRecalls
from mnemolog.commands.rollback import Rollback
from mnemolog.domain.bands import Bands
from mnemolog.domain.errors import ModelBudgetExceeded, ModelUnavailable
from mnemolog.domain.minds import curation
from mnemolog.domain.minds.mind import Mind
from mnemolog.domain.policy import Policy
from mnemolog.domain.ranking import PROFILES
from mnemolog.events.fields import validated
from mnemolog.events.memory import Recall
from mnemolog.events.minds import MindRan
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.testkit.model_server import ModelServer, error
from tests.testkit.settings import settings_in

SHOWN = {"summary": "User shows increased trust when admitting mistakes.", "tags": ["trust"], "importance": 2}


@pytest.fixture(scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory, server: ModelServer) -> AsyncIterator[Engine]:
    """An engine of their own, whose sweeps leave these users alone."""
    model = {"model_url": server.url, "model_api_key": "sk-1", "chat_model": "m-1", "model_retries": 0}
    with pytest.MonkeyPatch.context() as patch:
        for module in (extracting, segmenting, summarizing, reflecting, consolidating):
            patch.setattr(module, "EVERY_SECONDS", 24 * 3600.0)
        patch.setattr(worker, "LONGEST_DELAY_SECONDS", 0.05)
        own = settings_in(tmp_path_factory.mktemp("minds"), extraction="off", minds="on", **model)
        async with open_engine(own) as opened:
            yield opened


@pytest.fixture
def lena(engine: Engine, server: ModelServer, user: str) -> Person:
    server.replies.clear()
    server.requests.clear()
    server.chat = verdicts(lambda number: True)
    return Person(engine, user)


def verdicts(same: Callable[[int], bool]) -> Callable[[dict[str, Any]], str]:
    """A model that answers for each pair that it is asked about."""

    def chat(request: dict[str, Any]) -> str:
        asked = request["messages"][-1]["content"].count("\nolder: ")
        return json.dumps({"pairs": [{"number": n, "same": same(n)} for n in range(1, asked + 1)]})

    return chat


async def runs(lena: Person, mind: Mind, *, dry_run: bool = False) -> Ran:
    await lena.engine.settled(60)
    head = await lena.engine.log.head(lena.stream)
    about = (lena.stream, lena.agent, lena.thread, f"{mind}-{lena.user}-{head}")
    return await run_mind(Run(lena.engine, mind, *about, dry_run=dry_run))


async def texts(lena: Person) -> list[str]:
    return sorted(row["text"] for row in await lena.engine.reads.newest(lena.viewer, 200, await lena.caught_up()))


async def undoes(lena: Person, ran: Ran) -> None:
    await lena.engine.writes.rollback(validated(Rollback, {"user_id": lena.user, "of_run": ran.run_id, "at": now()}))


async def ran_events(lena: Person) -> list[MindRan]:
    return [one.payload for one in await lena.engine.log.read(lena.stream) if isinstance(one.payload, MindRan)]


@pytest.mark.spec_part("B04")
async def test_what_says_the_same_is_merged_once_and_undone_as_one_batch(lena: Person, server: ModelServer) -> None:
    for text in ("Lena likes tea", "Lena likes tea.", "Lena lives in Graz", "lena lives in graz", "Lena plays golf"):
        await lena.creates(text)
    before, head = await texts(lena), await lena.engine.log.head(lena.stream)

    dry = await runs(lena, Mind.CONSOLIDATION, dry_run=True)
    assert (len(dry.changes), await lena.engine.log.head(lena.stream)) == (2, head)
    ran = await runs(lena, Mind.CONSOLIDATION)
    assert ran.changes == dry.changes
    assert await texts(lena) == ["Lena likes tea.", "Lena plays golf", "lena lives in graz"]
    await assert_live_equals_replayed(lena.engine, lena.stream)

    await undoes(lena, ran)
    assert await texts(lena) == before
    again = await runs(lena, Mind.CONSOLIDATION)
    assert (again.changes, again.figures["pairs"]) == ([], 0)
    assert await texts(lena) == before


@pytest.mark.spec_part("B04")
async def test_a_pinned_memory_is_not_absorbed(lena: Person) -> None:
    pinned = await lena.creates("Lena is allergic to nuts", pinned=True)
    await lena.creates("Lena is allergic to nuts")
    await runs(lena, Mind.CONSOLIDATION)
    [left] = await lena.engine.reads.newest(lena.viewer, 10, await lena.caught_up())
    assert left["memory_id"] == pinned


@pytest.fixture
def wide(lena: Person, monkeypatch: pytest.MonkeyPatch) -> Person:
    """Bands under which most of what shares a word is left to a model."""
    policy = Policy(bands=Bands(auto=0.99, check_low=0.98, fallback_low=0.05))
    monkeypatch.setattr(lena.engine, "policy", policy)
    return lena


NURSE = ("Lena works as a nurse in the clinic", "Lena has a job as a nurse", "Lena is employed as a nurse")


@pytest.mark.spec_part("B04")
async def test_a_model_is_asked_about_each_pair_once_in_fourteen_days(wide: Person, server: ModelServer) -> None:
    for text in NURSE:
        await wide.creates(text)
    server.chat = verdicts(lambda number: False)
    ran = await runs(wide, Mind.CONSOLIDATION)
    assert (ran.figures["for_a_model"], ran.changes, server.asked) == (3, [], 1)
    [event] = await ran_events(wide)
    assert (len(event.pairs), event.generation.prompt) == (3, "consolidation")
    assert event.pairs[0].score == round(event.pairs[0].score, 2)
    await runs(wide, Mind.CONSOLIDATION)
    assert server.asked == 1


@pytest.mark.spec_part("B04")
async def test_a_model_merges_wording_and_marks_a_newer_number(wide: Person) -> None:
    await wide.creates(NURSE[0])
    await wide.creates(NURSE[1])
    first = await wide.creates("Lena weighs 80 kg")
    second = await wide.creates("Lena weighs 81 kg")
    ran = await runs(wide, Mind.CONSOLIDATION)
    assert await texts(wide) == ["Lena has a job as a nurse", "Lena weighs 80 kg", "Lena weighs 81 kg"]
    shown = await wide.engine.reads.memory(wide.viewer, first, await wide.caught_up())
    assert shown["contradicted_by"] == second
    assert {one["type"] for one in ran.changes} <= {"MemoriesMerged", "MemoriesLinked"}


@pytest.mark.spec_part("B04")
async def test_a_model_that_fails_loses_no_pair(wide: Person, server: ModelServer) -> None:
    for text in NURSE:
        await wide.creates(text)
    server.replies.append(error(500))
    with pytest.raises(ModelUnavailable):
        await runs(wide, Mind.CONSOLIDATION)
    assert await ran_events(wide) == []
    assert len((await runs(wide, Mind.CONSOLIDATION)).changes) == 2


@pytest.mark.spec_part("B04")
async def test_no_more_pairs_a_day_than_the_cap(
    wide: Person, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidating, "PAIRS_A_DAY", 2)
    for text in NURSE:
        await wide.creates(text)
    server.chat = verdicts(lambda number: False)
    assert (await runs(wide, Mind.CONSOLIDATION)).figures["pairs"] == 2
    assert (await runs(wide, Mind.CONSOLIDATION)).figures["pairs"] == 0
    assert (await runs(replace(wide, agent="coach"), Mind.CONSOLIDATION)).figures["pairs"] == 0


@pytest.mark.spec_part("B03")
async def test_insights_are_sought_once_a_day_and_weigh_little(lena: Person, server: ModelServer) -> None:
    server.chat = lambda request: json.dumps({"insights": [SHOWN]})
    await lena.says("I was wrong about the budget, sorry", speaker="")
    await lena.creates("Lena admitted a mistake", category="activity")
    ran = await runs(lena, Mind.INSIGHTS)
    again = await runs(lena, Mind.INSIGHTS)

    shown = next(
        row
        for row in await lena.engine.reads.newest(lena.viewer, 9, await lena.caught_up())
        if row["kind"] == "insight"
    )
    assert (shown["text"], shown["category"]) == (SHOWN["summary"], "relationship_dynamic")
    assert (shown["importance_level5"], shown["pinned"], shown["topics"]) == (2, False, ["trust"])
    request = server.requests[-1].json
    assert (request["temperature"], request.get("max_tokens") or request["max_completion_tokens"]) == (0.0, 220)
    assert (len(ran.changes), again.changes, server.asked) == (1, [], 1)
    assert "less than 24 hours ago" in again.skipped[0]
    await assert_live_equals_replayed(lena.engine, lena.stream)

    await undoes(lena, ran)
    assert await texts(lena) == ["Lena admitted a mistake"]


@pytest.mark.spec_part("B03")
async def test_nothing_is_created_and_nothing_asked_again_when_nothing_shows(lena: Person, server: ModelServer) -> None:
    server.chat = lambda request: json.dumps({"insights": []})
    assert (await runs(lena, Mind.INSIGHTS)).skipped == ["there is nothing to read"]
    await lena.says("What is the weather like?", speaker="")
    assert (await runs(lena, Mind.INSIGHTS)).changes == []
    assert (await runs(lena, Mind.INSIGHTS)).skipped[0].startswith("insights were sought")
    assert server.asked == 1


@pytest.mark.spec_part("D12")
async def test_several_memories_are_folded_into_one_and_back(
    lena: Person, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curation, "SETTLED", timedelta())
    said = ("John runs the backend at Acme", "John lives in Linz", "John does not eat meat")
    for text in said:
        await lena.creates(text, entity_refs=["person:john"])
    pinned = await lena.creates("John is the boss", entity_refs=["person:john"], pinned=True)
    fold = "John runs the backend at Acme, lives in Linz and does not eat meat."
    server.chat = lambda request: json.dumps({"text": fold})
    before = await texts(lena)

    dry = await runs(lena, Mind.CURATOR, dry_run=True)
    ran = await runs(lena, Mind.CURATOR)
    assert [one["type"] for one in dry.changes] == [one["type"] for one in ran.changes]
    shown = await lena.engine.reads.newest(lena.viewer, 9, await lena.caught_up())
    assert {row["text"] for row in shown} == {fold, "John is the boss"}
    made = next(row for row in shown if row["memory_id"] != pinned)
    assert (made["source"], made["entity_refs"]) == ("curated_fold", ["person:john"])
    await assert_live_equals_replayed(lena.engine, lena.stream)

    await undoes(lena, ran)
    assert await texts(lena) == before
    assert (await runs(lena, Mind.CURATOR)).changes == []


@pytest.mark.spec_part("D12")
async def test_a_fold_that_loses_something_changes_nothing(
    lena: Person, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curation, "SETTLED", timedelta())
    for text in ("John runs the backend at Acme", "John lives in Linz", "John does not eat meat"):
        await lena.creates(text, entity_refs=["person:john"])
    server.chat = lambda request: json.dumps({"text": "John runs the backend at Acme."})
    server.replies.append(error(500))
    with pytest.raises(ModelUnavailable):
        await runs(lena, Mind.CURATOR)
    assert (await runs(lena, Mind.CURATOR)).faults == ["unstated"]
    asked = server.asked
    assert (await runs(lena, Mind.CURATOR)).changes == []
    assert server.asked == asked


@pytest.mark.spec_part("D12")
async def test_a_trivial_memory_that_nobody_uses_is_archived(lena: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    trivial = await lena.creates("Lena sneezed", importance=0.0)
    await lena.creates("Lena has a cat", importance=1, importance_scale="level3")
    await lena.creates("Lena hummed", importance=0.0, pinned=True)
    assert (await runs(lena, Mind.CURATOR)).changes == []
    monkeypatch.setattr(curating, "UNUSED", timedelta())
    ran = await runs(lena, Mind.CURATOR)
    assert [one["memory_id"] for one in ran.changes] == [trivial]
    assert await texts(lena) == ["Lena has a cat", "Lena hummed"]
    await undoes(lena, ran)
    assert (await runs(lena, Mind.CURATOR)).changes == []


KINDS_OF_CLINIC = (
    *("small", "large", "old", "new", "white", "grey", "quiet", "loud", "rural", "urban"),
    *("private", "public", "modern", "wooden", "famous", "busy", "narrow", "bright", "dark", "round"),
)


@pytest.mark.spec("B04")
async def test_consolidation_asks_of_each_pair_once_within_its_caps_and_leaves_fewer_doubles(
    wide: Person, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in KINDS_OF_CLINIC:
        await wide.creates(f"Lena works as a nurse in the {kind} clinic")
    await wide.creates("Lena likes tea")
    await wide.creates("Lena likes tea.")
    server.chat = verdicts(lambda number: False)

    first = await runs(wide, Mind.CONSOLIDATION)
    again = await runs(wide, Mind.CONSOLIDATION)

    sizes = [one.json["messages"][-1]["content"].count("\nolder: ") for one in server.requests]
    assert (first.figures["pairs"], first.figures["merged"], again.figures["pairs"]) == (50, 1, 0)
    assert sum(sizes) == 49
    assert all(5 <= size <= 10 for size in sizes)
    left = [f"Lena works as a nurse in the {kind} clinic" for kind in KINDS_OF_CLINIC]
    assert await texts(wide) == sorted([*left, "Lena likes tea."])

    async def fingerprints() -> list[tuple[UUID, UUID, float]]:
        return [(one.id_a, one.id_b, one.score) for event in await ran_events(wide) for one in event.pairs]

    monkeypatch.setattr(consolidating, "start_of_day", lambda at: at)  # Another day.
    next_day = await runs(wide, Mind.CONSOLIDATION)
    asked = await fingerprints()
    assert 0 < next_day.figures["pairs"] <= 50
    assert len(asked) == len({*asked})
    monkeypatch.setattr(consolidating, "FINGERPRINT_KEPT", timedelta())
    assert (await runs(wide, Mind.CONSOLIDATION)).figures["pairs"] == 50

    monkeypatch.setattr(consolidating, "CHANGED_WITHIN", timedelta())
    assert (await runs(wide, Mind.CONSOLIDATION)).figures["pairs"] == 0
    for number in range(2):
        await wide.creates(f"Lena likes green tea {'very ' * number}much", importance=3, importance_scale="level5")
    important = (await runs(wide, Mind.CONSOLIDATION)).figures["pairs"]
    [used] = [row for row in await wide.engine.reads.newest(wide.viewer, 100) if row["text"] == left[0]]
    often = {"memory_ids": (used["memory_id"],), "weights": (1,), "by": Recall.RECALL}
    await wide.engine.writes.handle(validated(RecordRecalls, {**wide._who, **often}))
    used_most = (await runs(wide, Mind.CONSOLIDATION)).figures["pairs"]
    assert 0 < important < used_most, "what is important, and what is used most, is compared however old it is"


@pytest.mark.spec_part("B04")
async def test_the_tokens_of_one_tenant_are_not_those_of_another(
    wide: Person, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    poor, other = (Person(wide.engine, wide.user, tenant=f"{wide.user}-{name}") for name in ("poor", "other"))
    for one in (poor, other):
        for text in NURSE:
            await one.creates(text)
    server.chat = verdicts(lambda number: False)
    await runs(poor, Mind.CONSOLIDATION)
    [used] = await wide.engine.models.budget.of_today(poor.tenant)
    assert used.input_tokens + used.output_tokens == 120
    monkeypatch.setattr(wide.engine.models.budget, "_per_day", 700)  # Enough for one request, which reserves 622.
    monkeypatch.setattr(consolidating, "FINGERPRINT_KEPT", timedelta())

    with pytest.raises(ModelBudgetExceeded):
        await runs(poor, Mind.CONSOLIDATION)
    assert (await runs(other, Mind.CONSOLIDATION)).figures["for_a_model"] == 3


@pytest.mark.spec("B03")
async def test_insights_read_a_little_say_a_little_and_weigh_little_in_every_profile(
    lena: Person, server: ModelServer
) -> None:
    for number in range(7):
        await lena.creates(f"Lena walked to the lake {number}", category="activity")
    for number in range(5):
        await lena.creates(f"Lena has cat {number}")
    for number in range(6):
        await lena.says(f"{number} " + "I was wrong about the budget, sorry. " * 8, speaker="")
    assert server.asked == 0, "nothing is asked while messages are written"
    long = "User shows calm " + "and patience " * 30 + "in talks."
    answer: list[dict[str, Any]] = [
        {"summary": SHOWN["summary"], "tags": ["trust", "style"]},
        {"summary": long, "tags": [], "importance": 5},
        {"summary": "I think that User trusts me.", "tags": [], "importance": 2},
        {"summary": "User is glad.", "tags": [], "importance": 2},
    ]
    server.chat = lambda request: json.dumps({"insights": answer})

    ran = await runs(lena, Mind.INSIGHTS)

    shown = server.requests[-1].json["messages"][-1]["content"]
    assert (shown.count("walked to the lake"), shown.count("has cat")) == (5, 3)
    assert 0 < sum(map(len, re.findall(r"- user: (.*)", shown))) <= 1000
    rows = [
        row
        for row in await lena.engine.reads.newest(lena.viewer, 50, await lena.caught_up())
        if row["kind"] == "insight"
    ]
    assert [row["text"] for row in rows] == [SHOWN["summary"]]
    assert all(len(row["text"]) <= 280 for row in rows)
    about = [(row["category"], row["importance_level5"], row["pinned"], row["topics"]) for row in rows]
    assert about == [("relationship_dynamic", 2, False, ["trust", "style"])]
    assert len(ran.faults) == 3
    await lena.engine.settled(60)
    assert (await runs(lena, Mind.INSIGHTS)).changes == []
    await lena.creates(str(SHOWN["summary"]))
    for profile in PROFILES:
        hits = (
            await lena.asks("increased trust when admitting mistakes", profile=profile, kinds=["insight", "fact"])
        ).hits
        scores = {hit.kind: hit.score for hit in hits if hit.text == SHOWN["summary"]}
        assert scores["insight"] <= 0.55 * scores["fact"], profile


@pytest.mark.spec("D12")
async def test_the_curator_folds_and_archives_and_touches_nothing_pinned(
    lena: Person, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curation, "SETTLED", timedelta())
    monkeypatch.setattr(curating, "UNUSED", timedelta())
    said = ("John runs the backend at Acme", "John lives in Linz", "John does not eat meat")
    ids = [await lena.creates(text, entity_refs=["person:john"]) for text in said]
    pinned = [
        await lena.creates("John is the boss", entity_refs=["person:john"], pinned=True),
        await lena.creates("Lena hummed", importance=0.0, pinned=True),
    ]
    trivial = await lena.creates("Lena sneezed", importance=0.0)
    fold = "John runs the backend at Acme, lives in Linz and does not eat meat."
    server.chat = lambda request: json.dumps({"text": fold})

    ran = await runs(lena, Mind.CURATOR)

    moment = await lena.caught_up()
    rows = {row["memory_id"]: row for row in await lena.engine.reads.newest(lena.viewer, 20, moment)}
    [made] = [row for row in rows.values() if row["text"] == fold]
    assert set(rows) == {*pinned, made["memory_id"]}
    assert (made["source"], made["entity_refs"], made["origin"]) == ("curated_fold", ["person:john"], "agent")
    shown = {id_: await lena.engine.reads.memory(lena.viewer, id_, moment) for id_ in (*ids, trivial)}
    assert {shown[id_]["merged_into"] for id_ in ids} == {made["memory_id"]}
    assert (shown[trivial]["status"], shown[trivial]["deleted_cause"]) == ("dormant", "unused")
    assert [(rows[id_]["pinned"], rows[id_]["importance_level3"]) for id_ in pinned] == [(True, 3)] * 2
    assert "Lena sneezed" not in await lena.finds("Lena sneezed")
    await undoes(lena, ran)
    assert await texts(lena) == sorted([*said, "John is the boss", "Lena hummed", "Lena sneezed"])
