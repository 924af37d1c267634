"""The five points by which E's specification says that a build is correct (E09), on one life of three months."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import uuid4

import pytest

from mnemolog.adapters.engine.engine import open_engine
from mnemolog.adapters.maintenance import extracting, prompting, segmenting, summarizing
from mnemolog.adapters.maintenance.segmenting import segment
from mnemolog.adapters.maintenance.summarizing import summarize
from mnemolog.adapters.operations.artifacts import AddArtifact, add_artifact
from mnemolog.adapters.operations.respond import Respond, respond
from mnemolog.domain.text import count_tokens
from mnemolog.projections.requests import ContextRequest
from tests.engine.teller import Teller
from tests.engine.test_extraction import extracted
from tests.testkit.eventually import eventually
from tests.testkit.settings import settings_in

pytestmark = pytest.mark.spec("E09")

BEGAN = datetime(2026, 3, 2, 18, tzinfo=UTC)
EVENING = timedelta(days=3)
DURABLE = {
    0: "I'm allergic to peanuts.",
    2: "I moved to Lisbon last week.",
    5: "My sister's name is Clara.",
    9: "We decided to hold the wedding in Porto in October.",
}
TALK = (
    (
        "The sourdough starter did not rise again, so the bread came out flat.",
        "How long should the dough for a loaf of bread rest before it goes into the oven?",
        "I kneaded the bread dough for ten minutes and then left it in the warm oven.",
        "Would rye flour make the bread heavier than wheat flour?",
        "The crust of the bread was hard and the inside of the loaf was still wet.",
        "Maybe the oven was not hot enough for the bread.",
    ),
    (
        "The chain of my bicycle jumps whenever I change gears.",
        "Which oil is good for a bicycle chain in the rain?",
        "I cleaned the gears of the bicycle with a brush, and the chain still jumps.",
        "Is the chain too long for the smallest gear of the bicycle?",
        "The brakes of the bicycle squeak as well when the rims are wet.",
        "A new chain for the bicycle costs less than a repair.",
    ),
    (
        "The tomatoes in the garden have yellow leaves again.",
        "How often should tomato plants be watered when it is hot?",
        "I tied the tomato plants to sticks, because the wind bent them.",
        "Would the tomatoes like some shade at noon?",
        "There are small green flies under the leaves of the tomato plants.",
        "Perhaps the soil of the tomato bed lacks something.",
    ),
)
EVENINGS = 20


@dataclass(frozen=True)
class Life:
    """A person who wrote on twenty evenings, eight messages each, and what was there after the first ten."""

    ana: Teller
    divided: list[tuple[str, int]]
    halfway: int


@pytest.fixture(scope="module")
async def life(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Life]:
    """Told in order, with each job run as often as the sweeps of an engine would."""
    with pytest.MonkeyPatch.context() as patch:
        for sweep in (extracting, segmenting, summarizing):
            patch.setattr(sweep, "EVERY_SECONDS", 24 * 3600.0)
        patch.setattr(prompting, "QUIET_SECONDS", 24 * 3600.0)
        async with open_engine(settings_in(tmp_path_factory.mktemp("checklist"), extraction="rules")) as engine:
            ana = Teller(engine, f"ana-{uuid4()}")
            divided = list[tuple[str, int]]()
            halfway = 0
            for evening in range(EVENINGS):
                await tells(ana, evening)
                await divides(ana, BEGAN + evening * EVENING + timedelta(minutes=9))
                divided.append(await latest(ana))
                if evening == EVENINGS // 2:
                    await extracted(engine)
                    halfway = len(await ana.facts()) + len(await ana.memory_ids())
            await extracted(engine)
            yield Life(ana, divided, halfway)


async def tells(ana: Teller, evening: int) -> None:
    said = [*TALK[evening % len(TALK)]]
    # One remark about something else, which does not change the topic; the last of them is repeated each evening.
    said.insert(3, DURABLE[max(one for one in DURABLE if one <= evening)])
    said.append("ok, thanks!")
    for number, text in enumerate(said):
        at = BEGAN + evening * EVENING + timedelta(minutes=number)
        await ana.says(text, turn_id=f"{ana.user}-{evening}-{number}", speaker="", occurred_at=at)


async def divides(ana: Teller, at: datetime) -> None:
    await ana.engine.settled(60)
    await segment(ana.engine, ana.stream, ana.agent, ana.thread, at)
    await summarize(ana.engine, ana.stream, ana.agent, ana.thread)


async def latest(ana: Teller) -> tuple[str, int]:
    newest = next(iter(await ana.engine.reads.episodes(ana.viewer, moment=await ana.caught_up())))
    return str(newest["episode_id"]), int(newest["turns"])


async def test_episodes_switch_by_themselves_and_do_not_flap(life: Life) -> None:
    found = list(await life.ana.engine.reads.episodes(life.ana.viewer, moment=await life.ana.caught_up()))

    assert [one["turns"] for one in found] == [8] * EVENINGS
    assert [str(one["episode_id"]) for one in reversed(found)] == [id_ for id_, _ in life.divided]
    assert all(earlier != later for (earlier, _), (later, _) in pairwise(life.divided))
    head = await life.ana.engine.log.head(life.ana.stream)
    await segment(life.ana.engine, life.ana.stream, life.ana.agent, life.ana.thread, found[0]["last_user_message_at"])
    assert await life.ana.engine.log.head(life.ana.stream) == head


async def test_prompts_stay_within_their_budget(life: Life) -> None:
    reads, moment, sizes = life.ana.engine.reads, await life.ana.caught_up(), list[int]()
    for budget in (200, 400, 800):
        request = {"query": "peanuts, Lisbon, Clara, the wedding", "budget_tokens": budget}
        found = await reads.context(life.ana.viewer, ContextRequest.model_validate(request), moment)
        assert 0 < count_tokens(found.text) <= budget
        sizes.append(count_tokens(found.text))
    assert sizes == sorted(sizes)

    whole = await reads.messages(life.ana.viewer, life.ana.thread, 500, moment)
    asked = {"user_id": life.ana.user, "agent_id": life.ana.agent, "thread_id": life.ana.thread}
    message = "Do you remember where the wedding is?"
    answered = await respond.run(life.ana.engine, Respond.model_validate({**asked, "message": message}))
    assert answered.prompt
    assert "Porto" in answered.prompt.user
    assert count_tokens(answered.prompt.user) < sum(count_tokens(one["line"]) for one in whole) / 2
    assert (await reads.session(life.ana.viewer, life.ana.thread, moment)).summary


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What must I not eat?", "peanuts"),
        ("Where do I live?", "Lisbon"),
        ("What is my sister called?", "Clara"),
        ("Where will the wedding be?", "Porto"),
    ],
)
async def test_durable_facts_and_decisions_are_recalled_months_later(life: Life, question: str, answer: str) -> None:
    request = ContextRequest(query=question, budget_tokens=300)
    found = await life.ana.engine.reads.context(life.ana.viewer, request, await life.ana.caught_up())

    assert answer in found.text


async def test_an_attachment_is_found_again_and_stands_in_the_history_as_a_line(life: Life) -> None:
    ana = life.ana
    turn = f"{ana.user}-receipt"
    given = {"user_id": ana.user, "agent_id": ana.agent, "name": "receipt.txt", "source_turn_ids": (turn,)}
    await ana.says("Here is the receipt", turn_id=turn, thread_id="receipts")
    await add_artifact(ana.engine, AddArtifact.model_validate(given), b"Violin repair: 84 euros, paid in cash")

    async def found() -> bool:
        return any("84 euros" in text for text in (await ana.finds("How much was the violin repair?"))[:5])

    await eventually(found)
    [message] = await ana.engine.reads.messages(ana.viewer, "receipts", 10, await ana.caught_up())
    [surrogate] = message["surrogates"]
    assert surrogate.startswith("[file#")
    assert message["line"].endswith(surrogate)


async def test_what_is_stored_does_not_grow_with_chatter_or_repetition(life: Life) -> None:
    facts, memories = await life.ana.facts(), await life.ana.memory_ids()

    assert len(facts) + len(memories) <= life.halfway + 1
    assert len(facts) <= len(DURABLE) + 2
    texts = " ".join(str(fact) for fact in facts)
    assert not any(word in texts for word in ("bread", "chain", "tomato", "thanks"))
