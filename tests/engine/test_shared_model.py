"""A client searches by the model of its engine, and loads none."""

import sys
from pathlib import Path

import pytest

from mnemolog.adapters.engine.engine import open_engine
from mnemolog.adapters.minilm import MiniLM
from tests.engine.person import Person
from tests.testkit.settings import settings_in


async def test_an_attached_engine_finds_by_meaning_without_a_model_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_in(tmp_path).model_copy(update={"embedder": "minilm"})
    async with open_engine(settings) as engine:
        await Person(engine, "ana").creates("Ana moved to Lisbon")
        monkeypatch.setattr(MiniLM, "embed", lambda self, texts: sys.exit("a client loads the model"))
        async with open_engine(settings, attach=True) as client:
            assert client.attached
            assert await Person(client, "ana").finds("Which city does Ana live in?") == ["Ana moved to Lisbon"]
