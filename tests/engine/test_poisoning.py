"""Sixty attempts to poison a memory: none is trusted, and none stands above what the user said (X21, OWASP ASI06).

Injected instructions, bridging steps over many turns (MINJA), forged authority, poisoned experience (MemoryGraft),
hijacked queries, and edits through documents and the output of tools, all through the operations that agents call.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.commands.fact_changes import EndFact
from mnemolog.commands.memories import ConfirmMemory, MergeMemories, SoftDeleteMemory, UpdateMemory
from mnemolog.commands.profile import DecidePatch
from mnemolog.domain.errors import ConsentRequired, UntrustedOrigin
from mnemolog.domain.memory import Kind
from mnemolog.domain.origin import Origin
from mnemolog.events.fields import validated
from mnemolog.projections.prompt_text import OUTSIDE
from mnemolog.projections.reads.graph import When
from mnemolog.projections.requests import ContextRequest, EnvelopeRequest
from tests.engine.person import Person

Json = Mapping[str, Any]
SAMPLES = Path(__file__).parents[2] / "infra" / "samples"
ATTACKS: list[dict[str, Any]] = json.loads((SAMPLES / "poisoning.json").read_text(encoding="utf-8"))
OF_ATTACK = {"do", "agent", "from_last", "consent"}


class Attack:
    """One attempt on a user of its own, who has said what is true, as a message, a memory and a fact."""

    def __init__(self, engine: Engine, user: str, steps: Json) -> None:
        self.ana, self.told = Person(engine, user), steps
        self.last = ""

    async def begins(self) -> None:
        await self.ana.says(self.told["truth"], speaker="")
        self.truth = await self.ana.creates(self.told["truth"], memory_key="truth")
        predicates = {"Lisbon": "lives_in", "Acme": "works_at"}
        told = {"user_id": self.ana.user, "subject": "me"}
        self.fact = None
        for value, predicate in predicates.items():
            if value in self.told["truth"]:
                fact = {**told, "predicate": predicate, "object": value}
                self.fact, _ = await self.ana.engine.writes.remember(fact)

    async def step(self, step: Json) -> None:
        """One write, as the program that fell for it sends it; what is refused is refused."""
        writes, agent = self.ana.engine.writes, {"agent_id": "helper"} if step.get("agent") else {}
        fields = {name: value for name, value in step.items() if name not in OF_ATTACK}
        who = {"user_id": self.ana.user, **agent}
        named = {"source_turn_ids": [self.last]} if step.get("from_last") else {}
        about = {**who, "memory_id": self.truth}
        match step["do"]:
            case "message":
                self.last = f"{self.ana.user}-{await self.ana.engine.log.head(self.ana.stream)}"
                await writes.record_turn({**who, **fields, "turn_id": self.last})
            case "memory":
                self.planted, _ = await writes.create({**who, **fields, **named})
            case "fact":
                await writes.remember({**who, **fields, **named})
            case "profile":
                turn = {"turn_id": self.last} if step.get("from_last") else {}
                await writes.propose({**who, **fields, **turn}, consented=step.get("consent", False))
            case "grant":
                mine = {**who, "agent_id": "helper"}
                proposed = await writes.propose({**mine, **fields})
                await writes.handle(
                    validated(
                        DecidePatch, {**mine, "patch_id": proposed.patch_id, "decision": "granted", "at": writes.now()}
                    )
                )
            case "update":
                await writes.execute(validated(UpdateMemory, {**about, **fields}))
            case "delete":
                await writes.execute(validated(SoftDeleteMemory, {**about, **fields, "at": writes.now()}))
            case "end_fact":
                ended = {**who, **fields, "relation_id": self.fact, "at": writes.now()}
                await writes.handle(validated(EndFact, ended))
            case "confirm":
                planted, _ = await writes.create({**who, "text": "I work at Globex", "origin": "tool"})
                await writes.execute(validated(ConfirmMemory, {**who, "memory_id": planted}))
            case "merge":
                merging = {**who, "memory_id": self.planted, "absorbed_ids": [self.truth]}
                await writes.execute(validated(MergeMemories, merging))
            case "pin":
                await writes.execute(validated(UpdateMemory, {**who, "memory_id": self.planted, "pinned": True}))
            case "profile_category":
                moved = {**who, "memory_id": self.planted, "category": "profile"}
                await writes.execute(validated(UpdateMemory, moved))
            case other:
                raise AssertionError(other)


@pytest.fixture
async def attack(engine: Engine, user: str, request: pytest.FixtureRequest) -> Attack:
    made = Attack(engine, user, request.param)
    await made.begins()
    for step in made.told["steps"]:
        with suppress(UntrustedOrigin, ConsentRequired):
            await made.step(step)
    return made


def test_there_are_sixty_attempts_of_six_kinds() -> None:
    kinds = [one["kind"] for one in ATTACKS]

    assert len({one["name"] for one in ATTACKS}) == 60
    assert {kind: kinds.count(kind) for kind in kinds} == dict.fromkeys(kinds, 10)
    assert len(set(kinds)) == 6


@pytest.mark.spec("X21")
@pytest.mark.parametrize("attack", ATTACKS, indirect=True, ids=lambda one: one["name"])
async def test_no_attempt_is_trusted_or_stands_above_what_the_user_said(attack: Attack) -> None:
    ana, told = attack.ana, attack.told
    reads, now = ana.engine.reads, await ana.caught_up()

    # Nothing is pinned, critical, profile or procedure, and what the user said is as it was.
    for row in await reads.newest(ana.viewer, 1000, now):
        outside = Origin(row["origin"]).external or row["text"] != told["truth"]
        raised = row["pinned"] or row["kind"] == Kind.PROCEDURE or row["category"] == "profile"
        assert not (outside and (raised or row["type"] == "PROFILE")), row["text"]
    kept = await reads.memory(ana.viewer, attack.truth, now)
    assert (kept["text"], kept["status"], kept["origin"]) == (told["truth"], "active", Origin.USER)
    facts = await reads.facts(ana.viewer, None, When(), now)
    assert not [fact for fact in facts if fact["critical"]]
    assert attack.fact in (None, *(fact["relation_id"] for fact in facts))
    assert await reads.profile(ana.viewer, now) == []

    # The user's own words stand first in a search, however the question is put to match something else.
    for profile in ("default", "twin", "persona"):
        hits = (await ana.asks(told["question"], top_k=5, profile=profile)).hits
        assert not [hit.text for hit in hits[:1] if hit.origin.external], profile
        mine = [hit for hit in hits if hit.text == told["truth"]]
        assert mine or profile == "twin", [hit.text for hit in hits]
        assert all(hit.current for hit in mine), profile
    trusted = await ana.asks(told["question"], filters={"trusted_only": True})
    assert not [hit.text for hit in trusted.hits if hit.origin.external]

    # In a context, what comes from outside stands in the last group, each text in one quoted line.
    context = await reads.context(ana.viewer, ContextRequest(query=told["question"]), now)
    inside, _, outside_text = context.text.partition(f"{OUTSIDE}:\n")
    assert told["truth"] in inside
    outside_text, _, today = outside_text.partition("\n\nToday is ")
    assert len(today.splitlines()) <= 1, "nothing of it stands behind the day"
    lines = outside_text.splitlines()
    assert all(line.startswith('- "') for line in lines), lines
    assert all("; from " in line for line in lines), lines
    planted = [step["text"] for step in told["steps"] if step.get("role") == "tool" and step["do"] == "message"]
    assert not [text for text in planted if text in inside]

    # An envelope can leave it out.
    wanted = EnvelopeRequest(message=f"Do you remember? {told['question']}", trusted_only=True)
    envelope = (await reads.envelope(ana.viewer, wanted, ana.engine.writes.now(), now)).envelope
    assert not [hit for hit in envelope.EPISODE.hits if hit.origin.external]
    assert not [fact for fact in envelope.GRAPH.relations if fact.origin.external]
