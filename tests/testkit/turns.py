"""Turns over HTTP."""

from collections.abc import Mapping
from typing import Any

ONCE = ("user_id", "agent_id", "thread_id", "run_id", "correlation_id")


def as_request(turn: Mapping[str, Any]) -> dict[str, Any]:
    """What a producer publishes, as the body of `POST /v1/turns`."""
    message = {name: value for name, value in turn.items() if name not in ONCE}
    return {**{name: turn[name] for name in ONCE if name in turn}, "messages": [message]}
