"""The HTTP API keeps what its OpenAPI document promises, whatever is sent: a part of what `make fuzz` asks."""

from hypothesis import settings

from mnemolog.adapters.engine.engine import Engine
from tests.fuzz.run import PHASES, fuzz
from tests.testkit.examples import LONG

FEW = ("--phases", "examples,fuzzing,stateful", "-n", "3", "--no-shrink", "--generation-deterministic")
MANY = ("--phases", PHASES, "-n", "50")


async def test_the_api_keeps_what_its_document_promises(guarded: Engine) -> None:
    found = await fuzz(guarded, *(MANY if settings.get_current_profile_name() == LONG else FEW))

    faults = [] if not (found.failures or found.errors) else found.output.splitlines()
    assert not faults, "\n".join(faults)
    assert found.requests > 100
