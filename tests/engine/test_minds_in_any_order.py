"""Minds and users in any order: what is pinned stays, consent is asked for, caps hold, and each run is undone."""

import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st

from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.jobs.job import JobStatus
from mnemolog.adapters.maintenance import (
    consolidating,
    curating,
    extracting,
    patrol,
    patrolling,
    reflecting,
    segmenting,
    summarizing,
)
from mnemolog.adapters.maintenance.minds import Run
from mnemolog.adapters.maintenance.running import run_mind
from mnemolog.adapters.operations.messages import delete_message
from mnemolog.commands.extraction_requests import ACTOR
from mnemolog.commands.minds import RunMind
from mnemolog.commands.rollback import Rollback
from mnemolog.commands.tending import TendScenes
from mnemolog.commands.writes.writes import Writes
from mnemolog.domain.bands import Bands
from mnemolog.domain.extraction.candidate import MOST_WRITES
from mnemolog.domain.extraction.policy import ExtractionPolicy
from mnemolog.domain.facts import State
from mnemolog.domain.memory import Kind, Status
from mnemolog.domain.minds import curation
from mnemolog.domain.minds.curation import FOLDS_A_DAY
from mnemolog.domain.minds.insight import MOST as MOST_INSIGHTS
from mnemolog.domain.minds.mind import Mind
from mnemolog.domain.policy import Policy
from mnemolog.domain.todo import TodoStatus
from mnemolog.events.envelope import Receipt, Recorded
from mnemolog.events.event import Event, sources_of
from mnemolog.events.fields import validated
from mnemolog.events.memory import MemoryCreated
from mnemolog.events.minds import MindRan
from mnemolog.events.profile import ProfileProposed
from mnemolog.events.relations import RelationAsserted, RelationObserved
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.teller import Teller
from tests.testkit.eventually import eventually
from tests.testkit.examples import examples
from tests.testkit.model_server import ModelServer
from tests.testkit.settings import settings_in

PAIRS_A_DAY = 4
# Few events of extraction a day reach the cap; with many, facts begin, end and are corrected.
FEW, MANY = 8, 100
SAID = (
    "I live in Lisbon.",
    "I moved to Porto last week.",
    "I'm allergic to nuts.",
    "I'm not allergic to nuts any more.",
    "Call me Mo. I live in Lisbon. I work at Acme. I like tea. I have a dog.",
    "My sister's name is Marta. She lives in Faro. I work at Acme. I like tea.",
    "The weather is nice.",
    "No, I meant I live in Faro.",
)
TEXTS = ("Mo likes tea", "Mo likes tea.", "Mo does not like tea", "Mo weighs 80 kg", "Mo weighs 81 kg", "Mo has a cat")
SCENES = ("Mia rowed on the lake", "Mia rowed over the lake", "Mia sent the invoice", "not a scene")
SENSITIVE = {"preferred_name", "pronouns", "city", "language"}


@pytest.fixture(scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory, server: ModelServer) -> AsyncIterator[Engine]:
    """An engine of their own, whose sweeps leave these users alone, with small caps and wide bands."""
    model = {"model_url": server.url, "model_api_key": "sk-1", "chat_model": "m-1", "model_retries": 0}
    with pytest.MonkeyPatch.context() as patch:
        for module in (extracting, segmenting, summarizing, reflecting, consolidating):
            patch.setattr(module, "enqueue_due", _nothing_is_due)
        patch.setattr(patrol.Sweep, "enqueue", _nothing_is_due)
        patch.setattr(consolidating, "PAIRS_A_DAY", PAIRS_A_DAY)
        patch.setattr(curating, "UNUSED", timedelta())
        patch.setattr(curation, "SETTLED", timedelta())
        own = settings_in(tmp_path_factory.mktemp("minds"), extraction="rules", minds="on", **model)
        async with open_engine(own) as opened:
            for name in ("run_mind", "handle"):
                patch.setattr(type(opened.writes), name, _meanwhile(getattr(type(opened.writes), name)))
            bands = Bands(auto=0.99, check_low=0.98, fallback_low=0.05)
            opened.policy = replace(Policy(), bands=bands)
            server.chat = answer
            yield opened


LIVES = dict[str, "Life"]()


def _meanwhile(record: Callable[..., Awaitable[Receipt]]) -> Callable[..., Awaitable[Receipt]]:
    """What a mind decided is recorded after the user may have changed what it had read."""

    async def later(writes: Writes, command: Any, *key: Any) -> Receipt:
        if isinstance(command, RunMind | TendScenes) and (life := LIVES.get(command.user_id)):
            await life.pins_meanwhile({*command.memory_ids, *_changed_by(command)})
        return await record(writes, command, *key)

    return later


