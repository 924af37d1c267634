"""The port of the blob store, and its adapter for a directory."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from mnemolog.adapters.syncing import sync_names
from mnemolog.domain.errors import MalformedEvent, ServerFailed
from mnemolog.events.envelope import StreamId


class BlobStore(Protocol):
    """Names are those of `blob_name`: hexadecimal digits and one slash."""

    async def put(self, name: str, content: bytes) -> None:
        """Durable when it returns. A blob is never changed: its name is a hash of its content."""
        ...

    async def get(self, name: str) -> bytes | None: ...

    async def delete(self, name: str) -> None:
        """Delete a blob; has no effect if there is none."""
        ...

    def names(self, stream: StreamId | None = None) -> AsyncIterator[str]:
        """The names of the blobs of a user, or of all."""
        ...


def blob_name(stream: StreamId, blob: str) -> str:
    """The name of a user's blob. An imported user may have the same blobs as another one."""
    if not _NAME.fullmatch(blob):  # From an event that may be forged, so it could be any path.
        raise MalformedEvent(f"{blob!r:.80} is not the name of a blob", field="blob", fix="export the user again")
    return f"{prefix_of(stream)}/{blob}"


_NAME = re.compile("[0-9a-f]{64}")


def prefix_of(stream: StreamId) -> str:
    """The prefix of the names of a user's blobs."""
    return sha256(f"{stream.tenant}\0{stream.name}".encode()).hexdigest()[:32]


class FileBlobs:
    """One file per blob, readable by its owner only."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def put(self, name: str, content: bytes) -> None:
        try:
            await asyncio.to_thread(self._put, self._directory / name, content)
        except OSError as error:
            raise ServerFailed(
                f"the file cannot be stored: {error.strerror}",
                field="artifacts_url",
                fix="free space on the disk of the data directory, or let the engine write to it, and try again",
            ) from error

    async def get(self, name: str) -> bytes | None:
        try:
            return await asyncio.to_thread((self._directory / name).read_bytes)
        except FileNotFoundError:
            return None

    async def delete(self, name: str) -> None:
        await asyncio.to_thread((self._directory / name).unlink, missing_ok=True)

    async def names(self, stream: StreamId | None = None) -> AsyncIterator[str]:
        for name in await asyncio.to_thread(self._names, "*" if stream is None else prefix_of(stream)):
            yield name

    def _names(self, owner: str) -> list[str]:
        found = (path.relative_to(self._directory) for path in self._directory.glob(f"{owner}/*"))
        return sorted(str(path) for path in found if "." not in path.name)

    @staticmethod
    def _put(path: Path, content: bytes) -> None:
        """Atomically. The names of new folders are on disk, too."""
        new = [folder for folder in path.parents if not folder.exists()]
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in new:
            sync_names(folder.parent)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        with suppress(FileNotFoundError):  # From a dead process with the same pid.
            draft.unlink()
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        sync_names(path.parent)
