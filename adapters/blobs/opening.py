"""Opens the blob store that the settings name."""

from mnemolog.adapters.blobs.store import BlobStore, FileBlobs
from mnemolog.adapters.config import Settings

DIRECTORY = "artifacts"


def blob_store(settings: Settings) -> BlobStore:
    """A bucket, or a directory next to the embedded servers."""
    if settings.artifacts_url is None:
        return FileBlobs(settings.directory / DIRECTORY)
    from mnemolog.adapters.blobs.s3 import S3Blobs

    return S3Blobs(settings.artifacts_url)
