"""The timeline and the graph: what was known as of a moment, and what changed between two."""

import re
from datetime import UTC, datetime
from typing import Any

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.operations import memories as operations
from mnemolog.adapters.operations.entities import add_entity
from mnemolog.adapters.operations.facts import add_fact, list_facts, retire_fact
from tests.adapters.http.console.conftest import signed_in
from tests.adapters.http.console.person import Told, did
from tests.adapters.http.console.test_views import WRITER


async def life(engine: Engine, user: str) -> tuple[datetime, datetime]:
    """A user with a change, a deletion, a new memory and a fact that never held between two moments."""
    tea = await did(engine, operations.create, user, text="Rui drinks tea", category="preferences")
    cat = await did(engine, operations.create, user, text="Rui has a cat")
    await did(engine, operations.create, user, text="Rui sings in a choir")
    await did(engine, add_fact, user, subject="Rui", predicate="lives_in", object="Braga")
    first = now()
    await did(engine, operations.update, user, memory_id=tea.memory_id, text="Rui drinks cocoa")
    await did(engine, operations.delete, user, memory_id=cat.memory_id)
    await did(engine, operations.create, user, text="Rui bought a boat")
    [fact] = await did(engine, list_facts, user)
    await did(engine, retire_fact, user, relation_id=fact.relation_id)
    await did(engine, add_fact, user, subject="Rui", predicate="likes", object="Sagres")
    return first, now()


def between(since: str, until: str = "") -> dict[str, Any]:
    return {"from": since, "to": until}


async def test_a_moment_shows_the_memories_facts_and_entities_of_then(guarded: Engine) -> None:
    user = "moments-of-the-console"
    first, _ = await life(guarded, user)
    async with signed_in(guarded, WRITER) as visitor:
        for path in ("/timeline", "/timeline/moment"):
            then = await visitor.get(path, user=user, at=first.isoformat())
            for word in ("drinks tea", "has a cat", "lives in Braga"):
                assert word in then, (path, word)
            for word in ("cocoa", "boat", "Sagres"):
                assert word not in then, (path, word)
            today = await visitor.get(path, user=user)
            for word in ("cocoa", "choir", "boat", "likes Sagres"):
                assert word in today, (path, word)
            for word in ("drinks tea", "has a cat", "lives in Braga"):
                assert word not in today, (path, word)
        before = await visitor.get("/timeline", user=user, at="2020-01-01T00:00")
        assert "Nothing was remembered" in before
        assert "No facts were known" in before
        await visitor.get("/timeline", 422, user=user, at="yesterday")


async def test_a_bar_is_as_long_as_the_hour_that_it_counts(guarded: Engine) -> None:
    user = "bars-of-the-console"
    await life(guarded, user)
    async with signed_in(guarded, WRITER) as visitor:
        await visitor.get("/timeline", user=user)
    [width] = re.findall(r'class="activity" viewBox="0 0 ([\d.]+) 20"', visitor.page)
    assert 0 < float(width) <= 2  # The first hour, and one more if the clock struck meanwhile.
    assert 1 <= visitor.page.count('width="0.9"') <= 2


async def test_two_moments_are_compared(guarded: Engine) -> None:
    user = "compared-of-the-console"
    first, second = await life(guarded, user)
    async with signed_in(guarded, WRITER) as visitor:
        for until in (second.isoformat(), ""):
            said = await visitor.get("/timeline/changes", user=user, **between(first.isoformat(), until))
            assert "2 new, 1 changed, 2 gone" in said, said
            assert re.search(r"changed memory Rui drinks cocoa text Rui drinks tea → became Rui drinks cocoa", said)
            assert "gone memory Rui has a cat" in said
            assert "new memory Rui bought a boat" in said
            assert "gone fact Rui lives in Braga" in said
            assert "new fact Rui likes Sagres" in said
            assert "choir" not in said
        same = await visitor.get("/timeline/changes", user=user, **between(second.isoformat()))
        assert "Nothing changed in between" in same
        await visitor.get("/timeline/changes", 422, user=user)
        await visitor.get("/timeline/changes", 422, user=user, **between(second.isoformat(), first.isoformat()))


async def test_what_changed_is_paged(guarded: Engine) -> None:
    user, since = "paged-of-the-console", datetime(2020, 1, 1, tzinfo=UTC).isoformat()
    for number in range(30):
        await did(guarded, add_entity, user, name=f"Quay {number:02}")
    async with signed_in(guarded, WRITER) as visitor:
        seen = []
        for page in ("1", "2"):
            said = await visitor.get("/timeline/changes", user=user, page=page, **between(since))
            assert f"Page {page} of 2" in said
            seen += re.findall(r"Quay \d\d", said)
        assert len(seen) == len(set(seen)) == 30
        listed = await visitor.get("/entities", user=user, name="quay 1")
        assert set(re.findall(r"Quay \d\d", listed)) == {f"Quay {number}" for number in range(10, 20)}
        await visitor.get("/timeline/changes", 422, user=user, page="two", **between(since))


async def test_the_graph_has_the_strongest_first_and_only_facts_between_what_it_shows(
    guarded: Engine, ines: Told
) -> None:
    async with signed_in(guarded, WRITER) as visitor:
        graph = (await visitor.http.get("/console/entities/graph", params={"user": ines.user})).json()
        names = [node["name"] for node in graph["nodes"]]
        assert names[0] in ("Ines", "Marta")
        degrees = [node["degree"] for node in graph["nodes"]]
        assert degrees == sorted(degrees, reverse=True)
        said = {(names[one], predicate, names[other]) for one, predicate, other in graph["edges"]}
        assert ("Ines", "works_with", "Marta") in said
        assert not any(predicate == "likes" for _, predicate, _ in said), "Fado is a word, not an entity"
        listed = await visitor.get("/entities", user=ines.user)
        assert all(name in listed for name in names)
        past = (
            await visitor.http.get("/console/entities/graph", params={"user": ines.user, "at": "2020-01-01"})
        ).json()
        assert past == {"nodes": [], "edges": []}


async def test_an_entity_shows_its_facts_and_its_history(guarded: Engine, ines: Told) -> None:
    async with signed_in(guarded, WRITER) as visitor:
        page = await visitor.get(f"/entities/{ines.entity_id}", user=ines.user)
        for word in ("Ines lives in Porto", "Ines works with Marta", "History", "Added"):
            assert word in page
