"""An export of a damaged stream says so, also where its first lines were sent already (X08, X17)."""

from pathlib import Path

import httpx2
import pytest

from mnemolog.adapters.clock import now
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.export.importing import checked
from mnemolog.adapters.http.app import create_app
from mnemolog.adapters.python.client import AsyncClient
from mnemolog.domain.errors import InvalidInput, TamperedEvent
from tests.engine.person import Person
from tests.tamper.attacker import Attacker

pytestmark = pytest.mark.spec_part("X08", "X17")


async def test_an_export_of_a_damaged_stream_ends_with_the_error_and_leaves_no_file(
    victim: Engine, ana: Person, mallory: Attacker, tmp_path: Path
) -> None:
    await mallory.removes(3)
    file, transport = tmp_path / "ana.jsonl", httpx2.ASGITransport(create_app(victim))
    async with AsyncClient("http://localhost", user_id=ana.user, transport=transport) as client:
        with pytest.raises(TamperedEvent, match="damaged at event 3"):
            await client.export_user(file)
    assert not file.exists()

    async with httpx2.AsyncClient(base_url="http://localhost", transport=transport) as http:
        answer = await http.get("/v1/user/export", params={"user_id": ana.user})
    assert answer.status_code == 200
    file.write_bytes(answer.content)
    with pytest.raises(InvalidInput, match=r"line 4: the export failed: .* is damaged at event 3"):
        checked(file, now())
