"""Settings of the engines that tests open: no disk sync, no model, no mind that wakes by itself, and patience."""

from pathlib import Path
from typing import Any

from mnemolog.adapters.config import Settings, load

PATIENCE = 60.0


def settings_in(directory: Path, **given: Any) -> Settings:
    """For an engine on this directory; what is given comes first."""
    fast = {"durable": False, "embedder": "lexical", "http_port": 0, "recall_seconds": 0, "http_token": "off"}
    fast["minds"] = "off"  # A slow run would last until the first of them is due.
    return load(data_dir=directory, **{**fast, "read_deadline": PATIENCE, "append_deadline": PATIENCE, **given})
