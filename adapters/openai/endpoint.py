"""Where a model is, as the settings say."""

from dataclasses import dataclass, field
from typing import get_args
from urllib.parse import urlsplit

from mnemolog.adapters.config import ModelFeature, Settings

FEATURES: tuple[ModelFeature, ...] = get_args(ModelFeature)
OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model for one feature. `url_setting` and `key_setting` name the settings to correct."""

    feature: ModelFeature
    model: str
    url: str
    api_key: str | None = field(repr=False)
    url_setting: str
    key_setting: str
    timeout: float
    retries: int

    @property
    def host(self) -> str:
        """The address without secrets."""
        parts = urlsplit(self.url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)


def endpoint_of(settings: Settings, feature: ModelFeature) -> Endpoint | None:
    """None if no model is set for this feature. An endpoint with its own URL has its own key, or none."""
    model: str | None = getattr(settings, f"{feature}_model")
    if not model:
        return None
    own_url = settings.model_urls.get(feature)
    own_key = settings.model_api_keys.get(feature)
    return Endpoint(
        feature=feature,
        model=model,
        url=own_url or settings.model_url or OPENAI_URL,
        api_key=own_key if own_url or own_key else settings.model_api_key,
        url_setting=f"model_urls.{feature}" if own_url else "model_url",
        key_setting=f"model_api_keys.{feature}" if own_url or own_key else "model_api_key",
        timeout=settings.model_timeout,
        retries=settings.model_retries,
    )
