"""Settings: defaults that work, then `mnemolog.toml`, then the environment (`MNEMOLOG_*`)."""

import os
from functools import partial
from hashlib import blake2b
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from mnemolog.adapters import policy
from mnemolog.adapters.files import MAX_FILE_BYTES
from mnemolog.adapters.postgres.url import checked_url
from mnemolog.domain.calibration import Figure
from mnemolog.domain.category import Unlisted
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.policy import Policy
from mnemolog.events.fields import Tenant, checked_by, invalid_input
from mnemolog.projections.strategy import OnPoison, Strategy

CONFIG_FILE = "MNEMOLOG_CONFIG"
GIB = 1024**3
ModelFeature = Literal["chat", "embedding", "vision", "transcription"]
MOVED = frozenset({"custom_categories", "allowlists"})


def _origin(text: str, name: str) -> str:
    """An origin as browsers send it: scheme, host, and a port unless it is the default."""
    parts = urlsplit(text)
    if text != "*" and (parts.scheme not in ("http", "https") or text != f"{parts.scheme}://{parts.netloc}".lower()):
        raise InvalidInput(f"{text!r} is not an origin", field=name, fix="use an origin such as https://app.example")
    return text


def _api_url(value: Any, name: str, example: str) -> Any:
    try:
        known = value is None or (value.startswith(("http://", "https://")) and urlsplit(value).hostname)
        if known and (value is None or urlsplit(value).port != 0):
            return value
    except (ValueError, AttributeError):
        pass
    raise InvalidInput("is not the URL of an API", field=name, fix=f"write it as {example}")


def _network(text: str, name: str) -> str:
    try:
        return str(ip_network(text))
    except ValueError:
        fix = "use one such as 10.0.0.0/8 or 127.0.0.1/32"
        raise InvalidInput(f"{text!r:.60} is not a network", field=name, fix=fix) from None


def _expanded(path: Path, name: str) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise InvalidInput(
            f"{path} needs a home directory, and this user has none",
            field=name,
            fix="set it to another path, or set HOME",
        ) from error


def _directory(value: Any, name: str) -> Any:
    try:
        _expanded(Path(value), name).resolve()
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidInput(f"is not the path of a directory: {error}", field=name, fix="choose another path") from error
    return value


def _folder(value: Any, name: str) -> str:
    """As an absolute path, since an engine may run elsewhere."""
    path = _expanded(Path(_directory(value, name)), name).absolute()
    if not path.is_dir():
        raise InvalidInput(f"{path} is not a directory", field=name, fix="give the folder that has model.onnx")
    return str(path)


ModelFolder = Annotated[str, checked_by(_folder)]
ModelUrl = Annotated[str, checked_by(partial(_api_url, example="http://localhost:11434/v1"))]
QdrantUrl = Annotated[str, checked_by(partial(_api_url, example="http://localhost:6333"))]
IpNetwork = Annotated[str, checked_by(_network)]
Origin = Annotated[str, checked_by(_origin)]