def _differs(before: Mapping[str, Any], after: Mapping[str, Any]) -> Mapping[str, Any]:
    """What one has and the other has not."""
    return {
        name: ([one for one in was if one not in after[name]], [one for one in after[name] if one not in was])
        for name, was in before.items()
        if was != after[name]
    }


def _changed_by(command: Any) -> Iterator[UUID]:
    """The memories that the commands of a mind's changes name."""
    for change in getattr(command, "changes", ()):
        for one in change.commands:
            yield from (one.memory_id, *getattr(one, "absorbed_ids", ()))


async def _nothing_is_due(*_: object) -> int:
    return 0


async def idle(engine: Engine) -> None:
    """Until no job is left, such as what follows a hidden message."""

    async def no_job_left() -> bool:
        found = [one for status in (JobStatus.QUEUED, JobStatus.RUNNING) for one in await engine.jobs.list(status)]
        return all(one.run_at > now() for one in found)

    await eventually(no_job_left)


def answer(request: dict[str, Any]) -> str:
    """Agrees to every merge, folds everything, and finds something in everything."""
    system, shown = request["messages"][0]["content"], request["messages"][-1]["content"]
    scenes = [int(number) for number in re.findall(r"^(\d+)\. ", shown, re.MULTILINE)]
    if "sort the memories" in system:
        return json.dumps({"roots": ["Private"] * len(scenes)})
    if "tidy the long-term memory" in system:
        merges = [{"survivor": scenes[0], "absorbed": scenes[1:]}] if len(scenes) > 1 else []
        return json.dumps({"merges": merges, "make_dead": scenes})
    if "divide a cluster" in system:
        return json.dumps({"parts": [{"name": "Boats", "scenes": scenes[:2]}]})
    if "Write as yourself" in system:
        return json.dumps({"diary": ["I rowed.", "I won.", "It rained."], "think": ["Row", "Win", "Rest"]})
    if "You compare pairs" in system:
        return json.dumps({"pairs": [{"number": n, "same": True} for n in range(1, shown.count("\nolder: ") + 1)]})
    if "You fold several" in system:
        return json.dumps({"text": " and ".join(line.strip("- .") for line in shown.splitlines())})
    if "what it shows about the user" in system:
        shows = ("trust", "calm", "joy", "worry")
        return json.dumps(
            {"insights": [{"summary": f"User shows {one}.", "tags": [], "importance": 2} for one in shows]}
        )
    said = [line.partition("user: ")[2] for line in shown.splitlines() if "user: " in line]
    return json.dumps({"observation": f"The user said: {said[0]}" if said else "", "action": "", "hypothesis": ""})


