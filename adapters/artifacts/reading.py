"""Reads one file from standard input and writes its text to standard output. Runs as a process with limits of its own.

Files come from anybody. So this process has no environment, no files to write and little memory and time, and what it
cannot read it refuses with a reason. Input: a line of JSON (`name`, `mime`, `limits`), then the bytes. Output: JSON, a
`Found`, or `refused` with `detail`.
"""

import io
import json
import resource
import sys
import zipfile
from base64 import b64encode
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, field
from html.parser import HTMLParser
from itertools import chain
from typing import TYPE_CHECKING, Any

from mnemolog.adapters.artifacts.chunks import Section, markdown_sections, pieces, without_front_matter
from mnemolog.domain.artifact import Refusal

if TYPE_CHECKING:
    from pypdf import PdfReader

MAX_PAGES = 2000
MAX_CHARACTERS = 5_000_000
MAX_PIXELS = 50_000_000
MAX_UNPACKED = 200 * 1024 * 1024
MAX_RATIO = 200
MAX_MEMBERS = 10_000
# Larger images cost tokens and show a model nothing more.
SIDE = 2048

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
PDF, SVG = "application/pdf", "image/svg+xml"
WORD = frozenset(
    {
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "application/vnd.ms-word.document.macroenabled.12",
    }
)
MARKDOWN = frozenset({"text/markdown", "text/x-markdown"})
HTML = frozenset({"text/html", "application/xhtml+xml"})
# The first bytes of recordings, with their offset.
RECORDINGS = ((0, b"ID3"), (0, b"RIFF"), (0, b"OggS"), (0, b"fLaC"), (4, b"ftyp"), (0, b"\x1aE\xdf\xa3"))


class Refused(Exception):
    """The file was refused."""

    def __init__(self, reason: Refusal, detail: str = "") -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail


@dataclass(slots=True)
class Found:
    """The content of a file: its sections with a title, or an image scaled down for a model."""

    kind: str
    reader: str = ""
    title: str = ""
    pages: int | None = None
    chunks: list[Section] = field(default_factory=list)
    picture: str = ""
    media_type: str = ""


def read(content: bytes, name: str, mime: str) -> Found:
    """The type is detected from the bytes and must match the declared type; Refused otherwise."""
    ending = name.rpartition(".")[2].lower()
    declared = mime.partition(";")[0].strip().lower()
    if content.startswith(b"%PDF-"):
        _require_declared(declared, {PDF}, "it is a PDF")
        return _pdf(content)
    if content.startswith(b"PK\x03\x04"):
        _require_declared(declared, WORD, "it is a Word document or another archive")
        return _docx(content)
    if content.startswith(OLE):
        raise Refused(Refusal.UNSUPPORTED, "an Office file from before 2007")
    if content.startswith(b"{\\rtf"):
        raise Refused(Refusal.UNSUPPORTED, "rich text (RTF)")
    if declared.startswith("image/") and declared != SVG:
        return _image(content, declared)
    if declared.startswith(("audio/", "video/")):
        mpeg = len(content) > 1 and content[0] == 0xFF and content[1] & 0xE0 == 0xE0
        if not mpeg and not any(content[at : at + len(begin)] == begin for at, begin in RECORDINGS):
            raise Refused(Refusal.WRONG_TYPE, "the content does not look like a recording")
        return Found(declared.partition("/")[0])
    if declared == PDF or ending in ("pdf", "docx", "docm"):
        raise Refused(Refusal.WRONG_TYPE, "the content does not look like this type")
    return _text(content, declared, ending)


def _require_declared(declared: str, types: Collection[str], detail: str) -> None:
    """Refused if the declared type is another one that is read in its own way."""
    other = declared in {PDF, *WORD} or declared.startswith(("image/", "audio/", "video/", "text/"))
    if other and declared not in types:
        raise Refused(Refusal.WRONG_TYPE, detail)


def _pdf(content: bytes) -> Found:
    import pypdf
    from pypdf.errors import PyPdfError

    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Refused(Refusal.ENCRYPTED)
        count = reader.get_num_pages()
        if count > MAX_PAGES:
            raise Refused(Refusal.TOO_MANY_PAGES, f"{count:,} pages, at most {MAX_PAGES:,} are read")
        pages = (Section(f"page {n}", page.extract_text()) for n, page in enumerate(reader.pages, start=1))
        sections = _bounded(chain(pages, _form(reader)))
        title = str(reader.metadata.title or "") if reader.metadata else ""
    except Refused:
        raise
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise Refused(Refusal.BROKEN, type(error).__name__) from error
    return Found("document", f"pypdf {pypdf.__version__}", title, count, sections)


