"""Messages as the OpenAI API has them, read as messages of `add`: content in parts, calls of tools, roles."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mnemolog.domain.data_url import DATA_URL, decoded, is_data_url
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.message import WITHOUT_TEXT
from mnemolog.domain.text import CONTROL

ROLES = {"developer": "system", "function": "tool"}
# What these APIs send with a message beside its words. It is not kept.
NOT_KEPT = ("refusal", "annotations", "audio", "tool_calls", "function_call", "tool_call_id")
# In an item of the Responses API, which has its type, too.
OF_AN_ITEM = ("type", "status", "phase")
TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
ADDRESSES = ("https://", "http://")
IMAGES = ("image_url", "input_image")
FIX = "use text and image_url parts, and attach other files with `add_artifact`"

_ADDRESS = {"anyOf": [{"type": "string", "pattern": "^https?://.{1,2000}$"}, DATA_URL]}
_WRAPPED = {"type": "object", "properties": {"url": _ADDRESS}, "required": ["url"]}


def _shape(kinds: Iterable[str], name: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    fields = {"type": {"type": "string", "enum": list(kinds)}, name: value}
    return {"type": "object", "properties": fields, "required": ["type", name]}


# The JSON Schema of content in parts.
PARTS = {
    "type": "array",
    "description": "Parts, as in the OpenAI API.",
    "items": {
        "anyOf": [
            _shape([kind for kind, name in TEXTS.items() if name == "text"], "text", {"type": "string"}),
            _shape(["refusal"], "refusal", {"type": "string"}),
            _shape(IMAGES, "image_url", {"anyOf": [*_ADDRESS["anyOf"], _WRAPPED]}),
        ]
    },
}


def read(message: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The message with the fields of `add` only, as far as it has those of these APIs; InvalidInput names a part.

    A message without words that calls tools has the names and the arguments of its calls as text. One with which a tool
    returned nothing has the text `(no text)`, which no search finds.

    >>> read({"role": "developer", "content": [{"type": "text", "text": "Be brief"}], "audio": None}, "messages[0]")
    {'role': 'system', 'content': 'Be brief'}
    """
    said = {name: value for name, value in message.items() if name not in NOT_KEPT}
    if message.get("type") == "message":
        said = {("message_id" if name == "id" else name): one for name, one in said.items() if name not in OF_AN_ITEM}
    if (role := said.get("role")) in ("developer", "function"):
        said["role"] = ROLES[role]
    if isinstance(content := said.get("content"), list | tuple):
        texts, images = _parts(content, f"{path}.content")
        said["content"] = "\n".join(texts)
        if images and isinstance(given := said.get("attachments") or [], list | tuple):
            said["attachments"] = [*given, *images]
    if _blank(said.get("content")) and _blank(said.get("text")):
        calls = any(message.get(name) for name in ("tool_calls", "function_call", "tool_call_id"))
        if instead := _instead(message) or (WITHOUT_TEXT if calls and not said.get("attachments") else ""):
            said = {**{name: one for name, one in said.items() if name != "text"}, "content": instead}
    return said


def _parts(content: Sequence[Any], path: str) -> tuple[list[str], list[dict[str, Any]]]:
    """The texts and the images of the parts, each in order."""
    texts, images = list[str](), list[dict[str, Any]]()
    for place, part in enumerate(content):
        at = f"{path}[{place}]"
        if not isinstance(part, Mapping):
            raise InvalidInput("must be a JSON object", field=at, fix='send {"type": "text", "text": "..."}')
        kind = part.get("type")
        if isinstance(kind, str) and kind in TEXTS:
            texts.append(_text(part, TEXTS[kind], at))
        elif kind in IMAGES:
            images.append({"type": "image", "url": _url(part, at)})
        else:
            raise InvalidInput(f"{kind!r:.80} is not supported", field=f"{at}.type", fix=FIX)
    return [text for text in texts if text.strip()], images


def _text(part: Mapping[str, Any], name: str, path: str) -> str:
    if isinstance(text := part.get(name), str):
        return text
    raise InvalidInput(f"must be text, not {type(text).__name__}", field=f"{path}.{name}", fix="send a string")


def _url(part: Mapping[str, Any], path: str) -> str:
    """The address of an image, which the Responses API has without an object around it."""
    image, field = part.get("image_url"), f"{path}.image_url"
    if isinstance(image, Mapping):
        image, field = image.get("url"), f"{field}.url"
    if isinstance(image, str) and is_data_url(image):
        decoded(image, field)
        return image
    if isinstance(image, str) and image.lower().startswith(ADDRESSES):
        return image
    fix = "send its https URL, or its content as data:<media type>;base64,<content>"
    raise InvalidInput("is not the URL of an image", field=field, fix=fix)


def _instead(message: Mapping[str, Any]) -> str:
    """The text of a message that has none: what it said aloud, why it refused, or what it called."""
    audio = message.get("audio")
    spoken = audio.get("transcript") if isinstance(audio, Mapping) else None
    for text in (spoken, message.get("refusal")):
        if isinstance(text, str) and text.strip():
            return text
    listed = message.get("tool_calls")
    calls = [*(listed if isinstance(listed, list | tuple) else ()), {"function": message.get("function_call")}]
    return CONTROL.sub("", "\n".join(filter(None, map(_call, calls))))


def _call(call: object) -> str:
    """The name of what is called, and the arguments."""
    one = (call.get("function") or call.get("custom")) if isinstance(call, Mapping) else None
    if not isinstance(one, Mapping) or not isinstance(name := one.get("name"), str):
        return ""
    given = one.get("arguments", one.get("input", ""))
    return f"{name} {given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)}".strip()


def _blank(text: object) -> bool:
    return text is None or (isinstance(text, str) and not text.strip())
