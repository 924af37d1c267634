"""Opens the mem0 store that the settings name."""

from contextlib import AsyncExitStack
from importlib.util import find_spec

import yaml  # type: ignore[import-untyped]

from mnemolog.adapters.config import Settings
from mnemolog.adapters.mem0.store import Mem0Store
from mnemolog.domain.errors import InvalidInput


def mem0_store(stack: AsyncExitStack, settings: Settings) -> Mem0Store | None:
    """None unless `mem0_file` is set. A server that is down is noticed when something is copied."""
    if settings.mem0_file is None:
        return None
    if find_spec("mem0") is None:
        raise InvalidInput("needs the extra mem0", field="mem0_file", fix="run `pip install 'mnemolog[mem0]'`")
    assert settings.mem0_file is not None, "it is set"
    path = settings.mem0_file.expanduser()
    try:
        config = yaml.safe_load(path.read_text())
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read", field="mem0_file", fix="correct the path") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is neither YAML nor JSON", field="mem0_file", fix="correct the file") from error
    if not isinstance(config, dict):
        raise InvalidInput(
            f"{path} is not a mapping", field="mem0_file", fix="write what mem0's `Memory.from_config` takes"
        )
    store = Mem0Store(config, settings.tenant, settings.directory / "mem0")
    stack.push_async_callback(store.aclose)
    return store