@dataclass
class Life:
    """A user with a being, what the user pinned and granted, and the runs so far.

    `meanwhile`: the user pins one of the memories that a mind has read, just before it records what it decided.
    """

    mo: Teller
    pinned: set[UUID] = field(default_factory=set)
    granted: set[str] = field(default_factory=set)
    runs: list[str] = field(default_factory=list)
    writes_a_day: int = FEW
    meanwhile: int | None = None

    @property
    def _who(self) -> dict[str, Any]:
        return {"user_id": self.mo.user, "agent_id": self.mo.agent, "thread_id": self.mo.thread}

    async def takes(self, step: str, choice: int) -> str | None:
        """The id of the run, if it is one of a mind."""
        if step in MINDS:
            await self.mo.engine.settled(60)
            run = await MINDS[step](self)
            self.runs.append(run)
            return run
        await getattr(self, step)(choice)
        await idle(self.mo.engine)
        return None

    async def pins_meanwhile(self, ids: Collection[UUID]) -> None:
        """Nothing of what is hidden."""
        visible = [row["memory_id"] for row in await self._visible() if row["memory_id"] in ids]
        if visible and self.meanwhile is not None:
            id_ = visible[self.meanwhile % len(visible)]
            self.meanwhile = None
            await self.mo.updates(id_, pinned=True)
            self.pinned.add(id_)

    async def says(self, choice: int) -> None:
        await self.mo.says(SAID[choice % len(SAID)], speaker="", occurred_at=now())

    async def hides_a_message(self, choice: int) -> None:
        rows = await self.mo.engine.reads.messages(self.mo.viewer, None, 100, await self.mo.caught_up())
        if rows:
            about = {"user_id": self.mo.user, "agent_id": self.mo.agent}
            request = delete_message.request(**about, message_id=rows[choice % len(rows)]["message_id"])
            await delete_message.run(self.mo.engine, request)  # Its facts follow it, in a job.

    async def creates_a_memory(self, choice: int) -> None:
        fields = {"pinned": choice % 4 == 0, "importance": (0.0, 0.5)[choice % 2], "entity_refs": ["person:mo"]}
        if choice % 3 == 0:
            fields |= {"confidence": 0.3}
        id_ = await self.mo.creates(TEXTS[choice % len(TEXTS)], **fields)
        self.pinned |= {id_} if fields["pinned"] else set()

    async def pins(self, choice: int) -> None:
        rows = await self._visible()
        if rows:
            id_ = rows[choice % len(rows)]["memory_id"]
            await self.mo.updates(id_, pinned=True)
            self.pinned.add(id_)

    async def deletes(self, choice: int) -> None:
        rows = await self._visible()
        if rows:
            id_ = rows[choice % len(rows)]["memory_id"]
            await self.mo.deletes(id_)
            self.pinned.discard(id_)

    async def states_a_fact(self, choice: int) -> None:
        await self.mo.tells("me", "lives_in", ("Lisbon", "Porto", "Faro")[choice % 3], literal=bool(choice % 2))

    async def notes_a_scene(self, choice: int) -> None:
        action = SCENES[choice % len(SCENES)]
        scene = json.dumps({"action": action, "actors": ["Mia"], "when": ["2026-01-03"], "importance": choice % 2 / 20})
        body = {"type": "scene", "text": scene if "Mia" in action else action}
        await self.mo.engine.writes.put_entry({**self._who, "store": "note", "body": body})

    async def extraction(self) -> str:
        payload = {"agent_id": self.mo.agent, "thread_id": self.mo.thread}
        key = str(uuid4())  # As the sweep does: only such jobs count against the day.
        job = await self.mo.engine.jobs.enqueue(extracting.THREAD, payload, stream=self.mo.stream, unique_key=key)
        await idle(self.mo.engine)
        assert (await self.mo.engine.jobs.get(job.job_id)).status is JobStatus.SUCCEEDED
        return f"extraction-{job.job_id}"

    async def of(self, mind: Mind) -> str:
        run_id = str(uuid4())
        await run_mind(Run(self.mo.engine, mind, self.mo.stream, self.mo.agent, self.mo.thread, run_id))
        return run_id

    async def patrol(self) -> str:
        run_id = str(uuid4())
        if await self._has_scenes():
            await patrolling.patrol(self.mo.engine, self.mo.viewer, run_id)
        return run_id

    async def _has_scenes(self) -> bool:
        events = await self.mo.engine.log.read(self.mo.stream)
        return any(getattr(one.payload, "store", None) == "note" for one in events)

    async def undoes(self, run_id: str, *, skip_conflicts: bool = False) -> None:
        changed = await self.mo.engine.writes.preview_rollback(self._rollback(run_id, skip_conflicts=skip_conflicts))
        if changed.undone:
            await self.mo.engine.writes.rollback(self._rollback(run_id, skip_conflicts=skip_conflicts))

    def _rollback(self, run_id: str, **fields: Any) -> Rollback:
        return validated(Rollback, {**self._who, "of_run": run_id, "at": now(), **fields})

    async def _visible(self) -> list[Mapping[str, Any]]:
        rows = await self.mo.engine.reads.newest(self.mo.viewer, 200, await self.mo.caught_up())
        return sorted(rows, key=lambda row: str(row["memory_id"]))

    async def made(self) -> Collection[UUID]:
        """All memories and facts so far, whatever became of them."""
        log = [one.payload for one in await self.mo.engine.log.read(self.mo.stream)]
        facts = {one.relation_id for one in log if isinstance(one, RelationAsserted)}
        return facts | {one.memory_id for one in log if isinstance(one, MemoryCreated)}

    async def shown(self, among: Collection[UUID]) -> dict[str, Any]:
        """What readers show, without when and by which run it came to be; of what is deleted or retired, only these."""
        moment, viewer, reads = await self.mo.caught_up(), self.mo.viewer, self.mo.engine.reads
        _, scenes = await reads.board(viewer, moment=moment)
        log = await self.mo.engine.log.read(self.mo.stream)
        made = [one.payload.memory_id for one in log if isinstance(one.payload, MemoryCreated)]
        memories = [await reads.memory(viewer, id_, moment) for id_ in made]
        facts = await self.mo.facts(valid_at="any", moment=moment)
        return {
            "memories": [
                {name: row[name] for name in MEMORY}
                for row in memories
                if row["status"] != Status.SOFT_DELETED or row["memory_id"] in among
            ],
            "facts": sorted(
                json.dumps({name: row[name] for name in FACT}, default=str)
                for row in facts
                if row["state"] != State.RETIRED or row["relation_id"] in among
            ),
            "entities": sorted((row["name"], sorted(row["aliases"])) for row in await self.mo.entities(moment=moment)),
            "clusters": {id_: (one.cluster, one.node, one.merged, one.fresh) for id_, one in scenes.items()},
            "stores": sorted(
                (row["store"], json.dumps(row["body"], sort_keys=True), row["read"])
                for row in await reads.being_entries(viewer, moment=moment, limit=None)
            ),
            "profile": sorted((row["field"], row["value"]) for row in await reads.profile(viewer, moment)),
            "todos": sorted(
                (row["text"], row["kind"], row["status"], str(row["due"]))
                for row in await reads.todos(viewer, moment=moment)
                if row["status"] != TodoStatus.DROPPED
            ),
        }

    async def keeps_the_invariants(self) -> None:
        events = await self.mo.engine.log.read(self.mo.stream)
        assert self.pinned <= {row["memory_id"] for row in await self._visible()}, "a pinned memory is gone"
        fields = {row["field"] for row in await self.mo.engine.reads.profile(self.mo.viewer, await self.mo.caught_up())}
        assert not fields & SENSITIVE - self.granted, "a sensitive field was set without consent"
        self._keeps_the_caps_of_extraction(events)
        ran = [one.payload for one in events if isinstance(one.payload, MindRan)]
        assert sum(len(one.pairs) for one in ran if one.mind is Mind.CONSOLIDATION) <= PAIRS_A_DAY
        assert sum(one.mind is Mind.INSIGHTS for one in ran) <= 1
        assert sum(one.mind is Mind.CURATOR and bool(one.generation.prompt) for one in ran) <= FOLDS_A_DAY
        made = [one.payload.kind for one in events if isinstance(one.payload, MemoryCreated)]
        assert made.count(Kind.INSIGHT) <= MOST_INSIGHTS

    def _keeps_the_caps_of_extraction(self, events: Sequence[Recorded]) -> None:
        """No message is read once a day's events are used up, and at most three things are written of each."""
        of_turns = defaultdict[str, list[Event]](list)
        for one in events:
            if one.meta.actor == ACTOR and (sources := sources_of(one.payload)):
                of_turns[sources[-1]].append(one.payload)  # A proposal names the earlier messages too.
        for written in of_turns.values():
            facts = [one for one in written if isinstance(one, RelationAsserted | RelationObserved | ProfileProposed)]
            assert len(facts) <= MOST_WRITES, facts
        counts = [len(one) for one in of_turns.values()]
        assert sum(counts) - max(counts, default=0) < self.writes_a_day


