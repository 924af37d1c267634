"""Messages that are too long for a turn: the text becomes an artifact, and the message begins with its surrogate."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import WithJsonSchema

from mnemolog.adapters.operations.engine import Engine
from mnemolog.domain.artifact import URL, ArtifactType, surrogate
from mnemolog.domain.text import MAX_TEXT_BYTES, clean
from mnemolog.events.fields import checked_by
from mnemolog.events.shapes import text_shape

MAX_LONG_BYTES = 8 * 1024 * 1024
BEGINNING = 2000

LongText = Annotated[
    str,
    checked_by(lambda value, field: clean(value, field, max_bytes=MAX_LONG_BYTES)),
    WithJsonSchema(text_shape(MAX_LONG_BYTES)),
]


async def shortened(engine: Engine, turns: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The turns, with an artifact in place of each text that is too long. The same text again is the same artifact."""
    return [await _shortened(engine, one) if _is_long(one["text"]) else one for one in turns]


def _is_long(text: str) -> bool:
    return len(text.encode()) > MAX_TEXT_BYTES


async def _shortened(engine: Engine, turn: Mapping[str, Any]) -> Mapping[str, Any]:
    from mnemolog.adapters.artifacts import content as contents
    from mnemolog.adapters.artifacts.extraction import enqueue

    text: str = turn["text"]
    who = {name: turn[name] for name in ("tenant", "user_id", "agent_id", "thread_id", "run_id") if turn.get(name)}
    file = {**who, "name": "message.txt", "mime": "text/plain"}
    artifact_id, receipt = await contents.store(engine, text.encode(), file)
    if not receipt.already:
        await enqueue(engine, receipt.stream, artifact_id)
    attachment = {"type": ArtifactType.FILE.value, "url": f"{URL}{artifact_id}"}
    says = f"{surrogate(ArtifactType.FILE, artifact_id, 'the whole message')}\n{text[:BEGINNING].rstrip()}…"
    return {**turn, "text": says, "attachments": [*turn.get("attachments", ()), attachment]}
