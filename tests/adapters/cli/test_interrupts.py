"""Ctrl-C ends a command wherever it comes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

IN_A_CALLBACK = """
import signal, time, weakref
from mnemolog.adapters.cli import app

class Thing: pass

def command():
    thing = Thing()
    kept = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
    del thing
    time.sleep(60)

signal.signal(signal.SIGINT, signal.default_int_handler)
app.parser = lambda: command
app.run()
"""

WHILE_IMPORTING = """
import sys
from mnemolog.adapters.cli import main

class Interrupting:
    def find_spec(self, name, *rest):
        if name == "mnemolog.adapters.cli.app":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
sys.argv = ["mnemolog", "down"]
main()
"""


def test_a_command_that_is_still_being_loaded_is_interrupted_without_a_traceback(tmp_path: Path) -> None:
    variables = {**os.environ, "MNEMOLOG_DATA_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", WHILE_IMPORTING], env=variables, capture_output=True, check=False, timeout=120
    )

    assert (ran.returncode, ran.stderr) == (128 + signal.SIGINT, b"")


def test_a_command_is_interrupted_although_the_interpreter_ignores_what_its_callbacks_raise() -> None:
    ran = subprocess.run([sys.executable, "-c", IN_A_CALLBACK], check=False, timeout=120)

    assert ran.returncode == 128 + signal.SIGINT
