"""What was said, and the session, over HTTP."""

from base64 import b64encode
from uuid import uuid4

import pytest

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import StreamId
from tests.adapters.http.conftest import Api, Json

pytestmark = pytest.mark.spec("X12")
AT = "2026-01-03T01:02:10Z"
TURN: Json = {"message_id": "m1", "content": "Hello", "occurred_at": AT}


async def said(api: Api, messages: object, code: int = 201, key: str | None = None, **fields: object) -> Json:
    return await api.post("/v1/turns", code, key, messages=messages, **fields)


async def texts(api: Api, ids: list[str], after: Json) -> list[str]:
    return [(await api.get("/v1/message", message_id=one, after=after["token"]))["line"] for one in ids]


async def test_a_text_a_message_or_several_are_recorded_in_one_append(api: Api) -> None:
    one = await said(api, "I moved to Lisbon")
    two = await said(api, {"role": "assistant", "content": "How do you like it?"})
    many = await said(api, ["A lot", {"role": "user", "name": "Ana", "content": "I live in Alfama"}])
    assert [len(made["message_ids"]) for made in (one, two, many)] == [1, 1, 2]
    assert many["last_seq"] - many["first_seq"] + 1 == len(many["event_ids"]) == 3  # And who Ana is.
    assert await texts(api, [*one["message_ids"], *many["message_ids"]], many) == [
        "I moved to Lisbon",
        "A lot",
        "Ana: I live in Alfama",
    ]
    turns = (await api.get("/v1/session", after=many["token"]))["turns"]
    assert turns == [
        {"role": "user", "text": "I moved to Lisbon"},
        {"role": "assistant", "text": "How do you like it?"},
        {"role": "user", "text": "A lot"},
        {"role": "user", "text": "I live in Alfama"},
    ]


async def test_what_producers_publish_is_kept_with_its_message(api: Api) -> None:
    made = await said(
        api,
        {
            **TURN,
            "attachments": [{"type": "image", "caption": "the bridge"}],
            "memories": [{"text": "Ana greets", "category": "note"}],
            "facts": [{"subject": "Ana", "predicate": "lives_in", "object": "Lisbon", "literal": True}],
        },
        run_id="r1",
    )
    assert made["message_ids"] == ["m1"]
    [row] = (await api.get("/v1/memories", after=made["token"]))["items"]
    assert (row["text"], row["run_id"], row["source_turn_ids"]) == ("Ana greets", "r1", ["m1"])
    [message] = (await api.get("/v1/messages", after=made["token"]))["items"]
    assert (message["line"], message["run_id"]) == ("Hello [image: the bridge]", "r1")


@pytest.mark.spec("X14")
async def test_a_message_id_makes_a_retry_harmless(api: Api) -> None:
    first = await said(api, TURN, thread_id="chat-1")
    again = await said(api, [TURN, {"content": "And more"}], thread_id="chat-1")
    assert again["message_ids"][0] == first["message_ids"][0] != again["message_ids"][1]
    whole = await said(api, [TURN], thread_id="chat-1")
    assert (whole["already"], again["already"], whole["event_ids"]) == (True, False, first["event_ids"])
    error = (await said(api, [{"content": "x"}, {**TURN, "content": "Other words"}], 409, thread_id="chat-1"))["error"]
    assert (error["code"], error["field"]) == ("idempotency_conflict", "messages[1].message_id")
    assert (await api.get("/v1/session", thread_id="chat-1", after=again["token"]))["msg_count"] == 2


@pytest.mark.spec("X14")
async def test_the_same_idempotency_key_records_once(api: Api) -> None:
    first, again = [await said(api, ["Hello", "Is it raining?"], key="k") for _ in range(2)]
    for name, expected in {**first, "already": True}.items():
        assert again[name] == expected, name
    for other in (["Hello", "Is it snowing?"], ["Hello", "Is it raining?", "Now?"]):
        error = (await said(api, other, 409, key="k"))["error"]
        assert (error["code"], error["field"]) == ("idempotency_conflict", "idempotency_key")
    assert (await api.get("/v1/session", after=first["token"]))["msg_count"] == 2


