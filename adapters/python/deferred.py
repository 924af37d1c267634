"""Modules that are loaded at their first use, so that a program imports the Python face in little time."""

from importlib import import_module
from typing import Any


class Deferred:
    """A placeholder for the module of this name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
