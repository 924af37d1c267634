"""The matrix of edits in its cheap form: three kinds, on rows and on the log, as four of those that read meet them."""

from pathlib import Path

import pytest

from tests.tamper.matrix import REFUSED, SERVED, run, settings_in

MEETS = ("reads", "heal", "replay", "as-of")


@pytest.mark.spec("X08")
async def test_no_edit_is_served(tmp_path: Path) -> None:
    found = await run(settings_in(tmp_path), MEETS, ("content", "tail", "middle"))

    assert not [place for place, word in found.items() if word == SERVED]
    assert {word for (surface, _, name), word in found.items() if surface == "log" and name in ("heal", "replay")} == {
        REFUSED
    }
