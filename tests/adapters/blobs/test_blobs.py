"""What every blob store owes: a directory, and a bucket of an S3-compatible server."""

import errno
import os
import stat
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

from mnemolog.adapters.blobs import store
from mnemolog.adapters.blobs.s3 import S3Blobs
from mnemolog.adapters.blobs.store import BlobStore, FileBlobs, blob_name
from mnemolog.domain.errors import InvalidInput, MalformedEvent, ServerFailed
from mnemolog.events.envelope import StreamId

pytestmark = pytest.mark.spec_part("E05")
ANA, BOB = StreamId.of_user("ana"), StreamId.of_user("bob")
TEA, MILK = "ab" * 32, "cd" * 32


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    urllib.request.urlopen(urllib.request.Request(f"{address}/bucket", method="PUT")).close()
    yield address
    server.stop()


@pytest.fixture(params=["file", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BlobStore:
    if request.param == "file":
        return FileBlobs(tmp_path / "artifacts")
    address: str = request.getfixturevalue("s3")
    own = {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "REGION": "us-east-1", "ENDPOINT_URL": address}
    for name, value in {**own, "ALLOW_HTTP": "true"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    return S3Blobs(f"s3://bucket/{tmp_path.name}")


async def test_a_blob_is_found_under_its_owner_until_it_is_deleted(blobs: BlobStore) -> None:
    assert await blobs.get(blob_name(ANA, TEA)) is None
    await blobs.put(blob_name(ANA, TEA), b"tea")
    await blobs.put(blob_name(ANA, TEA), b"tea")
    await blobs.put(blob_name(ANA, MILK), b"milk")
    await blobs.put(blob_name(BOB, TEA), b"tea")
    assert await blobs.get(blob_name(ANA, TEA)) == b"tea"
    assert {name async for name in blobs.names(ANA)} == {blob_name(ANA, TEA), blob_name(ANA, MILK)}
    assert len([name async for name in blobs.names()]) == 3

    await blobs.delete(blob_name(ANA, TEA))
    await blobs.delete(blob_name(ANA, TEA))

    assert await blobs.get(blob_name(ANA, TEA)) is None
    assert await blobs.get(blob_name(BOB, TEA)) == b"tea"
    assert [name async for name in blobs.names(StreamId.of_user("nobody"))] == []


async def test_files_are_their_owners_alone_and_no_name_leads_elsewhere(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path / "artifacts")
    await blobs.put(name := blob_name(StreamId.of_user("../../etc"), TEA), b"tea")
    path = tmp_path / "artifacts" / name
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(tmp_path) == ["artifacts"]
    for blob in ("", "..", f"../{TEA}", "/etc/passwd", TEA.upper()):
        with pytest.raises(MalformedEvent):
            blob_name(ANA, blob)


async def test_a_disk_that_takes_no_file_is_reported_and_keeps_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ServerFailed, match="No space left on device") as failed:
        await FileBlobs(tmp_path).put(blob_name(StreamId.of_user("ana"), "ab" * 32), b"a red bicycle")
    assert failed.value.fix
    assert not any(files for _, _, files in os.walk(tmp_path))


async def test_a_server_that_is_down_or_a_wrong_address_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="is not a bucket"):
        S3Blobs("nowhere")
    for name, value in {"REGION": "us-east-1", "ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    blobs = S3Blobs("s3://bucket", timeout_seconds=0.5)
    with pytest.raises(ServerFailed, match="the blob store does not answer"):
        await blobs.put(blob_name(ANA, TEA), b"tea")


async def test_the_names_of_new_folders_are_on_disk_when_a_blob_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(store, "sync_names", synced.append)
    blobs = FileBlobs(tmp_path / "artifacts")
    for name in ("one", "two"):
        await blobs.put(f"ana/{name}", b"content")

    assert synced == [tmp_path / "artifacts", tmp_path, tmp_path / "artifacts" / "ana", tmp_path / "artifacts" / "ana"]
