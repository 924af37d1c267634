"""Entity cards from memories: what matters most of a reference, first in the block (D06)."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import ContextRequest
from tests.bullets import bullets_of, undated
from tests.engine.person import Person

JOHN, ACME = "person:john", "org:acme"
pytestmark = pytest.mark.spec("D06")


async def tells(person: Person, text: str, *refs: str, level: int = 2, **fields: Any) -> UUID:
    about = {"entity_refs": list(refs or [JOHN]), "importance_scale": "level3"}
    return await person.creates(text, **about, **({} if fields.get("pinned") else {"importance": level}), **fields)


async def lines(person: Person, *refs: str, moment: Moment | None = None) -> Sequence[str]:
    found = await person.engine.reads.cards(person.viewer, refs or [JOHN], moment or await person.caught_up())
    return [card.line for card in found]


async def test_the_pinned_come_first_then_what_matters_most_then_the_newest_and_three_at_most(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    for text, level in {"older": 2, "newer": 2, "trivial": 1, "critical": 3}.items():
        await tells(ana, text, level=level)
    await tells(ana, "pinned", pinned=True)

    assert await lines(ana) == ["[person:john]: pinned; critical; newer"]


async def test_what_grew_to_level_two_by_use_is_on_the_card(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    grown = await ana.creates("John cooks", entity_refs=[JOHN], importance=1 / 3 + 4 * 0.05)
    await ana.creates("John is tall", entity_refs=[JOHN], importance=1 / 3 + 3 * 0.05)

    shown = await ana.engine.reads.memory(ana.viewer, grown, await ana.caught_up())

    assert shown["importance_level3"] == 2
    assert await lines(ana) == ["[person:john]: John cooks"]


async def test_what_a_newer_memory_contradicts_gives_way_to_what_is_current(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    for text in ("John cooks", "John's rent is 900 euros", "John's rent is 950 euros", "John is tall"):
        await tells(ana, text)

    assert await lines(ana) == ["[person:john]: John is tall; John's rent is 950 euros; John cooks"]


async def test_a_pinned_memory_stays_in_its_card_whatever_contradicts_it(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await tells(ana, "John's rent is 900 euros", pinned=True)
    for text in ("John's rent is 950 euros", "John is tall", "John cooks"):
        await tells(ana, text)

    [line] = await lines(ana)

    assert line.startswith("[person:john]: John's rent is 900 euros (contradicted by ")
    assert line.endswith("; John cooks; John is tall")


async def test_there_is_a_card_for_each_reference_in_their_order(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await tells(ana, "John founded Acme", JOHN, ACME, JOHN)
    await tells(ana, "John has a dog")

    cards = ["[org:acme]: John founded Acme", "[person:john]: John has a dog; John founded Acme"]
    assert await lines(ana, ACME, "person:nobody", JOHN, ACME) == cards
    assert await lines(ana, "person:nobody") == []


async def test_a_card_shows_what_its_reader_may_see_and_nothing_that_is_gone(engine: Engine, user: str) -> None:
    ana, other = Person(engine, user), Person(engine, f"{user}-2")
    rival = Person(engine, user, agent="rival")
    shown = await tells(ana, "John cooks")
    await tells(rival, "between us", scope="agent")
    await tells(other, "of somebody else")
    gone = await tells(ana, "John smokes")
    await ana.deletes(gone)
    await tells(ana, "1. Call John\n2. Ask him", kind="procedure")

    assert await lines(ana) == ["[person:john]: John cooks"]
    assert await lines(rival) == ["[person:john]: between us; John cooks"]
    before = Moment(as_of=await engine.log.head(ana.stream))
    await ana.deletes(shown)
    assert await lines(ana) == []
    assert await lines(ana, moment=before) == ["[person:john]: John cooks"]


async def test_cards_come_first_in_a_context_and_count_for_its_budget(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await tells(ana, "John cooks", category="profile")
    await tells(ana, "Acme sells tea", ACME, level=1, category="profile")

    async def block(**fields: int) -> list[str]:
        request = ContextRequest.model_validate({"query": "John", **fields})
        return bullets_of(await engine.reads.context(ana.viewer, request, await ana.caught_up()))

    card, *bullets = await block()
    assert [card, *map(undated, bullets)] == [
        "[person:john]: John cooks",
        "[profile] John cooks",
        "[profile] Acme sells tea",
    ]
    assert await block(budget_tokens=8) == ["[person:john]: John cooks"]
