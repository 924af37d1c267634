"""A data directory that is no path, or needs a home that this user has not, is a setting that is wrong."""

import pwd
import sys
from pathlib import Path

import pytest

from mnemolog.adapters.config import load
from mnemolog.domain.errors import InvalidInput


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
def test_without_a_home_the_place_of_the_anchors_has_to_be_set(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="needs a home directory") as refused:
        load(data_dir=tmp_path).anchors("log")
    assert refused.value.field == "anchor_file"
    assert load(data_dir=tmp_path, anchor_file=tmp_path / "anchors").anchors("log") == tmp_path / "anchors"


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="later versions find out when they use it")
def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(InvalidInput, match="no path of a directory"):
        load(data_dir=tmp_path / "loop")


def test_a_path_with_a_nul_is_refused() -> None:
    with pytest.raises(InvalidInput, match="data_dir"):
        load(data_dir="a\0b")
