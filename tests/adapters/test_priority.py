"""What works in the background gets less of a processor that is wanted by programs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

GROUP = Path("/proc/self/autogroup")
# Linux shows nothing there of a process that another scheduling group holds, as one in a container may be.
GROUPED = GROUP.exists() and bool(GROUP.read_text(encoding="ascii"))
TOLD = f"""
import os
from pathlib import Path
from mnemolog.adapters.priority import lower_priority
os.nice(GIVEN)
lower_priority(3)
print(os.nice(0))
if {GROUPED}:
    print(Path("{GROUP}").read_text().split()[-1])
"""


def told(*, given: int, leads: bool) -> list[str]:
    code = TOLD.replace("GIVEN", str(given))
    ended = subprocess.run((sys.executable, "-c", code), capture_output=True, start_new_session=leads, check=True)
    return ended.stdout.decode().split()


@pytest.mark.parametrize(("given", "then"), [(0, 3), (2, 3), (7, 7)])
def test_a_priority_is_lowered_and_never_raised(given: int, then: int) -> None:
    had = os.nice(0)
    assert told(given=given, leads=False)[0] == str(max(then, had + given))


@pytest.mark.skipif(not GROUPED, reason="this system compares no sessions")
def test_that_of_a_session_only_by_its_leader() -> None:
    own = GROUP.read_text(encoding="ascii").split()[-1]
    assert told(given=0, leads=True)[1] == "3"
    assert told(given=0, leads=False)[1] == own
