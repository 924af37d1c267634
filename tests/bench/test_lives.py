"""The lives of the benchmarks, which no test would otherwise notice to have rotted."""

from tests.bench.lives import STEPS, appends


def test_a_life_takes_every_kind_of_step() -> None:
    types = {type(event.payload) for append in appends(users=2, events=600) for event in append.events}

    assert len(types) >= len(STEPS)