async def test_where_one_message_is_refused_none_is_recorded(api: Api) -> None:
    fact = {"subject": "Ana", "predicate": "knows", "object": "Bo"}
    for wrong, field in (
        ({"content": ""}, "messages[1].content"),
        ({"role": "king", "content": "x"}, "messages[1].role"),
        ({"content": [{"type": "video", "video": {}}]}, "messages[1].content[0].type"),
        ({"content": "x", "memories": [{"text": "x", "category": "none"}]}, "messages[1].category"),
        ({"content": "x", "facts": [{**fact, "since": "2026-02-02", "until": "2026-01-01"}]}, None),
    ):
        error = (await said(api, ["Hello", wrong], 422))["error"]
        assert field is None or error["field"] == field
    assert (await said(api, [], 422))["error"]["field"] == "messages"
    assert (await said(api, ["a"] * 101, 422))["error"]["field"] == "messages"
    assert (await api.get("/v1/memories"))["items"] == []


@pytest.mark.spec_part("A10")
async def test_an_ambiguous_name_means_the_last_seen_or_the_request_is_refused(api: Api, engine: Engine) -> None:
    facts = [{"subject": "Marta", "predicate": "likes", "object": "tea", "literal": True}]
    chat = ["Hello", {"content": "Marta likes tea", "facts": facts}]
    with pytest.MonkeyPatch.context() as patch:  # Of two who were seen at one moment neither is the latest.
        at = now()
        patch.setattr(engine.writes._handler, "now", lambda: at)
        for alias in ("Silva", "Costa"):
            await api.post("/v1/entities", 201, name="Marta", category="person", aliases=[alias], another=True)
    error = (await said(api, chat, 409))["error"]
    assert error["code"] == "ambiguous_entity"
    assert error["field"].startswith("messages[1].")
    assert (await api.get("/v1/memories"))["items"] == []

    third = await api.post("/v1/entities", 201, name="Marta", category="person", aliases=["Lima"], another=True)
    made = await said(api, chat)
    [fact] = (await api.get("/v1/facts", after=made["token"]))["items"]
    assert fact["subject_id"] == third["entity_id"]


@pytest.mark.spec_part("A04")
async def test_a_turn_shows_in_session_entities_and_messages(api: Api) -> None:
    message = {
        **TURN,
        "name": "Ana",
        "content": "I moved to Lisbon",
        "attachments": [{"type": "image", "caption": "a tram"}],
    }
    made = await said(api, message, thread_id="chat-1")
    session = await api.get("/v1/session", thread_id="chat-1", after=made["token"])
    assert session["turns"] == [{"role": "user", "text": "I moved to Lisbon [image: a tram]"}]
    [entity] = (await api.get("/v1/entities", after=made["token"]))["items"]
    assert (entity["name"], entity["category"]) == ("Ana", "Person")
    assert session["active_entity_ids"] == [entity["entity_id"]]
    message = await api.get("/v1/message", message_id="m1", after=made["token"])
    assert (message["line"], message["kind"]) == ("Ana: I moved to Lisbon [image: a tram]", "message")
    assert message["speaker_entity_id"] == entity["entity_id"]
    assert (await api.get("/v1/memories"))["items"] == []


