"""`mnemolog erase`, `prove-erased` and `keys`: what they ask, take, show and refuse."""

import pytest

from mnemolog.adapters.cli.erased_texts import texts_of
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.operations.erasure import erase
from mnemolog.domain.principal import ALL, Role
from mnemolog.events.envelope import StreamId
from mnemolog.events.fields import validated
from tests.adapters.cli.command import Ran, mnemolog
from tests.adapters.principals.keys import principal

SECRET = "Zanzibarquux"


async def run(engine: Engine, *arguments: str) -> Ran:
    return await mnemolog(engine.settings.directory, *arguments)


async def added(engine: Engine, user: str, *more: str) -> str:
    """A memory that was extracted from a turn."""
    said = await run(engine, "add", f"I hide in {SECRET}", "-u", user, *more, "--json")
    turn = ("--turn", said.value["message_ids"][0])
    ran = await run(engine, "create", f"Ana hides in {SECRET}", "-u", user, *turn, *more, "--json")
    assert ran.code == 0, ran
    memory_id: str = ran.value["memory_id"]
    return memory_id


@pytest.mark.spec("X07", "X16")
async def test_a_memory_is_shown_erased_and_proven(engine: Engine, user: str) -> None:
    memory_id = await added(engine, user)
    proof = ("prove-erased", "--memory-id", memory_id, "-u", user, "--text", SECRET)

    dry = await run(engine, "erase", memory_id, "-u", user, "--dry-run", "--json")
    assert (dry.value["memories"], dry.value["receipt"]) == ([memory_id], None)
    before = await run(engine, *proof)
    assert before.code == 1
    assert "It can still be read" in before.out

    erased = await run(engine, "erase", memory_id, "-u", user, "--yes", "--json")
    assert (erased.code, erased.value["memories"], len(erased.value["turns"])) == (0, [memory_id], 1)
    after = await run(engine, *proof, "--json")
    assert (after.code, after.value["erased"]) == (0, True)
    assert {place["readable"] for place in after.value["places"]} == {0}
    gone = await run(engine, "update", memory_id, "-u", user, "--text", "anew", "--json")
    assert (gone.code, gone.value["error"]["code"]) == (1, "erased")


async def test_what_goes_with_a_turn_is_counted_by_kind(engine: Engine, user: str) -> None:
    await engine.writes.record_turn({"user_id": user, "turn_id": "t-1", "text": "I moved to Lisbon"})
    fact = ("me", "lives_in", "Lisbon", "--turn", "t-1")
    assert (await run(engine, "fact", "add", *fact, "-u", user)).code == 0
    dry = await run(engine, "message", "erase", "t-1", "-u", user, "--dry-run")
    first, *ids = dry.out.splitlines()
    assert first == "To be erased: 0 memories, 1 turn, 2 entities, 1 fact"
    assert [one.split()[0] for one in ids] == ["turn", "entity", "entity", "fact"]
    assert [one.split("  ")[-1] for one in ids] == ["I moved to Lisbon", user, "Lisbon", f"{user} lives_in Lisbon"]


@pytest.mark.spec("X07")
@pytest.mark.parametrize(
    ("roles", "agents", "texts"),
    [
        ({Role.ERASE, Role.READ}, {ALL}, {"Ana hides in Zanzibar"}),
        ({Role.ERASE}, {ALL}, set[str]()),
        ({Role.ERASE, Role.READ}, {"chef"}, set[str]()),
    ],
)
async def test_only_who_may_read_a_text_is_shown_it_before_it_is_erased(
    engine: Engine, user: str, roles: set[Role], agents: set[str], texts: set[str]
) -> None:
    own = {"scope": "agent", "agent_id": "coach"}
    memory_id, _ = await engine.writes.create({"user_id": user, "text": "Ana hides in Zanzibar", **own})
    request = validated(erase.request, {"user_id": user, "memory_id": memory_id, "dry_run": True, "agent_id": "coach"})
    found = await erase.run(engine, request)
    caller = engine.by(principal(roles=roles, agents=agents))

    assert set((await texts_of(caller, request, found)).values()) == texts


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (("erase", "01942b6e-7c00-7000-8000-000000000000"), "memory_id"),
        (("message", "erase", "nowhere"), "message_id"),
        (("thread", "erase", "nowhere"), "thread_id"),
        (("fact", "erase", "01942b6e-7c00-7000-8000-000000000000"), "relation_id"),
        (("profile", "erase", "city"), "field"),
    ],
)
async def test_a_rehearsal_refuses_what_the_erasure_would_refuse(
    engine: Engine, user: str, command: tuple[str, ...], field: str
) -> None:
    await added(engine, user)
    for how in ("--dry-run", "--yes"):
        refused = await run(engine, *command, "-u", user, how, "--json")
        assert (refused.code, refused.value["error"]["code"]) == (1, "not_found")
        assert refused.value["error"]["field"] == field
        nobody = await run(engine, "user", "erase", "-u", f"{user}-2", how, "--json")
        assert (nobody.code, nobody.value["error"]["field"]) == (1, "user_id")