class Settings(BaseSettings):
    """The settings of an engine. Every field is also an environment variable, such as MNEMOLOG_DATA_DIR."""

    model_config = SettingsConfigDict(env_prefix="MNEMOLOG_", extra="forbid", frozen=True)

    data_dir: Annotated[
        Path,
        checked_by(_directory),
        Field(validate_default=True, description="Where the embedded servers and the master key live."),
    ] = Path("~/.mnemolog")
    engine: Annotated[
        Literal["background", "in-process"],
        Field(description="Where Python and the CLI start an engine: shared in the background, or in-process."),
    ] = "background"
    idle_grace: Annotated[
        float, Field(ge=0, description="Seconds a background engine keeps running after its last client.")
    ] = 60.0
    postgres_url: Annotated[
        str | None,
        checked_by(checked_url),
        Field(description="Your Postgres with pgvector, instead of the embedded one."),
    ] = None
    projections_url: Annotated[
        str | None,
        checked_by(checked_url),
        Field(description="Another Postgres database for projections, with pgvector; by default that of the log."),
    ] = None
    nats_url: Annotated[str | None, Field(description="Your NATS with JetStream, instead of the embedded one.")] = None
    redis_url: Annotated[
        str | None,
        Field(description="Your Redis 6.2 or newer, or a node of a cluster, instead of the embedded one."),
    ] = None
    http_host: Annotated[str, Field(description="The address on which the HTTP API listens.")] = "127.0.0.1"
    http_port: Annotated[int, Field(ge=0, le=65535, description="The port of the HTTP API; 0 picks a free one.")] = 8765
    http_hosts: Annotated[
        list[str], Field(description="Host names that the HTTP API accepts, in addition to http_host.")
    ] = ["localhost", "127.0.0.1", "::1"]
    http_token: Annotated[
        Literal["on", "off"],
        Field(description="Whether callers without an API key must send the token of this data directory."),
    ] = "on"
    cors_origins: Annotated[
        list[Origin],
        Field(description="Origins of web pages that may call the HTTP API, such as https://app.example; `*` is all."),
    ] = []
    log_format: Annotated[
        Literal["text", "json"],
        Field(description="The log format: text, or json with one object per line."),
    ] = "text"
    traces: Annotated[
        Literal["off", "otlp"],
        Field(description="Whether to send OpenTelemetry spans by OTLP; needs `pip install 'mnemolog[otel]'`."),
    ] = "off"
    tenant: Annotated[Tenant, Field(description="The tenant for the CLI, Python and the HTTP API.")] = "default"
    artifacts_url: Annotated[
        str | None,
        Field(
            description="Where the files of artifacts are stored: s3://BUCKET/PREFIX; needs `mnemolog[s3]`. "
            "Default: <data_dir>/artifacts."
        ),
    ] = None
    artifact_max_bytes: Annotated[
        int, Field(ge=1, le=MAX_FILE_BYTES, description="Maximum bytes of an artifact's file.")
    ] = 32 * 1024 * 1024
    vectors_url: Annotated[
        QdrantUrl | None,
        Field(
            description="A Qdrant server that finds nearest neighbours: http://HOST:6333; needs `mnemolog[qdrant]`. "
            "Default: Postgres."
        ),
    ] = None
    vectors_api_key: Annotated[str | None, Field(description="The API key for vectors_url.", repr=False)] = None
    vectors_prefix: Annotated[
        str,
        Field(
            pattern=r"^[a-z0-9_]{1,40}$",
            description="What the names of its collections begin with: one for each installation.",
        ),
    ] = "mnemolog"
    mem0_file: Annotated[
        Path | None,
        Field(
            description="mem0's configuration, in YAML or JSON: facts and episodes are copied to that mem0 store; "
            "needs `mnemolog[mem0]`. Default: none are."
        ),
    ] = None
    embedder: Annotated[
        Literal["minilm", "lexical"], Field(description="minilm searches by meaning; lexical by words, for tests.")
    ] = "minilm"
    embedder_folder: Annotated[
        ModelFolder | None,
        Field(
            description="A folder with another sentence model as ONNX, in the layout of sentence-transformers, in the "
            "place of the bundled one."
        ),
    ] = None
    calibrations: Annotated[
        dict[str, dict[Figure, float]],
        Field(description="Similarities of other embedding models, by model: from which on texts count as related."),
    ] = {}
    tokenizer_file: Annotated[
        Path | None,
        Field(
            description="The tokenizer.json of the model that reads your prompts, by which token budgets are counted. "
            "Default: they are estimated."
        ),
    ] = None
    model_url: Annotated[
        ModelUrl | None, Field(description="The API of your models, compatible with OpenAI's. Default: OpenAI.")
    ] = None
    model_api_key: Annotated[str | None, Field(description="The API key for model_url.", repr=False)] = None
    chat_model: Annotated[
        str | None, Field(description="The chat model, such as gpt-4o-mini. Without it, summaries are extracts.")
    ] = None
    embedding_model: Annotated[
        str | None, Field(description="The embedding model for search. Without it, the bundled one (embedder).")
    ] = None
    vision_model: Annotated[
        str | None, Field(description="The model that describes images. Without it, none are described.")
    ] = None
    transcription_model: Annotated[
        str | None, Field(description="The model that transcribes audio. Without it, none is transcribed.")
    ] = None
    model_urls: Annotated[
        dict[ModelFeature, ModelUrl], Field(description="Another URL for single features, such as embedding.")
    ] = {}
    model_api_keys: Annotated[
        dict[ModelFeature, str], Field(description="The API keys for model_urls, by feature.", repr=False)
    ] = {}
    model_tokens_per_day: Annotated[
        int, Field(ge=0, description="Maximum tokens per tenant and day (UTC); 0 means no limit.")
    ] = 1_000_000
    model_timeout: Annotated[float, Field(gt=0, le=600, description="Seconds that a model may take to answer.")] = 60.0
    model_retries: Annotated[
        int, Field(ge=0, le=10, description="How often a call of a model that failed for a moment is retried.")
    ] = 3
    master_key: Annotated[
        str | None,
        Field(description="32 bytes in base64. Default: <data_dir>/master.key, created at first.", repr=False),
    ] = None
    api_key: Annotated[
        str | None, Field(description="The API key of CLI and Python. Default: act as the operator.", repr=False)
    ] = None
    durable: Annotated[bool, Field(description="Whether embedded Postgres syncs to disk; false is for tests.")] = True
    nats_sync: Annotated[Literal["default", "always"], Field(description="When embedded JetStream syncs to disk.")] = (
        "default"
    )
    replicas: Annotated[int, Field(ge=1, le=5, description="Replicas of each JetStream stream.")] = 1
    events_max_age: Annotated[
        int, Field(ge=0, description="Seconds that JetStream keeps its copy of an event; 0 means forever.")
    ] = 7 * 24 * 3600
    events_max_bytes: Annotated[
        int, Field(ge=0, description="Maximum bytes of events on JetStream, the newest; 0 means no limit.")
    ] = 1 * GIB
    turns_max_bytes: Annotated[
        int, Field(ge=0, description="Maximum bytes of waiting turns; more are refused; 0 means no limit.")
    ] = GIB // 2
    dead_letters_max_age: Annotated[
        int, Field(ge=0, description="Seconds that a refused turn is kept; 0 means forever.")
    ] = 30 * 24 * 3600
    dead_letters_max_bytes: Annotated[
        int, Field(ge=0, description="Maximum bytes of refused turns kept, the newest; 0 means no limit.")
    ] = GIB // 4
    dead_letters_per_producer: Annotated[
        int, Field(ge=0, description="Maximum refused turns kept per producer, the newest; 0 means no limit.")
    ] = 1000
    dead_letter_bytes: Annotated[int, Field(ge=0, description="Maximum bytes kept of one refused turn.")] = 32 * 1024
    read_deadline: Annotated[
        float,
        Field(
            gt=0,
            description="Seconds that a read waits for the writes it must see, unless it has a deadline of its own. "
            "While the read models apply them, it waits longer, up to `max_deadline`.",
        ),
    ] = 15.0
    max_deadline: Annotated[float, Field(gt=0, le=600, description="The maximum deadline of a read, in seconds.")] = (
        60.0
    )
    max_reads: Annotated[int, Field(ge=1, description="Maximum open reads per caller; more are refused with 429.")] = (
        256
    )
    max_waiting_reads: Annotated[int, Field(ge=1, description="Maximum reads per caller that wait for a write.")] = 128
    max_as_of_reads: Annotated[int, Field(ge=1, description="Maximum open `as_of` reads per caller.")] = 8
    replays_at_once: Annotated[
        int, Field(ge=1, le=64, description="Replays for `as_of` reads that run concurrently; others wait.")
    ] = 2
    replays_kept: Annotated[
        int, Field(ge=0, le=64, description="Replays kept for a minute for further reads of the same moment.")
    ] = 4
    replay_deadline: Annotated[
        float, Field(gt=0, description="Seconds that an `as_of` read waits for a replay slot.")
    ] = 30.0
    recall_seconds: Annotated[
        float, Field(ge=0, description="Interval in seconds at which recalls are recorded; 0 means never.")
    ] = 60.0
    extraction: Annotated[
        Literal["model", "rules", "off"],
        Field(
            description="What extracts memories from what users say: `model` is the rules for plain English and the"
            " chat model, if there is one."
        ),
    ] = "model"
    minds: Annotated[Literal["on", "off"], Field(description="Whether the minds and the patrol run by themselves.")] = (
        "on"
    )
    jobs_at_once: Annotated[
        int, Field(ge=1, le=64, description="Jobs of one kind that a worker runs concurrently.")
    ] = 4
    webhook_networks: Annotated[
        list[IpNetwork],
        Field(
            description="Networks that webhooks may be sent to beside public addresses, also without TLS: 10.0.0.0/8."
        ),
    ] = []
    append_deadline: Annotated[
        float,
        Field(
            gt=0, description="Seconds after which a write fails, with all that it waits for: reads, its turn, the log."
        ),
    ] = 30.0
    anchor_file: Annotated[
        Path | None, Field(description="Where anchors of the log are stored. Default: outside the data directory.")
    ] = None
    anchor_seconds: Annotated[
        float, Field(gt=0, description="Interval in seconds at which changed heads are anchored.")
    ] = 10.0
    audit_share: Annotated[
        float,
        Field(ge=0, le=1, description="Share of one processor's time that the audit may use; 0: off."),
    ] = 0.05
    accept_rollback: Annotated[
        bool, Field(description="Accept a database that is older than the last anchor: after a restore, once.")
    ] = False
    projection_strategy: Annotated[
        OnPoison, Field(description="What a projection does with an event it cannot apply.")
    ] = OnPoison.FAIL
    projection_strategies: Annotated[
        dict[str, OnPoison], Field(description="The same for single projections, by name.")
    ] = {}
    projection_retries: Annotated[
        int, Field(ge=0, le=10, description="How often the retry strategies retry such an event.")
    ] = 3
    policy_file: Annotated[
        Path | None, Field(description="Categories, allowlists and thresholds, in YAML. Default: the built-in policy.")
    ] = None
    unlisted_agents: Annotated[Unlisted, Field(description="What an agent without an allowlist may read.")] = "all"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, config_file())

    @property
    def directory(self) -> Path:
        return self.data_dir.expanduser().absolute()

    def anchors(self, log_id: str) -> Path:
        """The anchor file of a log: `anchor_file`, or one outside the data directory, which may be rolled back.

        Its name has the directory's path and the log's id, so that a copy elsewhere or a new log there has its own
        file.
        """
        if self.anchor_file:
            return _expanded(self.anchor_file, "anchor_file").absolute()
        state = _expanded(Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state"), "anchor_file").absolute()
        directory = blake2b(str(self.directory.resolve()).encode(), digest_size=8).hexdigest()
        return state / "mnemolog" / "anchors" / directory / f"{log_id}.jsonl"

    def strategy(self, projection: str) -> Strategy:
        """What this projection does with an event that it cannot apply."""
        return Strategy(self.projection_strategies.get(projection, self.projection_strategy), self.projection_retries)

    @property
    def policy(self) -> Policy:
        """The current content of the policy file; PolicyRefused if it is invalid."""
        return policy.load(self.policy_file, self.unlisted_agents)


def config_file() -> Path:
    """The settings file: MNEMOLOG_CONFIG, else mnemolog.toml in the working directory."""
    named = os.environ.get(CONFIG_FILE)
    path = Path(named or "mnemolog.toml").expanduser()
    if named and not path.is_file():
        raise InvalidInput(f"there is no file {path}", field=CONFIG_FILE, fix="correct the path or unset the variable")
    return path


def load(**given: Any) -> Settings:
    """The effective settings; InvalidInput names the first invalid one. None means not given."""
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        wrong = invalid_input(error, Settings)
        if wrong.field in MOVED:
            wrong = InvalidInput(
                "belongs in the policy file", field=wrong.field, fix="set it in the file named by `policy_file`"
            )
        raise wrong from error
    except ValueError as error:
        raise InvalidInput(f"cannot be read: {error}", field=str(config_file()), fix="correct the file") from error
