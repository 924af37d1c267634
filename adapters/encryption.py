"""AES-256-GCM: encrypts personal fields with data keys, and wraps keys (design §7, NIST SP 800-38D)."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic_core import to_json

from mnemolog.domain.errors import MalformedEvent
from mnemolog.events.codec import PLAIN, PlainCipher, Sealed
from mnemolog.events.envelope import StreamId
from mnemolog.events.stored_json import read_json

ALGORITHM = "A256GCM"
KEY_BYTES = 32
ID_BYTES = 8
NONCE_BYTES = 12

RandomBytes = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class DataKey:
    """A key of 32 bytes, and the id (8 bytes) by which ciphertext refers to it."""

    key_id: bytes
    key: bytes


class Keyring:
    """Implements `mnemolog.events.codec.Cipher` with the data keys that it holds.

    Ciphertext under a key that it does not hold, or under an earlier key of the same scope, decrypts to None.
    """

    def __init__(self, keys: dict[tuple[StreamId, str], DataKey], random_bytes: RandomBytes) -> None:
        self._keys, self._random = keys, random_bytes

    def seal(self, stream: StreamId, key_scope: str, fields: Mapping[str, Any]) -> Sealed:
        data_key = self._keys[stream, key_scope]
        box = wrapped(data_key.key, to_json(fields), place(stream, key_scope, data_key.key_id), self._random)
        return {"alg": ALGORITHM, "key": data_key.key_id.hex(), "box": b64encode(box).decode()}

    def open(self, stream: StreamId, key_scope: str, sealed: Sealed) -> Mapping[str, Any] | None:
        if sealed["alg"] == PlainCipher.ALGORITHM:
            return PLAIN.open(stream, key_scope, sealed)
        if sealed["alg"] != ALGORITHM:
            raise MalformedEvent(
                f"the data is encrypted with unknown algorithm {sealed['alg']!r}",
                field="data",
                fix="run a newer Mnemolog",
            )
        data_key = self._keys.get((stream, key_scope))
        if data_key is None or data_key.key_id.hex() != sealed["key"]:
            return None
        text = unsealed(data_key.key, b64decode(sealed["box"]), place(stream, key_scope, data_key.key_id))
        fields: Mapping[str, Any] = read_json(text)
        return fields


def wrapped(key: bytes, secret: bytes, context: bytes, random_bytes: RandomBytes) -> bytes:
    """`secret` encrypted with `key`: a nonce of 12 bytes, the ciphertext, and a tag of 16 bytes."""
    nonce = random_bytes(NONCE_BYTES)
    return nonce + _aes(key).encrypt(nonce, secret, context)


@lru_cache(maxsize=50_000)
def unwrapped(key: bytes, box: bytes, context: bytes) -> bytes:
    """The secret in `box`; MalformedEvent if it was wrapped with another key or for another place.

    Cached by its whole input including the stored bytes, so a key whose row is destroyed is not found here either.
    """
    return unsealed(key, box, context)


def unsealed(key: bytes, box: bytes, context: bytes) -> bytes:
    """The content of `box`; MalformedEvent if it was changed or belongs elsewhere."""
    try:
        return _aes(key).decrypt(box[:NONCE_BYTES], box[NONCE_BYTES:], context)
    except (InvalidTag, ValueError) as error:
        raise MalformedEvent(
            "the data cannot be decrypted with its key: the data or the key was changed",
            field="data",
            fix="run `mnemolog verify`",
        ) from error


def place(stream: StreamId, scope: str, key_id: bytes) -> bytes:
    """What is authenticated with the ciphertext, so that it decrypts nowhere else. Ids contain no NUL."""
    return b"\0".join((stream.tenant.encode(), stream.name.encode(), scope.encode(), key_id))


@lru_cache(maxsize=1024)
def _aes(key: bytes) -> AESGCM:
    return AESGCM(key)
