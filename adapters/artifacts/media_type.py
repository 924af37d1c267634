"""The media type of a file that nobody declared, from its first bytes."""

# The first bytes, their offset, and the type.
_BEGINNINGS = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"ID3", "audio/mpeg"),
    # MP3 without tags. UTF-16 begins with \xff\xfe.
    *((0, begin, "audio/mpeg") for begin in (b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (8, b"WAVE", "audio/wav"),
    (4, b"ftypM4A", "audio/mp4"),
    (4, b"ftypavif", "image/avif"),
    *((4, b"ftyp" + brand, "image/heic") for brand in (b"heic", b"heix", b"mif1")),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
)


def detected(content: bytes) -> str:
    """The type of an image, a PDF or a recording; "" for anything else."""
    return next((type_ for at, begin, type_ in _BEGINNINGS if content[at : at + len(begin)] == begin), "")
