"""The media type of a file from its first bytes."""

import pytest

from mnemolog.adapters.artifacts.media_type import detected
from mnemolog.adapters.artifacts.reading import RECORDINGS


@pytest.mark.parametrize(("at", "begin"), RECORDINGS)
def test_whatever_is_read_as_a_recording_has_a_type(at: int, begin: bytes) -> None:
    content = b"\0" * at + begin + (b"\0\0\0\0WAVE" if begin == b"RIFF" else b"")

    assert detected(content).startswith(("audio/", "video/"))


@pytest.mark.parametrize("begin", [b"\xff\xfb\x90\x00", b"\xff\xf3\x40\x00", b"\xff\xf2\x40\x00"])
def test_mp3_without_tags_has_a_type(begin: bytes) -> None:
    assert detected(begin) == "audio/mpeg"


@pytest.mark.parametrize(
    ("brand", "type_"),
    [(b"heic", "image/heic"), (b"mif1", "image/heic"), (b"avif", "image/avif"), (b"isom", "video/mp4")],
)
def test_a_picture_in_the_container_of_videos_is_no_video(brand: bytes, type_: str) -> None:
    assert detected(b"\0\0\0\x18ftyp" + brand + b"\0\0\0\0") == type_


@pytest.mark.parametrize("text", ["Ana", "Ä", ""])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
def test_text_has_none(text: str, encoding: str) -> None:
    assert detected(text.encode(encoding)) == ""
