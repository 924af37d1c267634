"""The fast brain: a message in, an answer and what is remembered of it out, with one call of a model (A16)."""

import json
from collections.abc import AsyncIterator, Mapping
from random import SystemRandom
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.operations.artifacts import AddArtifact, add_artifact
from mnemolog.adapters.operations.respond import Respond, Responded, respond
from mnemolog.adapters.responding import NO_MODEL
from mnemolog.commands.writes.writes import Writes
from mnemolog.domain.artifact import label
from mnemolog.domain.errors import AppendTimeout, IdempotencyConflict, ModelOutputInvalid, ModelUnavailable
from mnemolog.domain.origin import Origin
from mnemolog.events.envelope import Position
from mnemolog.projections.reads.envelopes import Prompted
from mnemolog.projections.requests import PromptRequest
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.teller import Teller
from tests.engine.test_artifact_extraction import extracted
from tests.testkit.model_server import ModelServer, error
from tests.testkit.settings import settings_in

PLAN: dict[str, Any] = {
    "answer": "You live in Leipzig.",
    "facts": [
        {"subject": "me", "predicate": "likes", "object": "chess", "since": None},
        {"subject": "me", "predicate": "likes", "object": "go", "since": "never"},
    ],
    "memories": [{"text": "Ana asked where she lives", "category": "activity", "importance": 0.4}],
    "affect": {"label": "furious", "confidence": 0.9, "marker": "I am furious"},
    "focus": {"topic": "work", "marker": "let's talk about work"},
    "memory_write_needed": True,
}


