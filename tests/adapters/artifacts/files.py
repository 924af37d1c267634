"""Files for tests: small, real, and hostile ones."""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence

import docx
from PIL import Image
from pypdf import PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, TextStringObject


def pdf(*pages: str) -> bytes:
    """A PDF with a line of text on each page."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids = []
    for text in pages:
        stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R /Resources "
            "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(pages)} >>"
    out = b"%PDF-1.4\n"
    places = []
    for number, text in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n{text}\nendobj\n".encode()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    trailer = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode()


def blank_pdf(pages: int, password: str = "") -> bytes:
    writer = PdfWriter()
    for _ in range(pages):
        writer.add_blank_page(72, 72)
    if password:
        writer.encrypt(password, algorithm="AES-256")
    writer.write(out := io.BytesIO())
    return out.getvalue()


def form(filled: Mapping[str, str]) -> bytes:
    """A PDF with a field for each name."""
    writer = PdfWriter(io.BytesIO(pdf("Application")))
    fields = ArrayObject()
    for name, value in filled.items():
        field = {"/FT": NameObject("/Tx"), "/T": TextStringObject(name), "/V": TextStringObject(value)}
        fields.append(writer._add_object(DictionaryObject({NameObject(key): one for key, one in field.items()})))
    writer.root_object[NameObject("/AcroForm")] = DictionaryObject({NameObject("/Fields"): fields})
    writer.write(out := io.BytesIO())
    return out.getvalue()


def word(before: Sequence[str] = ("Before any heading.",)) -> bytes:
    document = docx.Document()
    for text in before:
        document.add_paragraph(text)
    document.add_heading("Recipe", 1)
    document.add_paragraph("Boil the water.")
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "sugar", "2 spoons"
    document.save(out := io.BytesIO())
    return out.getvalue()


def with_member(name: str, content: bytes) -> bytes:
    """The Word document with another member."""
    out = io.BytesIO(word())
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return out.getvalue()


def zip_bomb() -> bytes:
    """300 MB of zeros in 300 KB."""
    return with_member("word/media/zeros.bin", b"\0" * 300_000_000)


def picture(format_: str = "PNG", size: tuple[int, int] = (40, 30)) -> bytes:
    Image.new("RGB", size, "red").save(out := io.BytesIO(), format_)
    return out.getvalue()


def pixel_bomb(side: int = 60_000) -> bytes:
    """A PNG of a few bytes that says it has so many pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
