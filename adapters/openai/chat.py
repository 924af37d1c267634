"""Chat with structured output: an answer is JSON that fits a schema, or an error."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from mnemolog.adapters.openai.budget import TokenBudget
from mnemolog.adapters.openai.client import ModelClient, count_of, output_invalid
from mnemolog.commands.models import Completion
from mnemolog.commands.prompts import Prompt
from mnemolog.domain.errors import ModelRequestRefused
from mnemolog.domain.prompt import Message
from mnemolog.domain.text import count_tokens
from mnemolog.events.fields import clause
from mnemolog.events.generation import Generation

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletion

Output = TypeVar("Output")
Json = Mapping[str, Any]
# What OpenAI's models charge for a picture of common size.
IMAGE_TOKENS = 1500
LONGEST_NAME = 200
# In characters: many times what any request asks for. To read more would hold up the engine.
LONGEST_ANSWER = 1_000_000
TOO_LONG = "gave an answer that is far longer than it was asked for"
# Servers of reasoning models may leave the thoughts in the text; some leave out the tag that begins them.
END_OF_THOUGHTS = "</think>"


class OpenAIChat:
    """Implements `ChatModel`. An answer that does not match the schema is sent back once, with the reason."""

    def __init__(self, client: ModelClient, budget: TokenBudget) -> None:
        self.model = client.endpoint.model
        self._client, self._budget = client, budget
        # Newer models of OpenAI refuse `temperature`, and have another name for `max_tokens`.
        self._refused: set[str] = set()

    async def complete(
        self,
        tenant: str,
        prompt: Prompt,
        text: str,
        output: type[Output],
        *,
        max_tokens: int = 1000,
        temperature: float = 0.0,
        before: Sequence[Message] = (),
    ) -> Completion[Output]:
        """The model's answer to the prompt about this text; `before`: messages between the two."""
        options: Any = {"max_tokens": max_tokens, "temperature": temperature, "before": before}
        return await self.answer(tenant, prompt, text, (), output, **options)

    async def answer(
        self,
        tenant: str,
        prompt: Prompt,
        text: str,
        images: Sequence[str],
        output: type[Output],
        *,
        max_tokens: int,
        temperature: float = 0.0,
        before: Sequence[Message] = (),
    ) -> Completion[Output]:
        """The same, with images given as URLs."""
        pictures = [{"type": "image_url", "image_url": {"url": url}} for url in images]
        content = [{"type": "text", "text": text}, *pictures] if pictures else text
        between: list[Json] = [{"role": one.role, "content": one.content} for one in before]
        messages = [{"role": "system", "content": prompt.text}, *between, {"role": "user", "content": content}]
        texts = (prompt.text, *(one.content for one in before), text)
        sent = sum(map(count_tokens, texts)) + IMAGE_TOKENS * len(images)
        endpoint, form = self._client.endpoint, TypeAdapter(output)
        schema = {"name": output.__name__, "schema": _strict(form.json_schema()), "strict": True}
        response_format = {"type": "json_schema", "json_schema": schema}
        async with self._budget.reserved(tenant, endpoint, sent + max_tokens) as spent:
            for last in (False, True):
                completion = await self._create(messages, response_format, max_tokens, temperature)
                said, fault = _said(completion)
                usage, answered = getattr(completion, "usage", None), count_tokens(said)
                spent.add(count_of(usage, "prompt_tokens", sent), count_of(usage, "completion_tokens", answered))
                if fault:
                    raise output_invalid(endpoint, fault)
                try:
                    found = form.validate_python(_json(said))
                    break
                except (ValueError, RecursionError) as error:  # Pydantic's is a ValueError.
                    if last:
                        raise output_invalid(endpoint, f"gave an answer that does not fit: {_fault(error)}") from None
                    messages += _sent_back(said, _fault(error))
        used = Generation(
            model=_named(completion) or self.model,
            prompt=prompt.name,
            prompt_version=prompt.version,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
        )
        return Completion(found, used)

    async def _create(
        self, messages: Sequence[Json], response_format: Json, max_tokens: int, temperature: float
    ) -> "ChatCompletion":
        """Repeats the request without an option that the model does not support."""
        while True:
            options: dict[str, Any] = {"max_tokens": max_tokens, "temperature": temperature}
            if "max_tokens" in self._refused:
                options["max_completion_tokens"] = max_tokens
            for name in self._refused:
                options.pop(name, None)

            async def ask(client: "AsyncOpenAI", options: Json = options) -> "ChatCompletion":
                request: Any = {"messages": messages, "response_format": response_format, **options}
                completion: ChatCompletion = await client.chat.completions.create(model=self.model, **request)
                return completion

            try:
                return await self._client.call(ask)
            except ModelRequestRefused as refused:
                if refused.param not in options:
                    raise
                self._refused.add(refused.param)


