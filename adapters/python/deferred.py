"""Modules that are loaded at their first use, so that a program imports the Python face in little time."""

import gc
import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class Deferred:
    """A placeholder for the module of this name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(_loaded(self._name), attribute)


def _loaded(name: str) -> ModuleType:
    """The module. What it imports stays: to look for garbage meanwhile takes a sixth of the time."""
    if name in sys.modules or not gc.isenabled():
        return import_module(name)
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.enable()