MEMORY = (
    *("memory_id", "text", "kind", "status", "pinned", "importance", "confidence", "category", "contradicted_by"),
    *("merged_into", "purge_at", "deleted_cause", "origin"),
)
FACT = (
    *("relation_id", "subject", "predicate", "object", "value", "valid_from", "valid_to", "state"),
    *("confidence", "origin", "metadata"),
)
MINDS: Mapping[str, Callable[[Life], Awaitable[str]]] = {
    "extraction": Life.extraction,
    "patrol": Life.patrol,
    "reflection": lambda life: life.of(Mind.REFLECTION),
    "insights": lambda life: life.of(Mind.INSIGHTS),
    "consolidation": lambda life: life.of(Mind.CONSOLIDATION),
    "curator": lambda life: life.of(Mind.CURATOR),
}
WRITES = ("says", "hides_a_message", "creates_a_memory", "pins", "deletes", "states_a_fact", "notes_a_scene")
# What becomes of a run: it stays, it is undone, or the user pins what it has read before it is recorded.
STAYS, UNDONE, MEANWHILE = range(3)
steps = st.tuples(st.sampled_from([*WRITES, *MINDS]), st.integers(0, 11), st.sampled_from([STAYS, UNDONE, MEANWHILE]))
# Something to read for each mind: a message, memories about somebody, and scenes.
BEGINNING = (
    ("says", 5),
    ("creates_a_memory", 1),
    ("creates_a_memory", 3),
    ("creates_a_memory", 5),
    ("notes_a_scene", 0),
)