async def test_a_rehearsal_leaves_out_what_is_erased_already(engine: Engine, user: str) -> None:
    memory_id = await added(engine, user)
    assert (await run(engine, "erase", memory_id, "-u", user, "--yes")).code == 0
    dry = await run(engine, "erase", memory_id, "-u", user, "--dry-run")
    assert dry.out.strip() == "To be erased: 0 memories, 0 turns"


@pytest.mark.spec("X07")
async def test_nothing_is_erased_without_a_yes(engine: Engine, user: str) -> None:
    memory_id, _ = await engine.writes.create({"user_id": user, "text": f"Ana hides in {SECRET}"})
    head = await engine.log.head(stream(user))

    for command in (("user", "erase"), ("erase", str(memory_id)), ("erase-scope", "global")):
        asked = await run(engine, *command, "-u", user)
        assert asked.code == 1
        assert "1 memory" in asked.out, "what would go is shown first"
        assert "Erase this permanently?" in asked.err

    assert await engine.log.head(stream(user)) == head


@pytest.mark.spec("X07", "A19")
async def test_a_thread_and_then_everything_is_erased(engine: Engine, user: str) -> None:
    for thread_id in ("secret", "other"):
        turn = {"user_id": user, "turn_id": thread_id, "thread_id": thread_id, "text": f"I hide in {SECRET}"}
        await engine.writes.record_turn(turn)

    thread = await run(engine, "thread", "erase", "secret", "-u", user, "--yes", "--json")
    assert (thread.value["memories"], thread.value["turns"]) == ([], ["secret"])
    assert (await run(engine, "prove-erased", "-u", user, "--thread-id", "secret")).code == 0
    assert (await run(engine, "prove-erased", "-u", user)).code == 1

    assert (await run(engine, "user", "erase", "-u", user, "--yes")).code == 0
    assert (await run(engine, "prove-erased", "-u", user, "--text", SECRET)).code == 0


@pytest.mark.spec("A19", "X15")
async def test_a_scope_is_forgotten_brought_back_by_its_batch_and_erased(engine: Engine, user: str) -> None:
    await engine.writes.create({"user_id": user, "text": f"Ana hides in {SECRET}"})

    dry = await run(engine, "forget", "global", "-u", user, "--dry-run")
    assert (dry.code, dry.out.strip()) == (0, "In this scope: 1 memory, 0 facts, 0 entities")
    forgotten = await run(engine, "forget", "global", "-u", user, "--json")
    assert len(forgotten.value["memories"]) == 1
    batch = ("rollback", "--of-batch", forgotten.value["batch"], "-u", user)
    planned = await run(engine, *batch, "--dry-run")
    assert "would write" in planned.out
    assert (await run(engine, *batch)).out.startswith("✓ Undone: 1 event")
    assert len((await run(engine, "list", "-u", user, "--json")).value["items"]) == 1

    erased = await run(engine, "erase-scope", "global", "-u", user, "--yes", "--json")
    assert len(erased.value["memories"]) == 1
    assert (await run(engine, "prove-erased", "-u", user, "--memory-id", erased.value["memories"][0])).code == 0


async def test_the_status_of_the_keys_tells_where_the_master_key_is(engine: Engine, user: str) -> None:
    await engine.writes.create({"user_id": user, "text": "Ana drinks tea"})

    ran = await run(engine, "master-key", "status", "--json")

    assert ran.code == 0
    assert ran.value["master_key"] == str(engine.settings.directory / "master.key")
    assert min(ran.value["data_keys"], ran.value["streams"]) >= 1
    assert ran.value["left_over"] == 0


async def test_keys_are_not_rotated_under_a_running_engine(engine: Engine) -> None:
    ran = await run(engine, "master-key", "rotate", "--json")

    assert (ran.code, ran.value["error"]["code"]) == (3, "data_directory_in_use")


def stream(user: str) -> StreamId:
    return StreamId.of_user(user)
