"""The settings that all clients of one engine share, and the error if one of them wants a different value."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, cast

from mnemolog.adapters import keys
from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded import Endpoints
from mnemolog.adapters.policy import from_dict
from mnemolog.domain.errors import EngineError, EngineSettingDiffers
from mnemolog.domain.policy import Policy

# What a client leaves unset is as the engine has it.
TAKEN = (
    "embedder",
    "embedder_folder",
    "embedding_model",
    "calibrations",
    "artifacts_url",
    "vectors_url",
    "vectors_prefix",
    "webhook_networks",
    "unlisted_agents",
)
MODELS = ("chat_model", "vision_model", "transcription_model")
PLAIN = (*TAKEN, *MODELS, "durable", "nats_sync", "anchor_file", "projection_strategy", "projection_strategies")
ADDRESSES = ("postgres_url", "nats_url", "redis_url", "projections_url")
MASTER_KEY = "master_key"
POLICY = "policy"
SECRET = frozenset({*ADDRESSES, MASTER_KEY})


def shared_settings(settings: Settings) -> Mapping[str, object]:
    """Their values for comparison with the engine's, without the addresses; the master key as a hash."""
    return {**settings.model_dump(mode="json", include=set(PLAIN)), MASTER_KEY: _key_hash(settings)}


def published(settings: Settings, policy: Policy) -> Mapping[str, object]:
    """What `engine.json` says of them, with the whole policy, which clients follow."""
    return {**shared_settings(settings), POLICY: policy.as_dict()}


def as_the_engine(settings: Settings, engine: Endpoints) -> Settings:
    """A client's settings for this engine: unset ones have the engine's values.

    EngineSettingDiffers if it sets a shared setting to another value.
    """
    theirs = {**engine.settings, **dict(zip(ADDRESSES, engine.addresses, strict=True))}
    own = {**shared_settings(settings), **settings.model_dump(include=set(ADDRESSES))}
    for name in own.keys() & theirs.keys() & settings.model_fields_set:
        if own[name] is not None and own[name] != theirs[name]:
            values = "" if name in SECRET else f": {_shown(theirs[name])}, and here it is {_shown(own[name])}"
            raise EngineSettingDiffers(
                f"the engine that runs on this data directory (pid {engine.pid}) has a different value{values}",
                field=name,
                fix=f"use the engine's value (MNEMOLOG_{name.upper()}), or run `mnemolog down` and start again",
            )
    return settings.model_copy(update={name: theirs[name] for name in TAKEN if name in theirs})


def policy_of(settings: Settings, engine: Endpoints) -> Policy:
    """The engine's policy, for a client with the settings that `as_the_engine` returned.

    EngineSettingDiffers if the client's own policy file says otherwise.
    """
    if POLICY not in engine.settings:
        raise EngineError(
            f"the engine that runs on this data directory (pid {engine.pid}) is an earlier version of Mnemolog",
            field="data_dir",
            fix="stop the programs that use it (`mnemolog status` lists them), or run `mnemolog down`",
        )
    theirs = from_dict(cast("Mapping[str, Any]", engine.settings[POLICY]))
    if settings.policy_file and (own := settings.policy).version != theirs.version:
        raise EngineSettingDiffers(
            f"the engine that runs on this data directory (pid {engine.pid}) has the policy {theirs.version}, "
            f"and {settings.policy_file.name} is {own.version}",
            field="policy_file",
            fix="leave it unset to follow the engine's policy, or run `mnemolog down` and start again with this file",
        )
    return theirs


def _shown(value: object) -> str:
    return "not set" if value is None else repr(value)


def _key_hash(settings: Settings) -> str | None:
    """The hash of the key that is set or in the data directory. The key is random, so its hash reveals nothing."""
    file = settings.directory / "master.key"
    if settings.master_key:
        key = keys.decoded(settings.master_key, field=MASTER_KEY)
    elif file.exists():
        key = keys.from_file(file)
    else:
        return None
    return blake2b(key, digest_size=16, person=b"mnemolog client").hexdigest()
