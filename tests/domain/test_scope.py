"""Scope: an agent reads what is global, and its own (A §4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.scope import Scope, readable, require_owner

agents = st.sampled_from(["deanna", "data", ""]) | st.none()


@pytest.mark.spec("A01")
@given(agents, agents)
def test_what_is_global_is_read_by_every_agent(owner: str | None, reader: str | None) -> None:
    assert readable(Scope.GLOBAL, owner, reader)


@pytest.mark.spec("A01", "C01")
@given(agents, agents)
def test_what_is_an_agents_own_is_read_by_that_agent_alone(owner: str | None, reader: str | None) -> None:
    assert readable(Scope.AGENT, owner, reader) == (reader is not None and owner == reader)


@pytest.mark.spec("A01")
@pytest.mark.parametrize("agent_id", [None, ""])
def test_an_agents_own_memory_needs_its_agent(agent_id: str | None) -> None:
    with pytest.raises(InvalidInput) as refused:
        require_owner(Scope.AGENT, agent_id)

    assert refused.value.field == "agent_id"


def test_a_global_memory_needs_no_agent_and_every_agent_reads_it() -> None:
    require_owner(Scope.GLOBAL, None)
    assert readable(Scope.GLOBAL, None, "coach")
