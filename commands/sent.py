"""Messages as they are sent: with files, which become artifacts before the message is recorded (E §4).

A message whose text is too long begins with the surrogate of its artifact.
"""

from typing import Annotated

from pydantic import WithJsonSchema

from mnemolog.commands.turns import ShownAttachment, attachment_url
from mnemolog.domain.data_url import DATA_URL, decoded, is_data_url
from mnemolog.domain.text import clean
from mnemolog.events.fields import MAX_DETAIL, checked_by
from mnemolog.events.shapes import label_shape, text_shape

MAX_LONG_BYTES = 8 * 1024 * 1024
STORED = "A text of more than 256 KiB is stored as an artifact: the message then has its surrogate and its beginning."


def _long(value: object, field: str) -> str:
    return clean(value, field, max_bytes=MAX_LONG_BYTES)


def long_words(value: object, field: str) -> str:
    """A text of a message; empty where only an attachment was sent."""
    return "" if value is None or (isinstance(value, str) and not value.strip()) else _long(value, field)


LongText = Annotated[str, checked_by(_long), WithJsonSchema(text_shape(MAX_LONG_BYTES))]
LongWords = Annotated[str, checked_by(long_words), WithJsonSchema(label_shape(MAX_LONG_BYTES))]


def _sent_url(value: object, field: str) -> str:
    if isinstance(value, str) and is_data_url(value):
        decoded(value, field)
        return value
    return attachment_url(value, field)


URL_SHAPE = {"anyOf": [*label_shape(MAX_DETAIL)["anyOf"], DATA_URL]}


class SentAttachment(ShownAttachment):
    """An attachment of a message. A file in its URL (`data:image/png;base64,...`) is stored as an artifact.

    The URL `artifact:<id>` names an artifact, which is then erased with the message.
    """

    url: Annotated[str, checked_by(_sent_url), WithJsonSchema(URL_SHAPE)] = ""
