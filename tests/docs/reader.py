"""A reader who tries every block of one page, on a data directory of the tests and in a tenant of the page's own."""

import contextlib
import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemolog import Memory
from mnemolog.adapters.embedded import running_engine
from mnemolog.mirror import Blocking
from tests.docs.pages import Block, Command, Names, blocks, called, commands
from tests.testkit.settings import PATIENCE
from tests.testkit.warm import script_folder

# What the pages show, and each run replaces: by a free port, a tenant of the page's own, and a new directory.
HTTP_PORT = "8765"
TENANT = "default"
DATA_DIRECTORY = "~/.mnemolog"
LAST_LINE_OF_UP = "Ctrl-C stops it"
SECONDS = 300
# A first use: nothing is set, and each command is the installed script in an interpreter of its own.
FIRST = "README.md"
# Pages that show how programs share an engine: the first of them starts one in the background.
SHARED = (FIRST, "share-one-engine.md")
TUTORIAL = "first-memory.md"
UP = "mnemolog up"


def starts_an_engine(page: Path) -> bool:
    """Whether a page shows how an engine starts, or is a first one that readers try; on all others one runs already."""
    lines = {command.line for block in blocks(page) if block.info == "console" for command in commands(block)}
    return UP in lines or page.name in (*SHARED, TUTORIAL)


@contextlib.contextmanager
def running(data_dir: Path) -> Iterator[Path]:
    """The directory, with an engine that programs of other tenants use."""
    with Memory(data_dir, durable=False, tenant="keeper", read_deadline=PATIENCE) as memory:
        memory.changes(user_id="keeper")
        yield data_dir


class Reader:
    """Runs blocks in order. `close` ends whatever the page left running."""

    def __init__(self, page: Path, data_dir: Path) -> None:
        self.page, self._data_dir = page, data_dir
        self._names = Names()
        self._namespace: dict[str, Any] = {"__name__": "__main__"}
        self._printed = ""
        self._port = str(_free_port())
        self._tenant = TENANT if page.name == FIRST else called(page)[:40]
        self._keeper: Memory | None = None
        self._up: subprocess.Popen[str] | None = None

    def environment(self) -> dict[str, str]:
        """A wide screen without colours, and settings that keep this page apart from all others."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MNEMOLOG_")}
        return inherited | {
            "MNEMOLOG_DATA_DIR": str(self._data_dir),
            "MNEMOLOG_TENANT": self._tenant,
            "MNEMOLOG_HTTP_PORT": self._port,
            "MNEMOLOG_DURABLE": "false",
            "MNEMOLOG_ENGINE": "background" if self.page.name in SHARED else "in-process",
            # Pages show what a reader sees at once. On a slow machine, facts may be extracted before that.
            "MNEMOLOG_EXTRACTION": "off",
            "MNEMOLOG_IDLE_GRACE": "1",
            "MNEMOLOG_READ_DEADLINE": str(PATIENCE),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "COLUMNS": "110",
            "NO_COLOR": "1",
            "TERM": "dumb",
            "PYTHONWARNINGS": "ignore",
        }

    def run(self, block: Block) -> None:
        where = f"{self.page.name}:{block.line}"
        match block.info:
            case "python":
                self._python(block, where)
            case "text output":
                self._compare(block.text, self._printed, where)
            case "console":
                for command in commands(block):
                    self._command(command, where)

    def close(self) -> None:
        opened = [self._keeper, *(value for value in self._namespace.values() if isinstance(value, Blocking))]
        for memory in opened:
            if memory is not None:
                memory.close()
        if self._up:
            self._up.send_signal(signal.SIGTERM)
            self._up.communicate(timeout=SECONDS)
            assert self._up.returncode == 0, "`mnemolog up` did not stop cleanly"

    def _python(self, block: Block, where: str) -> None:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                exec(compile(self._here(self._names.meant(block.text)), where, "exec"), self._namespace)
            except Exception:  # noqa: BLE001  Whatever a page's code raises, the page is named with it.
                pytest.fail(f"{where} raised\n{traceback.format_exc()}", pytrace=False)
        self._printed = out.getvalue()

    def _command(self, command: Command, where: str) -> None:
        line = self._here(self._names.meant(command.line))
        program = line.split()[0]
        if shutil.which(program, path=self.environment()["PATH"]) is None:
            pytest.skip(f"{where} needs {program}")
        if line == UP:
            self._compare(command.shown, self._started(line), f"{where} $ {line}")
            return
        if program == "mnemolog" and not {"demo", "config", "status", "down"} & set(line.split()):
            self._keep_an_engine()
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        self._compare(command.shown, done.stdout, f"{where} $ {line}")

    def _environment(self) -> dict[str, str]:
        """For a shell."""
        environment = self.environment()
        if self.page.name != FIRST:
            environment["PATH"] = os.pathsep.join([str(script_folder()), environment["PATH"]])
        return environment

    def _started(self, line: str) -> str:
        self._up = subprocess.Popen(
            ["/bin/sh", "-c", f"exec {line}"],
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._up.stdout
        printed = ""
        while LAST_LINE_OF_UP not in printed and (more := self._up.stdout.readline()):
            printed += more
        return printed

    def _keep_an_engine(self) -> None:
        """A command uses an engine that runs: one for all of the page is quicker than one for each."""
        if running_engine(self._data_dir) is None:
            self._keeper = Memory()
            self._keeper.changes(user_id="keeper")

    def _here(self, text: str) -> str:
        text = text.replace(DATA_DIRECTORY, str(self._data_dir))
        return text.replace(HTTP_PORT, self._port).replace(f"{TENANT}/user:", f"{self._tenant}/user:")

    def _compare(self, shown: str, printed: str, where: str) -> None:
        if not self._names.match(self._here(shown), printed):
            pytest.fail(f"{where} shows\n{shown}\nbut this was printed:\n{printed}", pytrace=False)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
