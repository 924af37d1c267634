"""Timing hooks of the engine; inactive unless an adapter listens."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

Attribute = str | int | float | bool


class Measure(Protocol):
    """Called with how many seconds a step took."""

    def __call__(self, step: str, seconds: float) -> None: ...


class Trace(Protocol):
    """Opens a span, which ends with the block."""

    def __call__(self, step: str, attributes: dict[str, Attribute]) -> AbstractContextManager[object]: ...


def _measure_nothing(step: str, seconds: float) -> None:
    pass


def _trace_nothing(step: str, attributes: dict[str, Attribute]) -> AbstractContextManager[object]:
    return nullcontext()


measure: Measure = _measure_nothing
trace: Trace = _trace_nothing


@contextmanager
def step(name: str, **attributes: Attribute) -> Iterator[None]:
    """A step of the engine: `command`, `append`, `model` or `project`. Attributes contain no text and no user name."""
    began = time.perf_counter()
    try:
        with trace(name, attributes):
            yield
    finally:
        measure(name, time.perf_counter() - began)
