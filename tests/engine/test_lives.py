"""Lives of 200 messages, with what a scripted model proposes about them: after two years, what is known is current.

The golden files of the lives hold all that readers see then, fact by fact, and the delta header of each day.
"""

from collections.abc import AsyncIterator, Mapping, Set

import pytest

from mnemolog.adapters.engine.engine import Engine
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.lives import golden, lived, patient_engine
from tests.engine.model_life import Life, state
from tests.engine.teller import Teller
from tests.testkit.model_server import ModelServer

# After each life, what the user may be asked about; what is empty was said and is over.
KNOWN: Mapping[str, Mapping[str, Set[str]]] = {
    "imogen": {
        "lives_in": {"Penarth"},
        "works_at": {"Brød"},
        "partner_of": {"Jonah"},
        "allergy": set(),
        "intolerance": {"lactose"},
        "diet_plan": set(),
        "dislikes": {"coriander"},
        "cat": {"Mabli"},
        "race_date": set(),
    },
    "farid": {
        "lives_in": {"Delft"},
        "works_at": {"Bahar Engineering"},
        "married_to": {"Leila"},
        "parent_of": {"Samir", "Yasmin"},
        "brother": {"Navid"},
        "condition": {"type 2 diabetes"},
        "allergy": set(),
        "diet_plan": {"vegetarian"},
        "dog": {"Luna"},
        "exam_date": set(),
    },
    "maeve": {
        "lives_in": {"Salthill"},
        "allergy": {"penicillin", "ibuprofen"},
        "doctor": {"Dr Adeyemi"},
        "dog": {"Pilot"},
        "partner_of": {"Tadhg"},
        "parent_of": {"Aoife", "Conor"},
        "operation_date": set(),
        "neighbour": set(),
    },
}


@pytest.fixture(scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory, server: ModelServer) -> AsyncIterator[Engine]:
    async with patient_engine(tmp_path_factory.mktemp("lives"), server) as opened:
        yield opened


@pytest.fixture
def teller(engine: Engine, server: ModelServer, user: str) -> Teller:
    server.replies.clear()
    server.requests.clear()
    return Teller(engine, user)


@pytest.mark.parametrize("name", KNOWN)
def test_a_golden_life_ends_with_what_is_current(name: str) -> None:
    known: dict[str, set[str]] = {asked: set() for asked in KNOWN[name]}
    for fact in golden(name)["facts"]:
        subject, predicate, thing = fact.split(" ", 2)
        value, _, period = thing.rpartition(" ")
        if subject == name and predicate in known and ".." not in period and period != "retired":
            known[predicate].add(value)
    assert known == KNOWN[name]


@pytest.mark.spec_part("B13", "E06", "B09")
@pytest.mark.parametrize("name", KNOWN)
async def test_a_life_is_known_as_its_golden_file_says_though_the_model_fails_at_each_call(
    name: str, teller: Teller, server: ModelServer
) -> None:
    life = Life.of(name)
    failures = life.fails_before_each_answer(server)
    assert await lived(life, teller, name) == golden(name)
    assert server.asked == len(life.answers) + failures
    await assert_live_equals_replayed(teller.engine, teller.stream)


@pytest.mark.spec_part("B13")
@pytest.mark.parametrize("name", KNOWN)
async def test_a_life_that_is_told_at_once_is_known_like_one_that_was_lived(
    name: str, teller: Teller, server: ModelServer
) -> None:
    """The rules have read all of it before the model reads its first message; only what never held may differ."""
    life = Life.of(name)
    server.chat = life.answer
    await life.told(teller)
    seen, held = await state(teller, name), golden(name)
    assert [one for one in seen["facts"] if " retired" not in one] == [
        one for one in held["facts"] if " retired" not in one
    ]
    assert [seen[one] for one in ("memories", "todos", "proposals")] == [
        held[one] for one in ("memories", "todos", "proposals")
    ]
    await assert_live_equals_replayed(teller.engine, teller.stream)
