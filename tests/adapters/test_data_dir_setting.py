"""A data directory that is no path, or needs a home that this user has not, is a setting that is wrong."""

import pwd
import sys
from pathlib import Path

import pytest

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import open_engine
from mnemolog.adapters.verify.anchor_file import FORMER
from mnemolog.domain.errors import EngineError, InvalidInput
from tests.engine.person import Person


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a service whose user is made up for it."""

    def unknown(uid: int) -> object:
        raise KeyError(uid)

    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("MNEMOLOG_DATA_DIR", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


@pytest.mark.usefixtures("homeless")
def test_without_a_home_the_default_is_refused_and_another_directory_accepted(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="needs a home directory") as refused:
        load()
    assert refused.value.field == "data_dir"
    assert load(data_dir=tmp_path).directory == tmp_path


@pytest.mark.usefixtures("homeless")
async def test_without_a_home_an_engine_keeps_its_anchors_in_its_directory(tmp_path: Path) -> None:
    settings = load(data_dir=tmp_path, embedder="lexical", durable=False, http_port=0)
    async with open_engine(settings) as engine:
        await Person(engine, "ana").creates("tea")
    assert (tmp_path / FORMER).exists()


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="later versions find out when they use it")
def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(InvalidInput, match="not the path of a directory"):
        load(data_dir=tmp_path / "loop")


def test_a_path_with_a_nul_is_refused() -> None:
    with pytest.raises(InvalidInput, match="data_dir"):
        load(data_dir="a\0b")


async def test_a_master_key_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "master.key").mkdir()
    settings = load(data_dir=tmp_path, embedder="lexical", durable=False, http_port=0)
    with pytest.raises(EngineError, match=r"cannot be used: Is a directory \(master.key\)"):
        async with open_engine(settings):
            pass
