"""Descriptions for readers who do not have the specifications that docstrings cite."""

import re
from typing import Any

_CITATION = r"(?:[A-EX]\d\d|[A-E](?: §[^,;()]+)?)"
_CITED = re.compile(rf"\s*\({_CITATION}(?:, {_CITATION})*\)")


def uncited(text: str) -> str:
    """A description without its source.

    >>> uncited("The affect of a chat was set (A §3.2). It fades (A §8, C03).")
    'The affect of a chat was set. It fades.'
    """
    return _CITED.sub("", text)


def published(document: Any) -> Any:
    """A JSON document whose descriptions cite no source."""
    if isinstance(document, list):
        return [published(one) for one in document]
    if not isinstance(document, dict):
        return document
    return {
        name: uncited(value) if name == "description" and isinstance(value, str) else published(value)
        for name, value in document.items()
    }
