"""Facts at a valid time, as known at a record time, read from rows without replay (X13, A08, A09)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby, permutations
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from mnemolog.adapters.engine.engine import Engine
from mnemolog.domain.errors import InvalidInput, MnemologError
from mnemolog.events.envelope import StreamId
from mnemolog.projections.graph import facts
from mnemolog.projections.reads.moment import Moment
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.teller import Row, Teller, sentence
from tests.testkit.examples import examples


def day(month: int) -> datetime:
    return datetime(2026, month, 1, tzinfo=UTC)


@pytest.mark.spec("X13")
async def test_a_later_value_ends_the_earlier_one_and_each_reads_at_its_time(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Alice", "lives_in", "Berlin", since=day(1))
    await ana.tells("Alice", "lives_in", "Lisbon", since=day(3))

    assert await ana.told("alice", valid_at=day(2)) == {"Alice lives_in Berlin"}
    assert await ana.told("alice", valid_at=day(3)) == {"Alice lives_in Lisbon"}
    assert await ana.told("alice", valid_at=day(1) - timedelta(seconds=1)) == set()
    assert await ana.told("ALICE") == {"Alice lives_in Lisbon"}


@pytest.mark.spec("X13")
async def test_valid_time_and_record_time_move_independently(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Alice", "lives_in", "Berlin", since=day(1))
    berlin_only = await engine.log.head(ana.stream)
    await ana.tells("Alice", "lives_in", "Lisbon", since=day(3))
    moved = await engine.log.head(ana.stream)

    assert await ana.told(valid_at=day(4), known_at=berlin_only) == {"Alice lives_in Berlin"}
    assert await ana.told(valid_at=day(4), known_at=moved) == {"Alice lives_in Lisbon"}
    assert await ana.told(valid_at=day(2), known_at=moved) == {"Alice lives_in Berlin"}
    assert await ana.told(valid_at=day(2), known_at=0) == set()


@pytest.mark.spec("X13")
async def test_known_at_takes_a_time_as_well_as_a_seq(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Alice", "lives_in", "Berlin", since=day(1))
    [asserted] = [event for event in await engine.log.read(ana.stream) if event.header.type == "RelationAsserted"]
    await ana.tells("Alice", "lives_in", "Lisbon", since=day(1))

    assert await ana.told(known_at=asserted.recorded_at) == {"Alice lives_in Berlin"}
    assert await ana.told(known_at=asserted.recorded_at - timedelta(microseconds=1)) == set()
    assert await ana.told() == {"Alice lives_in Lisbon"}


@pytest.mark.spec("X13")
async def test_a_timeline_has_every_value_with_when_it_held_and_when_it_was_learned(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Alice", "lives_in", "Berlin", since=day(1), told_at=day(2))
    wrong = await ana.tells("Alice", "lives_in", "Rome", since=day(3), told_at=day(3))
    await ana.tells("Alice", "lives_in", "Lisbon", since=day(5), told_at=day(6))
    await ana.tells("Alice", "lives_in", "Berlin", since=day(7), told_at=day(7))
    await ana.tells("Alice", "likes", "tea", since=day(1))
    await ana.retires(wrong)

    rows = await ana.facts("Alice", valid_at="any", predicate="lives_in")

    assert [(row["object"], row["valid_from"], row["valid_to"], row["known_from"], row["state"]) for row in rows] == [
        ("Berlin", day(1), day(5), day(2), "ended"),
        ("Rome", day(3), day(5), day(3), "retired"),
        ("Lisbon", day(5), day(7), day(6), "ended"),
        ("Berlin", day(7), None, day(7), "active"),
    ]
    assert [row["known_to"] is None for row in rows] == [True, False, True, True]
    assert [sentence(row) for row in await ana.facts("Alice", predicate="likes")] == ["Alice likes tea"]
    [then] = await ana.facts("Alice", valid_at="any", predicate="lives_in", known_at=day(2))
    assert (sentence(then), then["valid_to"]) == ("Alice lives_in Berlin", None)
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec("X13")
async def test_a_date_is_shown_as_exactly_as_it_was_given_whatever_changes_around_it(engine: Engine, user: str) -> None:
    async def periods() -> list[tuple[str, Any, Any, Any, Any]]:
        dates = ("valid_from", "valid_from_precision", "valid_to", "valid_to_precision")
        rows = await ana.facts("Alice", valid_at="any", predicate="lives_in")
        return [(row["object"], *(row[name] for name in dates)) for row in rows]

    ana = Teller(engine, user)
    await ana.tells("Alice", "lives_in", "Berlin", since="2024")
    before = await engine.log.head(ana.stream)
    rome = await ana.tells("Alice", "lives_in", "Rome", since="2026-03", until="2027")
    year, march, end = (datetime(*at, tzinfo=UTC) for at in ((2024, 1, 1), (2026, 3, 1), (2027, 1, 1)))
    both = [("Berlin", year, "year", march, "month"), ("Rome", march, "month", end, "year")]
    assert await periods() == both
    assert [sentence(row) for row in await ana.facts("Alice", known_at=before)] == ["Alice lives_in Berlin"]

    ended = await ana.ends(rome, "2026-08")
    assert (await periods())[1] == ("Rome", march, "month", datetime(2026, 8, 1, tzinfo=UTC), "month")
    await ana.takes_back(ended)
    assert await periods() == both
    await ana.tells("Alice", "lives_in", "Rome", since="2026-03-01", until="2027-01-01")
    assert await periods() == [both[0], ("Rome", march, None, end, None)]
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec("X13")
async def test_imported_history_is_known_since_it_was_told(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Alice", "lives_in", "Berlin", told_at=day(1))
    berlin = await engine.log.head(ana.stream)
    await ana.tells("Alice", "lives_in", "Lisbon", told_at=day(4))

    assert await ana.told(valid_at=day(2), known_at=day(2)) == {"Alice lives_in Berlin"}
    assert await ana.told(valid_at=day(6), known_at=day(3)) == {"Alice lives_in Berlin"}
    assert await ana.told(valid_at=day(6), known_at=day(5)) == {"Alice lives_in Lisbon"}
    assert await ana.told(known_at=day(1) - timedelta(days=1)) == set()
    assert await ana.told(moment=Moment(as_of=day(5))) == set(), "the log had nothing yet"
    assert await ana.told(valid_at=berlin, known_at=berlin) == {"Alice lives_in Berlin"}
    with pytest.raises(InvalidInput) as refused:
        await ana.tells("Alice", "lives_in", "Rome", told_at=datetime(2999, 1, 1, tzinfo=UTC))
    assert refused.value.field == "told_at"


@pytest.mark.spec("X13")
async def test_history_imported_after_the_present_changes_only_the_past(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Alice", "lives_in", "Lisbon", since=day(5))
    await ana.tells("Alice", "lives_in", "Berlin", told_at=day(1))
    await ana.tells("Alice", "likes", "tea", since=day(1), metadata={"source": "chat"})
    await ana.tells("Alice", "likes", "tea", since=day(1), told_at=day(2), metadata={"page": 3})

    assert await ana.told(valid_at=day(2), known_at=day(3)) == {"Alice lives_in Berlin", "Alice likes tea"}
    assert await ana.told() == {"Alice lives_in Lisbon", "Alice likes tea"}
    [tea] = await ana.facts(predicate="likes")
    assert tea["known_from"] == day(2)
    assert tea["metadata"] == {"source": "chat", "page": 3}
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec("X13")
@pytest.mark.parametrize("order", list(permutations(["Bergen", "Tromsø", "Oslo"])), ids="-".join)
async def test_history_imported_in_any_order_is_known_as_it_was_told(
    engine: Engine, user: str, order: Sequence[str]
) -> None:
    ana = Teller(engine, user)
    months = {"Bergen": 1, "Tromsø": 3, "Oslo": 5}
    for home in order:
        await ana.tells("Alice", "lives_in", home, told_at=day(months[home]))
        await ana.tells("Alice", "likes", home, told_at=day(months[home]))

    homes = [await ana.told(known_at=day(month), predicate="lives_in") for month in (2, 4, 6)]
    assert homes == [{f"Alice lives_in {home}"} for home in months]
    liked = await ana.told(known_at=day(4), predicate="likes")
    assert liked == {"Alice likes Bergen", "Alice likes Tromsø"}
    then = await ana.facts("Alice", valid_at="any", known_at=day(4), predicate="lives_in")
    assert [(row["object"], row["valid_from"], row["valid_to"], row["state"]) for row in then] == [
        ("Bergen", day(1), day(3), "ended"),
        ("Tromsø", day(3), None, "active"),
    ]
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec("X13", "A08")
@pytest.mark.parametrize("order", list(permutations(["first", "entity", "again"])), ids="-".join)
async def test_a_text_is_the_entity_of_that_name_in_whatever_order_they_were_told(
    engine: Engine, user: str, order: Sequence[str]
) -> None:
    ana = Teller(engine, user)
    for what in order:
        match what:
            case "first":
                await ana.tells("Alice", "uses", "data-platform")
            case "again":
                await ana.tells("Alice", "uses", "data platform")
            case "entity":
                await ana.tells("Data Platform", "owner", "Marta", literal=True)

    [uses] = await ana.facts("Alice")
    [platform] = await ana.entities("data_platform")
    assert (uses["object_id"], uses["object"], uses["value"]) == (platform["entity_id"], platform["name"], None)
    assert {row["predicate"] for row in await ana.facts("data platform")} == {"uses", "owner"}
    assert await ana.facts("Marta") == []


async def test_a_value_that_was_told_as_a_value_stays_one(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Alice", "nickname", "Porto", literal=True)
    await ana.tells("Alice", "job_title", "Porto")
    await ana.knows_of("Porto", "Location")

    assert [(row["object"], row["value"]) for row in await ana.facts("Alice")] == [(None, "Porto")] * 2


@pytest.mark.spec("X13")
async def test_an_ending_holds_only_from_its_record(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    works = await ana.tells("Alice", "works_at", "Acme", since=day(1))
    before = await engine.log.head(ana.stream)
    await ana.ends(works, day(2))

    assert await ana.told(valid_at=day(3)) == set()
    assert await ana.told(valid_at=day(3), known_at=before) == {"Alice works_at Acme"}
    [fact] = await ana.facts(valid_at=day(1))
    assert fact["valid_to"] == day(2)


async def test_a_year_is_not_taken_for_the_number_of_an_event_that_is_yet_to_come(engine: Engine, user: str) -> None:
    """Facts are told since `2019`; as a moment that is a sequence number, and the answer was what holds now."""
    ana = Teller(engine, user)
    await ana.tells("Alice", "lives_in", "Berlin")
    head = await engine.log.head(ana.stream)

    assert await ana.told(valid_at=head, known_at=head) == {"Alice lives_in Berlin"}
    for name in ("valid_at", "known_at"):
        for seq, fix in ((2019, "such as 2019-01-01"), (head + 1, "such as 2026-01-03")):
            asked: dict[str, Any] = {name: seq}
            with pytest.raises(InvalidInput, match=f"the last has {head}") as refused:
                await ana.facts(**asked)
            assert refused.value.field == name
            assert fix in refused.value.fix


@pytest.mark.spec("X13")
async def test_a_card_shows_what_held_then_as_it_was_known_then(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Alice", "lives_in", "Berlin", since=day(1))
    berlin = await engine.log.head(ana.stream)
    await ana.tells("Alice", "lives_in", "Lisbon", since=day(10))
    [alice] = await ana.entities("Alice")

    async def told(**when: Any) -> list[str]:
        return [sentence(row) for row in (await ana.entity(alice["entity_id"], **when)).facts]

    assert await told() == ["Alice lives_in Lisbon"]
    assert await told(valid_at=day(5)) == ["Alice lives_in Berlin"]
    assert await told(known_at=berlin) == ["Alice lives_in Berlin"]
    assert await told(known_at=berlin, valid_at=day(11)) == ["Alice lives_in Berlin"]
    assert await told(moment=Moment(as_of=berlin)) == ["Alice lives_in Berlin"]
    with pytest.raises(InvalidInput):
        await told(valid_at=day(5), moment=Moment(as_of=berlin))


@pytest.mark.spec("X13")
async def test_as_of_says_both_times_at_once(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Alice", "likes", "tea")
    tea = await engine.log.head(ana.stream)
    await ana.tells("Alice", "likes", "milk")

    assert await ana.told(moment=Moment(as_of=tea)) == {"Alice likes tea"}
    assert await ana.told(moment=Moment(as_of=day(1))) == set()
    with pytest.raises(InvalidInput) as refused:
        await ana.facts(valid_at=day(1), moment=Moment(as_of=tea))
    assert refused.value.field == "as_of"


@pytest.mark.spec("X13")
async def test_the_timeline_as_it_was_known_has_what_was_deleted_since(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Alice", "lives_in", "Berlin", since=day(1))
    jazz = await ana.tells("Alice", "likes", "jazz", since=day(1))
    seq, time = await engine.log.head(ana.stream), engine.writes.now()
    await ana.hides(jazz)

    both = {"Alice lives_in Berlin", "Alice likes jazz"}
    for known_at in (seq, time):
        assert await ana.told(known_at=known_at, valid_at="any") == await ana.told(known_at=known_at) == both
    assert await ana.told(valid_at="any") == {"Alice lives_in Berlin"}
    for known_at in (await engine.log.head(ana.stream), engine.writes.now()):
        assert await ana.told(known_at=known_at, valid_at="any") == {"Alice lives_in Berlin"}


@pytest.mark.spec("X02", "X13", "X21")
async def test_facts_read_as_of_each_seq_are_what_they_were_then(engine: Engine, user: str) -> None:
    """Their names, origins, metadata and order too, and when they were known to be wrong, which was not known then."""
    ana = Teller(engine, user)
    live: dict[int, Sequence[Sequence[Row]]] = {}

    async def noted() -> None:
        seq = await engine.log.head(ana.stream)
        live[seq] = await ana.facts(), await ana.facts(valid_at="any"), await ana.facts("Alice")

    marta, other = await ana.knows_of("Marta Ruiz"), await ana.knows_of("Martha R.")
    await ana.tells("Martha R.", "works_at", "Acme", since=day(1))
    await noted()
    chess = await ana.tells("Alice", "likes", "chess", literal=True, since=day(1), origin="tool")
    await noted()
    await ana.confirms(chess)
    await ana.tells("Alice", "lives_in", "Berlin", since=day(1))
    await noted()
    await ana.joins(marta, other)
    await ana.tells("Alice", "lives_in", "Lisbon", since=day(2))
    await noted()
    await ana.hides(chess)
    await noted()
    await ana.tells("Alice", "lives_in", "Berlin", since=day(1), metadata={"heard": "at lunch"})

    for seq, shown in live.items():
        then = Moment(as_of=seq)
        again = await ana.facts(moment=then), await ana.facts(valid_at="any", moment=then)
        assert (*again, await ana.facts("Alice", moment=then)) == shown, f"at seq {seq}"


@pytest.mark.spec("A09", "A01")
async def test_an_agent_that_tells_of_the_user_first_means_the_same_entity_as_all_others(
    engine: Engine, user: str
) -> None:
    coach = Teller(engine, user, agent="coach")
    own = await coach.tells("me", "lives_in", "Porto", since=day(1), scope="agent")
    shared = await coach.tells("me", "lives_in", "Lisbon", since=day(2))

    found = {fact["relation_id"]: fact for fact in await coach.facts()}

    assert found[own]["subject_id"] == found[shared]["subject_id"]
    assert {found[own]["overridden_by"], found[shared]["overridden_by"]} & {own, shared}
    assert [fact["relation_id"] for fact in await Teller(engine, user, agent="planner").facts()] == [shared]


async def test_what_scopes_contradict_is_kept_and_says_by_what_it_is_overridden(engine: Engine, user: str) -> None:
    ana, own = Teller(engine, user), Teller(engine, user, agent="coach")
    lisbon = await ana.tells("Alice", "lives_in", "Lisbon", since=day(1))
    porto = await own.tells("Alice", "lives_in", "Porto", since=day(1), scope="agent")
    keto = await own.tells("Alice", "diet_plan", "keto", since=day(1), scope="agent")
    vegan = await ana.tells("Alice", "diet_plan", "vegan", since=day(1))

    rows = {row["relation_id"]: row["overridden_by"] for row in await own.facts("Alice")}

    assert rows == {lisbon: None, porto: lisbon, keto: None, vegan: keto}
    assert {row["relation_id"] for row in await ana.facts("Alice")} == {lisbon, vegan}
    assert [row["relation_id"] for row in await own.facts("Porto")] == [porto]
    assert [row["overridden_by"] for row in await own.facts("Porto")] == [lisbon]


@pytest.mark.spec("A08")
async def test_facts_come_in_the_order_in_which_a_context_takes_them(engine: Engine, user: str) -> None:
    coach = Teller(engine, user, agent="coach")
    await coach.tells("Alice", "likes", "tea", confidence=0.5)
    await coach.tells("Alice", "likes", "milk", confidence=0.9)
    await coach.tells("Alice", "allergy", "nuts", confidence=0.1)
    await coach.tells("Alice", "likes", "rain", confidence=0.2, scope="agent")

    told = [sentence(row) for row in await coach.facts("Alice")]

    assert told == ["Alice likes rain", "Alice allergy nuts", "Alice likes milk", "Alice likes tea"]


@pytest.mark.spec("X03", "X13")
async def test_one_undo_gives_back_what_a_fact_had_ended(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Alice", "lives_in", "Berlin", since=day(1))
    before = await ana.facts()
    lisbon = await ana.tells("Alice", "lives_in", "Lisbon", since=day(3))
    [event] = [one for one in await engine.log.read(ana.stream) if one.seq == await engine.log.head(ana.stream)]
    await engine.writes.undo_event(ana.stream, event.event_id)

    [berlin] = await ana.facts()
    changing = ("known_from", "updated_at", "seq")
    assert {**berlin, **{name: before[0][name] for name in changing}} == before[0]
    assert [row["event"] for row in await ana.history(lisbon)] == ["ADD", "DELETE"]


@pytest.mark.spec("A19", "X13")
async def test_a_forgotten_fact_is_hidden_from_then_on_and_comes_back(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    tea = await ana.tells("Alice", "likes", "tea")
    known = await engine.log.head(ana.stream)
    await ana.hides(tea, "private")
    assert await ana.told() == set()
    assert await ana.told(known_at=known) == {"Alice likes tea"}
    hidden = await engine.log.head(ana.stream)
    await ana.shows(tea)

    assert await ana.told() == {"Alice likes tea"}
    assert await ana.told(known_at=hidden) == set()


@pytest.mark.spec("A19", "X13")
async def test_what_is_told_of_a_forgotten_entity_is_hidden_for_as_long(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Alice", "likes", "tea")
    [alice] = await ana.entities("Alice")
    known = await engine.log.head(ana.stream)
    await ana.forgets(alice["entity_id"])
    assert await ana.told() == set()
    hidden = await engine.log.head(ana.stream)
    await ana.recalls(alice["entity_id"])

    assert await ana.told() == {"Alice likes tea"}
    assert await ana.told(known_at=hidden) == set()
    assert await ana.told(known_at=known) == {"Alice likes tea"}


@pytest.mark.spec("B08", "X13")
async def test_the_history_of_a_fact_tells_what_else_changed_when_it_holds(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    berlin = await ana.tells("Alice", "lives_in", "Berlin", since=day(1))
    lisbon = await ana.tells("Alice", "lives_in", "Lisbon", since=day(3))

    [added, ended] = await ana.history(berlin)

    assert (added["event"], added["old_ref"], added["subject"]) == ("ADD", None, "relation")
    assert (ended["event"], ended["old_ref"]) == ("UPDATE", added["new_ref"])
    assert ended["meta"]["because_of"] == str(lisbon)
    assert ended["meta"]["periods"] == [[day(1).isoformat(), day(3).isoformat()]]


Step = Callable[[Teller, list[UUID]], Awaitable[object]]


def _telling(subject: str, predicate: str, thing: str, month: int | None, told: int | None = None) -> Step:
    async def step(ana: Teller, known: list[UUID]) -> None:
        since = None if month is None else day(month)
        known.append(
            await ana.tells(subject, predicate, thing, since=since, told_at=None if told is None else day(told))
        )

    return step


def _changing(verb: str, place: int) -> Step:
    async def step(ana: Teller, known: list[UUID]) -> None:
        if known:
            more = [day(6)] if verb == "ends" else []
            await getattr(ana, verb)(known[place % len(known)], *more)

    return step


STEPS = st.one_of(
    st.builds(
        _telling,
        st.sampled_from(["Alice", "Bob"]),
        st.sampled_from(["lives_in", "likes"]),
        st.sampled_from(["Berlin", "Lisbon", "tea"]),
        st.sampled_from([None, 1, 3, 5]),
    ),
    st.builds(_changing, st.sampled_from(["ends", "retires", "hides", "shows"]), st.integers(0, 3)),
)


async def _takes_back(ana: Teller, known: list[UUID]) -> None:
    for last in (await ana.engine.log.read(ana.stream))[-1:]:
        await ana.engine.writes.undo_event(ana.stream, last.event_id)


IMPORTS = st.builds(
    _telling,
    st.just("Alice"),
    st.sampled_from(["lives_in", "lives_in", "birthday", "likes"]),
    st.sampled_from(["Berlin", "Lisbon", "tea"]),
    st.sampled_from([None, 1, 3, 5]),
    st.sampled_from([None, 2, 3, 4, 5]),
)
_lives = iter(range(10**9))


@pytest.mark.spec("X13", "X02")
@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(STEPS, min_size=1, max_size=8))
async def test_the_rows_know_of_every_seq_what_a_replay_up_to_it_knows(engine: Engine, steps: Sequence[Step]) -> None:
    ana = Teller(engine, f"life-{next(_lives)}")
    known: list[UUID] = []
    for step in steps:
        try:
            await step(ana, known)
        except MnemologError:
            continue  # Refused: nothing was written.
    await ana.caught_up()

    await _require_known_at_each_seq(ana)
    for then, events in groupby(await engine.log.read(ana.stream), key=lambda one: one.recorded_at):
        *_, last = events
        for at in (day(2), day(4), day(7)):
            rows = await ana.facts(valid_at=at, known_at=then)
            assert _held(rows) == _held(await ana.facts(valid_at=at, known_at=last.seq)), (last.seq, at)


@pytest.mark.spec("X13", "X02")
@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.one_of(IMPORTS, IMPORTS, STEPS, st.just(_takes_back)), min_size=2, max_size=8))
async def test_the_rows_know_of_every_seq_what_a_replay_knows_whatever_was_told_late(
    engine: Engine, steps: Sequence[Step]
) -> None:
    ana = Teller(engine, f"life-{next(_lives)}")
    known: list[UUID] = []
    for step in steps:
        try:
            await step(ana, known)
        except MnemologError:
            continue
    await ana.caught_up()

    await _require_known_at_each_seq(ana)
    await assert_live_equals_replayed(engine, ana.stream)


async def _require_known_at_each_seq(ana: Teller) -> None:
    engine = ana.engine
    for seq in range(await engine.log.head(ana.stream) + 1):
        async with engine.reads.replays.at(ana.stream, seq, ["graph"]) as connection:
            for at in (day(2), day(4), day(7)):
                rows = await ana.facts(valid_at=at, known_at=seq)
                # What the reader for now finds in tables that end with this seq.
                replayed = await facts.facts(connection, ana.viewer, facts.Point(at), engine.reads._predicates)
                assert _held(rows) == _held(replayed), (seq, at)


@pytest.mark.spec("X13")
@settings(max_examples=examples(5), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.permutations(range(1, 6)), st.permutations(range(1, 6)), st.permutations(range(5)))
async def test_what_was_known_does_not_depend_on_the_order_of_an_import(
    engine: Engine, since: Sequence[int], told: Sequence[int], order: Sequence[int]
) -> None:
    ana = Teller(engine, f"life-{next(_lives)}")
    for place in order:
        await ana.tells("Alice", "lives_in", f"City {place}", since=day(since[place]), told_at=day(told[place] + 1))
    await ana.caught_up()

    for known in range(1, 7):
        for valid in range(1, 6):
            # Of the values that were told by then, the last that had begun.
            told_of = {since[place]: place for place in order if told[place] + 1 <= known and since[place] <= valid}
            expected = {f"Alice lives_in City {told_of[max(told_of)]}"} if told_of else set()
            assert await ana.told(valid_at=day(valid), known_at=day(known)) == expected, (known, valid)


@dataclass(frozen=True)
class Told:
    """A statement of an imported history. Its place in the list says when it was told."""

    predicate: str
    thing: str
    since: int | None
    lasts: int | None = None

    async def tell(self, ana: Teller, month: int) -> None:
        since = None if self.since is None else day(self.since)
        until = day((self.since or month) + self.lasts) if self.lasts else None
        await ana.tells("Tom", self.predicate, self.thing, since=since, until=until, told_at=day(month))


@dataclass(frozen=True)
class Untold:
    """The end of a fact, or that it never held, once the fact has been told."""

    predicate: str
    thing: str
    until: int | None
    ends: bool

    async def tell(self, ana: Teller, month: int) -> None:
        [id_] = {
            row["relation_id"]
            for row in await ana.facts(valid_at="any", predicate=self.predicate)
            if self.thing in (row["object"], row["value"])
        }
        if self.ends:
            await ana.ends(id_, day(self.until) if self.until else None, told_at=day(month))
        else:
            await ana.retires(id_, told_at=day(month))


async def tell_all(ana: Teller, told: Sequence[tuple[int, Told | Untold]]) -> None:
    """What is told of a fact before it waits for it."""
    known: set[tuple[str, str]] = set()
    waiting: list[tuple[int, Untold]] = []
    for month, one in told:
        about = one.predicate, one.thing
        if isinstance(one, Untold) and about not in known:
            waiting.append((month, one))
            continue
        await one.tell(ana, month)
        known.add(about)
        for then, other in [pair for pair in waiting if (pair[1].predicate, pair[1].thing) == about]:
            await other.tell(ana, then)
            waiting.remove((then, other))


THINGS = st.sampled_from(["A", "B", "C"])
PREDICATES = st.sampled_from(["lives_in", "lives_in", "likes", "birthday"])
UNTOLD = st.builds(Untold, PREDICATES, THINGS, st.sampled_from([None, 2, 3, 4]), st.booleans())
TOLD = st.builds(
    Told,
    PREDICATES,
    THINGS,
    st.sampled_from([None, 1, 2, 3]),
    st.sampled_from([None, None, 1, 2]),
)


async def timeline(ana: Teller) -> dict[str, Any]:
    """All that can be asked of what was told: now, of any time, and as known at any time."""

    def of(rows: Sequence[Row]) -> list[tuple[Any, ...]]:
        shown = ("predicate", "valid_from", "valid_to", "known_from", "known_to", "state")
        return sorted((*map(str, (row[name] for name in shown)), row["object"] or row["value"]) for row in rows)

    found = {"now": of(await ana.facts()), "any": of(await ana.facts(valid_at="any"))}
    for known in range(1, 8):
        found[f"any, known at {known}"] = of(await ana.facts(valid_at="any", known_at=day(known)))
        for valid in (1, 2, 4):
            found[f"at {valid}, known at {known}"] = of(await ana.facts(valid_at=day(valid), known_at=day(known)))
    return found


@pytest.mark.spec("X13")
@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.one_of(TOLD, TOLD, UNTOLD), min_size=2, max_size=5), st.data())
async def test_a_history_has_one_timeline_in_whatever_order_it_is_imported(
    engine: Engine, history: Sequence[Told | Untold], data: st.DataObject
) -> None:
    told = list(enumerate(history, 2))
    lived, imported = (Teller(engine, f"life-{next(_lives)}") for _ in range(2))
    try:
        await tell_all(lived, told)
        await tell_all(imported, data.draw(st.permutations(told)))
    except InvalidInput:
        reject()  # An end before the start, as far as it was known.

    assert await timeline(imported) == await timeline(lived)
    await assert_live_equals_replayed(engine, imported.stream)


@pytest.mark.spec("X13")
async def test_of_two_values_with_the_same_start_the_one_that_was_told_later_wins(engine: Engine, user: str) -> None:
    tom = Teller(engine, user)
    await tom.tells("Tom", "lives_in", "B", since=day(1), told_at=day(5))
    before = await engine.log.head(tom.stream)
    await tom.tells("Tom", "lives_in", "A", since=day(1), told_at=day(2))

    assert await tom.told() == {"Tom lives_in B"}
    assert [await tom.told(known_at=day(month)) for month in (1, 2, 4, 5)] == [
        set(),
        {"Tom lives_in A"},
        {"Tom lives_in A"},
        {"Tom lives_in B"},
    ]
    rows = await tom.facts(valid_at="any")
    assert [(row["object"], row["state"], row["known_from"], row["known_to"]) for row in rows] == [
        ("A", "retired", day(2), day(5)),
        ("B", "active", day(5), None),
    ]
    assert await tom.told(known_at=before) == {"Tom lives_in B"}, "the log said so"
    await assert_live_equals_replayed(engine, tom.stream)


@pytest.mark.spec("X13")
@pytest.mark.parametrize("order", list(permutations(["Acme", "left", "Globex", "wrong"])), ids="-".join)
async def test_ends_and_retractions_of_imported_history_are_known_since_they_were_told(
    engine: Engine, user: str, order: Sequence[str]
) -> None:
    tom = Teller(engine, user)
    told: Mapping[str, Told | Untold] = {
        "Acme": Told("works_at", "Acme", since=1),
        "left": Untold("works_at", "Acme", until=4, ends=True),
        "Globex": Told("works_at", "Globex", since=6),
        "wrong": Untold("works_at", "Globex", until=None, ends=False),
    }
    months = {"Acme": 2, "left": 5, "Globex": 7, "wrong": 9}
    await tell_all(tom, [(months[one], told[one]) for one in order])

    assert [await tom.told(valid_at=day(8), known_at=day(month)) for month in (3, 5, 7, 9)] == [
        {"Tom works_at Acme"},
        set(),
        {"Tom works_at Globex"},
        set(),
    ]
    assert await tom.told(valid_at=day(3)) == {"Tom works_at Acme"}
    rows = await tom.facts(valid_at="any")
    assert [(row["object"], row["valid_to"], row["state"], row["known_to"]) for row in rows] == [
        ("Acme", day(4), "ended", None),
        ("Globex", None, "retired", day(9)),
    ]
    await assert_live_equals_replayed(engine, tom.stream)


@pytest.mark.spec("X13")
async def test_an_end_and_a_retraction_are_not_told_in_the_future(engine: Engine, user: str) -> None:
    tom = Teller(engine, user)
    acme = await tom.tells("Tom", "works_at", "Acme", since=day(1))
    future = datetime(2999, 1, 1, tzinfo=UTC)
    for told in (tom.ends(acme, day(2), told_at=future), tom.retires(acme, told_at=future)):
        with pytest.raises(InvalidInput, match="is in the future") as refused:
            await told
        assert refused.value.field == "told_at"
    await tom.ends(acme, None, told_at=day(3))
    [ended] = await tom.facts(valid_at="any")
    assert ended["valid_to"] == day(3), "it ended when that was said"


def _held(rows: Sequence[object]) -> set[tuple[object, ...]]:
    return {(row["relation_id"], row["valid_from"], row["valid_to"], row["known_from"]) for row in rows}  # type: ignore[index]


@pytest.mark.spec("X09")
@pytest.mark.spec_part("X05")
async def test_the_graph_that_is_rebuilt_equals_the_live_one(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    berlin = await ana.tells("Alice", "lives_in", "Berlin", since=day(1))
    await ana.tells("Alice", "lives_in", "Lisbon", since=day(3))
    await ana.ends(berlin, day(2))
    tea = await ana.tells("Alice", "likes", {"drink": "tea", "cups": 2.0}, metadata={"why": "said so"})
    await ana.hides(tea)
    makesh, mukesh = await ana.knows_of("Makesh"), await ana.knows_of("Mukesh")
    await ana.tells("Mukesh", "likes", "rain")
    merged = await ana.joins(makesh, mukesh)
    await ana.calls(makesh, "Mak")
    await ana.forgets(makesh)
    await ana.recalls(makesh)
    await ana.says("hello", speaker="Makesh")

    await assert_live_equals_replayed(engine, StreamId.of_user(user))
    assert merged.last_seq
