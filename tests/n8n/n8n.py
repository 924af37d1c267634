"""A real n8n with the node of this repository, in folders of its own."""

import asyncio
import json
import os
import shutil
import socket
import tarfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.docs.pages import ROOT

Json = dict[str, Any]
SOURCE = ROOT / "infra" / "clients" / "n8n"
PACKAGE = "n8n-nodes-mnemolog"
SECONDS = 240
# Its last line when it starts: before that, published workflows do not listen yet.
READY = "Editor is now accessible"
QUIET = {
    "N8N_DIAGNOSTICS_ENABLED": "false",
    "N8N_VERSION_NOTIFICATIONS_ENABLED": "false",
    "N8N_TEMPLATES_ENABLED": "false",
    "N8N_PERSONALIZATION_ENABLED": "false",
    "N8N_DYNAMIC_BANNERS_ENABLED": "false",
    "N8N_LICENSE_AUTO_RENEW_ENABLED": "false",
    "N8N_PYTHON_ENABLED": "false",
    "N8N_SECURE_COOKIE": "false",
    "N8N_REINSTALL_MISSING_PACKAGES": "false",
}


def installed() -> Path:
    """Where `make test-n8n` installed n8n and the tools of the node."""
    return Path(os.environ["MNEMOLOG_N8N"])


def version() -> str:
    """That of n8n."""
    told = json.loads((installed() / "n8n" / "node_modules" / "n8n" / "package.json").read_text())
    return str(told["version"])


async def ran(command: Sequence[str | Path], cwd: Path, **environment: str) -> str:
    """What a command printed; RuntimeError with it if the command failed."""
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(SECONDS):
            output = (await process.communicate())[0].decode()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise RuntimeError(f"{command} failed:\n{output}")
    return output


async def built(openapi: Json, folder: Path) -> Path:
    """The package as npm packs it, built from the document of a server and linted."""
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (folder / "node_modules").symlink_to(installed() / "node" / "node_modules")
    (folder / "openapi.json").write_text(json.dumps(openapi))
    await ran(["npm", "run", "build"], folder)
    await ran(["npm", "run", "lint"], folder)
    return folder / (await ran(["npm", "pack", "--silent"], folder)).split()[-1]


@dataclass
class N8n:
    """Its folder and its ports; `url` once it serves."""

    folder: Path
    port: int = field(default_factory=lambda: _free_port())
    broker: int = field(default_factory=lambda: _free_port())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def environment(self) -> Mapping[str, str]:
        return {
            **os.environ,
            **QUIET,
            "N8N_USER_FOLDER": str(self.folder),
            "N8N_LISTEN_ADDRESS": "127.0.0.1",
            "N8N_PORT": str(self.port),
            "N8N_RUNNERS_BROKER_PORT": str(self.broker),
        }

    def install(self, packed: Path) -> None:
        """As n8n installs a community package."""
        modules = self.folder / ".n8n" / "nodes" / "node_modules"
        with tarfile.open(packed) as archive:
            archive.extractall(modules, filter="data")
        (modules / "package").rename(modules / PACKAGE)

    async def command(self, *arguments: str | Path) -> str:
        return await ran([_binary(), *arguments], self.folder, **self.environment())

    async def take(self, kind: str, *objects: Json) -> None:
        """Import workflows or credentials."""
        file = self.folder / f"{kind}.json"
        file.write_text(json.dumps(objects))
        await self.command(f"import:{kind}", f"--input={file}")

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[httpx.AsyncClient]:
        """A client of the running server, which is ended with the block."""
        log = self.folder / "n8n.log"
        with log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                _binary(), "start", cwd=self.folder, env=self.environment(), stdout=output, stderr=output
            )
        try:
            async with httpx.AsyncClient(base_url=self.url, timeout=60) as client:
                async with asyncio.timeout(SECONDS):
                    while READY not in log.read_text():
                        if process.returncode is not None:
                            raise RuntimeError(f"n8n ended:\n{log.read_text()}")
                        await asyncio.sleep(0.2)
                yield client
        finally:
            if process.returncode is None:
                process.terminate()
                try:
                    await asyncio.wait_for(process.wait(), 30)
                except TimeoutError:
                    process.kill()
                    await process.wait()


def _binary() -> Path:
    return installed() / "n8n" / "node_modules" / ".bin" / "n8n"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])
