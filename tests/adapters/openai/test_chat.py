"""Chat with structured output, on a server that answers well and badly."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pytest

from mnemolog.adapters.http import metrics
from mnemolog.adapters.openai.budget import TokenBudget, Usage
from mnemolog.adapters.openai.chat import OpenAIChat
from mnemolog.adapters.openai.client import ModelClient
from mnemolog.commands.models import Completion
from mnemolog.commands.prompts import Prompt
from mnemolog.domain.errors import ModelNotAccessible, ModelOutputInvalid, ModelRequestRefused, ModelUnavailable
from mnemolog.domain.summary import EpisodeSummary, FactCandidate
from mnemolog.events.generation import Generation
from tests.adapters.openai.conftest import Clients
from tests.testkit.model_server import ModelServer, Reply, completion, error, schema_of

PROMPT = Prompt("summary", 3, "Summarize.")
TEXT = "Ana: I moved to Lisbon"


@dataclass(frozen=True)
class Summary:
    one_liner: str
    open_loops: tuple[str, ...] = ()


@pytest.fixture
def client(clients: Clients) -> ModelClient:
    return clients()


@pytest.fixture
def chat(client: ModelClient, budget: TokenBudget) -> OpenAIChat:
    return OpenAIChat(client, budget)


async def ask(chat: OpenAIChat, tenant: str = "acme") -> Completion[Summary]:
    return await chat.complete(tenant, PROMPT, TEXT, Summary, max_tokens=50)


async def test_an_answer_is_validated_and_returned_with_its_generation(chat: OpenAIChat, server: ModelServer) -> None:
    server.chat = lambda request: '{"one_liner": "Ana moved.", "open_loops": ["boxes"]}'
    done = await ask(chat)
    assert done.output == Summary(one_liner="Ana moved.", open_loops=("boxes",))
    assert done.generation == Generation(
        model="m-1", prompt="summary", prompt_version=3, input_tokens=100, output_tokens=20
    )


async def test_a_request_separates_prompt_and_text_and_has_the_complete_schema(
    chat: OpenAIChat, server: ModelServer
) -> None:
    await ask(chat)
    [asked] = server.requests
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == "Bearer sk-secret"
    assert asked.json["messages"] == [
        {"role": "system", "content": "Summarize."},
        {"role": "user", "content": TEXT},
    ]
    assert (asked.json["model"], asked.json["max_tokens"], asked.json["temperature"]) == ("m-1", 50, 0.0)
    assert asked.json["response_format"]["json_schema"]["strict"] is True
    assert schema_of(asked.json)["required"] == ["one_liner", "open_loops"]
    assert schema_of(asked.json)["additionalProperties"] is False


TRANSIENT: Mapping[str, Reply] = {
    "429": error(429, retry_after="0"),
    "429 without a header": error(429),
    "500": error(500),
    "503 without JSON": Reply(b"<html>", 503, content_type="text/html"),
    "a response that ends early": Reply(completion("{}"), sent=40),
    "no response": Reply(b"", headers={"content-length": "10"}, sent=0),
    "a body that is not JSON": Reply(b"{broken"),
    "a page instead of JSON": Reply(b"<html>Welcome</html>", content_type="text/html"),
    "a list instead of an object": Reply(b"[]"),
    "null instead of an object": Reply(b"null"),
    "a number instead of an object": Reply(b"5"),
    "slow": Reply(completion("{}"), delay=5.0),
}


@pytest.mark.parametrize("fault", TRANSIENT)
async def test_what_fails_for_a_moment_is_tried_again(
    fault: str, clients: Clients, budget: TokenBudget, server: ModelServer
) -> None:
    chat = OpenAIChat(clients(timeout=1.0 if fault == "slow" else 10.0), budget)
    server.replies.extend([TRANSIENT[fault], TRANSIENT[fault]])
    assert (await ask(chat)).output.one_liner == "one_liner"
    assert server.asked == 3


@pytest.mark.parametrize("fault", TRANSIENT)
async def test_what_goes_on_failing_names_the_setting_and_the_fix_and_no_secret(
    fault: str, clients: Clients, budget: TokenBudget, server: ModelServer, tenant: str
) -> None:
    chat = OpenAIChat(clients(timeout=1.0 if fault == "slow" else 10.0, retries=2), budget)
    server.replies.extend([TRANSIENT[fault]] * 3)
    with pytest.raises(ModelUnavailable) as unavailable:
        await ask(chat, tenant)
    told = unavailable.value
    assert told.field == ("model_timeout" if fault == "slow" else "model_url")
    assert told.field in told.fix
    assert told.retry_after > 0
    assert "127.0.0.1" in told.message
    assert "secret" not in str(told)
    assert "Ana" not in str(told)
    assert server.asked == 3
    assert await budget.of_today(tenant) == [Usage("chat", "m-1", 0, 0, 0, 0)]


async def test_a_server_that_is_down_is_reported_as_such(clients: Clients, budget: TokenBudget) -> None:
    chat = OpenAIChat(clients(url="http://127.0.0.1:9/v1", retries=0), budget)
    with pytest.raises(ModelUnavailable, match=r"the chat model at 127.0.0.1:9 cannot be reached"):
        await ask(chat)


async def test_a_server_with_a_long_retry_after_is_not_retried(chat: OpenAIChat, server: ModelServer) -> None:
    server.replies.append(error(429, retry_after="120"))
    with pytest.raises(ModelUnavailable) as unavailable:
        await ask(chat)
    assert unavailable.value.retry_after == 120
    assert server.asked == 1


async def test_an_exhausted_quota_is_not_retried(chat: OpenAIChat, server: ModelServer) -> None:
    server.replies.append(error(429, "insufficient_quota"))
    with pytest.raises(ModelUnavailable, match="quota is used up") as unavailable:
        await ask(chat)
    assert unavailable.value.field == "model_api_key"
    assert server.asked == 1


@pytest.mark.parametrize(
    ("status", "field"),
    [(401, "model_api_key"), (403, "model_api_key"), (404, "chat_model"), (400, "chat_model"), (422, "chat_model")],
)
async def test_a_refused_request_names_the_setting_and_is_not_repeated(
    status: int, field: str, chat: OpenAIChat, server: ModelServer
) -> None:
    server.replies.append(error(status, "some_code"))
    with pytest.raises(ModelRequestRefused) as refused:
        await ask(chat)
    assert refused.value.field == field
    assert refused.value.fix
    assert isinstance(refused.value, ModelNotAccessible) is (status in (401, 404)), "a setting makes all requests fail"
    assert f"{status} (some_code)" in refused.value.message
    assert "secret" not in str(refused.value)
    assert server.asked == 1


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("I would rather not say", "it is not JSON"),
        ('{"one_liner": "Ana', "it is not JSON"),
        ("", "it is not JSON"),
        (5, "it is not JSON"),
        ([{"type": "thinking", "thinking": "Hm."}, None], "it is not JSON"),
        ("[" * 5000 + "]" * 5000, "it is not JSON"),
        ('{"open_loops": []}', "one_liner: field required"),
        ('{"one_liner": 7}', "one_liner: input should be a valid string"),
        ('{"one_liner": "x", "open_loops": [{}]}', "open_loops.0: input should be a valid string"),
    ],
)
async def test_an_answer_that_does_not_fit_is_sent_back_once_with_the_reason(
    content: Any, fault: str, chat: OpenAIChat, server: ModelServer, budget: TokenBudget, tenant: str
) -> None:
    server.replies.append(Reply(completion(content)))
    done = await ask(chat, tenant)
    assert done.output.one_liner == "one_liner"
    assert [one["role"] for one in server.requests[1].json["messages"]] == ["system", "user", "assistant", "user"]
    assert fault in server.requests[1].json["messages"][-1]["content"]
    assert (done.generation.input_tokens, done.generation.output_tokens) == (200, 40)
    assert await budget.of_today(tenant) == [Usage("chat", "m-1", 2, 200, 40, 0)]

    server.replies.extend([Reply(completion(content)), Reply(completion(content))])
    with pytest.raises(ModelOutputInvalid, match="does not fit") as invalid:
        await ask(chat, tenant)
    assert fault in invalid.value.message
    assert (invalid.value.field, server.asked) == ("chat_model", 4)
    assert (await budget.of_today(tenant))[0].requests == 4


UNUSABLE: Mapping[str, tuple[dict[str, Any], str]] = {
    "refusal": (completion(None, refusal="I cannot help with Ana"), "refused to answer"),
    "cut off": (completion('{"one_liner": "x', finish="length"), "cut off"),
    "filtered": (completion("", finish="content_filter"), "content filter"),
    "endless": (completion("x" * 1_000_001), "far longer"),
    "no choices": ({"id": "1", "object": "chat.completion", "model": "m", "created": 1, "choices": []}, "no answer"),
    "an empty object": ({}, "no answer"),
    "choices that are null": ({**completion(""), "choices": None}, "no answer"),
    "a choice that is null": ({**completion(""), "choices": [None]}, "no answer"),
    "choices that are a text": ({**completion(""), "choices": "x"}, "no answer"),
    "a message that is null": ({**completion(""), "choices": [{"message": None}]}, "no answer"),
}


@pytest.mark.parametrize("kind", UNUSABLE)
async def test_an_answer_without_content_is_an_error_at_once(kind: str, chat: OpenAIChat, server: ModelServer) -> None:
    body, told = UNUSABLE[kind]
    server.replies.append(Reply(body))
    with pytest.raises(ModelOutputInvalid, match=told) as invalid:
        await ask(chat)
    assert "Ana" not in str(invalid.value)
    assert server.asked == 1


async def test_a_schema_of_several_levels_is_strict_on_each(chat: OpenAIChat, server: ModelServer) -> None:
    server.chat = lambda request: json.dumps(
        asdict(EpisodeSummary("moving", facts_candidates=(FactCandidate("Ana lives in Lisbon", 0.8),)))
    )
    done = await chat.complete("acme", PROMPT, TEXT, EpisodeSummary)
    assert done.output.facts_candidates == (FactCandidate("Ana lives in Lisbon", 0.8),)
    schema = schema_of(server.requests[0].json)
    for level in (schema, *schema["$defs"].values()):
        assert level["required"] == list(level["properties"])
        assert level["additionalProperties"] is False
    assert "default" not in json.dumps(schema)


async def test_fences_and_characters_that_cannot_be_stored_are_left_out(chat: OpenAIChat, server: ModelServer) -> None:
    server.chat = lambda request: '```json\n{"one_liner": "Ana\\u0000 \\ud83d\\ude00 \\ud800moved\\n"}\n```'
    assert (await ask(chat)).output.one_liner == "Ana 😀 moved\n"


@pytest.mark.parametrize(
    "said",
    [
        '<think>It could be {"one_liner": "Ana left"}.</think>\n{"one_liner": "Ana moved"}',
        'It could be {"one_liner": "Ana left"}.\n</think>```json\n{"one_liner": "Ana moved"}\n```',
    ],
)
async def test_thoughts_before_an_answer_are_left_out(chat: OpenAIChat, server: ModelServer, said: str) -> None:
    server.chat = lambda request: said
    assert (await ask(chat)).output.one_liner == "Ana moved"
    assert server.asked == 1


async def test_an_answer_may_name_the_end_of_thoughts(chat: OpenAIChat, server: ModelServer) -> None:
    server.chat = lambda request: '{"one_liner": "Ana asked what </think> is"}'
    assert (await ask(chat)).output.one_liner == "Ana asked what </think> is"


async def test_a_model_that_takes_no_temperature_is_asked_without_from_then_on(
    chat: OpenAIChat, server: ModelServer
) -> None:
    server.replies.append(error(400, "unsupported_parameter", param="max_tokens"))
    server.replies.append(error(400, "unsupported_value", param="temperature"))
    await ask(chat)
    await ask(chat)
    assert server.asked == 4
    for asked in server.requests[2:]:
        assert asked.json["max_completion_tokens"] == 50
        assert not {"max_tokens", "temperature"} & asked.json.keys()


async def test_a_server_that_counts_no_tokens_is_charged_an_estimate(
    chat: OpenAIChat, server: ModelServer, budget: TokenBudget, tenant: str
) -> None:
    server.replies.append(Reply({**completion('{"one_liner": "Ana moved.", "open_loops": []}'), "usage": None}))
    done = await ask(chat, tenant)
    assert done.generation.input_tokens > 0
    assert done.generation.output_tokens > 0
    [usage] = await budget.of_today(tenant)
    assert (usage.input_tokens, usage.output_tokens) == (done.generation.input_tokens, done.generation.output_tokens)


@pytest.mark.parametrize(
    "usage",
    [
        {},
        "many",
        {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": "100", "completion_tokens": 1.5},
        {"prompt_tokens": -500, "completion_tokens": -7},
        {"prompt_tokens": 10**30, "completion_tokens": 10**30},
    ],
)
async def test_a_count_that_is_none_is_estimated_and_gives_no_tokens_back(
    usage: object, chat: OpenAIChat, server: ModelServer, budget: TokenBudget, tenant: str
) -> None:
    server.replies.append(Reply({**completion('{"one_liner": "Ana moved.", "open_loops": []}'), "usage": usage}))
    done = await ask(chat, tenant)
    used = (done.generation.input_tokens, done.generation.output_tokens)
    assert all(0 < one < 1000 for one in used)
    assert await budget.of_today(tenant) == [Usage("chat", "m-1", 1, *used, 0)]


@pytest.mark.parametrize("name", [5, None, "", "m\x00", "m" * 201])
async def test_a_server_that_gives_its_model_no_name_is_recorded_with_the_name_that_was_asked_for(
    name: object, chat: OpenAIChat, server: ModelServer
) -> None:
    server.replies.append(Reply({**completion('{"one_liner": "Ana moved.", "open_loops": []}'), "model": name}))
    assert (await ask(chat)).generation.model == "m-1"


async def test_the_parts_of_an_answer_are_joined_without_the_thoughts(chat: OpenAIChat, server: ModelServer) -> None:
    parts: Any = [{"type": "thinking", "thinking": "{"}, {"type": "text", "text": '{"one_liner": "x", '}]
    server.replies.append(Reply(completion([*parts, {"type": "text", "text": '"open_loops": []}'}])))
    assert (await ask(chat)).output == Summary("x")


async def test_nothing_of_the_environment_is_sent(
    clients: Clients, budget: TokenBudget, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "sk-of-the-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    await ask(OpenAIChat(clients(api_key=None), budget))
    assert "sk-of-the-environment" not in str(server.requests)


async def test_a_call_is_measured(chat: OpenAIChat, server: ModelServer) -> None:
    before = metrics.REGISTRY.get_sample_value("mnemolog_model_seconds_count") or 0
    await ask(chat)
    assert metrics.REGISTRY.get_sample_value("mnemolog_model_seconds_count") == before + 1


@pytest.mark.parametrize(
    ("reply", "kind", "told"),
    [
        (error(401, "invalid_api_key"), ModelNotAccessible, "status 401"),
        (error(404), ModelNotAccessible, "status 404"),
        (error(429, "insufficient_quota"), ModelUnavailable, "quota is used up"),
    ],
)
async def test_what_every_request_meets_opens_the_circuit_and_stays_the_reason(
    reply: Reply, kind: type[Exception], told: str, clients: Clients, budget: TokenBudget, server: ModelServer
) -> None:
    chat = OpenAIChat(clients(retries=0), budget)
    server.replies.extend([reply] * 9)
    for _ in range(9):
        with pytest.raises(kind, match=told):
            await ask(chat)
    assert server.asked == 5


async def test_the_circuit_opens_after_failures_in_a_row_and_a_trial_closes_it(
    clients: Clients, budget: TokenBudget, server: ModelServer
) -> None:
    client = clients(retries=0)
    now = 1000.0
    client._breaker._clock = lambda: now
    chat = OpenAIChat(client, budget)
    server.replies.extend([error(500)] * 6)
    for _ in range(5):
        with pytest.raises(ModelUnavailable, match="status 500"):
            await ask(chat)
    with pytest.raises(ModelUnavailable, match="left alone") as alone:
        await ask(chat)
    assert (server.asked, alone.value.retry_after) == (5, 30.0)
    now += 31.0
    with pytest.raises(ModelUnavailable, match="status 500"):
        await ask(chat)
    with pytest.raises(ModelUnavailable, match="left alone"):
        await ask(chat)
    now += 31.0
    await ask(chat)
    await ask(chat)
    assert server.asked == 8
