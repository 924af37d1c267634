"""How often a process that serves looks for garbage.

An engine makes thousands of short-lived objects for each batch of events, and hardly any of them in a cycle. With
Python's defaults, looking for cycles took 6 to 8 % of the processor time of a replay.
"""

import gc


def collect_rarely() -> None:
    """Call it once everything is imported and opened: what exists now stays, and is never looked through again.

    A collection that walked through all of it would delay every write by a tenth of a second.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()
