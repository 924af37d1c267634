"""Commands take the beginning of an id that only one subject of the user has."""

from typing import Any
from uuid import UUID

import pytest

from mnemolog.adapters.cli.ids import completed
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.maintenance.segmenting import segment
from mnemolog.adapters.maintenance.summarizing import summarize
from mnemolog.adapters.operations import episodes, profile, summaries, webhooks
from mnemolog.adapters.reads.reads import Reads
from mnemolog.adapters.webhooks.store import WebhookStore
from mnemolog.domain.errors import NotFound
from tests.adapters.cli.command import Ran, mnemolog
from tests.engine.person import Person
from tests.engine.teller import Teller
from tests.testkit.settings import PATIENCE


async def run(engine: Engine, user: str, *arguments: str) -> Ran:
    return await mnemolog(engine.settings.directory, *arguments, "-u", user)


def common(one: UUID, other: UUID) -> str:
    """What two ids begin with alike."""
    both = zip(str(one), str(other), strict=True)
    return str(one)[: next(place for place, (a, b) in enumerate(both) if a != b)]


async def test_what_a_table_shows_is_taken_by_commands(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    tea, coffee, water = [await ana.creates(f"Ana drinks {what}") for what in ("tea", "coffee", "water")]

    listed = (await run(engine, user, "list")).out.split()
    short = next(word for word in listed if len(word) >= 13 and str(tea).startswith(word))
    got = await run(engine, user, "get", short.upper(), "--json")
    why = await run(engine, user, "why", short, "--json")
    merged = await run(engine, user, "merge", str(coffee)[:23], str(tea)[:23], str(water)[:23])

    assert len(short) < 36
    assert got.value["memory_id"] == str(tea)
    assert why.value["id"] == str(tea)
    assert merged.code == 0, merged
    assert await ana.finds("drinks") == ["Ana drinks coffee"]


async def test_what_is_no_subject_is_named_by_a_beginning_too(engine: Engine, user: str) -> None:
    ids = []
    for number in range(2):
        made = await run(engine, user, "webhook", "create", f"https://hooks.invalid/{number}", "--json")
        ids.append(made.value["webhook_id"])
    first, short = ids[0], common(*map(UUID, ids)) + ids[0][len(common(*map(UUID, ids)))]
    proposed = await run(engine, user, "profile", "propose", "city", "Lisbon", "--json")
    patch = proposed.value["patch_id"]

    shown = (await run(engine, user, "webhook", "list")).out
    tested = await run(engine, user, "webhook", "test", short, "--json")
    sent = await run(engine, user, "webhook", "redeliver", short, tested.value["delivery_id"][:18], "--json")
    granted = await run(engine, user, "consent", "grant", patch[:23].upper())
    several = await run(engine, user, "webhook", "delete", ids[0][:6], "--json")
    deleted = await run(engine, user, "webhook", "delete", short, "--json")
    resumed = await run(engine, user, "webhook", "resume", ids[1])
    told = await run(engine, user, "webhook", "delete", ids[1])
    unknown = await run(engine, user, "summary", "get", "0123456", "--json")

    assert first not in shown
    assert first[:13] in shown
    assert sent.value["delivery_id"] == tested.value["delivery_id"]
    assert granted.code == 0, granted
    assert several.value["error"]["code"] == "ambiguous_id"
    assert deleted.value["webhook_id"] == first
    assert (resumed.out.split(), told.out.split()) == (
        ["✓", "Resumed", "webhook", ids[1]],
        ["✓", "Deleted", "webhook", ids[1]],
    )
    assert (unknown.value["error"]["code"], unknown.value["error"]["field"]) == ("not_found", "summary_id")


async def test_no_list_is_read_to_complete_an_id(engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ana = Person(engine, user)
    for text in ("I like tea", "I like hiking", "I have a dog", "I live in Graz"):
        await ana.says(text)
    await segment(engine, ana.stream, ana.agent, "main")
    await engine.settled(PATIENCE)
    await summarize(engine, ana.stream, ana.agent, "main")
    [session] = await engine.reads.sessions(ana.viewer)
    [summary] = await engine.reads.summaries(ana.viewer)
    proposed = await run(engine, user, "profile", "propose", "city", "Lisbon", "--json")
    hook = (await run(engine, user, "webhook", "create", "https://hooks.invalid/", "--json")).value["webhook_id"]
    tested = await run(engine, user, "webhook", "test", hook, "--json")
    known: list[tuple[Any, str, str]] = [
        (episodes.get_session, "session_id", str(session["session_id"])),
        (summaries.get_summary, "summary_id", str(summary["summary_id"])),
        (profile.grant_consent, "patch_id", proposed.value["patch_id"]),
        (webhooks.redeliver, "delivery_id", tested.value["delivery_id"]),
    ]

    async def listed(*_: object, **__: object) -> None:
        raise AssertionError("a list was read")

    for owner, name in ((Reads, "sessions"), (Reads, "summaries"), (Reads, "consent"), (WebhookStore, "deliveries")):
        monkeypatch.setattr(owner, name, listed)
    for operation, name, id_ in known:
        fields = {"user_id": user, "agent_id": ana.agent, **({"webhook_id": hook} if name == "delivery_id" else {})}
        assert (await completed(engine, operation, {**fields, name: id_[:30].upper()}))[name] == id_
        with pytest.raises(NotFound):
            await completed(engine, operation, {**fields, name: "ffffffff-ff"})
        if name != "delivery_id":
            with pytest.raises(NotFound):
                await completed(engine, operation, {**fields, "user_id": f"{user}-2", name: id_[:30]})
    assert (await run(engine, user, "why", str(summary["summary_id"])[:30], "-a", ana.agent)).code == 0


async def test_a_filter_takes_what_a_table_shows(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I like tea")
    await segment(engine, ana.stream, ana.agent, "main")
    await engine.settled(PATIENCE)
    [session], [episode] = await engine.reads.sessions(ana.viewer), await engine.reads.episodes(ana.viewer)
    speaker = (await run(engine, user, "entity", "add", "Marta", "--json")).value["entity_id"]

    async def found(*filters: str) -> Ran:
        given = [part for one in filters for part in ("-f", one)]
        return await run(engine, user, "search", "tea", *given, "-a", ana.agent, "--json")

    for given in (f"session_id={session['session_id']}", f"episode_id={episode['episode_id']}"):
        assert [one["kind"] for one in (await found(given[:30])).value["bullets"]] == ["message"]
    assert (await found(f"entity_ids={speaker[:18]}")).value["bullets"] == []
    unknown = (await found("episode_id=ffffffff-ff")).value["error"]
    assert (unknown["code"], unknown["field"]) == ("not_found", "filters.episode_id")


async def test_a_beginning_of_several_names_them_all(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    tea, coffee = [await ana.creates(text) for text in ("Ana drinks tea", "Ana drinks coffee")]

    refused = await run(engine, user, "get", common(tea, coffee), "--json")

    error = refused.value["error"]
    assert (refused.code, error["code"], error["field"]) == (2, "ambiguous_id", "memory_id")
    assert str(tea) in error["message"]
    assert str(coffee) in error["message"]


async def test_a_beginning_of_nothing_or_of_another_users_is_not_found(engine: Engine, user: str) -> None:
    theirs = await Person(engine, f"{user}-2").creates("Bo drinks tea")

    for one in (str(theirs)[:18], "ffffffff-ff"):
        missing = await run(engine, user, "get", one, "--json")
        assert (missing.code, missing.value["error"]["code"]) == (1, "not_found")
    for one in ("01a", "no-id", "ffffffff-ffff-ffff-ffff-ffffffffffff0"):
        assert (await run(engine, user, "get", one, "--json")).value["error"]["code"] == "invalid_input"


async def test_an_id_is_of_the_kind_that_the_command_is_about(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    fact_id = await ana.tells("Bea", "likes", "nuts")
    [entity] = [one for one in await ana.entities() if one["name"] == "Bea"]

    got = await run(engine, user, "entity", "get", str(entity["entity_id"])[:23], "--json")
    ended = await run(engine, user, "fact", "delete", str(fact_id)[:23])
    wrong = await run(engine, user, "get", str(fact_id)[:23], "--json")

    assert got.value["name"] == "Bea"
    assert ended.code == 0, ended
    assert wrong.value["error"]["code"] == "not_found"


async def test_an_undo_takes_the_beginning_of_an_event(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("Ana drinks tea")
    deleted = await ana.deletes(tea)

    undone = await run(engine, user, "undo", "--event-id", str(deleted.event_ids[0])[:23])

    assert undone.code == 0, undone
    assert await ana.finds("tea") == ["Ana drinks tea"]


async def test_an_event_of_what_another_agent_keeps_to_itself_is_not_found(engine: Engine, user: str) -> None:
    private = {"user_id": user, "agent_id": "coach", "scope": "agent", "text": "Ana fears heights"}
    _, receipt = await engine.writes.create(private)
    beginning = str(receipt.event_ids[0])[:23]

    missing = await run(engine, user, "undo", "--event-id", beginning, "-a", "planner", "--dry-run", "--json")
    found = await run(engine, user, "undo", "--event-id", beginning, "-a", "coach", "--dry-run", "--json")

    assert (missing.code, missing.value["error"]["code"]) == (1, "not_found")
    assert found.value["undone"] == [str(receipt.event_ids[0])]


async def test_messages_and_entities_are_named_by_a_beginning_in_every_option(engine: Engine, user: str) -> None:
    added = await run(engine, user, "add", "I like tea", "--json")
    [turn] = added.value["message_ids"]
    marta = (await run(engine, user, "entity", "add", "Marta", "--json")).value["entity_id"]
    turn_, marta_ = turn[:23], marta[:23]

    memory = await run(engine, user, "create", "Ana likes tea", "--turn", turn_, "--json")
    link = await run(engine, user, "artifact", "add", "--url", "https://tea.example/", "--turn", turn_, "--json")
    proposed = await run(engine, user, "profile", "propose", "tone", "calm", "--turn-id", turn_)
    focused = await run(engine, user, "focus", "set", "--active-entity-ids", marta_)
    for subject, value in ((marta_, "cake"), ("me", marta_)):
        assert (await run(engine, user, "fact", "add", subject, "likes", value)).code == 0
    facts = (await run(engine, user, "fact", "list", "--about", marta_, "--json")).value["items"]

    for command, id_ in (("get", memory.value["memory_id"]), ("artifact get", link.value["artifact_id"])):
        assert (await run(engine, user, *command.split(), id_, "--json")).value["source_turn_ids"] == [turn]
    assert (proposed.code, focused.code) == (0, 0), (proposed, focused)
    assert [marta in (one["subject_id"], one["object_id"]) for one in facts] == [True, True]
    listed = (await run(engine, user, "entity", "list", "--json")).value["items"]
    assert marta_ not in {one["name"] for one in listed}


async def test_an_id_of_your_own_may_look_like_a_beginning(engine: Engine, user: str) -> None:
    answered = await run(engine, user, "respond", "Good morning", "--message-id", "123456", "--json")
    noted = await run(engine, user, "create", "Ana rose early", "--turn", "decade", "--json")
    fact = await run(engine, user, "fact", "add", "me", "likes", "20261130-1200", "--literal")

    assert answered.value["message_id"] == "123456"
    assert (await run(engine, user, "get", noted.value["memory_id"], "--json")).value["source_turn_ids"] == ["decade"]
    assert fact.code == 0, fact
