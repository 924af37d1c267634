"""The shadow of a back-test shows what readers of an engine see that ran with the other policy from the start (X06)."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from mnemolog.adapters.backtest import backtest
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.maintenance.segmenting import segment
from mnemolog.commands.backtest.view import NOT_THERE, Change
from tests.engine.policies import under
from tests.engine.teller import Teller, sentence

POLICY = """\
predicates:
  - {name: likes, single: true}
  - {name: lives_in, critical: true}
bands: {auto: 1.0, check_low: 1.0, fallback_low: 1.0}
profile: {sensitive: [tone], benign: [goals_add]}
conversation: {session_minutes: 60, gap_hours: 12}
"""
MORNING = datetime(2026, 1, 1, 9, tzinfo=UTC)
RENT = "Ana pays rent for her flat in Lisbon"
# What is seen: a kind, a text, and what is said of it.
Seen = tuple[str, str, str]


@pytest.fixture
async def other(engine: Engine) -> AsyncIterator[Engine]:
    """The engine under the other policy."""
    async with under(engine, POLICY) as opened:
        yield opened


async def lives(ana: Teller) -> None:
    """The same life for everybody."""
    writes, who = ana.engine.writes, {"user_id": ana.user}
    for number, hours in enumerate((0, 0.75, 10, 11)):
        at = MORNING + timedelta(hours=hours)
        await ana.says(f"Birds at the harbour, part {number}", turn_id=f"t{number}", occurred_at=at)
    await segment(ana.engine, ana.stream, ana.agent, ana.thread)
    for text in (RENT, f"{RENT} near the river", f"{RENT} near the river", "Ana likes rye bread"):
        await ana.creates(text, merge_similar=True)
        await ana.engine.settled(60)
    for day, (predicate, value) in enumerate((("likes", "tea"), ("likes", "rice"), ("lives_in", "Faro"))):
        await ana.tells("Marta", predicate, value, since=MORNING + timedelta(days=day))
    await ana.tells("Marta", "lives_in", "Porto", since=MORNING + timedelta(days=9))
    for field, value in (("tone", "brief"), ("goals_add", "a marathon"), ("city", "Faro")):
        await writes.propose({**who, "field": field, "value": value, "confidence": 0.9})


async def seen_by(ana: Teller) -> Mapping[tuple[str, str], Seen]:
    """What readers see, by kind and id."""
    reads, moment, viewer = ana.engine.reads, await ana.caught_up(), ana.viewer
    memories = await reads.memories(viewer, await ana.memory_ids(), moment)
    found = [("memory", id_, row["text"], f"{row['category']}, {row['status']}") for id_, row in memories.items()]
    for row in await ana.facts():
        found.append(("fact", row["relation_id"], sentence(row), "critical" if row["critical"] else "holds"))
    for row in await reads.profile(viewer, moment):
        values = row["value"] if isinstance(row["value"], list) else [row["value"]]
        found.append(("profile", row["field"], row["field"], ", ".join(values)))
    for row in await reads.consent(viewer, moment=moment):
        found.append(("proposal", row["patch_id"], f"{row['field']}: {row['value']}", row["status"]))
    for kind, rows in (
        ("session", await reads.sessions(viewer, moment=moment)),
        ("episode", await reads.episodes(viewer, moment=moment)),
    ):
        for row in rows:
            end = f" to {row['last_turn_id']}" if row["last_turn_id"] else ", open"
            found.append((kind, row[f"{kind}_id"], "", f"from {row['first_turn_id']}{end}"))
    return {(kind, str(id_)): (kind, text, seen) for kind, id_, text, seen in found}


def with_changes(now: Mapping[tuple[str, str], Seen], changes: Sequence[Change]) -> list[Seen]:
    """What readers see, as a back-test says that it would be."""
    after = dict(now)
    for one in changes:
        seen, _, text = one.then.partition(": ") if not one.text else (one.then, "", one.text)
        if one.kind == "fact":
            seen = ("critical" if "critical" in seen else "holds") if seen.startswith("holds") else NOT_THERE
        if seen == NOT_THERE:
            after.pop((one.kind, one.id), None)
        else:
            after[one.kind, one.id] = (one.kind, "" if one.kind in ("session", "episode") else text, seen)
    return list(after.values())


@pytest.mark.spec("X06")
async def test_what_readers_would_see_is_what_they_see_under_the_other_policy(
    engine: Engine, other: Engine, user: str
) -> None:
    ana, bea = Teller(engine, user), Teller(other, f"{user}-2")
    await lives(ana)
    await lives(bea)
    head, before = await engine.log.head(ana.stream), await seen_by(ana)

    done = await backtest(engine, ana.stream, other.policy)
    back = await backtest(other, bea.stream, other.policy)

    assert done.unfollowed == []
    assert Counter(with_changes(before, done.shadow)) == Counter((await seen_by(bea)).values())
    assert {one.kind for one in done.shadow} == {"memory", "fact", "profile", "proposal", "session", "episode"}
    assert (back.differences, back.shadow) == ([], [])
    # Jobs of the engine may write in the meantime, such as summaries of the episodes.
    assert "user" not in {one.meta.actor for one in await engine.log.read(ana.stream, after=head)}
    assert await seen_by(ana) == before
