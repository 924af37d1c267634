"""Files are read by kind and in pieces; broken and hostile ones are refused with a reason, and harm nobody."""

import io
import os
from base64 import b64decode
from typing import cast

import pytest
from docx.oxml.text.paragraph import CT_P
from PIL import Image

from mnemolog.adapters.artifacts import reading, sandbox
from mnemolog.adapters.artifacts.chunks import PIECE, Section, markdown_sections, pieces
from mnemolog.adapters.artifacts.reading import Refused, read
from mnemolog.adapters.artifacts.sandbox import read_apart
from mnemolog.domain.artifact import Refusal
from tests.adapters.artifacts import files

pytestmark = pytest.mark.spec_part("E05")


def test_each_kind_of_document_is_read_by_its_structure() -> None:
    found = read(files.pdf("Buy milk", "and eggs"), "list.pdf", "application/pdf")
    assert (found.pages, found.chunks) == (2, [Section("page 1", "Buy milk"), Section("page 2", "and eggs")])
    assert read(files.word(), "tea.docx", "").chunks == [
        Section("", "Before any heading."),
        Section("Recipe", "Boil the water.\n\nsugar | 2 spoons"),
    ]
    page = "<html><head><title>Tea</title><script>x()</script></head><h1>How</h1><p>Boil &amp; pour</p><p>Wait</p>"
    found = read(page.encode(), "tea.html", "text/html")
    assert (found.title, found.chunks) == ("Tea", [Section("How", "Boil & pour\n\nWait")])
    text = "intro\n# Tea\n## Green\nhot\n```\n# no heading\n```\n# Milk\ncold"
    assert read(text.encode(), "notes.md", "").chunks == [
        Section("", "intro"),
        Section("Tea > Green", "hot\n```\n# no heading\n```"),
        Section("Milk", "cold"),
    ]
    assert read("\ufeffпривет\x07".encode(), "a.txt", "text/plain").chunks == [Section("", "привет")]
    assert read("żółw".encode("utf-16"), "a.txt", "text/plain").chunks == [Section("", "żółw")]


def test_what_was_filled_into_a_form_is_read() -> None:
    found = read(files.form({"Full name": "Ana Duarte", "Allergies": "walnuts", "Left empty": ""}), "a.pdf", "")
    assert Section("form", "Full name: Ana Duarte\n\nAllergies: walnuts") in found.chunks


def test_no_text_of_a_page_is_lost_in_a_heading_that_is_never_closed() -> None:
    page = "<h1>Jam<p>Boil the oranges.<h2>Store</h2><p>In a cool place.<h3>Keep <b>it</b> dark"
    assert read(page.encode(), "a.html", "text/html").chunks == [
        Section("", "Jam\n\nBoil the oranges."),
        Section("Store", "In a cool place."),
        Section("Store", "Keep it dark"),
    ]


def test_a_vector_image_is_read_by_its_labels_without_its_scripts() -> None:
    image = (
        b'<svg xmlns="http://www.w3.org/2000/svg"><script>steal()</script><text>North</text><text>South</text></svg>'
    )
    for mime in ("image/svg+xml", ""):
        assert read(image, "map.svg", mime).chunks == [Section("", "North\n\nSouth")]


def test_pieces_are_bounded_and_lose_no_word() -> None:
    words = [f"word{place}" for place in range(3000)]
    text = (
        "\n\n".join(" ".join(words[start : start + 700]) + "." for start in range(0, 3000, 700)) + "\n\n" + "x" * 5000
    )
    found = list(pieces([Section("all", text)]))
    assert all(len(one.text) <= PIECE for one in found)
    assert "".join("".join(one.text for one in found).split()) == "".join(text.split())
    assert list(pieces([Section("empty", " \n\n ")])) == []
    assert list(markdown_sections("")) == [Section("", "")]


def test_an_image_is_made_small_and_loses_what_its_camera_noted() -> None:
    image = Image.new("RGB", (5000, 400), "red")
    exif = Image.Exif()
    exif[0x010E] = "at home"
    image.save(out := io.BytesIO(), "JPEG", exif=exif)
    found = read(out.getvalue(), "a.jpg", "image/jpeg")
    with Image.open(io.BytesIO(b64decode(found.picture))) as small:
        assert max(small.size) == 2048
        assert not small.getexif()


def test_an_image_is_turned_as_its_camera_was_held() -> None:
    image = Image.new("RGB", (300, 200), "red")
    image.paste("blue", (0, 0, 300, 100))
    exif = Image.Exif()
    exif[0x0112] = 6
    image.save(out := io.BytesIO(), "JPEG", exif=exif)
    found = read(out.getvalue(), "a.jpg", "image/jpeg")
    with Image.open(io.BytesIO(b64decode(found.picture))) as upright:
        assert upright.size == (200, 300)
        red, _, blue = cast("tuple[int, int, int]", upright.getpixel((150, 150)))
        assert blue > red


