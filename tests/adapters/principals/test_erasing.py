"""An API key that is bound to some agents erases, proves and exports nothing that other agents keep private (X07)."""

from typing import Any
from uuid import UUID

import httpx
import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure import erasing, forgetting
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.commands.erasure import Erase, EraseKnown, EraseMemory, EraseThread, EraseUser
from mnemolog.commands.scopes import EraseScope, Reach
from mnemolog.domain.errors import NotPermitted
from mnemolog.domain.principal import Principal, Role
from mnemolog.events.envelope import StreamId
from tests.adapters.principals.keys import calling, principal
from tests.engine.person import Person

ROLES = (Role.READ, Role.WRITE, Role.ERASE)
TURN = "turn-1"
BEYOND = r"every agent|agents outside"


def of_agents(*agents: str, roles: tuple[Role, ...] = ROLES) -> Principal:
    return principal("bound", agents=agents or ("*",), roles=roles)


async def said(engine: Engine, user: str, **fields: Any) -> UUID:
    """A turn with a memory that all agents share; and what the planner keeps of it for itself."""
    shared = await Person(engine, user, thread="main").remembers("I owe Bob money", turn_id=TURN)
    private = {"user_id": user, "agent_id": "planner", "scope": "agent", "text": "Ana may be broke"}
    await engine.writes.create({**private, "source_turn_ids": [TURN], **fields})
    return shared


async def head(engine: Engine, user: str) -> int:
    return await engine.log.head(StreamId.of_user(user))


async def test_a_bound_key_erases_no_thread_and_no_user_with_another_agents_memory(guarded: Engine, user: str) -> None:
    shared = await said(guarded, user)
    before, stylist = await head(guarded, user), guarded.by(of_agents("stylist"))
    who: dict[str, Any] = {"user_id": user, "agent_id": "stylist"}
    commands: list[Erase | EraseUser] = [
        EraseThread(**who, thread_id="main"),
        EraseUser(**who),
        EraseMemory(**who, memory_id=shared),
    ]
    for command in commands:
        with pytest.raises(NotPermitted, match=BEYOND):
            await erasing.extent(stylist, command)
        with pytest.raises(NotPermitted, match=BEYOND):
            await erasing.erase(stylist, command)
    assert await head(guarded, user) == before


async def test_a_bound_key_erases_what_is_shared_and_what_is_its_own(guarded: Engine, user: str) -> None:
    shared = await said(guarded, user)
    who: dict[str, Any] = {"user_id": user, "agent_id": "stylist"}
    stylist = guarded.by(of_agents("stylist"))
    kept = await erasing.erase(stylist, EraseMemory(**who, memory_id=shared, keep_turns=True))
    assert list(kept.extent.memories) == [shared]
    both = guarded.by(of_agents("stylist", "planner"))
    gone = await erasing.erase(both, EraseThread(**who, thread_id="main"))
    assert list(gone.extent.turns) == [TURN]
    everyone = guarded.by(of_agents())
    assert not (await erasing.erase(everyone, EraseUser(user_id=user))).receipt.already


async def test_a_bound_key_cannot_erase_an_entity_with_another_agents_fact(guarded: Engine, user: str) -> None:
    entity_id, _ = await guarded.writes.observe_entity({"user_id": user, "name": "Bob"})
    fact = {"subject": "Bob", "predicate": "owes", "object": "100 euros", "scope": "agent"}
    await guarded.writes.remember({"user_id": user, "agent_id": "planner", **fact})
    before = await head(guarded, user)
    who: dict[str, Any] = {"user_id": user, "agent_id": "stylist", "kind": "entity", "name": str(entity_id)}
    with pytest.raises(NotPermitted, match="agents outside"):
        await erasing.erase(guarded.by(of_agents("stylist")), EraseKnown.model_validate(who))
    assert await head(guarded, user) == before