async def test_a_picture_without_words_is_a_message(api: Api) -> None:
    tram = {"type": "image", "url": "https://a.example/1.jpg", "caption": "a yellow tram"}
    messages = [
        {**TURN, "content": None, "attachments": [tram]},
        {"name": "Ana", "content": " ", "attachments": [{"type": "audio"}, {**tram, "caption": ""}]},
    ]
    made = await said(api, messages)
    again = await said(api, messages[:1])
    assert (again["already"], again["event_ids"]) == (True, made["event_ids"][:1])
    lines = ["[image: a yellow tram]", "Ana: [audio]\n[image]"]
    assert await texts(api, made["message_ids"], made) == lines
    turns = (await api.get("/v1/session", after=made["token"]))["turns"]
    assert [one["text"] for one in turns] == ["[image: a yellow tram]", "[audio]\n[image]"]
    found = await api.query("yellow tram", filters={})
    assert "[image: a yellow tram]" in found["bullets"][0]["text"]

    refused = (await said(api, ["Hi", {"content": None, "attachments": []}], 422))["error"]
    assert (refused["field"], refused["message"]) == ("messages[1].content", "is empty")
    assert refused["fix"] == "send at least one visible character, or an attachment"

    gone = await api.post("/v1/message/delete", message_id="m1")
    assert [one["text"] for one in (await api.get("/v1/messages", after=gone["token"]))["items"]] == [
        "[audio]\n[image]"
    ]
    await api.post("/v1/message/restore", message_id="m1")
    await api.post("/v1/message/erase", message_id="m1")
    assert (await api.get("/v1/message", 410, message_id="m1"))["error"]["code"] == "erased"


