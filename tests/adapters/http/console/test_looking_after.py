"""Decisions, erasure and the state of the engine: what they do, and for whom."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine, new_id, now
from mnemolog.adapters.http.console.pages import rendered
from mnemolog.adapters.jobs.job import JobStatus
from mnemolog.adapters.nats.dead_letters import DeadLetters
from mnemolog.adapters.operations import memories as operations
from mnemolog.adapters.operations.entities import add_entity
from mnemolog.adapters.operations.profile import get_profile
from mnemolog.adapters.operations.todos import add_todo, list_todos
from mnemolog.adapters.postgres.upgrades import Upgrade
from mnemolog.adapters.projecting.status import ProjectionStatus
from mnemolog.adapters.verify.damage import Damage, DamageKind, Part
from mnemolog.adapters.verify.incidents import By, Done
from mnemolog.domain.principal import Principal, Role
from mnemolog.events.envelope import StreamId
from tests.adapters.http.console.conftest import Visitor, signed_in
from tests.adapters.http.console.person import did, told
from tests.adapters.http.console.test_views import WRITER
from tests.adapters.principals.keys import principal
from tests.testkit.settings import PATIENCE

CARER = principal("carer", roles=[Role.READ, Role.WRITE, Role.CONSENT, Role.ERASE])
ADMIN = principal("admin", roles=[Role.ADMIN])


async def test_consent_is_granted_and_refused_in_the_users_name(guarded: Engine) -> None:
    ines = await told(guarded, "consent-of-the-console")
    about: dict[str, Any] = {"user": ines.user}
    async with signed_in(guarded, WRITER) as visitor:
        shown = await visitor.get("/decisions", **about)
        assert "City : Lisbon" in shown
        assert "sign in with a key that has the role consent" in shown
        await visitor.post("/decisions/grant", 403, **about, id=ines.patch_id)
    async with signed_in(guarded, CARER) as visitor:
        await visitor.get("/decisions", **about)
        assert "Granted" in await visitor.post("/decisions/grant", **about, id=ines.patch_id)
        assert "No change of the profile waits" in await visitor.get("/decisions", **about)
        assert (await did(guarded, get_profile, ines.user)).get("city") == "Lisbon"
        await visitor.post("/decisions/bribe", 404, **about, id=ines.patch_id)


async def test_a_contradiction_is_decided_either_way(guarded: Engine) -> None:
    user = "contradicted-of-the-console"
    about: dict[str, Any] = {"user": user}

    async def contradiction() -> tuple[str, str]:
        older = await did(guarded, operations.create, user, text="Ines eats meat")
        newer = await did(guarded, operations.create, user, text="Ines is a vegetarian")
        ends = {"memory_id": newer.memory_id, "to_id": older.memory_id}
        await did(guarded, operations.link, user, **ends, relation_type="contradicts")
        return str(older.memory_id), str(newer.memory_id)

    async with signed_in(guarded, CARER) as visitor:
        for decision, gone in (("outdated", "eats meat"), ("wrong", "vegetarian")):
            older, newer = await contradiction()
            shown = await visitor.get("/decisions", **about)
            assert "Ines eats meat" in shown
            assert "Ines is a vegetarian" in shown
            id_ = older if decision == "outdated" else newer
            assert "Nothing contradicts anything" in await visitor.post(f"/decisions/{decision}", **about, id=id_)
            assert gone not in await visitor.get("/memories", **about)
            await visitor.post(f"/memories/{newer if decision == 'outdated' else older}/delete", **about)


async def test_an_open_question_is_closed(guarded: Engine) -> None:
    user = "asked-of-the-console"
    todo = await did(guarded, add_todo, user, text="Ask whether Ines still lives in Porto", kind="thread")
    async with signed_in(guarded, CARER) as visitor:
        assert "still lives in Porto" in await visitor.get("/decisions", user=user)
        assert "Nothing is open" in await visitor.post("/decisions/done", user=user, id=str(todo.todo_id))
    assert not (await did(guarded, list_todos, user)).items


async def test_two_that_are_the_same_are_merged_and_the_merge_is_undone(guarded: Engine) -> None:
    user = "same-of-the-console"
    about: dict[str, Any] = {"user": user}
    one = (await did(guarded, add_entity, user, name="Makesh", category="Person")).entity_id
    other = (await did(guarded, add_entity, user, name="Mukesh", category="Person")).entity_id
    async with signed_in(guarded, CARER) as visitor:
        assert "The same as Makesh: merge" in await visitor.get(f"/entities/{one}", **about)
        assert "Merged." in await visitor.post(f"/entities/{one}/merge", **about, absorbed=str(other))
        assert "also called Mukesh" in await visitor.get(f"/entities/{one}", **about)
        [seq] = re.findall(r'undo\?[^"]*seq=([0-9]+)[^"]*">Undo this merge', visitor.page)
        named: dict[str, Any] = {"of": str(one), "kind": "entity"}
        assert "Nothing has changed yet" in await visitor.get("/undo", **about, **named, seq=seq)
        [event] = re.findall(r'name="event_id" value="([^"]+)"', visitor.page)
        assert "Undone." in await visitor.post("/undo", **about, **named, event_id=event, once="1")
        assert "also called Mukesh" not in await visitor.get(f"/entities/{one}", **about)


@pytest.mark.spec_part("X07")
async def test_an_erasure_shows_what_it_takes_asks_for_the_users_id_and_proves_itself(guarded: Engine) -> None:
    ines = await told(guarded, "erased-of-the-console")
    about: dict[str, Any] = {"user": ines.user}
    form: dict[str, Any] = {"kind": "memory", "id": ines.changed}
    async with signed_in(guarded, CARER) as visitor:
        shown = await visitor.get("/erasure", **about, **form)
        assert "Nothing has changed yet" in shown
        assert "Ines drinks her coffee with oat milk" in shown
        await visitor.post("/erasure", 422, **about, **form, typed="ines")
        assert "oat milk" in await visitor.get("/memories", **about)
        proof = await visitor.post("/erasure", **about, **form, typed=ines.user, once="1")
        assert "Erased, and proved" in proof
        assert "Destroyed: 1 memories" in proof
        assert re.search(r"memories[\w.]* \d+ 0", proof), "each place, how many were looked at, and none readable"
        assert "oat milk" not in await visitor.get("/memories", **about)
        await visitor.get("/erasure", 422, **about, kind="planet", id="x")
        await visitor.get("/erasure", 422, **about, kind="memory")
        again = await visitor.post("/erasure/prove", **about, **form)
        assert "Erased, and proved" in again
        proof = await visitor.post("/erasure", **about, kind="user", id="", typed=ines.user)
        assert "Erased, and proved" in proof
        assert "Nothing is remembered" in await visitor.get("/memories", **about)


async def test_a_proof_says_what_can_still_be_read(guarded: Engine) -> None:
    ines = await told(guarded, "readable-of-the-console")
    async with signed_in(guarded, CARER) as visitor:
        await visitor.get("/erasure", user=ines.user)
        proof = await visitor.post("/erasure/prove", user=ines.user, kind="memory", id=ines.changed)
        assert "Still readable" in proof


OPERATIONS = ("/operations", "/operations/progress", "/operations/jobs", "/operations/letters", "/operations/incidents")


@pytest.mark.parametrize(
    "who",
    [
        CARER,
        principal("bound", users=["ines"], roles=[Role.ADMIN]),
        principal("bound", agents=["coach"], roles=[Role.ADMIN]),
    ],
)
async def test_only_who_administers_all_of_a_tenant_sees_the_engine(guarded: Engine, who: Principal) -> None:
    async with signed_in(guarded, who) as visitor:
        page = await visitor.get("/memories", user="ines")
        assert "Engine" not in page
        for path in OPERATIONS:
            await visitor.get(path, 403)
        for act in ("retry", "cancel", "replay", "discard", "acknowledge", "continue"):
            await visitor.post(f"/operations/{act}", 403, id="1")


@pytest.fixture
async def admin(guarded: Engine) -> AsyncIterator[Visitor]:
    async with signed_in(guarded, ADMIN) as visitor:
        yield visitor


async def test_the_engine_shows_each_projection_and_its_lag(guarded: Engine, admin: Visitor) -> None:
    shown = await admin.get("/operations")
    for name in guarded.projections.stores:
        assert name in shown


def test_a_rebuild_shows_how_far_it_is() -> None:
    upgrade = Upgrade("memories v7", "8", 0.42, 90.0)
    status = ProjectionStatus("memories", 8, 1200, 3.5, 0, [], 0, None, upgrade)
    page = bytes(rendered("progress.html", projections=[status], outbox=3).body).decode()
    assert 'value="0.420"' in page
    assert "42 %, 90 s left" in page
    assert "1,200" in page
    assert "3 appends wait" in page


async def test_jobs_are_listed_cancelled_and_retried_within_the_tenant(guarded: Engine, admin: Visitor) -> None:
    later = now() + timedelta(days=1)
    own = await guarded.jobs.enqueue("demolish", {}, stream=StreamId.of_user("jobs-ours"), run_at=later)
    other = await guarded.jobs.enqueue("demolish", {}, stream=StreamId.of_user("jobs-theirs", "acme"), run_at=later)
    shown = await admin.get("/operations/jobs?status=queued")
    assert "jobs-ours" in shown
    assert "jobs-theirs" not in shown
    assert "Cancelled" in await admin.post("/operations/cancel", id=str(own.job_id))
    assert (await guarded.jobs.get(own.job_id)).status is JobStatus.CANCELLED
    assert "Queued again" in await admin.post("/operations/retry", id=str(own.job_id))
    await admin.post("/operations/retry", 409, id=str(own.job_id))
    for act in ("retry", "cancel"):
        await admin.post(f"/operations/{act}", 404, id=str(other.job_id))
    await admin.get("/operations/jobs?status=tired", 422)
    for job in (own, other):
        await guarded.jobs.cancel(job.job_id)


async def test_refused_turns_are_shown_tried_again_and_discarded_within_the_tenant(
    guarded: Engine, admin: Visitor
) -> None:
    stream, letters = guarded.nats.jetstream(), DeadLetters(guarded.nats)
    for tenant in ("default", "acme"):
        await stream.publish(f"mnemolog.turns.{tenant}", b"no turn of %s" % tenant.encode())

    async def both() -> bool:
        return {letter.tenant async for letter in letters.all()} >= {"default", "acme"}

    await until(both)
    shown = await admin.get("/operations/letters")
    assert "no turn of default" in shown
    assert "no turn of acme" not in shown
    [own] = [letter.id async for letter in letters.all("default")]
    [other] = [letter.id async for letter in letters.all("acme")]
    assert "is not JSON" in await admin.post("/operations/replay", 422, id=str(own))
    assert "no turn of default" in await admin.get("/operations/letters")
    for act in ("replay", "discard"):
        await admin.post(f"/operations/{act}", 404, id=str(other))
        await admin.post(f"/operations/{act}", 422, id="x")
    assert "No turn was refused" in await admin.post("/operations/discard", id=str(own))
    await letters.discard(other)


async def test_incidents_are_shown_and_acknowledged_within_the_tenant(guarded: Engine, admin: Visitor) -> None:
    for user, tenant in (("harmed-ours", "default"), ("harmed-theirs", "acme")):
        damage = Damage(
            Part.EVENT, DamageKind.CHANGED, StreamId.of_user(user, tenant), "its link does not fit", 7, str(new_id())
        )
        await guarded.incidents.record(damage, By.VERIFY, Done.REPORTED)
    shown = await admin.get("/operations/incidents")
    assert "harmed-ours" in shown
    assert "harmed-theirs" not in shown
    ids = {one.damage.stream.name: one.id for one in guarded.incidents.all() if one.damage.stream}
    assert "There are no open incidents" in await admin.post(
        "/operations/acknowledge", id=ids[StreamId.of_user("harmed-ours").name]
    )
    assert "acknowledged by admin" in await admin.get("/operations/incidents", all="1")
    await admin.post("/operations/acknowledge", 404, id=ids[StreamId.of_user("harmed-theirs").name])
    await guarded.incidents.acknowledge([], "the test")


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await holds():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
