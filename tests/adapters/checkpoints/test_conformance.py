"""LangGraph's own tests of a checkpointer: every one of them, also of what it calls extended."""

from collections.abc import AsyncIterator

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate

from mnemolog import AsyncMemory
from mnemolog.langgraph import MnemologSaver

TESTS = 81


@pytest.mark.spec("X19")
async def test_the_saver_passes_every_test_of_langgraph(memory: AsyncMemory, user: str) -> None:
    async def savers() -> AsyncIterator[MnemologSaver]:
        yield MnemologSaver(memory, user_id=user)

    report = await validate(checkpointer_test(name="Mnemolog")(savers))

    assert [failure for result in report.results.values() for failure in result.failures] == []
    assert sum(result.tests_passed for result in report.results.values()) == TESTS
