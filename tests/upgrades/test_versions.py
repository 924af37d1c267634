"""A projection that builds other rows than before has a new version, so that the former tables are replaced."""

import json
from pathlib import Path

import pytest

from tests.upgrades.versions import VERSIONS, digests, opened

HOW = "raise its version (docs/how-to/change-a-projection.md), then run `python -m tests.upgrades.versions`"


@pytest.mark.spec_part("X05")
async def test_a_projection_that_builds_other_rows_has_a_new_version(tmp_path: Path) -> None:
    kept = json.loads(VERSIONS.read_text(encoding="utf-8"))
    async with opened(tmp_path) as memory:
        built = await digests(memory)

    changed = {name: one["version"] for name, one in built.items() if one != kept.get(name)}
    assert [name for name, version in changed.items() if version == kept.get(name, {}).get("version")] == [], HOW
    assert changed == {}, "run `python -m tests.upgrades.versions`"
    assert kept.keys() == built.keys()
