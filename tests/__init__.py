"""Tests. Whatever an engine keeps outside of its data directory goes to a folder that ends with the process."""

import atexit
import os
import shutil
import tempfile

_state = tempfile.mkdtemp(prefix="mnemolog-state-")
atexit.register(shutil.rmtree, _state, ignore_errors=True)
os.environ["XDG_STATE_HOME"] = _state
os.environ["MNEMOLOG_AUDIT_SHARE"] = "0"  # It would take its share of every engine's time; its own tests turn it on.