async def test_a_hard_forgetting_that_reaches_too_far_erases_nothing_of_it(guarded: Engine, user: str) -> None:
    await guarded.writes.create({"user_id": user, "text": "Ana likes tea"})
    await said(guarded, user)
    before, stylist = await head(guarded, user), guarded.by(of_agents("stylist"))
    asked = EraseScope(user_id=user, agent_id="stylist", scope=Reach.GLOBAL)
    for ask in (forgetting.extent, forgetting.forget):
        with pytest.raises(NotPermitted, match="agents outside"):
            await ask(stylist, asked)
    unable = guarded.by(of_agents("stylist", roles=(Role.READ, Role.WRITE)))
    session = EraseScope(user_id=user, agent_id="stylist", scope=Reach.SESSION, thread_id="main", with_episodes=True)
    with pytest.raises(NotPermitted, match="may not erase"):
        await forgetting.forget(unable, session)
    assert await head(guarded, user) == before


async def test_a_bound_key_is_shown_no_proof_of_what_another_agent_keeps(guarded: Engine, user: str) -> None:
    shared, stream = await said(guarded, user), StreamId.of_user(user)
    stylist = guarded.by(of_agents("stylist", roles=(*ROLES, Role.ADMIN)))
    asked: list[tuple[ProofSubject, str | None]] = [
        (ProofSubject(stream), None),
        (ProofSubject(stream, thread_id="main"), None),
        (ProofSubject(stream, memory_id=shared), "broke"),
    ]
    for subject, phrase in asked:
        with pytest.raises(NotPermitted, match=BEYOND):
            await prove(stylist, subject, phrase)
    with pytest.raises(NotPermitted, match="may not erase"):
        await prove(guarded.by(of_agents(roles=(Role.READ,))), ProofSubject(stream))
    with pytest.raises(NotPermitted, match="administer the engine"):
        await prove(guarded.by(of_agents()), ProofSubject(stream), "broke")
    both = guarded.by(of_agents("stylist", "planner"))
    assert not (await prove(both, ProofSubject(stream, thread_id="main"))).holds


async def test_over_http_too_a_bound_key_erases_and_exports_no_more_than_its_agents(guarded: Engine, user: str) -> None:
    await said(guarded, user)
    async with calling(guarded, of_agents("stylist", roles=(*ROLES, Role.ADMIN))) as client:
        asked = {"user_id": user, "agent_id": "stylist"}
        answers: list[httpx.Response] = [
            await client.post("/v1/thread/erase", json={**asked, "thread_id": "main"}),
            await client.post("/v1/user/erase", json=asked),
            await client.post("/v1/erase-scope", json={**asked, "scope": "global"}),
            await client.get("/v1/user/export", params={"user_id": user}),
        ]
    assert {answer.status_code for answer in answers} == {403}, [one.text for one in answers]
    assert {answer.json()["error"]["code"] for answer in answers} == {"not_permitted"}
    assert "broke" not in "".join(answer.text for answer in answers)


async def test_turns_are_the_users_so_a_bound_key_reads_and_erases_those_of_all_agents(
    guarded: Engine, user: str
) -> None:
    planner = Person(guarded, user, agent="planner", thread="main")
    await planner.says("I owe Bob money", turn_id="to-planner")
    await Person(guarded, user, agent="coach", thread="main").says("I run at six", turn_id="to-coach")
    after = (await planner.caught_up()).after
    assert after
    asked = {"user_id": user, "agent_id": "coach"}
    async with calling(guarded, of_agents("coach")) as client:
        listed = await client.get("/v1/messages", params={**asked, "after": after.token})
        thread = {**asked, "thread_id": "main"}
        rehearsed = await client.post("/v1/thread/erase", json={**thread, "dry_run": True})
        erased = await client.post("/v1/thread/erase", json=thread)
    assert {one["message_id"] for one in listed.json()["items"]} == {"to-planner", "to-coach"}
    assert set(rehearsed.json()["turns"]) == {"to-planner", "to-coach"} == set(erased.json()["turns"])


async def test_a_dry_run_names_what_an_allowlist_hides_and_shows_no_text(guarded: Engine, user: str) -> None:
    await Person(guarded, user, agent="planner", thread="main").says("I owe Bob money", turn_id="to-planner")
    asked = {"user_id": user, "agent_id": "stylist", "thread_id": "main", "dry_run": True}
    async with calling(guarded, of_agents("stylist")) as client:
        rehearsed = await client.post("/v1/thread/erase", json=asked)
    assert rehearsed.json()["turns"] == ["to-planner"]
    assert "Bob" not in rehearsed.text
