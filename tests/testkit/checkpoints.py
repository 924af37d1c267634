"""Checkpoints for tests, as LangGraph makes them."""

from typing import Any

from langgraph.checkpoint.base import empty_checkpoint

from mnemolog.langgraph import MnemologSaver


def config(thread_id: str = "main", **more: Any) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": "", **more}}


def checkpoint(version: int = 1, **values: Any) -> dict[str, Any]:
    return {
        **empty_checkpoint(),
        "channel_values": values,
        "channel_versions": dict.fromkeys(values, version),
    }


async def saved(
    saver: MnemologSaver, after: dict[str, Any] | None = None, *, version: int = 1, **values: Any
) -> dict[str, Any]:
    """Save a checkpoint in which all of these values are new; its config."""
    made = checkpoint(version, **values)
    return dict(
        await saver.aput(after or config(), made, {"source": "loop", "step": version}, made["channel_versions"])
    )


async def values(saver: MnemologSaver, of: dict[str, Any] | None = None) -> dict[str, Any] | None:
    """The values of a checkpoint, or of the newest; None when there is none."""
    found = await saver.aget_tuple(of or config())
    return dict(found.checkpoint["channel_values"]) if found else None
