"""Data URLs: a file within a message, as `data:image/png;base64,...`."""

import re
from base64 import b64decode

from mnemolog.domain.errors import InvalidInput

SCHEME = "data:"
_BASE64 = r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)"
DATA_URL = {"type": "string", "pattern": f"^{SCHEME}[^,;]*;base64,{_BASE64}$"}
_MEDIA_TYPE = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,60}")
_FIX = "send it as data:<media type>;base64,<content>"


def is_data_url(url: str) -> bool:
    return url[: len(SCHEME)].lower() == SCHEME


def decoded(url: str, field: str) -> tuple[bytes, str]:
    """The content, and the media type that it declares, or "".

    >>> decoded("data:text/plain;charset=utf-8;base64,SGk=", "url")
    (b'Hi', 'text/plain')
    """
    header, _, body = url[len(SCHEME) :].partition(",")
    media_type, *options = header.lower().split(";")
    if "base64" not in options:
        raise InvalidInput("is a data URL without base64", field=field, fix=_FIX)
    try:
        content = b64decode("".join(body.split()), validate=True)
    except ValueError:
        raise InvalidInput("is not base64", field=field, fix=_FIX) from None
    if not content:
        raise InvalidInput("has no content", field=field, fix=_FIX)
    return content, media_type if _MEDIA_TYPE.fullmatch(media_type) else ""
