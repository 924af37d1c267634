"""The backup file: a zip with a member per table, and a manifest with checksums."""

import fcntl
import json
import os
import secrets
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from glob import escape
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Self

from mnemolog.adapters.embedded.file_lock import is_locked
from mnemolog.adapters.syncing import sync_names
from mnemolog.domain.errors import InvalidInput

FORMAT = 1
MANIFEST = "manifest.json"
ANCHORS = "anchors.jsonl"
MASTER_KEY = "master.key"
ARTIFACTS = "artifacts/"
CHUNK = 1 << 20
# Ciphertext does not compress; for the rest, the lowest level is enough.
EFFORT = 1

Progressed = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Member:
    """One file of the archive. A table's rows are in COPY's text format, with the columns in this order."""

    name: str
    bytes: int
    sha256: str
    schema: str = ""
    table: str = ""
    columns: Sequence[str] = ()
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the archive contains and what it omits. `revision` is that of the migrations that created its tables."""

    taken_at: datetime
    mnemolog: str
    postgres: str
    revision: str
    members: Sequence[Member]
    left_out: dict[str, str] = field(default_factory=dict)
    format: int = FORMAT

    def count(self, table: str) -> int:
        """The number of rows of a table of the log."""
        return next((one.rows for one in self.members if (one.schema, one.table) == ("mnemolog", table)), 0)

    @property
    def has_master_key(self) -> bool:
        return any(one.name == MASTER_KEY for one in self.members)

    @property
    def artifacts(self) -> Sequence[Member]:
        return [one for one in self.members if one.name.startswith(ARTIFACTS)]

    @property
    def tables(self) -> Sequence[Member]:
        return [one for one in self.members if one.table]

    @property
    def size(self) -> int:
        return sum(one.bytes for one in self.members)

    def as_json(self) -> bytes:
        return json.dumps({**asdict(self), "taken_at": self.taken_at.isoformat()}, indent=1).encode()

    @classmethod
    def of_json(cls, text: bytes) -> Self:
        fields: dict[str, Any] = json.loads(text)
        if fields["format"] != FORMAT:
            raise InvalidInput(
                f"is a backup of format {fields['format']}", field="file", fix="restore it with a newer Mnemolog"
            )
        members = [Member(**{**one, "columns": tuple(one["columns"])}) for one in fields["members"]]
        return cls(**{**fields, "taken_at": datetime.fromisoformat(fields["taken_at"]), "members": members})


class Writing:
    """A member that is being written; `member` describes it at the end."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out, self._digest, self.bytes, self.rows = out, sha256(), 0, 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._out.write(data)
        self._digest.update(data)
        self.bytes += len(data)
        self.rows += 1

    def member(self, name: str, schema: str = "", table: str = "", columns: Sequence[str] = ()) -> Member:
        rows = self.rows if table else 0
        return Member(name, self.bytes, self._digest.hexdigest(), schema, table, tuple(columns), rows)


class ArchiveWriter:
    """Writes to a temporary file that only its owner can read; `path` then has the complete file or none."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file

    @classmethod
    @contextmanager
    def opened(cls, path: Path) -> Iterator[Self]:
        _remove_drafts(path)
        if path.exists():
            raise InvalidInput(f"{path} already exists", field="file", fix="choose a new file")
        draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
        try:
            descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise InvalidInput(
                f"{path} cannot be written: {error.strerror}", field="file", fix="choose another file"
            ) from error
        try:
            with os.fdopen(descriptor, "w+b") as out:
                with suppress(OSError):  # A file system without locks: then nobody removes drafts.
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=EFFORT) as file:
                    yield cls(file)
                out.flush()
                os.fsync(out.fileno())
            _give_name(draft, path)
            sync_names(path.parent)
        finally:
            draft.unlink(missing_ok=True)

    @contextmanager
    def member(self, name: str) -> Iterator[Writing]:
        with self._file.open(name, "w", force_zip64=True) as out:
            yield Writing(out)

    def finish(self, manifest: Manifest) -> None:
        self._file.writestr(MANIFEST, manifest.as_json())


class ArchiveReader:
    """Reads a file after checking it; InvalidInput says what is wrong."""

    def __init__(self, file: zipfile.ZipFile, manifest: Manifest) -> None:
        self._file, self.manifest = file, manifest

    @classmethod
    @contextmanager
    def opened(cls, path: Path) -> Iterator[Self]:
        try:
            file = zipfile.ZipFile(path)
        except FileNotFoundError as error:
            raise InvalidInput(f"there is no file {path}", field="file", fix="correct the path") from error
        except (OSError, zipfile.BadZipFile) as error:
            raise _damaged(f"it is not a complete backup ({error})") from error
        with file:
            try:
                manifest = Manifest.of_json(file.read(MANIFEST))
            except InvalidInput:
                raise
            except Exception as error:
                raise _damaged(f"its manifest cannot be read ({type(error).__name__})") from error
            yield cls(file, manifest)

    def check(self, progressed: Progressed) -> None:
        """Read the whole file once: nothing is restored from an archive in which a single byte differs."""
        named = {one.name for one in self.manifest.members}
        there = set(self._file.namelist()) - {MANIFEST}
        if named != there:
            raise _damaged(f"{', '.join(sorted(named ^ there))} should not be there, or is missing")
        for member in self.manifest.members:
            digest, size = sha256(), 0
            for chunk in self.chunks(member):
                digest.update(chunk)
                size += len(chunk)
                progressed(len(chunk))
            if (digest.hexdigest(), size) != (member.sha256, member.bytes):
                raise _damaged(f"{member.name} was changed after it was written")

    def chunks(self, member: Member) -> Iterator[bytes]:
        try:
            with self._file.open(member.name) as content:
                while chunk := content.read(CHUNK):
                    yield chunk
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError) as error:
            raise _damaged(f"{member.name} cannot be read ({error})") from error

    def content(self, name: str) -> bytes | None:
        """The content of a small member; None if it does not exist."""
        for member in self.manifest.members:
            if member.name == name:
                return b"".join(self.chunks(member))
        return None


def _remove_drafts(path: Path) -> None:
    """Remove what killed backups to this file left: the lock of their writer is gone."""
    for draft in path.parent.glob(f"{escape(path.name)}.*.part"):
        with suppress(OSError):
            if not is_locked(draft):
                draft.unlink()


def _give_name(draft: Path, path: Path) -> None:
    """A link fails if somebody has made the file meanwhile, which a rename would replace."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:  # A file system without links, such as that of a memory stick or a network share.
        draft.rename(path)


def _damaged(why: str) -> InvalidInput:
    return InvalidInput(f"is damaged: {why}", field="file", fix="restore another backup; nothing was changed")
