"""A file that is not of LoCoMo is refused in words."""

from pathlib import Path

import pytest

from mnemolog.adapters.ingest import locomo
from mnemolog.domain.errors import InvalidInput


def test_what_a_file_of_another_kind_lacks_is_named(tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text('[{"role": "user", "content": "Hi"}]')

    with pytest.raises(InvalidInput) as refused:
        list(locomo.turns(file))

    assert refused.value.message == "chat.json is not a LoCoMo file: 'sample_id' is missing"
