"""`mnemolog backup`, and what is said to who asks as it was asked before."""

from pathlib import Path

import pytest

from mnemolog.adapters.engine.engine import Engine
from tests.adapters.cli.command import mnemolog


@pytest.mark.spec_part("X23")
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("backup {}", "backup create {}"),
        ("restore {}", "backup restore {}"),
        ("restore {} -u ana", "backup restore {}"),
    ],
)
async def test_a_file_is_written_and_read_by_the_commands_of_backup(
    engine: Engine, tmp_path: Path, asked: str, told: str
) -> None:
    file = tmp_path / "today.mnemolog"
    file.touch()
    refused = await mnemolog(engine.settings.directory, *asked.format(file).split(), columns=1000)
    assert refused.code == 2
    assert f"`mnemolog {told.format(file)}`" in refused.err