@pytest.mark.parametrize(
    ("content", "name", "mime", "reason"),
    [
        (files.pdf("tea")[:-200].replace(b"endobj", b""), "a.pdf", "", Refusal.BROKEN),
        (b"%PDF-1.4\nnothing", "a.pdf", "", Refusal.BROKEN),
        (files.blank_pdf(1, "secret"), "a.pdf", "", Refusal.ENCRYPTED),
        (b"hello", "a.pdf", "application/pdf", Refusal.WRONG_TYPE),
        (files.picture(), "a.txt", "text/plain", Refusal.WRONG_TYPE),
        (files.picture(), "a.jpg", "image/jpeg", Refusal.WRONG_TYPE),
        (files.picture()[:60], "a.png", "image/png", Refusal.BROKEN),
        (b"<svg/>", "a.png", "image/png", Refusal.WRONG_TYPE),
        (files.pixel_bomb(), "a.png", "image/png", Refusal.TOO_MANY_PIXELS),
        (files.word()[:2000], "a.docx", "", Refusal.BROKEN),
        (files.with_member("word/vbaProject.bin", b"macro"), "a.docm", "", Refusal.MACROS),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "a.doc", "application/msword", Refusal.UNSUPPORTED),
        (b"\x7fELF\0\0", "a.out", "application/octet-stream", Refusal.UNSUPPORTED),
        (b"\0\0\0\x18ftypheic" + b"\0" * 50, "a.heic", "image/heic", Refusal.UNSUPPORTED),
        (b"not a song", "a.mp3", "audio/mpeg", Refusal.WRONG_TYPE),
        (files.pdf("tea"), "a.png", "image/png", Refusal.WRONG_TYPE),
        (files.pdf("tea"), "a.txt", "text/plain", Refusal.WRONG_TYPE),
        (files.word(), "a.pdf", "application/pdf", Refusal.WRONG_TYPE),
        (files.word(), "a.svg", "image/svg+xml", Refusal.WRONG_TYPE),
        (b"{\\rtf1 The parcel arrives.}", "a.rtf", "application/rtf", Refusal.UNSUPPORTED),
    ],
)
def test_what_is_broken_or_another_type_is_refused(content: bytes, name: str, mime: str, reason: Refusal) -> None:
    with pytest.raises(Refused) as refused:
        read(content, name, mime)
    assert refused.value.reason is reason


def test_what_is_too_large_inside_is_refused() -> None:
    for content, name, reason in (
        (files.zip_bomb(), "a.docx", Refusal.ARCHIVE_BOMB),
        (files.blank_pdf(2001), "a.pdf", Refusal.TOO_MANY_PAGES),
        (b"word " * 1_100_000, "a.txt", Refusal.TOO_MUCH_TEXT),
    ):
        with pytest.raises(Refused) as refused:
            read(content, name, "")
        assert refused.value.reason is reason


def test_a_word_document_without_headings_is_left_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_CHARACTERS", 1000)
    taken, text = list[CT_P](), vars(CT_P)["text"]

    def counted(paragraph: CT_P) -> str:
        taken.append(paragraph)
        return str(text.fget(paragraph))

    monkeypatch.setattr(CT_P, "text", property(counted))
    with pytest.raises(Refused) as refused:
        read(files.word(["x" * 100] * 500), "a.docx", "")
    assert refused.value.reason is Refusal.TOO_MUCH_TEXT
    assert len(taken) < 30


async def test_a_file_is_read_in_a_process_of_its_own_without_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    found = await read_apart(files.pdf("Buy milk"), "list.pdf", "application/pdf")
    assert found.chunks == [Section("page 1", "Buy milk")]
    with pytest.raises(Refused) as refused:
        await read_apart(files.zip_bomb(), "a.docx", "")
    assert refused.value.reason is Refusal.ARCHIVE_BOMB
    monkeypatch.setenv("MNEMOLOG_MASTER_KEY", "secret")
    code, out = await sandbox.run(["/usr/bin/env"], b"", 5)
    assert (code, b"secret" in out) == (0, False)


async def test_memory_and_time_of_the_process_are_limited() -> None:
    large = files.with_member("word/media/a.bin", os.urandom(1 << 20) * 150)
    with pytest.raises(Refused) as refused:
        await read_apart(large, "a.docx", "", memory=250 * 1024 * 1024)
    assert refused.value.reason is Refusal.TOO_MUCH_MEMORY
    slow = b"<p>" * 1_600_000
    with pytest.raises(Refused) as refused:
        await read_apart(slow, "a.html", "text/html", cpu_seconds=1)
    assert refused.value.reason is Refusal.TOO_SLOW
    with pytest.raises(Refused) as refused:
        await sandbox.run(["/bin/sleep", "60"], b"", 0.2)
    assert refused.value.reason is Refusal.TOO_SLOW


async def test_a_crash_of_the_process_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "READER", "mnemolog.nothing.of.this.name")
    with pytest.raises(Refused) as refused:
        await read_apart(b"tea", "a.txt", "")
    assert refused.value.reason is Refusal.BROKEN