def _strict(schema: Any) -> Any:
    """The strict form of the API: every property is required, and there are no others."""
    if isinstance(schema, list):
        return [_strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {name: _strict(one) for name, one in schema.items() if name != "default"}
    if isinstance(schema.get("properties"), dict):
        properties = {name: _strict(one) for name, one in schema["properties"].items()}
        strict |= {"properties": properties, "required": list(properties), "additionalProperties": False}
    return strict


def _said(completion: "ChatCompletion") -> tuple[str, str]:
    """The model's text, and why it cannot be used, if so; the form of an answer is whatever the server gave it."""
    choices: Any = getattr(completion, "choices", None)
    first = choices[0] if isinstance(choices, list) and choices else None
    message, finish = getattr(first, "message", None), getattr(first, "finish_reason", None)
    if message is None:
        return "", "gave no answer"
    if getattr(message, "refusal", None):
        return "", "refused to answer"
    if finish == "content_filter":
        return "", "gave an answer that the server's content filter held back"
    said = _text(getattr(message, "content", None))
    if len(said) > LONGEST_ANSWER:
        return "", TOO_LONG
    return said, "gave an answer that was cut off at the maximum number of tokens" if finish == "length" else ""


def _text(content: object) -> str:
    """Some servers give the parts of a text, among those of another type, such as thoughts."""
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _named(completion: "ChatCompletion") -> str:
    """The model that the server says it ran; "" if that is not a name."""
    name: Any = getattr(completion, "model", None)
    return name if isinstance(name, str) and len(name) <= LONGEST_NAME and name.isprintable() else ""


def _json(said: str) -> object:
    """The JSON object in a model's text, without the thoughts before it and the code fence that some add."""
    thoughts, end, answer = said.partition(END_OF_THOUGHTS)
    if end and not thoughts.lstrip().startswith("{"):
        said = answer
    return _all_storable(json.loads(said[max(0, said.find("{")) : said.rfind("}") + 1]))


def _all_storable(value: Any) -> object:
    match value:
        case str():
            return storable(value)
        case list():
            return [_all_storable(one) for one in value]
        case dict():
            return {name: _all_storable(one) for name, one in value.items()}
        case _:
            return value


def storable(text: str) -> str:
    """The text without control characters and halves of surrogate pairs."""
    return _UNSTORABLE.sub("", text)


_UNSTORABLE = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff]")


def _fault(error: Exception) -> str:
    """What is wrong, without quoting the answer."""
    if isinstance(error, ValidationError):
        first = error.errors(include_input=False)[0]
        place = ".".join(map(str, first["loc"]))[:200]
        return f"{place}: {clause(first['msg'])}" if place else clause(first["msg"])
    return "it is not JSON"


def _sent_back(said: str, fault: str) -> Sequence[Json]:
    return [
        {"role": "assistant", "content": said},
        {"role": "user", "content": f"This does not fit the schema: {fault}. Answer again, with JSON that does."},
    ]
