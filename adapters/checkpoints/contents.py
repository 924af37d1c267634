"""What a checkpoint's row and its chunks hold, sealed: a state, its metadata, and the values of its channels.

A large value is cut into chunks, which are named by their content: a list that grew by a message shares all but its
first and its last chunk with what it was before.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from pydantic_core import from_json, to_json

from mnemolog.adapters.encryption import DataKey, RandomBytes, place, unsealed, wrapped
from mnemolog.domain.errors import MalformedEvent
from mnemolog.events.chain import derived_key
from mnemolog.events.envelope import StreamId

CHUNK = 16 * 1024
# Smaller values are stored in the row itself.
INLINE = 1024
CHUNK_ID_BYTES = 16
_LENGTH = struct.Struct(">I")

Version = str | int | float | None


@dataclass(frozen=True, slots=True)
class Value:
    """A serialized value, and the name of its serialization format."""

    type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Stored:
    """A channel's value at a version, as a row refers to it: by its bytes or by its chunks."""

    version: Version
    type: str
    size: int
    data: bytes = b""
    chunk_ids: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Write:
    """What a task of a step wrote to a channel."""

    task_id: str
    task_path: str
    idx: int
    channel: str
    value: Value

    def packed(self) -> bytes:
        header = to_json((self.task_id, self.task_path, self.idx, self.channel, self.value.type))
        return _LENGTH.pack(len(header)) + header + self.value.data

    @classmethod
    def unpacked(cls, packed: bytes) -> "Write":
        [length] = _LENGTH.unpack_from(packed)
        end = _LENGTH.size + length
        task_id, task_path, idx, channel, type_ = from_json(packed[_LENGTH.size : end])
        return cls(task_id, task_path, idx, channel, Value(type_, packed[end:]))


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a row: a checkpoint without its values, its metadata, references to the values, and its run."""

    state: Value
    metadata: Value
    values: Mapping[str, Stored]
    run_id: str | None = None

    @property
    def chunk_ids(self) -> list[bytes]:
        return [chunk_id for value in self.values.values() for chunk_id in value.chunk_ids]

    def packed(self) -> bytes:
        """A length, a header in JSON, and the bytes that it describes."""
        values = {
            channel: (one.version, one.type, one.size, len(one.chunk_ids)) for channel, one in self.values.items()
        }
        described = [(one.type, len(one.data)) for one in (self.state, self.metadata)]
        header = to_json({"state": described[0], "metadata": described[1], "values": values, "run_id": self.run_id})
        inline = (one.data for one in self.values.values())
        return b"".join((_LENGTH.pack(len(header)), header, self.state.data, self.metadata.data, *inline))

    @classmethod
    def unpacked(cls, packed: bytes, chunk_ids: Sequence[bytes]) -> "Contents":
        [length] = _LENGTH.unpack_from(packed)
        header = from_json(packed[_LENGTH.size : _LENGTH.size + length])
        rest, ids = _Bytes(packed, _LENGTH.size + length), iter(chunk_ids)
        [state, metadata] = (Value(type_, rest.take(size)) for type_, size in (header["state"], header["metadata"]))
        values = {
            channel: Stored(version, type_, size, b"" if count else rest.take(size), tuple(_taken(ids, count)))
            for channel, (version, type_, size, count) in header["values"].items()
        }
        return cls(state, metadata, values, header.get("run_id"))


class _Bytes:
    def __init__(self, data: bytes, start: int) -> None:
        self._data, self._at = data, start

    def take(self, size: int) -> bytes:
        self._at += size
        if self._at > len(self._data):
            raise ValueError("it ends too early")
        return self._data[self._at - size : self._at]


def _taken(ids: Iterator[bytes], count: int) -> Iterator[bytes]:
    for _ in range(count):
        yield next(ids)


class Box:
    """Encrypts and decrypts the data of one thread with its key. Data moved to another place cannot be decrypted."""

    def __init__(self, stream: StreamId, scope: str, data_key: DataKey, random_bytes: RandomBytes) -> None:
        self.key_id, self._key, self._random = data_key.key_id, data_key.key, random_bytes
        self._place = place(stream, scope, data_key.key_id)
        self._naming = derived_key(data_key.key, "chunks")

    def stored(self, version: Version, value: Value) -> tuple[Stored, dict[bytes, bytes]]:
        """The reference of a row to a value, and the unencrypted chunks it refers to."""
        size = len(value.data)
        if size <= INLINE:
            return Stored(version, value.type, size, value.data), {}
        parts = [value.data[start : start + CHUNK] for start in range(0, size, CHUNK)]
        ids = list(map(self.chunk_id, parts))
        return Stored(version, value.type, size, chunk_ids=tuple(ids)), dict(zip(ids, parts, strict=True))

    def chunk_id(self, part: bytes) -> bytes:
        return blake2b(part, key=self._naming, digest_size=CHUNK_ID_BYTES).digest()

    def value(self, stored: Stored, chunks: Mapping[bytes, bytes]) -> Value:
        """The value, from its row or from encrypted chunks; MalformedEvent if one is missing."""
        if not stored.chunk_ids:
            return Value(stored.type, stored.data)
        try:
            data = b"".join([self.open(chunks[one], "chunk", one) for one in stored.chunk_ids])
        except KeyError:
            raise MalformedEvent(
                "a part of the checkpoint is missing: a row of mnemolog.checkpoint_chunks was deleted",
                field="checkpoint_id",
                fix="load an earlier checkpoint of the thread, or restore a backup",
            ) from None
        return Value(stored.type, data)

    def seal(self, data: bytes, *names: str | bytes) -> bytes:
        return wrapped(self._key, data, self._context(names), self._random)

    def open(self, sealed: bytes, *names: str | bytes) -> bytes:
        return unsealed(self._key, sealed, self._context(names))

    def _context(self, names: Sequence[str | bytes]) -> bytes:
        """Names contain no NUL, except chunk ids, whose length is fixed."""
        return b"\0".join((self._place, *(one.encode() if isinstance(one, str) else one for one in names)))
