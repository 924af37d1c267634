"""Files of messages, which become artifacts: those in attachments, and texts that are too long for a turn.

A message whose text is too long begins with the surrogate of its artifact.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from pydantic import WithJsonSchema

from mnemolog.adapters.operations.data_url import DATA_URL, decoded, is_data_url
from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.openai_messages import PARTS
from mnemolog.commands.artifacts import StoreFileOfMessage
from mnemolog.commands.heard import TurnRefused
from mnemolog.commands.turns import ShownAttachment, attachment_url
from mnemolog.domain.artifact import URL, ArtifactType, named_by, surrogate
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.text import MAX_TEXT_BYTES, clean
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.fields import MAX_DETAIL, checked_by
from mnemolog.events.shapes import label_shape, text_shape

MAX_LONG_BYTES = 8 * 1024 * 1024
STORED = "A text of more than 256 KiB is stored as an artifact: the message then has its surrogate and its beginning."
BEGINNING = 2000


def _long(value: object, field: str) -> str:
    return clean(value, field, max_bytes=MAX_LONG_BYTES)


def _words(value: object, field: str) -> str:
    return "" if value is None or (isinstance(value, str) and not value.strip()) else _long(value, field)


WORDS = {"anyOf": [*label_shape(MAX_LONG_BYTES)["anyOf"], PARTS]}
LongText = Annotated[str, checked_by(_long), WithJsonSchema(text_shape(MAX_LONG_BYTES))]
# Empty where only an attachment was sent.
LongWords = Annotated[str, checked_by(_words), WithJsonSchema(WORDS)]


def _given_url(value: object, field: str) -> str:
    if isinstance(value, str) and is_data_url(value):
        decoded(value, field)
        return value
    return attachment_url(value, field)


URL_SHAPE = {"anyOf": [*label_shape(MAX_DETAIL)["anyOf"], DATA_URL]}


class GivenAttachment(ShownAttachment):
    """An attachment of a message. A file in its URL (`data:image/png;base64,...`) is stored as an artifact."""

    url: Annotated[str, checked_by(_given_url), WithJsonSchema(URL_SHAPE)] = ""


@dataclass(frozen=True, slots=True)
class _File:
    """A file of a turn: that of the attachment at this place, or its text."""

    place: int | None
    content: bytes
    fields: dict[str, Any]


async def with_artifacts(
    engine: Engine, turns: Sequence[Mapping[str, Any]], *, keyed: bool = False
) -> Sequence[Mapping[str, Any]]:
    """The turns, with an artifact in place of each file. The same content again is the same artifact.

    No artifact is stored for a turn that is recorded, whose files may have been erased since, or that is refused.
    """
    files = {place: own for place, turn in enumerate(turns) if (own := _files(engine, place, turn))}
    if not files:
        return turns
    said, new = list(turns), list[int]()
    recorded = await engine.writes.recorded([_without(turns[place], own) for place, own in files.items()])
    for (place, own), earlier in zip(files.items(), recorded, strict=True):
        ids = [await _attached(engine, one, earlier) if earlier else None for one in own]
        said[place] = _with(turns[place], own, ids)
        new += [] if earlier else [place]
    await engine.writes.rehearse(said, keyed=keyed)
    for place in new:
        said[place] = _with(turns[place], files[place], [await _stored(engine, one) for one in files[place]])
    return said


def _files(engine: Engine, place: int, turn: Mapping[str, Any]) -> Sequence[_File]:
    who = {name: turn[name] for name in ("tenant", "user_id", "agent_id", "thread_id", "run_id") if turn.get(name)}
    files = list[_File]()
    for number, shown in enumerate(turn.get("attachments", ())):
        if is_data_url(url := shown.get("url", "")):
            content, mime = decoded(url, field := f"attachments[{number}].url")
            if len(content) > (most := engine.settings.artifact_max_bytes):
                message = f"has {len(content):,} bytes, at most {most:,} are accepted"
                fix = "send a smaller file, or raise `artifact_max_bytes`"
                raise TurnRefused(place, InvalidInput(message, field=field, fix=fix))
            files.append(_File(number, content, {**who, "mime": mime}))
    text = turn.get("text", "").encode()
    if len(text) > MAX_TEXT_BYTES:
        files.append(_File(None, text, {**who, "name": "message.txt", "mime": "text/plain"}))
    return files


def _without(turn: Mapping[str, Any], files: Sequence[_File]) -> Mapping[str, Any]:
    return _with(turn, files, [None] * len(files))


def _with(turn: Mapping[str, Any], files: Sequence[_File], ids: Sequence[UUID | None]) -> Mapping[str, Any]:
    """The turn with the artifacts of its files; without an id, with nothing in place of the file."""
    said, attachments = dict(turn), [dict(shown) for shown in turn.get("attachments", ())]
    for file, id_ in zip(files, ids, strict=True):
        url = f"{URL}{id_}" if id_ else ""
        if file.place is not None:
            attachments[file.place]["url"] = url
            continue
        said["text"] = f"{turn['text'][:BEGINNING].rstrip()}…"
        if id_:
            said["text"] = f"{surrogate(ArtifactType.FILE, id_, 'the whole message')}\n{said['text']}"
            attachments.append({"type": ArtifactType.FILE.value, "url": url})
    return {**said, "attachments": attachments}


async def _attached(engine: Engine, file: _File, recorded: TurnRecorded) -> UUID | None:
    """The artifact of the recorded turn that has or had this content."""
    from mnemolog.adapters.artifacts import content as contents

    known = await contents.ids_of(engine, file.content, file.fields, StoreFileOfMessage)
    return next((id_ for one in recorded.attachments if (id_ := named_by(one.url)) in known), None)


async def _stored(engine: Engine, file: _File) -> UUID:
    from mnemolog.adapters.artifacts import content as contents
    from mnemolog.adapters.artifacts.extraction import enqueue

    artifact_id, receipt = await contents.store(engine, file.content, file.fields, kind=StoreFileOfMessage)
    if not receipt.already:
        await enqueue(engine, receipt.stream, artifact_id)
    return artifact_id