# A life for each invariant, which a mind that ignores it breaks; what is drawn beside them rarely gets so far.
PINNED_AMONG_OTHERS = [("pins", 0, STAYS), ("curator", 0, STAYS), ("curator", 0, UNDONE)]
PINNED_MEANWHILE = [
    ("creates_a_memory", 7, STAYS),
    ("consolidation", 0, MEANWHILE),
    ("creates_a_memory", 6, STAYS),
    ("consolidation", 1, MEANWHILE),
    ("creates_a_memory", 2, STAYS),
    ("curator", 0, MEANWHILE),
    ("curator", 1, MEANWHILE),
    ("curator", 0, UNDONE),
]
# Facts that begin, are confirmed, end and are corrected.
TOLD_AND_KEPT = [
    (step, choice, fate)
    for choice, fate in (
        (0, STAYS),
        (0, UNDONE),
        (0, STAYS),
        (1, UNDONE),
        (2, STAYS),
        (3, UNDONE),
        (0, STAYS),
        (7, UNDONE),
    )
    for step, fate in (("says", STAYS), ("extraction", fate))
]
# What was hidden with its message is told again: undone, it is hidden again.
HIDDEN_AND_TOLD_AGAIN = [
    *(("says", 0, STAYS), ("extraction", 0, STAYS)),
    *(("hides_a_message", choice, STAYS) for choice in (0, 0)),
    *(("says", 0, STAYS), ("extraction", 0, UNDONE)),
]
SAYS_MUCH = [(step, choice, STAYS) for choice in (4, 0, 2, 1) for step in ("says", "extraction")]
SAYS_IT_TWICE = [
    ("hides_a_message", 0, STAYS),
    ("says", 4, STAYS),
    ("says", 4, STAYS),
    ("extraction", 0, STAYS),
]
MUCH_ALIKE = [
    *(("creates_a_memory", choice, STAYS) for choice in (6, 7, 9, 10, 11)),
    ("consolidation", 0, UNDONE),
    ("consolidation", 0, STAYS),
    ("creates_a_memory", 3, STAYS),
    ("consolidation", 0, STAYS),
]
SCENES_ALIKE = [
    ("curator", 0, UNDONE),
    *(("notes_a_scene", choice, STAYS) for choice in (1, 2, 3)),
    ("patrol", 0, UNDONE),
    ("patrol", 0, STAYS),
    *((step, choice, fate) for choice in (0, 1) for step, fate in (("notes_a_scene", STAYS), ("patrol", MEANWHILE))),
]


@pytest.mark.spec_part("A17", "B03", "B04", "B10", "B13", "C07", "D12", "X15")
@example(HIDDEN_AND_TOLD_AGAIN, MANY)
@example(PINNED_AMONG_OTHERS, FEW)
@example(PINNED_MEANWHILE, FEW)
@example(TOLD_AND_KEPT, MANY)
@example(SAYS_MUCH, FEW)
@example(SAYS_IT_TWICE, FEW)
@example(MUCH_ALIKE, FEW)
@example(SCENES_ALIKE, FEW)
@settings(max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(steps, min_size=4, max_size=9), st.sampled_from([FEW, MANY]))
async def test_in_any_order_the_invariants_hold_and_each_run_is_undone(
    engine: Engine, drawn: list[tuple[str, int, int]], a_day: int
) -> None:
    life = Life(Teller(engine, f"mo-{uuid4()}", agent="mia"), writes_a_day=a_day)
    engine.policy = replace(engine.policy, extraction=ExtractionPolicy(writes_per_day=a_day))
    LIVES[life.mo.user] = life
    for step, choice in BEGINNING:
        await life.takes(step, choice)
    for step, choice, fate in drawn:
        made = await life.made()
        before = await life.shown(made) if step in MINDS and fate == UNDONE else None
        life.meanwhile = choice if fate == MEANWHILE else None
        run = await life.takes(step, choice)
        if run and before is not None:
            note(f"{step} is undone")
            await life.undoes(run)
            after = await life.shown(made)
            assert after == before, _differs(before, after)
        await life.keeps_the_invariants()
    for run in reversed(life.runs):
        await life.undoes(run, skip_conflicts=True)
    await life.keeps_the_invariants()
    await assert_live_equals_replayed(engine, life.mo.stream)