def _form(reader: "PdfReader") -> Iterator[Section]:
    """What was filled in, which is not part of a page's text."""
    fields = (reader.get_fields() or {}).values()
    filled = ((one.alternate_name or one.name, one.value) for one in fields if isinstance(one.value, str))
    yield Section("form", "\n\n".join(f"{name}: {value.removeprefix('/')}" for name, value in filled if value))


def _docx(content: bytes) -> Found:
    import docx
    from docx.oxml.table import CT_Tbl
    from docx.oxml.text.paragraph import CT_P
    from docx.table import Table

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
        names = {member.filename for member in members}
        unpacked = sum(member.file_size for member in members)
        if len(members) > MAX_MEMBERS or unpacked > MAX_UNPACKED or unpacked > MAX_RATIO * max(len(content), 1 << 20):
            raise Refused(Refusal.ARCHIVE_BOMB, f"{len(members):,} files that unpack to {unpacked:,} bytes")
        if any(name.lower().endswith("vbaproject.bin") for name in names):
            raise Refused(Refusal.MACROS)
        if "word/document.xml" not in names:
            raise Refused(Refusal.UNSUPPORTED, "an archive, but not a Word document")
        document = docx.Document(io.BytesIO(content))
    except Refused:
        raise
    except (zipfile.BadZipFile, SyntaxError, KeyError, ValueError, NotImplementedError, RuntimeError) as error:
        raise Refused(Refusal.BROKEN, type(error).__name__) from error

    def sections() -> Iterator[Section]:
        headings = {one.style_id for one in document.styles if (one.name or "").startswith(("Heading", "Title"))}
        heading, lines, count = "", list[str](), 0
        # The time of `iter_inner_content` and of `Paragraph.style` grows faster than the document.
        for block in document.element.body:
            if isinstance(block, CT_Tbl):
                rows = Table(block, document).rows
                lines += [" | ".join(cell.text.strip() for cell in row.cells) for row in rows]
            elif isinstance(block, CT_P) and block.style in headings and block.text.strip():
                yield Section(heading, "\n\n".join(lines))
                heading, lines = block.text.strip(), []
            elif isinstance(block, CT_P):
                lines.append(block.text)
                count += len(lines[-1])
            if count > MAX_CHARACTERS:  # A document without headings is one section.
                raise _too_much_text()
        yield Section(heading, "\n\n".join(lines))

    try:
        title = document.core_properties.title or ""
        return Found("document", "python-docx", title, None, _bounded(sections()))
    except (KeyError, ValueError, IndexError, AttributeError) as error:
        raise Refused(Refusal.BROKEN, type(error).__name__) from error


def _text(content: bytes, declared: str, ending: str) -> Found:
    try:
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        known = declared.startswith("text/") or ending in ("txt", "md", "html", "htm", "csv", "json")
        raise Refused(Refusal.WRONG_TYPE if known else Refusal.UNSUPPORTED, "it is not text in UTF-8 or UTF-16")
    begins = text.lstrip()[:100].lower()
    page = declared in HTML or declared == SVG or ending in ("html", "htm", "svg")
    if page or begins.startswith(("<!doctype html", "<html", "<svg")):
        parser = _Page()
        parser.feed(text)
        parser.close()
        return Found("document", "html.parser", parser.title.strip(), None, _bounded(iter(parser.sections())))
    if declared in MARKDOWN or ending in ("md", "markdown"):
        title, text = without_front_matter(text)
        return Found("document", "markdown", title, None, _bounded(markdown_sections(text)))
    return Found("document", "plain text", "", None, _bounded(iter([Section("", text)])))