@pytest.mark.spec("X14")
async def test_a_conversation_with_a_chat_model_is_recorded_as_its_api_has_it(api: Api) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Porto"}'}}
    shown = {"type": "image_url", "image_url": {"url": "https://a.example/1.png"}}
    chat = [
        {"role": "developer", "content": "Answer briefly"},
        {"role": "user", "name": "Ana", "content": [{"type": "text", "text": "What is the weather here?"}, shown]},
        {"role": "assistant", "content": None, "refusal": None, "annotations": [], "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "get_weather", "content": "9 degrees, rain"},
        {"role": "assistant", "content": "It rains.", "refusal": None, "audio": None, "function_call": None},
    ]
    made, again = [await said(api, chat, key="chat") for _ in range(2)]
    assert (again["already"], again["event_ids"], again["message_ids"]) == (
        True,
        made["event_ids"],
        made["message_ids"],
    )
    listed = (await api.get("/v1/messages", after=made["token"]))["items"][::-1]
    assert [(one["role"], one["speaker"], one["text"]) for one in listed] == [
        ("system", "", "Answer briefly"),
        ("user", "Ana", "What is the weather here?"),
        ("assistant", "", 'get_weather {"city": "Porto"}'),
        ("tool", "get_weather", "9 degrees, rain"),
        ("assistant", "", "It rains."),
    ]
    assert listed[1]["attachments"] == [{"type": "image", "url": "https://a.example/1.png", "caption": ""}]


async def test_an_image_in_a_message_can_be_downloaded(api: Api) -> None:
    content = b"\x89PNG\r\n\x1a\n and more"
    url = f"data:image/png;base64,{b64encode(content).decode()}"
    chat = [{**TURN, "content": [{"type": "image_url", "image_url": {"url": url}}]}]
    made, again = [await said(api, chat) for _ in range(2)]
    assert (again["already"], again["event_ids"]) == (True, made["event_ids"])
    [stored] = (await api.get("/v1/artifacts", after=made["token"]))["items"]
    [message] = (await api.get("/v1/messages", after=made["token"]))["items"]
    assert message["line"] == stored["surrogate"] == f"[image#{stored['label']}]"
    assert message["attachments"] == [{"type": "image", "url": f"artifact:{stored['artifact_id']}", "caption": ""}]
    path = f"/v1/artifacts/{stored['artifact_id']}/content"
    assert (await api.http.get(path, params={"user_id": api.user})).content == content


@pytest.mark.spec_part("A04")
async def test_the_session_of_a_thread_now_and_as_it_was(api: Api) -> None:
    first = await said(api, {**TURN, "name": "Ana"}, thread_id="chat-1")
    await said(api, "Bye", thread_id="chat-1")
    then = await api.get("/v1/session", thread_id="chat-1", as_of=first["last_seq"])
    assert [turn["text"] for turn in then["turns"]] == ["Hello"]
    assert (then["chat_id"], then["msg_count"], len(then["active_entity_ids"])) == ("chat-1", 1, 1)
    error = (await api.get("/v1/session", 404, thread_id=str(uuid4())))["error"]
    assert (error["code"], error["field"]) == ("not_found", "thread_id")


@pytest.mark.spec("B06", "X07")
async def test_metadata_of_a_turn_can_be_filtered_and_is_erased(api: Api, engine: Engine) -> None:
    crm = {"source": "crm", "lead": {"score": 0.5}}
    both = await said(
        api,
        ["I want a demo", {"role": "user", "content": "And a discount", "metadata": {"source": "mail"}}],
        metadata=crm,
    )
    first, second = both["message_ids"]
    shown = [(await api.get("/v1/message", message_id=one, after=both["token"]))["metadata"] for one in (first, second)]
    assert shown == [crm, {**crm, "source": "mail"}]
    for wanted, found in (({"source": "crm"}, 1), ({"lead": {"score": 0.5}}, 2), ({"source": "web"}, 0)):
        answer = await api.query("I want", filters={"metadata": wanted})
        assert len(answer["bullets"]) == found, wanted
    await api.post("/v1/message/erase", message_id=first)
    recorded = [event.payload for event in await engine.log.read(StreamId.of_user(api.user, engine.settings.tenant))]
    kept = [one.metadata for one in recorded if isinstance(one, TurnRecorded)]
    assert kept == [{}, {**crm, "source": "mail"}]


async def test_metadata_that_could_not_be_stored_is_refused_with_its_message(api: Api) -> None:
    bad = {"content": "Hi", "metadata": {"much": "x" * 40_000}}
    refused = await said(api, [bad], 422)
    assert refused["error"]["field"] == "messages[0].metadata"
    assert (await said(api, "Hi", 422, metadata=["no", "object"]))["error"]["field"] == "metadata"


@pytest.mark.spec_part("E01", "X07")
async def test_a_message_is_deleted_restored_and_erased(api: Api) -> None:
    made = await said(api, TURN)
    await api.post("/v1/memories", 201, text="Ana greets", source_turn_ids=["m1"])

    gone = await api.post("/v1/message/delete", message_id="m1", reason="a slip")
    assert (await api.get("/v1/messages", after=gone["token"]))["items"] == []
    assert (await api.get("/v1/message", message_id="m1"))["status"] == "soft_deleted"
    await api.post("/v1/message/restore", message_id="m1")
    assert [one["message_id"] for one in (await api.get("/v1/messages"))["items"]] == made["message_ids"]

    planned = await api.post("/v1/message/erase", message_id="m1", dry_run=True)
    assert (len(planned["memories"]), planned["turns"]) == (1, ["m1"])
    erased = await api.post("/v1/message/erase", message_id="m1", keep_memories=True)
    assert (erased["memories"], erased["turns"]) == ([], ["m1"])
    assert (await api.get("/v1/message", 410, message_id="m1"))["error"]["code"] == "erased"
    assert (await api.post("/v1/message/erase", 404, message_id="m9"))["error"]["field"] == "message_id"


@pytest.mark.spec_part("A12")
async def test_a_pronoun_means_who_the_thread_was_about(api: Api) -> None:
    ana = await api.post("/v1/facts", 201, subject="Ana", predicate="lives_in", object="Lisbon")
    await api.get("/v1/facts", after=ana["token"])
    made = await said(api, "I met Ana yesterday", thread_id="t1")

    asked = {"query": "Where does she live?", "thread_id": "t1", "after": made["token"]}
    found = await api.post("/v1/search", 200, **asked)
    known = await api.post("/v1/context", 200, **asked)
    elsewhere = await api.post("/v1/search", 200, **{**asked, "thread_id": "t2"})

    [reference] = found["references"]
    assert (reference["text"], reference["name"], reference["topic"]) == ("she", "Ana", "")
    assert (known["references"], known["entities"][0]["line"]) == ([reference], "[person:ana]: lives in Lisbon")
    assert elsewhere["references"] == []