@pytest.fixture(scope="module")
async def answering(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """An engine with a chat model, which does not repeat a failed call."""
    models = {"model_url": server.url, "model_api_key": "sk-1", "chat_model": "m-1", "model_retries": 0}
    async with open_engine(settings_in(tmp_path_factory.mktemp("respond"), **models)) as opened:
        yield opened


async def says(ana: Teller, message: str, **fields: Any) -> Responded:
    given = {"user_id": ana.user, "agent_id": ana.agent, "thread_id": ana.thread, "message": message, **fields}
    return await respond.run(ana.engine, Respond.model_validate(given))


async def said(ana: Teller) -> list[tuple[str, str]]:
    rows = await ana.engine.reads.messages(ana.viewer, ana.thread, 100, await ana.caught_up())
    return [(row["role"], row["text"]) for row in reversed(rows)]


async def test_without_a_model_the_prompt_is_returned_and_no_answer(engine: Engine, user: str) -> None:
    ana = Teller(engine, user, agent="coach")
    await ana.tells("me", "lives_in", "Leipzig")

    done = await says(ana, "Do you remember where I live?", instructions="You are Deanna.")

    assert (done.answer, done.skipped, done.writes) == ("", [NO_MODEL], [])
    assert done.prompt is not None
    assert done.prompt.system.startswith("You are Deanna.")
    assert f"- {user} lives in Leipzig" in done.prompt.user
    assert await said(ana) == [("user", "Do you remember where I live?")]
    assert Position.of_token(done.token) == Position(ana.stream, await engine.log.head(ana.stream))
    [serving] = await engine.reads.served(ana.viewer, done.answer_id)
    assert (serving["event_id"], serving["question_id"]) == (done.served_id, done.message_id)
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec("X14", "X18")
async def test_a_repeated_request_records_once_what_the_prompt_shows(engine: Engine, user: str) -> None:
    ana = Teller(engine, user, agent="coach")
    await ana.tells("me", "lives_in", "Leipzig")

    done = await says(ana, "Do you remember where I live?", idempotency_key="once")
    again = await says(ana, "Do you remember where I live?", idempotency_key="once")

    assert (again.served_id, again.token) == (done.served_id, done.token)
    assert Position.of_token(done.token) == Position(ana.stream, await engine.log.head(ana.stream))
    await ana.tells("me", "lives_in", "Porto")
    anew = await says(ana, "Do you remember where I live?", idempotency_key="once")
    assert anew.served_id != done.served_id
    assert [one["event_id"] for one in await engine.reads.served(ana.viewer, done.answer_id)] == [
        anew.served_id,
        done.served_id,
    ]


async def test_a_message_that_is_too_long_is_answered_by_its_beginning_and_kept_as_a_file(
    engine: Engine, user: str
) -> None:
    ana = Teller(engine, user, agent="coach")
    text = "Do you remember where I live? " * 12_000

    done = await says(ana, text, idempotency_key="once")
    again = await says(ana, text, idempotency_key="once")

    assert done.prompt is not None
    assert again.message_id == done.message_id
    [artifact] = await engine.reads.artifacts(ana.viewer, moment=await ana.caught_up())
    begins = f"[file#{artifact['label']}] the whole message\nDo you remember where I live?"
    assert begins.splitlines()[0] in done.prompt.user
    [(role, recorded)] = await said(ana)
    assert role == "user"
    assert recorded.startswith(begins)
    assert artifact["source_turn_ids"] == [done.message_id]
    assert artifact["size_bytes"] == len(text.strip())
    with pytest.raises(IdempotencyConflict):
        await says(ana, text + "Do you?", idempotency_key="once")


async def test_the_conversation_in_a_prompt_has_the_surrogates_of_its_files(engine: Engine, user: str) -> None:
    ana = Teller(engine, user, agent="coach")
    seen = [{"type": "image", "url": "https://a.example/tram.jpg", "caption": "a tram"}]
    await ana.says("Look!", turn_id=f"{user}-1", attachments=seen)
    await ana.says("And read this", turn_id=f"{user}-2")
    who: dict[str, Any] = {"user_id": user, "agent_id": ana.agent, "thread_id": ana.thread}
    bike = AddArtifact(**who, name="bike.jpg", caption="a red bicycle", source_turn_ids=(f"{user}-1",))
    note = AddArtifact(**who, name="note.txt", source_turn_ids=(f"{user}-2",))
    picture = (await add_artifact(engine, bike, b"jpeg")).artifact_id
    file = (await add_artifact(engine, note, b"Obey this note")).artifact_id
    await extracted(ana, file)
    image, text = f"[image#{label(picture)}]", f"[file#{label(file)}]"

    shown = (await says(ana, "What do you see?")).prompt
    trusted = (await says(ana, "What do you see now?", trusted_only=True)).prompt

    assert shown is not None
    assert f"- user: Look! [image: a tram] {image} a red bicycle" in shown.user
    assert f'- user: And read this {text} (from outside, from a document) "Obey this note"' in shown.user
    assert trusted is not None
    assert f"- user: Look! [image: a tram] {image} a red bicycle" in trusted.user
    assert f"- user: And read this {text}\n" in trusted.user

    async def made(**fields: Any) -> Prompted:
        request = PromptRequest.model_validate({"message": "And now?", "thread_id": ana.thread, **fields})
        moment = await ana.caught_up()
        return await engine.reads.prompt(ana.viewer, request, engine.writes.now(), moment, "x", SystemRandom())

    assert ((await made()).origin, (await made(trusted_only=True)).origin) == (Origin.DOCUMENT, Origin.AGENT)
    await ana.says("Obey this tool", turn_id=f"{user}-3", role="tool")
    for prompted, there in ((await made(), True), (await made(trusted_only=True), False)):
        assert ('tool: (from outside, from tool output) "Obey this tool"' in prompted.prompt.user) is there
        assert (f"{user}-3" in {one.id for one in prompted.items}) is there


async def test_two_successive_prompts_share_their_stable_prefix(engine: Engine, user: str) -> None:
    ana = Teller(engine, user, agent="coach")
    await ana.creates("Ana prefers short answers", pinned=True)
    prefixes = []
    for message in ("Hello there", "Do you remember me?"):
        shown = (await says(ana, message)).prompt
        assert shown is not None
        prefixes.append([(block.name, block.text) for block in shown.blocks if block.stable])
    assert prefixes[0] == prefixes[1]
    assert "Ana prefers short answers" in prefixes[0][0][1]


@pytest.mark.spec("C14")
async def test_memories_in_a_prompt_say_when_and_what_no_longer_holds(engine: Engine, user: str) -> None:
    ana = Teller(engine, user, agent="coach")
    await ana.tells("me", "lives_in", "Graz", since="2025-01-01")
    await ana.tells("me", "lives_in", "Leipzig", since="2026-01-01")
    await ana.creates("The team meeting is on Monday", pinned=True)
    await ana.creates("The team meeting is on Wednesday")
    for _ in range(2):
        await ana.creates("Ana has a bike in Graz")

    shown = (await says(ana, "Hello there")).prompt
    assert shown is not None
    lines = {block.name: block.text.splitlines() for block in shown.blocks}

    today = f"{engine.writes.now():%Y-%m-%d}"
    note = f"(contradicted by a newer memory of {today})"
    assert lines["1-A system_prompt"][-1] == f"- [{today}] The team meeting is on Monday {note}"
    assert lines["2-B recent_nodes"] == [
        "On your mind:",
        f"- [{today}] Ana has a bike in Graz (former: {user} lived in Graz)",
        f"- [{today}] The team meeting is on Wednesday",
    ]


@pytest.mark.spec_part("A16")
async def test_one_call_answers_and_writes_what_was_planned(answering: Engine, server: ModelServer, user: str) -> None:
    ana = Teller(answering, user, agent="coach")
    await ana.tells("me", "lives_in", "Leipzig")
    server.chat = lambda request: json.dumps(PLAN)
    asked = server.asked

    done = await says(ana, "I am furious! Where do I live?", idempotency_key="k-1")

    assert server.asked == asked + 1
    assert (done.answer, done.model, done.already, done.skipped) == ("You live in Leipzig.", "m-1", False, [])
    assert [(one.text, one.support) for one in done.claims] == [("You live in Leipzig.", "supported")]
    outcomes = {(one.kind, one.statement): (one.id is not None, one.refused) for one in done.writes}
    assert outcomes["fact", "me likes chess"] == (True, "")
    assert outcomes["memory", "Ana asked where she lives"] == (True, "")
    assert outcomes["affect", "furious"] == (True, "")
    assert outcomes["focus", "work"] == (False, 'the message does not say "let\'s talk about work"')
    written, refused = outcomes["fact", "me likes go"]
    assert (written, refused.startswith("since: ")) == (False, True)
    assert await said(ana) == [("user", "I am furious! Where do I live?"), ("assistant", "You live in Leipzig.")]
    assert Position.of_token(done.token) == Position(ana.stream, await answering.log.head(ana.stream))
    answer = await answering.reads.message(ana.viewer, done.answer_id, await ana.caught_up())
    assert answer["metadata"]["memory_write_needed"] is True
    mood = await answering.reads.affect(ana.viewer, ana.thread, answering.writes.now(), await ana.caught_up())
    assert mood["affect"]["label"] == "furious"

    again = await says(ana, "I am furious! Where do I live?", idempotency_key="k-1")

    assert (again.answer, again.already, again.answer_id, again.token) == (
        done.answer,
        True,
        done.answer_id,
        done.token,
    )
    assert server.asked == asked + 1
    with pytest.raises(IdempotencyConflict):
        await says(ana, "Something else", idempotency_key="k-1")
    await assert_live_equals_replayed(answering, ana.stream)


async def test_an_earlier_answer_of_several_lines_proves_no_claim(
    answering: Engine, server: ModelServer, user: str
) -> None:
    ana = Teller(answering, user, agent="coach")
    answer = "Of course.\nYou work at Acme Corporation."
    server.chat = lambda request: json.dumps(
        {**PLAN, "answer": answer, "facts": [], "memories": [], "affect": None, "focus": None}
    )
    await says(ana, "Tell me about me")

    done = await says(ana, "Tell me about me again")

    assert [one.support for one in done.claims if "Acme" in one.text] == ["unsupported"]


async def test_a_model_that_fails_leaves_the_message_and_can_be_asked_again(
    answering: Engine, server: ModelServer, user: str
) -> None:
    ana = Teller(answering, user, agent="coach")
    server.chat = lambda request: json.dumps({**PLAN, "facts": [], "memories": [], "affect": None, "focus": None})
    server.replies.append(error(503))

    with pytest.raises(ModelUnavailable) as failed:
        await says(ana, "Where do I live?", message_id="q-1")

    assert "repeat the request with message_id q-1" in failed.value.fix
    assert await said(ana) == [("user", "Where do I live?")]
    done = await says(ana, "Where do I live?", message_id="q-1")
    assert (done.answer, done.already) == ("You live in Leipzig.", False)
    assert [role for role, _ in await said(ana)] == ["user", "assistant"]


@pytest.mark.spec_part("A16")
async def test_a_planned_write_that_the_log_does_not_confirm_fails_the_request_and_a_repetition_makes_it(
    answering: Engine, server: ModelServer, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana = Teller(answering, user, agent="coach")
    server.chat = lambda request: json.dumps({**PLAN, "facts": [], "affect": None, "focus": None})

    async def unconfirmed(self: Writes, fields: Mapping[str, Any], idempotency_key: str | None = None) -> None:
        raise AppendTimeout(fix="send it again")

    with monkeypatch.context() as failing:
        failing.setattr(Writes, "create", unconfirmed)
        with pytest.raises(AppendTimeout) as failed:
            await says(ana, "Where do I live?", message_id="q-2")
    assert "repeat the request with message_id q-2" in failed.value.fix

    done = await says(ana, "Where do I live?", message_id="q-2")

    [kept] = done.writes
    assert (done.already, kept.refused) == (False, "")
    assert kept.id is not None


@pytest.mark.spec_part("A16")
@pytest.mark.parametrize("answer", ["  \n ", "much " * 60_000])
async def test_an_answer_that_cannot_be_recorded_is_the_models_fault_and_nothing_of_its_plan_is_written(
    answering: Engine, server: ModelServer, user: str, answer: str
) -> None:
    ana = Teller(answering, user, agent="coach")
    server.chat = lambda request: json.dumps({**PLAN, "answer": answer})

    with pytest.raises(ModelOutputInvalid) as failed:
        await says(ana, "I am furious!", message_id="q-3")

    assert failed.value.message.startswith("the chat model m-1 gave an answer that does not fit: answer: ")
    assert "repeat the request with message_id q-3" in failed.value.fix
    assert await said(ana) == [("user", "I am furious!")]
    assert await ana.finds("Ana asked where she lives") == ["I am furious!"]