class _Page(HTMLParser):
    """The text of a page, by its headings; no scripts, styles or templates."""

    BLOCKS = frozenset(
        {"p", "div", "li", "tr", "br", "section", "article", "header", "footer", "table", "ul", "ol", "pre"}
        | {"blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "text"}
    )
    HIDDEN = frozenset({"script", "style", "template", "noscript"})
    HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})

    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self._hidden = 0
        self._in_title = self._in_heading = False
        self._found: list[Section] = []
        self._place, self._heading, self._text = "", "", list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in self.HIDDEN
        self._in_title |= tag == "title"
        if tag in self.BLOCKS and self._in_heading:
            self._heading += "\n\n"
        elif tag in self.BLOCKS:
            self._text.append("\n\n")
        if tag in self.HEADINGS:
            self._found.append(self._section())
            self._text, self._heading, self._in_heading = [], "", True

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(0, self._hidden - (tag in self.HIDDEN))
        self._in_title &= tag != "title"
        if tag in self.HEADINGS and self._in_heading:
            self._place, self._in_heading = " ".join(self._heading.split()), False

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        if self._in_title:
            self.title += data
        elif self._in_heading:
            self._heading += data
        else:
            self._text.append(data)

    def sections(self) -> list[Section]:
        return [*self._found, self._section()]

    def _section(self) -> Section:
        """The text since the last heading, and that of a heading which was never closed."""
        unclosed = self._heading if self._in_heading else ""
        return Section(self._place, "".join((*self._text, unclosed)))


def _bounded(sections: Iterator[Section]) -> list[Section]:
    """The pieces; Refused if there are too many, before all of them are in memory."""
    found: list[Section] = []
    count = 0

    def counted() -> Iterator[Section]:
        nonlocal count
        for section in sections:
            text = _clean(section.text)
            count += len(text)
            if count > MAX_CHARACTERS:
                raise _too_much_text()
            yield Section(_clean(section.place)[:200], text)

    found += pieces(counted())
    return found


def _too_much_text() -> Refused:
    return Refused(Refusal.TOO_MUCH_TEXT, f"more than {MAX_CHARACTERS:,} characters")


def _clean(text: str) -> str:
    """Without characters that cannot be stored: control characters and lone surrogates."""
    plain = "".join(one for one in text if one in "\n\t" or (one >= " " and one != "\x7f"))
    return plain.encode("utf-8", "ignore").decode()


def _image(content: bytes, declared: str) -> Found:
    from PIL import Image, ImageOps, UnidentifiedImageError, __version__

    Image.MAX_IMAGE_PIXELS = None  # Checked here, before anything is decoded.
    try:
        with Image.open(io.BytesIO(content)) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise Refused(
                    Refusal.TOO_MANY_PIXELS, f"{width:,} x {height:,}, at most {MAX_PIXELS:,} pixels are read"
                )
            actual = Image.MIME.get(image.format or "", "")
            if actual != declared and {actual, declared} != {"image/jpeg", "image/jpg"}:
                raise Refused(Refusal.WRONG_TYPE, f"it is {actual or 'of another type'}")
            image.draft("RGB", (SIDE, SIDE))
            small = image.convert("RGB")
            small.thumbnail((SIDE, SIDE))
            small = ImageOps.exif_transpose(small)  # Upright: what the camera noted is not saved.
            out = io.BytesIO()
            small.save(out, "PNG" if declared == "image/png" else "JPEG", quality=90)
    except Refused:
        raise
    except UnidentifiedImageError as error:
        if declared not in Image.MIME.values():  # Of all formats that it reads, once none of them fits.
            raise Refused(Refusal.UNSUPPORTED, f"images of the type {declared:.40}") from error
        raise Refused(Refusal.WRONG_TYPE, "it is not an image") from error
    except (OSError, ValueError, SyntaxError, KeyError, IndexError, TypeError) as error:
        raise Refused(Refusal.BROKEN, type(error).__name__) from error
    media_type = "image/png" if declared == "image/png" else "image/jpeg"
    return Found("image", f"Pillow {__version__}", picture=b64encode(out.getvalue()).decode(), media_type=media_type)


def main() -> None:
    request: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    limits = request["limits"]  # Of memory and processor time; no files and no core dumps are written.
    resource.setrlimit(resource.RLIMIT_AS, (limits["bytes"], limits["bytes"]))
    resource.setrlimit(resource.RLIMIT_CPU, (limits["seconds"], limits["seconds"] + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer: dict[str, Any] = asdict(read(sys.stdin.buffer.read(), request["name"], request["mime"]))
    except Refused as refused:
        answer = {"refused": refused.reason, "detail": refused.detail}
    except MemoryError:
        answer = {"refused": Refusal.TOO_MUCH_MEMORY, "detail": ""}
    except RecursionError:
        answer = {"refused": Refusal.BROKEN, "detail": "it is nested too deeply"}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
