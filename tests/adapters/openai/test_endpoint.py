"""Where a model is: the settings, and which key goes where."""

from pathlib import Path

import pytest

from mnemolog.adapters.config import load
from mnemolog.adapters.openai.endpoint import FEATURES, OPENAI_URL, endpoint_of
from mnemolog.domain.errors import InvalidInput


def test_no_model_is_set_by_default(tmp_path: Path) -> None:
    settings = load(data_dir=tmp_path, model_api_key="sk-1", model_url="http://localhost:8000/v1")
    assert [endpoint_of(settings, feature) for feature in FEATURES] == [None] * 4


def test_a_key_goes_to_its_own_server_only(tmp_path: Path) -> None:
    settings = load(
        data_dir=tmp_path,
        chat_model="c",
        embedding_model="e",
        vision_model="v",
        transcription_model="t",
        model_api_key="sk-1",
        model_urls={"embedding": "http://tei:8080/v1", "vision": "http://vllm:8000/v1"},
        model_api_keys={"vision": "sk-2", "transcription": "sk-3"},
    )
    found = {feature: endpoint_of(settings, feature) for feature in FEATURES}
    assert {name: (one.url, one.api_key, one.key_setting) for name, one in found.items() if one} == {
        "chat": (OPENAI_URL, "sk-1", "model_api_key"),
        "embedding": ("http://tei:8080/v1", None, "model_api_keys.embedding"),
        "vision": ("http://vllm:8000/v1", "sk-2", "model_api_keys.vision"),
        "transcription": (OPENAI_URL, "sk-3", "model_api_keys.transcription"),
    }
    assert "sk-" not in repr(found)
    assert "sk-" not in repr(settings)


@pytest.mark.parametrize("url", ["localhost:11434", "ftp://x/v1", "http://", "http://x:99999/v1", "http://x:y/v1", ""])
def test_what_is_no_url_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        load(data_dir=tmp_path, model_url=url)
    assert refused.value.field == "model_url"
    with pytest.raises(InvalidInput) as refused:
        load(data_dir=tmp_path, model_urls={"chat": url})
    assert refused.value.field == "model_urls.chat"


def test_only_features_have_urls_and_keys(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"model_urls\.music"):
        load(data_dir=tmp_path, model_urls={"music": "http://x/v1"})


def test_a_url_shows_neither_user_nor_password(tmp_path: Path) -> None:
    endpoint = endpoint_of(load(data_dir=tmp_path, chat_model="c", model_url="https://ana:hunter2@x/v1"), "chat")
    assert endpoint
    assert endpoint.host == "x"
