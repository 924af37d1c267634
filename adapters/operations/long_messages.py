"""Messages that are too long for a turn: the text becomes an artifact, and the message begins with its surrogate."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

from pydantic import WithJsonSchema

from mnemolog.adapters.operations.engine import Engine
from mnemolog.domain.artifact import URL, ArtifactType, named_by, surrogate
from mnemolog.domain.text import MAX_TEXT_BYTES, clean
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.fields import checked_by
from mnemolog.events.shapes import label_shape, text_shape

MAX_LONG_BYTES = 8 * 1024 * 1024
STORED = "A text of more than 256 KiB is stored as an artifact: the message then has its surrogate and its beginning."
BEGINNING = 2000


def _long(value: object, field: str) -> str:
    return clean(value, field, max_bytes=MAX_LONG_BYTES)


def _words(value: object, field: str) -> str:
    return "" if value is None or (isinstance(value, str) and not value.strip()) else _long(value, field)


LongText = Annotated[str, checked_by(_long), WithJsonSchema(text_shape(MAX_LONG_BYTES))]
PARTS = {
    "type": "array",
    "items": {"type": "object", "required": ["type"]},
    "description": "Parts, as in the OpenAI API.",
}
WORDS_SHAPE = {"anyOf": [*label_shape(MAX_LONG_BYTES)["anyOf"], PARTS]}
# Empty where only an attachment was sent.
LongWords = Annotated[str, checked_by(_words), WithJsonSchema(WORDS_SHAPE)]


async def shortened(
    engine: Engine, turns: Sequence[Mapping[str, Any]], *, keyed: bool = False
) -> Sequence[Mapping[str, Any]]:
    """The turns, with an artifact in place of each text that is too long. The same text again is the same artifact.

    No artifact is stored for a turn that is recorded, whose text may have been erased since, or that is refused.
    """
    long = [place for place, one in enumerate(turns) if len(one.get("text", "").encode()) > MAX_TEXT_BYTES]
    if not long:
        return turns
    said, new = list(turns), list[int]()
    recorded = await engine.writes.recorded([_begun(turns[place]) for place in long])
    for place, earlier in zip(long, recorded, strict=True):
        id_ = await _attached(engine, turns[place], earlier) if earlier else None
        said[place] = _standing_for(turns[place], id_) if id_ else _begun(turns[place])
        new += [] if earlier else [place]
    await engine.writes.rehearse(said, keyed=keyed)
    for place in new:
        said[place] = _standing_for(turns[place], await _stored(engine, turns[place]))
    return said


def _begun(turn: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**turn, "text": f"{turn['text'][:BEGINNING].rstrip()}…"}


def _standing_for(turn: Mapping[str, Any], artifact_id: UUID) -> Mapping[str, Any]:
    """The turn with the artifact of its text."""
    attachment = {"type": ArtifactType.FILE.value, "url": f"{URL}{artifact_id}"}
    says = f"{surrogate(ArtifactType.FILE, artifact_id, 'the whole message')}\n{_begun(turn)['text']}"
    return {**turn, "text": says, "attachments": [*turn.get("attachments", ()), attachment]}


def _file(turn: Mapping[str, Any]) -> tuple[bytes, dict[str, Any]]:
    who = {name: turn[name] for name in ("tenant", "user_id", "agent_id", "thread_id", "run_id") if turn.get(name)}
    return turn["text"].encode(), {**who, "name": "message.txt", "mime": "text/plain"}


async def _attached(engine: Engine, turn: Mapping[str, Any], recorded: TurnRecorded) -> UUID | None:
    """The artifact of the recorded turn that has or had this text."""
    from mnemolog.adapters.artifacts import content as contents

    known = await contents.ids_of(engine, *_file(turn))
    return next((id_ for one in recorded.attachments if (id_ := named_by(one.url)) in known), None)


async def _stored(engine: Engine, turn: Mapping[str, Any]) -> UUID:
    from mnemolog.adapters.artifacts import content as contents
    from mnemolog.adapters.artifacts.extraction import enqueue

    artifact_id, receipt = await contents.store(engine, *_file(turn))
    if not receipt.already:
        await enqueue(engine, receipt.stream, artifact_id)
    return artifact_id
