"""Prompts: a file for each version, `<name>.v<version>.md`. A version that was used is never changed, only followed.

load("image_description")             # the latest version
load("image_description", version=1)  # the one that an event names
load("rolling_summary", limit=600)    # with $limit in the file replaced
"""

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from string import Template


@dataclass(frozen=True, slots=True)
class Prompt:
    """The instructions for a model. Their input is sent separately, as a user message."""

    name: str
    version: int
    text: str = field(repr=False)


def load(name: str, *, version: int | None = None, **values: object) -> Prompt:
    """The prompt of this name. LookupError if there is none, or if a value that it needs is missing."""
    versions = _versions(name)
    wanted = max(versions, default=0) if version is None else version
    if wanted not in versions:
        raise LookupError(f"there is no prompt {name!r} of version {wanted}")
    return Prompt(name, wanted, Template(versions[wanted]).substitute(values).strip())


@cache
def _versions(name: str) -> dict[int, str]:
    found = {}
    for file in files(__name__).iterdir():
        stem, _, version = file.name.removesuffix(".md").rpartition(".v")
        if stem == name:
            found[int(version)] = file.read_text(encoding="utf-8")
    return found
