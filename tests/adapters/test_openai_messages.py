"""Messages of the OpenAI API, read as messages of `add`."""

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.adapters.operations.conversation import Add
from mnemolog.adapters.operations.openai_messages import NOT_KEPT, read
from mnemolog.domain.data_url import DATA_URL, decoded
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.text import CONTROL
from mnemolog.events.fields import validated

Json = dict[str, Any]
EMPTY: Json = {"refusal": None, "annotations": [], "audio": None, "function_call": None, "tool_calls": None}
CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Porto"}'}}
CUSTOM = {"id": "c2", "type": "custom", "custom": {"name": "run", "input": "ls"}}
PICTURE: Json = {"type": "image_url", "image_url": {"url": "https://a.example/1.png", "detail": "low"}}

words = st.text(min_size=1, max_size=30).filter(lambda text: text.strip() and not CONTROL.search(text))
texts = st.builds(lambda kind, text: {"type": kind, "text": text}, st.sampled_from(["text", "output_text"]), words)
pictures = st.just(PICTURE)
roles = st.sampled_from(["user", "assistant", "system", "developer", "tool", "function"])
besides = st.fixed_dictionaries({}, optional={name: st.none() for name in (*NOT_KEPT, "name")})


def added(message: object) -> Any:
    [one] = validated(Add, {"user_id": "ana", "messages": [message]}).messages
    return one


@given(roles, st.lists(texts | pictures, min_size=1, max_size=5), besides)
def test_parts_are_read_in_order_and_nothing_of_them_is_lost(role: str, parts: list[Json], beside: Json) -> None:
    message = {"role": role, "content": parts, **beside}
    before = repr(message)

    one = added(message)

    assert one.text == "\n".join(part["text"] for part in parts if "text" in part).strip()
    urls = ["https://a.example/1.png" for part in parts if part == PICTURE]
    assert [shown.url for shown in one.attachments] == urls
    assert one.role == {"developer": "system", "function": "tool"}.get(role, role)
    assert repr(message) == before


@given(st.from_regex(DATA_URL["pattern"], fullmatch=True))
def test_every_data_url_that_the_schema_describes_is_read(url: str) -> None:
    content, _ = decoded(url, "url")

    assert b64encode(content).decode()[:-4] == url.partition(",")[2][:-4]


@given(words, roles, besides)
def test_a_message_in_parts_is_the_same_as_one_in_words(text: str, role: str, beside: Json) -> None:
    assert added({"role": role, "content": [{"type": "text", "text": text}], **beside}) == added(
        {"role": role, "content": text}
    )


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"role": "assistant", "content": None, **EMPTY, "tool_calls": [CALL]}, 'get_weather {"city": "Porto"}'),
        ({"role": "assistant", "tool_calls": [CALL, CUSTOM]}, 'get_weather {"city": "Porto"}\nrun ls'),
        ({"role": "assistant", "content": "", "function_call": {"name": "now", "arguments": {}}}, "now {}"),
        ({"role": "assistant", "content": "Let me see", "tool_calls": [CALL]}, "Let me see"),
        ({"role": "assistant", "content": None, "tool_calls": [{"id": "c3"}]}, "(no text)"),
        ({"role": "tool", "content": "", "tool_call_id": "c1"}, "(no text)"),
        ({"role": "tool", "content": "9 degrees", "tool_call_id": "c1"}, "9 degrees"),
        ({"role": "assistant", "content": None, "refusal": "I cannot help"}, "I cannot help"),
        ({"role": "assistant", "content": None, "audio": {"id": "a", "transcript": "Hello"}}, "Hello"),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "No"}]}, "No"),
    ],
)
def test_what_a_chat_model_answers_is_a_message(message: Json, text: str) -> None:
    assert added(message).text == text


def test_an_item_of_the_responses_api_keeps_its_id() -> None:
    parts = [{"type": "output_text", "text": "Hi", "annotations": [], "logprobs": []}]
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": parts}
    assert (added(item).message_id, added(item).text) == ("msg_1", "Hi")


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ([{"type": "text", "text": "Hi"}, {"type": "input_audio", "input_audio": {}}], "content[1].type"),
        ([{"text": "Hi"}], "content[0].type"),
        ([{"type": ["text"]}], "content[0].type"),
        (["Hi"], "content[0]"),
        ([{"type": "text", "text": None}], "content[0].text"),
        ([{"type": "image_url", "image_url": {"url": "ftp://a.example/1.png"}}], "content[0].image_url.url"),
        ([{"type": "input_image", "image_url": 5}], "content[0].image_url"),
    ],
)
def test_a_part_that_is_not_read_is_named_and_what_to_do(content: object, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        validated(Add, {"user_id": "ana", "messages": ["Hi", {"role": "user", "content": content}]})

    assert refused.value.field == f"messages[1].{field}"
    assert refused.value.fix.startswith(("use ", "send "))


def test_many_messages_are_counted_before_they_are_read() -> None:
    with pytest.raises(InvalidInput) as refused:
        validated(Add, {"user_id": "ana", "messages": [{"content": [5]}] * 101})
    assert refused.value.field == "messages"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["role", "content", "text", "type", "attachments", *NOT_KEPT]), json_values))
def test_any_json_is_read_or_refused_by_name(message: Json) -> None:
    left, refused = dict[str, Any](), "messages[0].content["
    try:
        left = read(message, "messages[0]")
    except InvalidInput as error:
        refused = error.field
    assert refused.startswith("messages[0].content[")
    assert not left.keys() & set(NOT_KEPT)


@given(st.binary(min_size=1, max_size=50), st.sampled_from(["image/png", "image/svg+xml", "nonsense", ""]))
def test_a_data_url_gives_its_content_and_type(content: bytes, mime: str) -> None:
    body = b64encode(content).decode()
    url = f"data:{mime};base64,{body}"
    image = {"type": "image_url", "image_url": {"url": url}}

    [shown] = added({"role": "user", "content": [image]}).attachments

    assert (shown.type, shown.url) == ("image", url)
    assert decoded(url.upper()[:5] + url[5:], "url") == (content, mime if "/" in mime else "")


@pytest.mark.parametrize("url", ["data:image/png;base64,", "data:image/png;base64,a", "data:,Hi", "data:x;base64,é"])
def test_a_data_url_without_content_is_refused_where_it_stands(url: str) -> None:
    image = {"type": "image_url", "image_url": {"url": url}}
    for message, field in (
        ({"content": [image]}, "messages[0].content[0].image_url.url"),
        ({"attachments": [{"type": "image", "url": url}]}, "messages[0].attachments[0].url"),
    ):
        with pytest.raises(InvalidInput) as refused:
            added(message)
        assert refused.value.field == field
        assert refused.value.fix.endswith("data:<media type>;base64,<content>")
