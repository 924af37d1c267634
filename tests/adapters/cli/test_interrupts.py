"""Ctrl-C ends a command wherever it comes."""

import signal
import subprocess
import sys

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


def test_a_command_is_interrupted_although_the_interpreter_ignores_what_its_callbacks_raise() -> None:
    ran = subprocess.run([sys.executable, "-c", IN_A_CALLBACK], check=False, timeout=120)

    assert ran.returncode == 128 + signal.SIGINT
