"""The profile end to end: consent first, todos of one agent, seeds once; and what a rebuild and a proof say."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.adapters.maintenance.expiring import expire
from mnemolog.commands.erasure import EraseKnown, EraseThread, EraseUser
from mnemolog.commands.profile import DecidePatch
from mnemolog.commands.rollback import Rollback
from mnemolog.commands.seed import SeedUser
from mnemolog.commands.todos import ChangeTodo
from mnemolog.commands.writes.profile import Proposed
from mnemolog.commands.writes.seeding import Seeded
from mnemolog.domain import todo
from mnemolog.domain.consent import QUEUED_FOR, PatchStatus
from mnemolog.domain.errors import (
    CategoryNotAllowed,
    ConsentRequired,
    Erased,
    IdempotencyConflict,
    InvalidInput,
    NotFound,
    TransitionRefused,
    UndoConflict,
)
from mnemolog.events.envelope import Receipt, batch_tag
from mnemolog.events.fields import validated
from mnemolog.projections.profile import reader
from mnemolog.projections.profile.tables import VERSION
from mnemolog.projections.reads.moment import Moment
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person

pytestmark = pytest.mark.spec("B10")


@pytest.fixture
def ana(engine: Engine, user: str) -> Person:
    """The user himself, through an agent that speaks for nobody else."""
    return Person(engine, user)


def coach(ana: Person) -> Person:
    return Person(ana.engine, ana.user, ana.tenant, "coach")


def who(person: Person) -> dict[str, Any]:
    return {
        "tenant": person.tenant,
        "user_id": person.user,
        "agent_id": person.agent,
        "thread_id": person.thread,
    }


async def seeds(person: Person, content: Any) -> Seeded:
    id_ = person.engine.writes.new_id()
    fields = {**who(person), "seed": id_, "correlation_id": id_, "content": content}
    return await person.engine.writes.seed(validated(SeedUser, fields))


async def proposes(person: Person, field: str, value: str, *, consented: bool = False, **fields: Any) -> Proposed:
    asked = {**who(person), "field": field, "value": value, **fields}
    return await person.engine.writes.propose(asked, consented=consented)


async def profile(person: Person) -> dict[str, Any]:
    rows = await person.engine.reads.profile(person.viewer, await person.caught_up())
    return {row["field"]: row["value"] for row in rows}


async def consent(person: Person) -> list[tuple[str, str, str]]:
    rows = await person.engine.reads.consent(person.viewer, moment=await person.caught_up())
    return [(row["field"], row["value"], row["status"]) for row in rows]


async def decides(person: Person, patch_id: UUID, decision: PatchStatus) -> Receipt:
    return await person.engine.writes.handle(
        validated(
            DecidePatch, {**who(person), "patch_id": patch_id, "decision": decision, "at": person.engine.writes.now()}
        )
    )


async def test_a_sensitive_field_waits_until_the_user_grants_it(ana: Person) -> None:
    queued = await proposes(coach(ana), "city", "Lisbon", confidence=1.0)
    assert (queued.status, await profile(ana)) == (PatchStatus.PROPOSED, {})

    with pytest.raises(ConsentRequired):
        await decides(coach(ana), queued.patch_id, PatchStatus.GRANTED)
    await decides(ana, queued.patch_id, PatchStatus.GRANTED)

    assert await profile(ana) == {"city": "Lisbon"}
    assert await consent(ana) == [("city", "Lisbon", "granted")]
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.spec("X02", "X03")
async def test_a_rollback_refuses_what_its_run_proposed_unless_the_user_decided_meanwhile(ana: Person) -> None:
    await proposes(coach(ana), "city", "Lisbon", run_id="r1")
    granted = await proposes(coach(ana), "language", "pt", run_id="r1")
    await decides(ana, granted.patch_id, PatchStatus.GRANTED)

    run = {**who(ana), "of_run": "r1", "at": ana.engine.writes.now()}
    await ana.engine.writes.rollback(validated(Rollback, run))

    assert sorted(await consent(ana)) == [("city", "Lisbon", "refused"), ("language", "pt", "granted")]
    assert await profile(ana) == {"language": "pt"}
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.spec("X02", "X03")
async def test_a_refusal_is_undone_and_the_undo_too(ana: Person) -> None:
    queued, writes = await proposes(coach(ana), "city", "Lisbon"), ana.engine.writes
    refused = await decides(ana, queued.patch_id, PatchStatus.REFUSED)
    [refusal] = refused.event_ids

    with pytest.raises(ConsentRequired):
        await writes.undo_event(ana.stream, refusal, agent_id="coach")
    undo = await writes.undo_event(ana.stream, refusal)
    assert await consent(ana) == [("city", "Lisbon", "proposed")]
    [row] = await ana.engine.reads.consent(ana.viewer, moment=await ana.caught_up())
    assert (row["decided_by"], row["decided_at"]) == (None, None)
    assert (await writes.undo_event(ana.stream, refusal)).already

    await writes.undo_event(ana.stream, undo.event_ids[0])
    assert await consent(ana) == [("city", "Lisbon", "refused")]
    for seq, status in ((refused.last_seq, "refused"), (undo.last_seq, "proposed")):
        [row] = await ana.engine.reads.consent(ana.viewer, moment=Moment(seq))
        assert row["status"] == status
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_a_benign_field_applies_at_the_second_turn_that_says_so(ana: Person) -> None:
    for turn in ("t1", "t2"):
        await ana.says("keep it short", turn_id=turn)
    assert (await proposes(coach(ana), "tone", "brief", turn_id="t1")).status is PatchStatus.PROPOSED
    assert (await proposes(coach(ana), "tone", "Brief", turn_id="t1")).status is PatchStatus.PROPOSED
    assert await profile(ana) == {}

    assert (await proposes(coach(ana), "tone", "Brief", turn_id="t2")).status is PatchStatus.CORROBORATED
    assert await profile(ana) == {"tone": "brief"}


async def test_goals_are_added_to_one_another(ana: Person) -> None:
    for goal in ("run a marathon", "learn Dutch", "Learn dutch"):
        await proposes(ana, "goals_add", goal, confidence=0.9)
    assert await profile(ana) == {"goals": ["run a marathon", "learn Dutch"]}


async def test_an_invented_turn_is_no_signal(ana: Person) -> None:
    with pytest.raises(NotFound) as caught:
        await proposes(ana, "tone", "brief", turn_id="made up")
    assert caught.value.field == "turn_id"


async def test_what_nobody_decided_expires(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    queued = await proposes(coach(ana), "city", "Lisbon")
    handler = ana.engine.writes._handler
    later = handler.now() + QUEUED_FOR + timedelta(seconds=1)

    assert (await ana.engine.writes.expire_patch(ana.stream, queued.patch_id)).already, "it has time left"
    monkeypatch.setattr(handler, "now", lambda: later)
    with pytest.raises(TransitionRefused, match="expired"):
        await decides(ana, queued.patch_id, PatchStatus.GRANTED)
    other = Person(ana.engine, ana.user, "acme", "coach")
    beside = await proposes(other, "language", "pt")
    await consent(ana)
    await consent(other)

    monkeypatch.setattr(handler, "now", lambda: later + QUEUED_FOR)
    monkeypatch.setattr(reader, "PAGE", 1)
    assert {queued.patch_id, beside.patch_id} <= set(await expire(ana.engine))
    assert not {queued.patch_id, beside.patch_id} & set(await expire(ana.engine))

    assert await consent(ana) == [("city", "Lisbon", "expired")]
    assert await profile(ana) == {}


@pytest.mark.spec("X03")
async def test_an_undo_gives_back_what_was_set_before(ana: Person) -> None:
    first = await proposes(ana, "city", "Lisbon", consented=True)
    second = await proposes(ana, "city", "Porto", consented=True)
    undo = ana.engine.writes.undo_event

    with pytest.raises(UndoConflict):
        await undo(ana.stream, first.receipt.event_ids[-1])
    undone = await undo(ana.stream, second.receipt.event_ids[-1])
    assert await profile(ana) == {"city": "Lisbon"}
    await undo(ana.stream, undone.event_ids[0])
    assert await profile(ana) == {"city": "Porto"}
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_an_agent_without_the_category_reads_no_profile(ana: Person) -> None:
    planner = Person(ana.engine, ana.user, agent="planner")
    for read in (ana.engine.reads.profile, ana.engine.reads.consent):
        with pytest.raises(CategoryNotAllowed):
            await read(planner.viewer)


async def opens(person: Person, text: str, **fields: Any) -> UUID:
    asked = {**who(person), "kind": "commitment", "text": text, **fields}
    todo_id, _ = await person.engine.writes.open_todo(asked)
    return todo_id


async def todos(person: Person) -> list[tuple[str, str]]:
    rows = await person.engine.reads.todos(person.viewer, moment=await person.caught_up())
    return [(row["text"], row["status"]) for row in rows]


@pytest.mark.spec("D11")
async def test_a_todo_is_of_one_agent(ana: Person) -> None:
    mine = coach(ana)
    walk = await opens(mine, "walk tomorrow", due="2026-01-04T00:00:00Z")
    await opens(mine, "read", kind="habit")

    assert await todos(mine) == [("walk tomorrow", "open"), ("read", "open")]
    assert await todos(ana) == []
    with pytest.raises(NotFound):
        await ana.engine.writes.handle(validated(ChangeTodo, {**who(ana), "todo_id": walk, "status": "done"}))


@pytest.mark.spec("D11", "X03")
async def test_a_todo_is_done_and_undone(ana: Person) -> None:
    mine = coach(ana)
    walk = await opens(mine, "walk tomorrow")
    done = await ana.engine.writes.handle(
        validated(ChangeTodo, {**who(mine), "todo_id": walk, "status": todo.TodoStatus.DONE})
    )
    assert await todos(mine) == [("walk tomorrow", "done")]

    await ana.engine.writes.undo_event(ana.stream, done.event_ids[0], agent_id=mine.agent)
    assert await todos(mine) == [("walk tomorrow", "open")]
    await assert_live_equals_replayed(ana.engine, ana.stream)


BRIEF = [("tone", "brief", "corroborated")]
SEED = {
    "seed_id": "onboarding",
    "profile": {"city": "Lisbon", "tone": "brief", "goals_add": ["run", "read"]},
    "memories": [{"text": "Ana is lactose intolerant", "category": "preferences"}, {"text": "Ana drinks tea"}],
    "facts": [{"subject": "me", "predicate": "lives_in", "object": "Lisbon", "since": "2026-01-10"}],
}


@pytest.mark.spec("D14")
async def test_a_seed_is_given_once_and_asks_before_it_sets_what_is_sensitive(ana: Person) -> None:
    given = await seeds(ana, SEED)
    again = await seeds(ana, SEED)

    assert (given.queued, again.queued) == (("city",), ("city",))
    assert (again.correlation_id, again.memory_ids, again.receipt.already) == (
        given.correlation_id,
        given.memory_ids,
        True,
    )
    assert await profile(ana) == {"tone": "brief", "goals": ["run", "read"]}
    rows = await ana.engine.reads.newest(ana.viewer, 10, await ana.caught_up())
    assert {(row["text"], row["source"]) for row in rows} == {
        ("Ana is lactose intolerant", "seeded_profile"),
        ("Ana drinks tea", "seeded_profile"),
    }
    [fact] = await ana.engine.reads.facts(ana.viewer, moment=await ana.caught_up())
    assert fact["predicate"].lower() == "lives_in"
    of_it = await ana.engine.log.read(ana.stream, tags=[batch_tag(given.correlation_id)])
    assert len(of_it) == given.receipt.last_seq
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.spec("D14")
async def test_a_seed_with_consent_sets_what_is_sensitive_too(ana: Person) -> None:
    given = await seeds(ana, {**SEED, "consent": True})
    assert (given.queued, (await profile(ana))["city"]) == ((), "Lisbon")


@pytest.mark.spec("D14")
async def test_another_seed_of_the_same_name_is_a_conflict(ana: Person) -> None:
    await seeds(ana, SEED)
    with pytest.raises(IdempotencyConflict):
        await seeds(ana, {**SEED, "profile": {}})


@pytest.mark.spec("D14")
@pytest.mark.parametrize(
    ("fault", "error", "field"),
    [
        ({"profile": {"shoe_size": "44"}}, InvalidInput, "content.profile.shoe_size"),
        ({"profile": {"tone": ["brief", ""]}}, InvalidInput, "content.profile.tone[1]"),
        ({"memories": [{"text": "tea"}, {"text": ""}]}, InvalidInput, "content.memories[1].text"),
        ({"memories": [{"text": "tea", "user_id": "bob"}]}, InvalidInput, "content.memories[0].user_id"),
        ({"memories": [{"text": "tea", "category": "nonsense"}]}, InvalidInput, "content.memories[0].category"),
        ({"facts": [{"subject": "me", "predicate": "lives_in"}]}, InvalidInput, "content.facts[0].object"),
        ({"colour": "red"}, InvalidInput, "content.colour"),
    ],
)
async def test_a_seed_with_a_fault_writes_nothing(ana: Person, fault: Any, error: Any, field: str) -> None:
    with pytest.raises(error) as caught:
        await seeds(ana, {"profile": {"tone": "brief"}, **fault})
    assert caught.value.field == field
    assert await ana.engine.log.head(ana.stream) == 0


@pytest.mark.spec("D14")
async def test_an_agent_cannot_consent_by_a_seed(ana: Person) -> None:
    with pytest.raises(ConsentRequired):
        await seeds(coach(ana), {**SEED, "consent": True})
    assert await ana.engine.log.head(ana.stream) == 0


@pytest.mark.spec("X07", "X16")
async def test_an_erased_user_leaves_no_profile_and_the_proof_says_so(ana: Person) -> None:
    await seeds(ana, {**SEED, "consent": True})
    await proposes(coach(ana), "pronouns", "she/her")
    await opens(coach(ana), "walk along the Tejo")
    await ana.caught_up()

    await erase(ana.engine, EraseUser(user_id=ana.user))
    proof = await prove(ana.engine, ProofSubject(ana.stream), "Tejo")

    assert proof.holds, [place for place in proof.places if place.readable]
    assert {f"mnemolog_profile_v{VERSION}.{name}" for name in ("todos", "profile_fields")} <= {
        place.name.removeprefix("postgres ") for place in proof.places
    }
    assert (await profile(ana), await todos(coach(ana)), await consent(ana)) == ({}, [], [])
    await seeds(ana, SEED)
    assert await profile(ana) == {"tone": "brief", "goals": ["run", "read"]}
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.spec("X07", "X16")
async def test_a_proposal_of_another_turn_outlives_an_erasure_and_can_be_granted(ana: Person) -> None:
    turns = [{**who(ana), "turn_id": f"{ana.user}-{n}", "thread_id": f"{ana.user}-{n}", "text": "hi"} for n in (1, 2)]
    for turn in turns:
        await ana.engine.writes.record_turn(turn)
    await proposes(coach(ana), "city", "Zanzibarquux", turn_id=f"{ana.user}-1")
    kept = await proposes(coach(ana), "city", "Porto", turn_id=f"{ana.user}-2")
    subject = ProofSubject(ana.stream, thread_id=f"{ana.user}-1")
    assert not (await prove(ana.engine, subject)).holds

    await erase(ana.engine, EraseThread(user_id=ana.user, thread_id=f"{ana.user}-1"))

    for phrase in (None, "Zanzibarquux"):
        assert (await prove(ana.engine, subject, phrase)).holds
    assert sorted(await consent(ana)) == [("city", "", PatchStatus.EXPIRED), ("city", "Porto", PatchStatus.PROPOSED)]
    await assert_live_equals_replayed(ana.engine, ana.stream)
    await decides(ana, kept.patch_id, PatchStatus.GRANTED)
    assert await profile(ana) == {"city": "Porto"}


async def test_a_place_and_a_todo_can_be_erased_alone(ana: Person) -> None:
    await proposes(ana, "tone", "brief", confidence=1.0)
    await proposes(coach(ana), "city", "Lisbon")
    walk = await opens(coach(ana), "walk along the Tejo")
    for kind, name, agent in (("profile", "city", "default"), ("todo", str(walk), "coach")):
        asked = {"user_id": ana.user, "agent_id": agent, "kind": kind, "name": name}
        await erase(ana.engine, EraseKnown.model_validate(asked))
        proof = await prove(ana.engine, ProofSubject(ana.stream, known=f"{kind}:{name}"))
        assert proof.holds, [place for place in proof.places if place.readable]

    assert (await profile(ana), await consent(ana)) == ({"tone": "brief"}, [("city", "", "expired"), *BRIEF])
    assert await todos(coach(ana)) == []
    with pytest.raises(Erased):
        await ana.engine.writes.handle(validated(ChangeTodo, {**who(coach(ana)), "todo_id": walk, "status": "done"}))
    await proposes(ana, "city", "Porto", consented=True)
    assert (await prove(ana.engine, ProofSubject(ana.stream, known="profile:city"))).holds
    await assert_live_equals_replayed(ana.engine, ana.stream)
