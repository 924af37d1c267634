"""Blobs in a bucket of an S3-compatible server.

Credentials, region and endpoint come from the usual variables: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION,
AWS_ENDPOINT_URL.
"""

from collections.abc import AsyncIterator, Awaitable
from datetime import timedelta
from typing import TypeVar

from mnemolog.adapters.blobs.store import prefix_of
from mnemolog.domain.errors import InvalidInput, ServerFailed
from mnemolog.events.envelope import StreamId

try:
    from obstore.exceptions import BaseError
    from obstore.store import S3Store
except ImportError as error:
    raise InvalidInput("needs the extra s3", field="artifacts_url", fix="run `pip install 'mnemolog[s3]'`") from error

T = TypeVar("T")
RETRIES = 5


class S3Blobs:
    """One object per blob."""

    def __init__(self, url: str, *, timeout_seconds: float = 60.0) -> None:
        try:
            self._store = S3Store.from_url(
                url, retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=timeout_seconds)}
            )
        except (BaseError, ValueError) as error:
            raise InvalidInput(
                f"{url!r} is not a bucket", field="artifacts_url", fix="use s3://BUCKET/PREFIX, and set AWS_REGION"
            ) from error

    async def put(self, name: str, content: bytes) -> None:
        await _asked(self._store.put_async(name, content))

    async def get(self, name: str) -> bytes | None:
        try:
            found = await _asked(self._store.get_async(name))
            return bytes(await _asked(found.bytes_async()))
        except FileNotFoundError:
            return None

    async def delete(self, name: str) -> None:
        await _asked(self._store.delete_async(name))

    async def names(self, stream: StreamId | None = None) -> AsyncIterator[str]:
        pages = self._store.list(prefix=None if stream is None else prefix_of(stream)).__aiter__()
        while (page := await _asked(anext(pages, None))) is not None:
            for one in page:
                yield one["path"]


async def _asked(answer: Awaitable[T]) -> T:
    try:
        return await answer
    except FileNotFoundError:
        raise
    except (BaseError, OSError) as error:
        raise ServerFailed(
            f"the blob store does not answer ({type(error).__name__})", field="artifacts_url", fix="try again"
        ) from error
