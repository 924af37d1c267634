"""Lives of 200 messages, with what a scripted model proposes about them: after two years, what is known is current."""

from collections.abc import AsyncIterator, Mapping, Set
from dataclasses import replace

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.domain.extraction.policy import ExtractionPolicy
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.model_life import Life, reading_engine
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
        "race_date": {"2025-09-14"},
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
        "exam_date": {"2025-04-04"},
    },
    "maeve": {
        "lives_in": {"Salthill"},
        "allergy": {"penicillin", "ibuprofen"},
        "doctor": {"Dr Adeyemi"},
        "dog": {"Pilot"},
        "partner_of": {"Tadhg"},
        "parent_of": {"Aoife", "Conor"},
        "operation_date": {"2024-11-04"},
    },
}


@pytest.fixture(scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory, server: ModelServer) -> AsyncIterator[Engine]:
    async with reading_engine(tmp_path_factory.mktemp("lives"), server) as opened:
        # What took two years to live is told in a moment, and so are the writes of many days.
        opened.policy = replace(opened.policy, extraction=ExtractionPolicy(writes_per_day=10_000))
        yield opened


@pytest.fixture
def teller(engine: Engine, server: ModelServer, user: str) -> Teller:
    server.replies.clear()
    server.requests.clear()
    return Teller(engine, user)


@pytest.mark.spec_part("B13", "E06", "B09")
@pytest.mark.parametrize("name", KNOWN)
async def test_after_a_life_what_is_known_is_current(name: str, teller: Teller, server: ModelServer) -> None:
    life = Life.of(name)
    server.chat = life.answer
    await life.told(teller)
    assert server.asked == len(life.answers)
    facts = [row for row in await teller.facts() if row["subject"] == teller.user]
    known = {
        asked: {row["object"] or row["value"] for row in facts if row["predicate"] == asked} for asked in KNOWN[name]
    }
    assert known == KNOWN[name]
    await assert_live_equals_replayed(teller.engine, teller.stream)
