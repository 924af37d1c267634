"""Facts from what users say: recorded by jobs, under the guards of what a person writes, and undone as one batch."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.jobs import worker
from mnemolog.adapters.jobs.job import Job, JobStatus, Payload
from mnemolog.adapters.maintenance import extracting, extracting_by_model, prompting
from mnemolog.adapters.maintenance.extracting import AGAIN, THREAD, Part, Thread, enqueue_due
from mnemolog.adapters.operations.facts import ExtractFacts, FactsExtracted, extract_facts
from mnemolog.commands.erasure import EraseMessages
from mnemolog.commands.extraction_requests import ACTOR
from mnemolog.commands.messages import DeleteMessage
from mnemolog.commands.rollback import Rollback
from mnemolog.domain.extraction import candidate
from mnemolog.domain.extraction.candidate import EXTRACTOR
from mnemolog.domain.extraction.extractor import extract
from mnemolog.domain.extraction.policy import ExtractionPolicy
from mnemolog.events.envelope import Header, StreamId
from mnemolog.events.fields import validated
from mnemolog.events.relations import RelationEnded
from mnemolog.projections.graph.hydration import with_former
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import ContextRequest, PromptRequest
from tests.adapters.principals.keys import principal
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.teller import Teller, sentence
from tests.testkit.eventually import eventually
from tests.testkit.settings import settings_in

pytestmark = pytest.mark.spec_part("B13")


@pytest.fixture(scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """An engine of their own, whose sweep leaves these users alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extracting, "EVERY_SECONDS", 24 * 3600.0)
        patch.setattr(prompting, "QUIET_SECONDS", 24 * 3600.0)
        async with open_engine(settings_in(tmp_path_factory.mktemp("extraction"), extraction="rules")) as opened:
            yield opened


@pytest.fixture
def ana(engine: Engine, user: str) -> Teller:
    return Teller(engine, user)


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


async def hears(ana: Teller, *texts: str, **fields: Any) -> list[str]:
    """What the user says, a day after the other from 1 March 2026, and its extraction; the ids of the messages."""
    head = await ana.engine.log.head(ana.stream)
    ids = [f"{ana.user}-{head}-{number}" for number in range(len(texts))]
    for number, (turn_id, text) in enumerate(zip(ids, texts, strict=True)):
        said = {"speaker": "", "occurred_at": day(f"2026-03-{number + 1:02}"), **fields}
        await ana.says(text, turn_id=turn_id, **said)
    await extracted(ana.engine)
    return ids


async def extracted(engine: Engine) -> None:
    """Once the jobs of all threads are done."""
    await engine.settled(60)
    await enqueue_due(engine, now())
    await eventually(lambda: _done(engine))


async def _done(engine: Engine) -> bool:
    jobs = [one for kind in (THREAD, AGAIN) for one in await engine.jobs.list(kind=kind, limit=1000)]
    return all(job.status not in (JobStatus.QUEUED, JobStatus.RUNNING) for job in jobs)


def limit(monkeypatch: pytest.MonkeyPatch, engine: Engine, writes: int) -> None:
    """So many events a day."""
    monkeypatch.setattr(engine, "policy", replace(engine.policy, extraction=ExtractionPolicy(writes_per_day=writes)))


async def told(ana: Teller, **when: Any) -> set[str]:
    return {line.replace(ana.user, "ana", 1) for line in await ana.told(**when)}


async def proposed(ana: Teller) -> list[str]:
    page = await ana.engine.reads.consent(ana.viewer, moment=await ana.caught_up())
    return [one["value"] for one in page]


async def best(ana: Teller, question: str) -> tuple[str, bool]:
    """The first hit, and whether it is current."""
    hit = (await ana.asks(question)).hits[0]
    return hit.text, hit.current


async def run_of(ana: Teller) -> str:
    [run] = {one.meta.run_id for one in await ana.engine.log.read(ana.stream) if one.meta.actor == ACTOR}
    assert run
    return run


async def test_a_statement_becomes_a_fact_that_names_its_extractor_and_its_message(ana: Teller) -> None:
    [turn_id] = await hears(ana, "Hi! I moved to Lisbon last month, and I love hiking.")
    facts = {row["predicate"]: row for row in await ana.facts()}
    assert facts.keys() == {"lives_in", "likes"}
    home = facts["lives_in"]
    assert (home["object"], home["valid_from"]) == ("Lisbon", day("2026-02-01"))
    assert home["metadata"] == {"extractor": EXTRACTOR, "rule": f"{EXTRACTOR}/moved-1"}
    assert list(home["source_turn_ids"]) == [turn_id]
    assert {one.meta.actor for one in await ana.engine.log.read(ana.stream)} == {"user", ACTOR}
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_a_newer_statement_ends_the_older_one(ana: Teller) -> None:
    await hears(ana, "I live in Porto.", "I work at Acme.", "We relocated to Ghent.", "I left Acme yesterday.")
    assert await told(ana) == {"ana lives_in Ghent"}
    assert await told(ana, valid_at=day("2026-03-02")) == {"ana lives_in Porto", "ana works_at Acme"}


async def test_the_newest_rent_and_number_are_current_and_the_others_former(ana: Teller) -> None:
    rents = ("my rent is 480 a month", "rent's 550 now but its worth it", "rent went up to 590, ugh")
    await hears(ana, *rents, "my phone number is 01632 960 142", "new number, its 07700 900 318")

    for question, value in (("How much is my rent?", "590"), ("What's my phone number?", "07700 900 318")):
        hits = (await ana.asks(question)).hits
        assert value in hits[0].text, question
        assert [value in hit.text for hit in hits if hit.current and hit.kind == "relation"] == [True]


@pytest.mark.parametrize(
    ("told_before", "said", "left"),
    [
        ("My boss is called Declan.", "I quit my job!", "ana boss Declan"),
        ("My boss is called Declan.", "I'm my own boss now.", "ana boss Declan"),
        ("My flatmate is called Priya.", "I've moved out.", "ana roommate Priya"),
    ],
)
async def test_a_job_or_a_home_that_was_never_named_leaves_nobody_behind(
    ana: Teller, told_before: str, said: str, left: str
) -> None:
    await hears(ana, told_before, said)
    assert left not in await told(ana)
    assert left in await told(ana, valid_at=day("2026-03-01"))


async def test_who_is_told_of_after_a_job_ended_stays(ana: Teller) -> None:
    await hears(ana, "I quit my job.", "My new boss is called Ana Lund.")
    assert "ana boss Ana Lund" in await told(ana)


@pytest.mark.parametrize(
    ("later", "known"),
    [
        ("I left Costa", set()),
        ("I quit my job!", set()),
        ("I got a job at Nero", {"ana works_at Nero", "ana job_title barista"}),
        ("I now work as a barista at Nero", {"ana works_at Nero", "ana job_title barista"}),
    ],
)
async def test_an_occupation_ends_with_the_job_that_it_was_told_with(later: str, known: set[str], ana: Teller) -> None:
    await hears(ana, "I work as a barista at Costa", later)
    assert await told(ana) == known


async def test_an_occupation_that_was_told_alone_outlasts_a_job(ana: Teller) -> None:
    await hears(ana, "I'm a nurse", "I work at Costa", "I left Costa")
    assert await told(ana) == {"ana job_title nurse"}
    await hears(ana, "I've retired!", occurred_at=day("2026-03-20"))
    assert await told(ana) == set()


@pytest.mark.parametrize(
    ("later", "known"),
    [
        ("Dr Patel has retired.", set()),
        ("Dr Patel's retired. The new one's a Dr Okafor, looks about 12.", {"ana doctor Dr Okafor"}),
        ("Dr Weber has retired.", {"ana doctor Dr Patel"}),
    ],
)
async def test_a_doctor_who_retired_is_none_any_more(later: str, known: set[str], ana: Teller) -> None:
    await hears(ana, "My doctor is Dr Patel", later)
    assert await told(ana) == known


async def test_when_a_child_is_due_is_until_when_a_pregnancy_lasts(ana: Teller) -> None:
    await hears(ana, "I'm pregnant", "due in december! mum tells everyone")
    assert "ana condition pregnancy" in await told(ana, valid_at=day("2026-12-31"))
    assert "ana condition pregnancy" not in await told(ana, valid_at=day("2027-01-02"))
    await hears(ana, "due in october", occurred_at=day("2026-03-20"))
    assert "ana condition pregnancy" not in await told(ana, valid_at=day("2026-11-02"))


async def test_a_boss_at_another_firm_ends_the_manager_at_the_one_before(ana: Teller) -> None:
    await hears(ana, "I work at OutSystems.", "My manager is Rui.", "My boss at Feedzai is called Teresa.")
    assert await told(ana) == {"ana works_at Feedzai", "ana boss Teresa"}


async def test_a_correction_means_that_the_former_value_never_held(ana: Teller) -> None:
    await hears(ana, "I joined Acme.", "No, I meant I joined Globex.")
    assert await told(ana) == {"ana works_at Globex"}
    assert await told(ana, valid_at=day("2026-03-01")) == {"ana works_at Globex"}


async def test_a_message_may_be_about_what_was_said_before(ana: Teller) -> None:
    await hears(ana, "The wedding is on 3 June.", "I moved to Linz.")
    await hears(ana, "No, I meant Graz.")
    assert {line for line in await told(ana) if "lives_in" in line} == {"ana lives_in Graz"}


async def test_a_message_that_no_job_has_read_is_newer_than_an_extracted_fact(ana: Teller) -> None:
    await hears(ana, "I live in Linz.", "I work at Acme.")
    for text in ("I live in Graz now.", "I no longer work at Acme."):
        await ana.says(text, speaker="", occurred_at=day("2026-03-20"))
    assert (await best(ana, "Where do I live?")) == ("I live in Graz now.", True)
    assert (await best(ana, "Where do I work?")) == ("I no longer work at Acme.", True)
    await extracted(ana.engine)
    assert (await best(ana, "Where do I live?"))[0].endswith("lives in Graz")


TOWNS = ("Rome", "Bonn", "Graz", "Linz", "Porto", "Oslo", "Turin", "Basel", "Lyon", "Nice")
CHANGED = (
    "My dentist is Dr. Weber.",
    "I live in Hamburg and I work as an accountant at Krones.",
    "I'm vegetarian. I'm allergic to walnuts.",
    "My manager at work is Tobias.",
    "My sister Clara is engaged to Jonas. My brother is called Paul.",
    "We're planning a trip to Oslo. The trip is on the 2nd of June 2035.",
    "I moved to Leipzig yesterday.",
    "My new manager is Priya, Tobias left the team.",
    "My sister Clara and Jonas got married yesterday.",
    "We moved the trip to Oslo to the 14th of June 2035.",
    "Paul is a teacher in Bremen.",
    "I had lunch with Marta, my cousin. She now works at Zalando.",
    "I'm on a low-carb diet now.",
    "At the dentist again: since yesterday it is Dr. Lang.",
    "My sister Julia moved from Salzburg to Zurich.",
    "In 2019 I lived in Lisbon for a year.",
    "I was promoted to senior accountant.",
    "My address is 12 Lindengasse.",
    "Paul and his girlfriend Lena visited us.",
)


@pytest.mark.parametrize(
    ("question", "first", "is_current"),
    [
        ("Who is my dentist?", "dentist is Dr Lang", True),
        ("Who is my manager?", "manager is Priya", True),
        ("When is the trip to Oslo?", "14", None),  # Over by now as a fact; the message may come first.
        ("What do I eat?", "low-carb", True),
        ("What can't I eat?", "walnuts", True),
        ("Who is my sister's husband?", "Clara is married to Jonas", True),
        ("What does Paul do?", "teacher", True),
        ("Who is Paul's girlfriend?", "Lena", True),
        ("Where do I live?", "Leipzig", True),
        ("Where do I work?", "Krones", True),
        ("What is my address?", "12 Lindengasse", True),
        ("Where does my sister Julia live?", "Zurich", True),
        ("Where did I live in 2019?", "Lisbon", False),
        ("Where did I live in January 2019?", "Lisbon", False),
        ("Where does Marta work?", "Zalando", True),
        ("Where did I live before?", "Hamburg", False),
        ("Where did I live before Leipzig?", "Hamburg", False),
        ("Who was my dentist before?", "Dr Weber", False),
        ("Who was my previous manager?", "Tobias", False),
        ("What was my diet before that?", "vegetarian", False),
    ],
)
async def test_what_a_life_in_passing_remarks_tells_first(
    engine: Engine, question: str, first: str, is_current: bool | None
) -> None:
    ana = Teller(engine, "ana-in-passing")
    if not await ana.engine.log.head(ana.stream):
        await hears(ana, *CHANGED)
    text, current = await best(ana, question)
    assert first in text
    assert is_current in (current, None)


async def test_a_message_of_which_a_part_no_longer_holds_says_which(ana: Teller) -> None:
    await hears(ana, "I take 20 mg of metformin", "The doctor lowered my metformin to 10 mg")

    found = [hit.bullet for hit in (await ana.asks("How much metformin do I take?")).hits]

    before = f"{ana.user}'s metformin dose was 20 mg"
    assert found[0] == f"[fact] {ana.user}'s metformin dose is 10 mg (as of 2026-03-02)"
    assert f"[message] I take 20 mg of metformin (2026-03-01; former: {before})" in found
    context = await ana.engine.reads.context(ana.viewer, ContextRequest(query="Hello!"), await ana.caught_up())
    takes = f"- {ana.user} takes metformin (as of 2026-03-01)"
    dose = f"- {ana.user}'s metformin dose is 10 mg (as of 2026-03-02)"
    assert context.text.startswith(f"Always consider:\n{takes}\n{dose}\n")


async def always(ana: Teller) -> list[str]:
    """The lines on critical facts in a context about something else."""
    found = await ana.engine.reads.context(
        ana.viewer, validated(ContextRequest, {"query": "What should I cook?"}), await ana.caught_up()
    )
    return [hit.bullet.removeprefix("[fact] ").replace(ana.user, "ana", 1) for hit in found.critical]


@pytest.mark.parametrize(
    ("said", "ended"),
    [
        ("Dr Weber says I can stop the losartan.", "took losartan"),
        ("My doctor took me off it.", "took losartan"),
        ("I'm no longer on losartan.", "took losartan"),
    ],
)
async def test_a_medication_that_has_ended_is_shown_as_former(ana: Teller, said: str, ended: str) -> None:
    first, last = (
        f"{datetime.now(UTC) - timedelta(days=40):%Y-%m-%d}",
        f"{datetime.now(UTC) - timedelta(days=2):%Y-%m-%d}",
    )
    await hears(ana, "I take losartan.", occurred_at=day(first))
    await hears(ana, said, occurred_at=day(last))

    assert await always(ana) == [f"ana {ended} ({first} to {last}; former)"]


async def test_what_is_taken_instead_comes_with_its_dose(ana: Teller) -> None:
    await hears(
        ana, "I'm on amlodipine, 5 mg.", "It was the tablet. She took me off it and I'm now on losartan, 50 mg."
    )

    assert await always(ana) == [
        "ana takes losartan (as of 2026-03-02)",
        "ana's losartan dose is 50 mg (as of 2026-03-02)",
    ]


@pytest.mark.parametrize(
    "said",
    [
        "Maybe I can stop the losartan.",
        "Dr Weber says I can stop losartan once my pressure is down.",
        "I stopped losartan for two days.",
        "I stopped losartan over the weekend.",
        "I've been off losartan this week.",
        "I stopped losartan while I was away.",
        "My sister says I can stop the losartan.",
    ],
)
async def test_what_may_end_a_medication_stands_beside_it(ana: Teller, said: str) -> None:
    await hears(ana, "I take losartan.", "The weather is nice.")
    await hears(ana, said, occurred_at=day("2026-04-01"))
    assert await always(ana) == [f'ana takes losartan (as of 2026-03-01; said on 2026-04-01: "{said}")']

    await hears(ana, "I take losartan every morning.", occurred_at=day("2026-04-02"))
    assert await always(ana) == ["ana takes losartan (as of 2026-03-01)"]


async def test_a_search_for_a_medication_says_what_may_have_ended_it(ana: Teller) -> None:
    await hears(ana, "I take losartan.", "The weather is nice.")
    said = "I'm pausing the losartan for six weeks."
    await hears(ana, said, occurred_at=day("2026-04-01"))
    lines = [hit.bullet.replace(ana.user, "ana", 1) for hit in (await ana.asks("Am I on losartan right now?")).hits]
    assert f'[fact] ana takes losartan (as of 2026-03-01; said on 2026-04-01: "{said}")' in lines


async def test_a_dose_does_not_stand_as_if_nobody_had_changed_it(ana: Teller) -> None:
    await hears(ana, "Dr Singh has me on levothyroxine 75 now.")
    said = "new blood work, Dr Singh bumped my levo, it's 88 now"
    await hears(ana, said, occurred_at=day("2026-07-03"))
    shown = f'ana\'s levothyroxine dose is 75 (as of 2026-03-01; said on 2026-07-03: "{said}")'
    assert shown in await always(ana)


async def test_what_a_user_says_stands_beside_an_allergy_that_somebody_recorded(ana: Teller) -> None:
    await ana.tells("me", "allergy", "nuts", told_at=day("2026-02-01"))
    await hears(ana, "I'm no longer allergic to nuts.", "I am allergic to nothing!", role="assistant")
    assert await always(ana) == ["ana is allergic to nuts (as of 2026-02-01)"]

    await hears(ana, "I'm no longer allergic to nuts.", occurred_at=day("2026-04-01"))
    assert await always(ana) == [
        'ana is allergic to nuts (as of 2026-02-01; said on 2026-04-01: "I\'m no longer allergic to nuts.")'
    ]


@pytest.mark.parametrize(
    ("said", "denied"),
    [
        ("I'm a vegetarian.", "I never said I was a vegetarian."),
        ("I live in Truro.", "I have never lived in Truro!"),
        ("I work at Boots.", "I didn't say I worked at Boots."),
    ],
)
async def test_what_a_user_never_said_never_held(ana: Teller, said: str, denied: str) -> None:
    await hears(ana, "I live in Hove.", said)
    assert len(await told(ana)) == (1 if "live" in said else 2)
    await hears(ana, denied, occurred_at=day("2026-04-01"))

    assert await told(ana) == {"ana lives_in Hove"}
    assert await told(ana, valid_at=day("2026-03-05")) == {"ana lives_in Hove"}
    [retired] = [one for one in await ana.facts(valid_at="any") if one["state"] == "retired"]
    why = await ana.engine.reads.why(ana.viewer, str(retired["relation_id"]), moment=await ana.caught_up())
    assert denied in [turn.text for turn in why.turns]
    [former] = [hit for hit in (await ana.asks(said)).hits if hit.kind == "message" and hit.text.endswith(said)]
    assert former.bullet == f"[message] {said} (2026-03-02; former)"


@pytest.mark.parametrize(
    ("said", "corrected", "right"),
    [
        (["I moved to Bath."], "I meant Bristol.", {"ana lives_in Bristol"}),
        (["I'm moving to Bath."], "Sorry, I meant Bristol.", {"ana plans to move to Bristol"}),
        (["I'm planning a trip to Faro."], "Porto, not Faro.", {"ana trip_to Porto"}),
        (
            ["I live in Linz.", "I work at Boots."],
            "Sorry, Graz, not Linz.",
            {"ana lives_in Graz", "ana works_at Boots"},
        ),
        (["Our next trip is to Faro."], "Sorry, the trip goes to Porto.", {"ana next_trip Porto"}),
        (["We're flying to Faro on 3 June."], "Sorry, we're flying to Porto.", {"ana porto_trip_date 2026-06-03"}),
        (
            ["I'm allergic to peanuts.", "I'm allergic to eggs."],
            "Sorry, I meant pine nuts, not peanuts.",
            {"ana allergy pine nuts", "ana allergy eggs"},
        ),
    ],
)
async def test_a_correction_of_a_name_or_a_thing_is_about_what_has_it(
    ana: Teller, said: list[str], corrected: str, right: set[str]
) -> None:
    await hears(ana, *said)
    await hears(ana, corrected, occurred_at=day("2026-03-03"))
    assert await told(ana, valid_at=day("2026-03-04")) == right
    past = await told(ana, valid_at=day("2026-03-02"))
    assert past <= right, "what was corrected never held"


async def test_a_home_that_was_told_lately_was_wrong_if_it_is_not_the_one(ana: Teller) -> None:
    await hears(ana, "I live in Linz.")
    await hears(ana, "I live in Graz, not Linz.", occurred_at=day("2026-03-09"))
    assert [one["object"] for one in await ana.facts(valid_at="any") if one["state"] == "retired"] == ["Linz"]
    assert await told(ana) == await told(ana, valid_at=day("2026-03-05")) == {"ana lives_in Graz"}

    await hears(ana, "I live in Bern, not Graz.", occurred_at=day("2026-06-09"))
    assert await told(ana) == {"ana lives_in Bern"}
    assert await told(ana, valid_at=day("2026-06-08")) == {"ana lives_in Graz"}, "of long ago, it has changed since"

    await hears(ana, "I live in Bern, not Oslo.", "My sister lives in Graz, not Bern.", occurred_at=day("2026-06-10"))
    assert await told(ana) == {"ana lives_in Bern"}


async def test_a_home_that_somebody_recorded_ends_when_the_user_says_that_it_is_another(ana: Teller) -> None:
    await ana.tells("me", "lives_in", "Linz", told_at=day("2026-03-01"))
    await hears(ana, "I live in Graz.", occurred_at=day("2026-03-02"))
    assert await told(ana) == {"ana lives_in Linz"}
    await hears(ana, "I live in Graz, not Linz.", occurred_at=day("2026-03-03"))
    assert await told(ana) == {"ana lives_in Graz"}


async def test_an_own_business_takes_the_place_of_a_job_until_the_next_one(ana: Teller) -> None:
    await hears(ana, "I work at Acme.", "I started my own studio.")
    assert await told(ana, valid_at=day("2026-03-02")) == {"ana employment self-employed"}
    await hears(ana, "I joined Globex in 2019.", occurred_at=day("2026-03-05"))
    assert "ana employment self-employed" in await told(ana, valid_at=day("2026-03-06"))
    await hears(ana, "I got a job at Initech.", occurred_at=day("2026-04-01"))
    assert await told(ana) == {"ana works_at Initech"}
    assert "ana employment self-employed" in await told(ana, valid_at=day("2026-03-31"))


async def test_an_own_firm_that_is_named_is_no_job_with_another(ana: Teller) -> None:
    await hears(ana, "I work at Acme.", "I started my own company, Brightside.", "I started at Brightside on 2 March.")
    assert await told(ana) == {"ana works_at Brightside", "ana employment self-employed"}
    await hears(ana, "I closed my company.", occurred_at=day("2026-04-01"))
    assert "ana employment self-employed" not in await told(ana)


async def test_another_surname_waits_for_consent(ana: Teller) -> None:
    await hears(ana, "I took my husband's name: I'm Nora Hale.", "I'm Team Lead now.")
    assert await proposed(ana) == ["Nora Hale"]


async def test_who_is_there_now_has_the_role_of_who_left(ana: Teller) -> None:
    await hears(ana, "My manager is Keith.", "Keith retired, it's Donna now.")
    assert await told(ana) == {"ana manager Donna"}


async def test_a_denial_and_an_end_are_known_since_they_were_said(ana: Teller) -> None:
    await hears(ana, "I live in Hove.", "I work at Ikea.")
    await hears(ana, "I've never worked at Ikea.", occurred_at=day("2026-04-01"))
    await hears(ana, "I moved out of Hove on 3 April.", occurred_at=day("2026-04-05"))

    both = {"ana lives_in Hove", "ana works_at Ikea"}
    assert await told(ana, known_at=day("2026-03-20"), valid_at=day("2026-03-20")) == both
    assert await told(ana, known_at=day("2026-04-02"), valid_at=day("2026-04-04")) == {"ana lives_in Hove"}
    assert await told(ana, known_at=day("2026-04-06"), valid_at=day("2026-04-04")) == set()
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_what_a_user_denies_of_an_allergy_or_of_what_was_recorded_later_stays(ana: Teller) -> None:
    await hears(ana, "I'm allergic to nuts.", "I never said I was allergic to nuts.", "I never lived in Hove.")
    await ana.tells("me", "lives_in", "Hove")

    assert await told(ana) == {"ana allergy nuts", "ana lives_in Hove"}
    said = 'said on 2026-03-02: "I never said I was allergic to nuts."'
    assert await always(ana) == [f"ana is allergic to nuts (as of 2026-03-01; {said})"]


@pytest.mark.parametrize(
    "again",
    [
        "Rome is back on, we're flying on 20 June.",
        "We rebooked Rome for 20 June.",
        "The Rome trip is on again: 20 June.",
    ],
)
async def test_a_trip_that_was_called_off_may_be_planned_again(ana: Teller, again: str) -> None:
    await hears(ana, "We're flying to Rome on 3 May.", "Rome is cancelled.")
    assert await told(ana, valid_at=day("2026-03-04")) == set()
    await hears(ana, again, occurred_at=day("2026-03-10"))
    assert "ana rome_trip_date 2026-06-20" in await told(ana, valid_at=day("2026-03-11"))

    await hears(ana, "Netflix is back on, we're flying on 20 June.", occurred_at=day("2026-03-12"))
    assert "Netflix" not in str(await told(ana, valid_at=day("2026-03-13")))


async def test_a_correction_of_when_something_began_may_be_later_than_what_was_said(ana: Teller) -> None:
    await hears(ana, "I moved to Lyon in March 2023.", "Sorry, I moved to Lyon in May 2023, not March.")
    [home] = await ana.facts(predicate="lives_in")
    assert (home["object"], home["valid_from"], home["valid_to"]) == ("Lyon", day("2023-05-01"), None)
    assert await told(ana, valid_at=day("2023-04-01")) == set()

    await hears(ana, "I moved to Lyon in June 2024.", occurred_at=day("2026-04-01"))
    assert [one["valid_from"] for one in await ana.facts(predicate="lives_in")] == [day("2023-05-01")]


async def test_who_leaves_an_employer_may_name_only_its_owner(ana: Teller) -> None:
    await hears(ana, "I work for Mortimer & Sons.", "I left Mortimer's yesterday.")
    assert await told(ana) == set()


async def test_a_date_tells_nobody_who(ana: Teller) -> None:
    await hears(ana, "Sam and I are official.", "The wedding is on 18 October.")
    assert (await best(ana, "Who is my partner?"))[0] == f"{ana.user} is the partner of Sam"


@pytest.mark.parametrize(
    "renamed",
    ["Chris goes by Kit now.", "My brother changed his name to Kit.", "My brother Chris is going by Kit now."],
)
async def test_somebody_who_changes_their_name_stays_the_same_one(ana: Teller, renamed: str) -> None:
    await hears(ana, "My brother Chris lives in Cardiff.", renamed, "Kit moved to Swansea.", "Chris quit his job.")

    assert await told(ana) == {"ana brother Kit", "Kit lives_in Swansea"}
    [kit] = [one for one in await ana.entities() if one["category"] == "Person" and one["name"] != ana.user]
    assert (kit["name"], list(kit["aliases"])) == ("Kit", ["Chris"])
    assert (await best(ana, "Where does Chris live?"))[0] == "Kit lives in Swansea"
    await assert_live_equals_replayed(ana.engine, ana.stream)

    command = validated(Rollback, {"user_id": ana.user, "of_run": await run_of(ana), "at": now()})
    await ana.engine.writes.rollback(command)
    assert not await ana.entities("Kit")


async def test_a_name_that_somebody_else_has_renames_nobody(ana: Teller) -> None:
    await hears(ana, "My sister Kit lives in Leeds.", "My brother Chris lives in Cardiff.", "Chris goes by Kit now.")

    assert await told(ana) == {"ana sister Kit", "Kit lives_in Leeds", "ana brother Chris", "Chris lives_in Cardiff"}


async def test_an_erased_message_takes_the_name_that_it_told_with_it(ana: Teller) -> None:
    await hears(ana, "My brother Chris lives in Cardiff.")
    [renamed] = await hears(ana, "Chris goes by Kit now.", occurred_at=day("2026-04-01"))
    assert await told(ana) == {"ana brother Kit", "Kit lives_in Cardiff"}
    await erase(ana.engine, EraseMessages.model_validate({"user_id": ana.user, "message_ids": (renamed,)}))

    assert await told(ana) == {"ana brother Chris", "Chris lives_in Cardiff"}


async def graph(ana: Teller, message: str, moment: Moment | None = None) -> list[str]:
    """The lines of GRAPH in the prompt for a message."""
    request = PromptRequest(message=message, thread_id=ana.thread)
    at = moment or await ana.caught_up()
    found = await ana.engine.reads.prompt(ana.viewer, request, now(), at, "asked", Random(1))
    lines = found.prompt.user.partition("GRAPH:\n")[2].partition("\n\n")[0].splitlines()
    return [line.removeprefix("- ").replace(ana.user, "ana") for line in lines]


async def test_the_graph_of_a_prompt_says_since_when_a_fact_holds_and_what_was_said_of_it_since(ana: Teller) -> None:
    await hears(ana, "I take losartan.", "I live in Lisbon.")
    before = await ana.engine.log.head(ana.stream)
    await hears(ana, "Maybe I can stop the losartan.", occurred_at=day("2026-04-01"))

    assert await graph(ana, "What do I take?") == [
        'ana takes losartan (as of 2026-03-01; said on 2026-04-01: "Maybe I can stop the losartan.")',
        "ana lives in Lisbon (as of 2026-03-02)",
    ]
    then = await graph(ana, "What do I take?", Moment(as_of=before))
    assert "ana takes losartan (as of 2026-03-01)" in then


async def test_a_prompt_says_a_date_no_more_exactly_than_the_user_did(ana: Teller) -> None:
    await hears(
        ana, "I've worked at Acme since 2019.", "I moved to Lisbon in January.", "I've been vegan for two years."
    )

    assert set(await graph(ana, "Where do I live and work, and what do I eat?")) == {
        "ana works at Acme (since 2019)",
        "ana lives in Lisbon (since 2026-01)",
        "ana's diet plan is vegan (since 2024)",
    }
    await hears(ana, "I quit my job at Acme last month.", occurred_at=day("2026-04-10"))
    [acme] = await ana.facts("me", valid_at="any", predicate="works_at")
    assert (acme["valid_from_precision"], acme["valid_to_precision"]) == ("year", "month")


@pytest.mark.parametrize(
    ("fact", "news", "question", "line"),
    [
        ("I live in Lisbon.", "Our new flat is on Baker Street.", "Where do I live?", "ana lives in Lisbon"),
        ("I work at Acme.", "First day of my new job today!", "Where do I work now?", "ana works at Acme"),
        ("I'm vegan.", "I cook vegetarian food, fish on Fridays.", "What is my diet?", "ana's diet plan is vegan"),
    ],
)
async def test_what_was_said_later_of_the_state_that_is_asked_for_stands_beside_the_fact(
    ana: Teller, fact: str, news: str, question: str, line: str
) -> None:
    await hears(ana, fact, "My sister's new flat is lovely.")
    assert await graph(ana, question) == [f"{line} (as of 2026-03-01)"]
    await hears(ana, news, occurred_at=day("2026-04-01"))

    assert await graph(ana, question) == [f'{line} (as of 2026-03-01; said on 2026-04-01: "{news}")']
    assert await graph(ana, "What is two times two?") == [f"{line} (as of 2026-03-01)"]

    await hears(ana, fact, occurred_at=day("2026-05-01"))
    assert await graph(ana, question) == [f"{line} (as of 2026-03-01)"]


async def test_what_ended_long_ago_is_in_no_context(ana: Teller) -> None:
    await hears(ana, "I take losartan.", "I stopped taking losartan.")
    assert await always(ana) == []


async def test_a_message_that_also_says_what_is_no_fact_is_not_former_as_a_whole(ana: Teller) -> None:
    said = "I've got an old racing bike, and I take metformin. And I'm allergic to penicillin."
    await hears(ana, said, "I stopped taking metformin.", "I'm not allergic to penicillin after all.")

    [hit] = [hit for hit in (await ana.asks("Which old racing bike have I got?")).hits if "racing" in hit.text]

    assert hit.current
    mark = hit.bullet.removeprefix(f"[message] {said} (2026-03-01; former: ").removesuffix(")")
    assert {*mark.split(", ")} == {f"{ana.user} took metformin", f"{ana.user} was allergic to penicillin"}
    context = await ana.engine.reads.context(ana.viewer, ContextRequest(query="my bike"), await ana.caught_up())
    assert f"{said} (2026-03-01; former: {mark})" in context.text


async def test_what_ended_something_is_above_it(ana: Teller) -> None:
    await hears(ana, "I have a cat called Biscuit", "Biscuit died.")

    hits = (await ana.asks("Do I have a cat?")).hits

    assert [(hit.text.rpartition(": ")[2], hit.current) for hit in hits if hit.kind == "message"] == [
        ("Biscuit died.", True),
        ("I have a cat called Biscuit", False),
    ]
    assert hits[0].current


async def test_what_ended_something_is_above_what_was_said_of_it_before(ana: Teller) -> None:
    await hears(ana, "We have a dog called Pixel.", "Pixel ate a dog biscuit.", "Pixel died in her sleep.")

    texts = [hit.text for hit in (await ana.asks("Do I have a dog?")).hits if hit.kind == "message"]

    assert texts.index("Pixel died in her sleep.") < texts.index("We have a dog called Pixel.")


async def test_a_message_of_which_only_what_is_asked_for_ended_is_below_that_end(ana: Teller) -> None:
    await hears(ana, "I live in Stokesay, and I have a dog called Treacle.", "Treacle died.")

    async def first(question: str) -> str:
        hits = (await ana.asks(question)).hits
        return next(hit.text.rpartition(": ")[2] for hit in hits if hit.kind == "message")

    assert await first("Do I have a dog?") == "Treacle died."
    assert (await first("Where do I live?")).startswith("I live in Stokesay")


async def test_a_new_manager_takes_the_place_of_the_boss(ana: Teller) -> None:
    await hears(ana, "My boss is Denise.", "My new manager is Mia Reyes.", "Since Monday my boss is Marcus Hall.")
    held = [(one["predicate"], one["object"]) for one in await ana.facts() if one["subject"] == ana.user]
    assert held == [("boss", "Marcus Hall")]


async def test_a_move_that_is_called_off_leaves_the_home(ana: Teller) -> None:
    await hears(ana, "I live in Leeds.", "I'm moving to York on 1 June.", "I'm not moving to York after all.")
    home, plan = await ana.facts(valid_at="any", predicate="lives_in")
    assert (home["object"], home["valid_to"], plan["state"]) == ("Leeds", None, "retired")


async def test_a_move_holds_from_the_day_on_which_it_was(ana: Teller) -> None:
    await hears(ana, "I live in Leeds.", "We're moving to York on 4 March.", *["Not much news."] * 4)
    await hears(ana, "We moved to York yesterday.", occurred_at=day("2026-03-19"))
    homes = await ana.facts(valid_at="any", predicate="lives_in")
    held = [(one["object"], one["valid_from"], one["valid_to"]) for one in homes if one["state"] != "retired"]
    assert held == [("Leeds", day("2026-03-01"), day("2026-03-18")), ("York", day("2026-03-18"), None)]


async def test_a_former_value_is_shown_below_the_present_one_with_when_it_held(ana: Teller) -> None:
    await hears(ana, "My dentist is Dr. Weber.", "Dr. Lang is my dentist now, by the way.")
    present, former = [hit for hit in (await ana.asks("Who is my dentist?")).hits if hit.kind == "relation"]
    assert (present.current, former.current, former.superseded_by) == (True, False, present.id)
    assert former.bullet.endswith("Dr Weber (2026-03-01 to 2026-03-02; former)")


async def test_a_context_about_what_was_before_has_it(ana: Teller) -> None:
    await hears(ana, "I live in Hamburg.", "I moved to Leipzig.")
    request = validated(ContextRequest, {"query": "Where did I live before?"})
    context = await ana.engine.reads.context(ana.viewer, request, await ana.caught_up())
    assert "lived in Hamburg (2026-03-01 to 2026-03-02; former)" in context.text


async def test_who_a_pronoun_means_was_named_in_the_message_before(ana: Teller) -> None:
    await hears(ana, "My sister Clara visited.", "She works at Acme now.", "I met Eva and Marta.", "She left Acme.")
    assert await told(ana) == {"ana sister Clara", "Clara works_at Acme"}


@pytest.mark.parametrize(
    ("event", "date"), [("driving test", "2026-04-13"), ("marathon", "2026-05-13"), ("wedding", "2026-06-03")]
)
async def test_when_something_was_is_its_last_date(engine: Engine, event: str, date: str) -> None:
    ana = Teller(engine, "ana-last-date")
    if not await ana.engine.log.head(ana.stream):
        exam, run = "The driving test was moved to 13 April.", "The marathon was moved to 13 May."
        await hears(ana, "My driving test is on 6 April.", exam, "The marathon is on 6 May.", run)
        await hears(ana, "The wedding is on 3 June.")
    assert date in (await best(ana, f"When was the {event}?"))[0]


async def test_a_date_that_is_said_again_stays_current(ana: Teller) -> None:
    await hears(ana, "The wedding is on 3 June.", "I bought a suit.", "Don't forget: the wedding is on 3 June.")
    assert (await best(ana, "When is the wedding?"))[1]
    [fact] = [hit for hit in (await ana.asks("When is the wedding?")).hits if hit.kind == "relation"]
    assert fact.current


async def test_what_is_said_again_is_an_observation(ana: Teller) -> None:
    await hears(ana, "I live in Porto.", "I live in Porto, near the river.")
    [fact] = await ana.facts()
    assert fact["confidence"] > candidate.CONFIDENCE


@pytest.mark.parametrize(
    ("said", "known"),
    [
        (["My daughter is allergic to peanuts."], {"ana's daughter allergy peanuts"}),
        (
            ["My wife can't eat shellfish.", "Mum is on warfarin."],
            {"ana's wife intolerance shellfish", "ana's mother medication warfarin"},
        ),
        (["Our baby is lactose intolerant."], {"ana's baby intolerance lactose"}),
        (["My girlfriend is vegan.", "My girlfriend is vegetarian now."], {"ana's girlfriend diet_plan vegetarian"}),
        (["My son is vegan.", "My son is no longer vegan."], set()),
        (["My mother-in-law has diabetes."], {"ana's mother-in-law condition diabetes"}),
        (["My dad lives in Leeds.", "My dad moved to York."], {"ana's father lives_in York"}),
        (["My daughter is allergic to nuts.", "My daughter outgrew her nut allergy."], set()),
        (
            ["My older daughter is allergic to nuts.", "My younger daughter isn't allergic to nuts."],
            {"ana's daughter allergy nuts"},
        ),
        (["My youngest is allergic to eggs.", "My youngest isn't allergic to eggs any more."], set()),
        (["My dad takes warfarin.", "My dad is off warfarin."], set()),
        (["Both my boys are allergic to nuts."], {"ana's boys allergy nuts"}),
        (["The twins are coeliac.", "The twins aren't allergic to nuts."], {"ana's twins condition coeliac disease"}),
        (["The kids are allergic to nuts.", "The kids aren't allergic to nuts any more."], set()),
        (
            ["My daughter and my son are allergic to penicillin, just like me."],
            {"ana's daughter allergy penicillin", "ana's son allergy penicillin", "ana allergy penicillin"},
        ),
        (["My brother lives in Oslo.", "My friend is allergic to nuts.", "My boss has asthma."], set()),
    ],
)
async def test_a_relative_whose_name_was_not_said(ana: Teller, said: list[str], known: set[str]) -> None:
    await hears(ana, *said)
    assert await told(ana, valid_at=day("2026-03-20")) == known
    relatives = [one for one in await ana.entities() if "'s " in one["name"]]
    assert {one["category"] for one in relatives} <= {"Person"}
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.parametrize(
    ("said", "ill", "kin"),
    [
        ("My sons Tom and Ben are coeliac.", {"Tom", "Ben"}, {"son Tom"}),
        ("My mum, my dad and my sister Eva are coeliac.", {"ana's mother", "ana's father", "Eva"}, set()),
    ],
)
async def test_the_health_of_several_comes_before_who_they_are(
    ana: Teller, said: str, ill: set[str], kin: set[str]
) -> None:
    await hears(ana, said)
    expected = {f"{one} condition coeliac disease" for one in ill} | {f"ana {one}" for one in kin}
    assert await told(ana, valid_at=day("2026-03-20")) == expected
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.parametrize(
    ("said", "known"),
    [
        (
            [
                "My sister Anna lives in Leeds.",
                "My colleague Anna is allergic to nuts.",
                "My sister Anna moved to York.",
            ],
            {"ana sister Anna", "Anna lives_in York", "ana colleague colleague Anna", "colleague Anna allergy nuts"},
        ),
        (
            ["My son Tom is 7.", "My friend Tom works at Acme.", "Tom has moved to York."],
            {
                "ana son Tom",
                "Tom age 7",
                "ana friend_of friend Tom",
                "friend Tom works_at Acme",
                "friend Tom lives_in York",
            },
        ),
        (
            ["My sister Anna is vegan.", "My colleague Anna and my friend Tom are allergic to nuts."],
            {
                *("ana sister Anna", "Anna diet_plan vegan", "colleague Anna allergy nuts"),
                *("Tom allergy nuts", "ana colleague colleague Anna"),
            },
        ),
        (
            ["My friend Eva is vegan.", "My wife Eva is coeliac."],
            {"ana friend_of Eva", "ana married_to Eva", "Eva diet_plan vegan", "Eva condition coeliac disease"},
        ),
        (
            ["My stepson Max is allergic to eggs.", "My son Max is 9."],
            {"ana stepson Max", "ana son Max", "Max allergy eggs", "Max age 9"},
        ),
        (
            ["My brother Ben is vegan.", "My boss is Ben.", "My new boss is Carla."],
            {"ana brother Ben", "Ben diet_plan vegan", "ana boss Carla"},
        ),
        (
            ["My brother Tom is vegan.", "My sister Eva's boyfriend Tom is allergic to nuts."],
            {
                *("ana brother Tom", "Tom diet_plan vegan", "ana sister Eva", "Eva partner_of Eva's boyfriend Tom"),
                "Eva's boyfriend Tom allergy nuts",
            },
        ),
        (
            [
                "My daughter Mia is 7.",
                "My friend Ben's daughter Mia is allergic to nuts.",
                "Ben's daughter Mia is allergic to eggs.",
                "My daughter Mia is vegan.",
            ],
            {
                *("ana daughter Mia", "Mia age 7", "Mia diet_plan vegan", "ana friend_of Ben"),
                *(
                    "Ben daughter Ben's daughter Mia",
                    "Ben's daughter Mia allergy nuts",
                    "Ben's daughter Mia allergy eggs",
                ),
            },
        ),
        (
            ["My son Tom is 7.", "My colleague's son Tom is allergic to nuts."],
            {"ana son Tom", "Tom age 7", "colleague's son Tom allergy nuts"},
        ),
        (
            ["My husband is Ben.", "My daughter Mia is 7.", "My husband's daughter Mia is allergic to nuts."],
            {"ana married_to Ben", "ana daughter Mia", "Mia age 7", "Ben daughter Mia", "Mia allergy nuts"},
        ),
        (
            ["My friend Anna's daughter Anna is allergic to nuts."],
            {"ana friend_of Anna", "Anna daughter Anna's daughter Anna", "Anna's daughter Anna allergy nuts"},
        ),
        (
            ["My sister Anna is vegan.", "My boss Tim is married to Anna."],
            {"ana sister Anna", "Anna diet_plan vegan", "ana boss Tim", "Tim married_to Anna"},
        ),
    ],
)
async def test_two_people_with_one_name(ana: Teller, said: list[str], known: set[str]) -> None:
    for number, text in enumerate(said, start=1):
        await hears(ana, text, occurred_at=day(f"2026-03-{number:02}"))
    assert await told(ana, valid_at=day("2026-03-20")) == known
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.parametrize(
    ("said", "told_late", "known"),
    [
        ("My sister Anna is vegan.", "Anna moved to York.", set()),
        ("My sister Anna is vegan.", "My colleague Anna moved to York.", {"colleague Anna lives_in York"}),
        ("My sister Annä is vegan.", "Annä moved to York.", {"Annä lives_in York"}),
    ],
)
async def test_a_bare_name_of_two_means_nobody_after_a_while_unless_it_is_spelled_differently(
    said: str, told_late: str, known: set[str], ana: Teller
) -> None:
    before = said, "My colleague Anna is allergic to nuts."
    await hears(ana, *before)
    facts = await told(ana, valid_at=day("2026-03-20"))
    await hears(ana, told_late, occurred_at=day("2026-03-20"))
    assert await told(ana, valid_at=day("2026-03-20")) == facts | known
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_two_people_with_one_name_are_erased_with_what_was_said_of_them(ana: Teller) -> None:
    said = "My sister Anna is vegan.", "My colleague Anna is allergic to nuts.", "Anna moved to York."
    ids = [
        one
        for number, text in enumerate(said, 1)
        for one in await hears(ana, text, occurred_at=day(f"2026-03-0{number}"))
    ]
    for turn_id in ids:
        await erase(ana.engine, EraseMessages.model_validate({"user_id": ana.user, "message_ids": (turn_id,)}))
    assert await ana.entities() == []
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_a_relative_without_a_name_is_not_taken_for_one_with_a_name(ana: Teller) -> None:
    nameless, named = "ana's daughter allergy peanuts", "Mia allergy eggs"
    await hears(ana, "My daughter is allergic to peanuts.", "My daughter Mia is allergic to eggs.")
    assert await told(ana) == {nameless, "ana daughter Mia", named}
    await hears(ana, "My daughter is allergic to kiwis.", occurred_at=day("2026-04-01"))
    assert await told(ana, valid_at=day("2026-04-02")) == {nameless, "ana daughter Mia", named, "Mia allergy kiwis"}
    await hears(ana, "My daughter outgrew her peanut allergy.", occurred_at=day("2026-04-03"))
    assert await told(ana, valid_at=day("2026-04-04")) == {"ana daughter Mia", named, "Mia allergy kiwis"}


async def test_a_parent_without_a_name_is_given_the_one_that_is_told_later(ana: Teller) -> None:
    await hears(
        ana, "Mum moved to Wells.", "Mum is on warfarin.", "Mum is called Joan, by the way.", "My mum has asthma."
    )
    known = {"ana mother Joan", "Joan lives_in Wells", "Joan medication warfarin", "Joan condition asthma"}
    assert await told(ana) == known
    later = ["They stopped mum's warfarin.", "My mum's name is Joan.", "My dad's name is Ed."]
    await hears(ana, *later, occurred_at=day("2026-04-01"))
    assert await told(ana, valid_at=day("2026-04-02")) == {*known - {"Joan medication warfarin"}, "ana father Ed"}
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_of_several_relatives_without_a_name_it_is_the_newest_or_who_has_what_ends(ana: Teller) -> None:
    """An undo may leave several."""
    await hears(ana, "My daughter is allergic to peanuts.")
    [first] = [one for one in await ana.entities() if one["name"].endswith("daughter")]
    another = {"user_id": ana.user, "name": first["name"], "category": "Person", "another": True}
    second, _ = await ana.engine.writes.observe_entity(another)
    await hears(ana, "My daughter is allergic to soy.", occurred_at=day("2026-04-01"))
    facts = await ana.engine.reads.facts(ana.viewer, moment=await ana.caught_up())
    assert {(one["subject_id"], one["value"]) for one in facts} == {(first["entity_id"], "peanuts"), (second, "soy")}
    await hears(ana, "My daughter outgrew her peanut allergy.", occurred_at=day("2026-04-02"))
    assert await told(ana, valid_at=day("2026-04-03")) == {"ana's daughter allergy soy"}


async def test_an_allergy_of_a_relative_is_in_every_context(ana: Teller) -> None:
    await hears(ana, "My daughter is allergic to peanuts.", "I bought a lamp.")
    asked = ContextRequest(query="Where is the lamp?")
    found = await ana.engine.reads.context(ana.viewer, asked, await ana.caught_up())
    assert [one.text for one in found.critical] == [f"{ana.user}'s daughter is allergic to peanuts"]


async def test_a_longer_stay_does_not_leave_the_older_value_current(ana: Teller) -> None:
    await hears(ana, "I live in Porto.", "I've been living in Ghent for ten years.")
    assert await told(ana) == {"ana lives_in Ghent"}


async def test_what_somebody_recorded_outranks_what_does_not_tell_of_a_change(ana: Teller) -> None:
    await ana.tells("me", "lives_in", "Porto", told_at=day("2026-02-01"))
    await hears(ana, "I live in Ghent.")
    assert await told(ana) == {"ana lives_in Porto"}
    await hears(ana, "I moved to Ghent.")
    assert await told(ana) == {"ana lives_in Ghent"}


async def test_what_was_recorded_later_than_a_message_stays(ana: Teller) -> None:
    await ana.tells("me", "works_at", "Acme", told_at=day("2026-03-20"))
    await hears(ana, "I joined Globex.", "I quit my job.")
    assert await told(ana) == {"ana works_at Acme"}


async def test_no_rule_ends_a_critical_fact_that_somebody_recorded(ana: Teller) -> None:
    await ana.tells("me", "medication", "aspirin", told_at=day("2026-02-01"))
    await hears(ana, "I take ibuprofen.", "I stopped taking ibuprofen.", "I stopped taking aspirin.")
    assert await told(ana) == {"ana medication aspirin"}


@pytest.mark.spec_part("E06")
async def test_only_what_users_say_is_read(ana: Teller) -> None:
    shown = [{"type": "image", "caption": "I live in Rome."}]
    await hears(ana, "I live in Rome.", role="assistant")
    await hears(ana, "I live in Rome.", role="tool")
    await hears(ana, "Look at this.", attachments=shown)
    assert await ana.facts() == []


async def test_a_named_speaker_speaks_of_himself(ana: Teller) -> None:
    await hears(ana, "I live in Rome.", speaker="Bruno")
    assert await told(ana) == {"Bruno lives_in Rome"}


async def test_a_message_leaves_at_most_three_writes(ana: Teller) -> None:
    await hears(ana, "I live in Rome. I work at Acme. I love jazz. I speak Danish. I'm vegan.")
    assert await told(ana) == {"ana lives_in Rome", "ana works_at Acme", "ana diet_plan vegan"}


async def test_the_cat_is_the_only_one_that_is_known(ana: Teller) -> None:
    await hears(ana, "I have a cat called Mog.", "The cat died this morning.", "The dog died.")
    assert await told(ana) == {"Mog died 2026-03-02"}
    await hears(ana, "My dog is called Rex.", "My dog is called Bo.", "The dog died.", occurred_at=day("2026-04-01"))
    assert {"ana dog Rex", "ana dog Bo"} <= await told(ana)


async def test_a_message_on_which_a_rule_fails_is_reported_and_holds_up_no_other(
    ana: Teller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(text: str, *about: Any) -> Any:
        if "beyond" in text:
            raise OverflowError("date value out of range")
        return extract(text, *about)

    monkeypatch.setattr(extracting, "extract", failing)
    await hears(ana, "I live in Oslo", "I live beyond the calendar", "I work at Acme")

    assert await told(ana) == {"ana lives_in Oslo", "ana works_at Acme"}
    assert f"of {ana.stream}: OverflowError" in caplog.text
    assert "calendar" not in caplog.text


async def test_a_day_has_a_limit(ana: Teller, monkeypatch: pytest.MonkeyPatch) -> None:
    limit(monkeypatch, ana.engine, 3)  # The user, and two facts.
    await hears(ana, "I love jazz.", "I love tea.", "I love rain.")
    await hears(ana, "I love snow.")
    assert len(await ana.facts()) == 2


async def test_messages_that_are_recorded_together_keep_to_the_limit_of_a_day(
    ana: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, ana.engine, 30)
    homes = dict(zip(("Bea", "Cal", "Dot", "Eve", "Fay", "Gus", "Ida", "Jon", "Kim", "Liz"), TOWNS, strict=True))
    await hears(ana, *(f"My friend {name} lives in {town}." for name, town in homes.items()))
    told_of = [one for one in await ana.engine.log.read(ana.stream) if one.meta.actor == ACTOR]
    assert 30 <= len(told_of) < 30 + extracting.MOST_EVENTS / 2


async def test_threads_that_are_read_at_once_share_the_limit_of_a_day(
    ana: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, ana.engine, 4)
    for number in range(8):
        for one in ("jazz", "tea", "rain", "snow"):
            said = {"turn_id": f"{ana.user}-{number}-{one}", "thread_id": f"t{number}", "speaker": ""}
            await ana.says(f"I love {one} {number}.", **said)
    await extracted(ana.engine)
    # Each of four jobs may be about to record one more.
    assert len([one for one in await ana.engine.log.read(ana.stream) if one.meta.actor == ACTOR]) <= 8


async def test_the_threads_of_a_user_take_turns_to_record_what_they_state(
    ana: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, recording, most = extracting._record, 0, 0

    async def slowly(*args: Any, **kwargs: Any) -> int:
        nonlocal recording, most
        recording += 1
        most = max(most, recording)
        await asyncio.sleep(0.1)
        recording -= 1
        return await record(*args, **kwargs)

    monkeypatch.setattr(extracting, "_record", slowly)
    for name in ("jazz", "tea", "rain"):
        await ana.says(f"I love {name}.", turn_id=f"{ana.user}-{name}", thread_id=name, speaker="")
    await extracted(ana.engine)

    assert await told(ana) == {"ana likes jazz", "ana likes tea", "ana likes rain"}
    assert most == 1


async def test_a_name_waits_for_consent(ana: Teller) -> None:
    await hears(ana, "Please call me Bea.")
    [patch] = await ana.engine.reads.consent(ana.viewer, moment=await ana.caught_up())
    assert (patch["field"], patch["value"], patch["status"]) == ("preferred_name", "Bea", "proposed")


@pytest.mark.spec_part("X04")
async def test_a_fact_and_its_end_tell_by_which_rules_runs_and_messages(ana: Teller) -> None:
    joined, left = await hears(ana, "I work at Acme.", "I left Acme.")
    [job] = await ana.facts(valid_at="any")
    why = await ana.engine.reads.why(ana.viewer, str(job["relation_id"]), moment=await ana.caught_up())
    by = [(one.rule, one.run_id) for one in why.events]
    assert [rule for rule, _ in by] == [f"{EXTRACTOR}/work-3", f"{EXTRACTOR}/quit-1"]
    assert {run for _, run in by} == {await run_of(ana)}
    assert [(turn.turn_id, turn.occurred_at, turn.role) for turn in why.turns] == [
        (joined, day("2026-03-01"), "user"),
        (left, day("2026-03-02"), "user"),
    ]
    assert [(row["rule"], row["run_id"]) for row in await ana.history(job["relation_id"])] == by


async def test_the_same_messages_again_change_nothing(ana: Teller) -> None:
    await hears(ana, "I live in Porto.", "I quit my job.", "Call me Bea.")
    head = await ana.engine.log.head(ana.stream)
    await ana.engine.jobs.forget(ana.stream)  # As if the last job had never been.
    await extracted(ana.engine)
    assert await ana.engine.log.head(ana.stream) == head


async def test_a_name_that_was_wrong_is_corrected_whatever_follows(ana: Teller) -> None:
    said = ("My friend is called Ottilie.", "Actually my friend is Ottoline, not Ottilie, I've been corrected")
    await hears(ana, *said)
    assert await told(ana) == {"ana friend_of Ottoline"}


async def test_who_is_called_like_the_user_is_somebody_else(engine: Engine) -> None:
    rob = Teller(engine, "rob")
    await hears(
        rob, "I live in Porto. My brother Rob lives in Leeds.", "Rob moved to York.", "My mate Rob's allergic to nuts."
    )
    brother = {"rob brother brother Rob", "brother Rob lives_in Leeds"}
    friend = {"rob friend_of friend Rob", "friend Rob allergy nuts"}
    assert await rob.told() == {"rob lives_in Porto", *brother, *friend}


@pytest.mark.parametrize("thread_id", ["main", "before"])
async def test_what_was_said_later_is_true_of_what_is_imported_afterwards(ana: Teller, thread_id: str) -> None:
    await hears(ana, "We sold the Skoda.", "Tom moved to Cork.", "I love jazz.")
    earlier = {"occurred_at": day("2026-02-01"), "thread_id": thread_id}
    await hears(ana, "I drive a Skoda. My brother Tom lives in Leeds.", **earlier)
    assert await told(ana) == {"ana likes jazz", "ana brother Tom", "Tom lives_in Cork"}
    drove = await ana.facts(predicate="drives", valid_at="any")
    assert [row["valid_to"] for row in drove] == [day("2026-03-01")]
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_what_is_over_is_so_of_what_is_imported_afterwards_whatever_else_its_message_told(ana: Teller) -> None:
    await hears(ana, "We sold the Skoda. I love jazz.")
    await hears(ana, "I drive a Skoda.", occurred_at=day("2026-02-01"))
    assert await told(ana) == {"ana likes jazz"}
    [end] = [one for one in await ana.engine.log.read(ana.stream) if isinstance(one.payload, RelationEnded)]
    await ana.engine.writes.undo_event(ana.stream, end.event_id, agent_id=ana.agent)
    await hears(ana, "I live in Porto.", occurred_at=day("2026-02-02"))
    assert await told(ana) == {"ana likes jazz", "ana lives_in Porto", "ana drives Skoda"}
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_what_one_agent_heard_is_over_also_if_another_imports_what_was_before(engine: Engine, user: str) -> None:
    await hears(Teller(engine, user, agent="garage"), "We sold the Skoda.")
    ana = Teller(engine, user, agent="diary")
    await hears(ana, "I drive a Skoda.", occurred_at=day("2026-02-01"))
    assert await told(ana) == set()
    drove = await ana.facts(predicate="drives", valid_at="any")
    assert [row["valid_to"] for row in drove] == [day("2026-03-01")]


async def test_what_is_read_again_counts_against_the_limit_of_the_day(ana: Teller) -> None:
    await hears(ana, "We sold the Skoda.")
    await hears(ana, "I drive a Skoda.", occurred_at=day("2026-02-01"))
    extracted_ = [one for one in await ana.engine.log.read(ana.stream) if one.meta.actor == ACTOR]
    left = await extracting_by_model._left(ana.engine, ana.stream, {"agent_id": ana.agent, "thread_id": "main"})
    assert any(isinstance(one.payload, RelationEnded) for one in extracted_)
    assert ana.engine.policy.extraction.writes_per_day - left == len(extracted_)


async def test_what_the_limit_of_a_day_left_unread_is_not_read_again(
    ana: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, ana.engine, 3)  # The user, and two facts.
    said = ["I love jazz.", "I love tea.", "I love rain.", "I love snow.", "I drive a Skoda."]
    for number, text in enumerate(said):  # The last conversation of the import comes first.
        await ana.says(text, turn_id=f"{ana.user}-{number}", speaker="", occurred_at=day(f"2026-03-{9 - number:02}"))
    await extracted(ana.engine)
    assert await told(ana) == {"ana likes jazz", "ana likes tea"}


async def test_an_import_is_followed_even_if_a_job_was_killed_in_the_middle(
    ana: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    await hears(ana, "We sold the Skoda.")
    save, lost = worker._Running.save, list[Job]()

    async def killed_at_first(running: worker._Running, progress: Payload) -> None:
        if running.job.kind == THREAD and not lost:
            lost.append(running.job)
            raise ConnectionError
        await save(running, progress)

    monkeypatch.setattr(worker._Running, "save", killed_at_first)
    await hears(ana, "I drive a Skoda.", occurred_at=day("2026-02-01"))
    assert lost
    assert await told(ana) == set()


async def test_messages_that_come_in_their_order_are_read_once(ana: Teller, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[str]()

    async def again(engine: Engine, stream: StreamId, parts: Mapping[Thread, Part], run_id: str) -> int:
        read.extend(map(str, parts))
        return 0

    monkeypatch.setattr(extracting, "extract_again", again)
    await hears(ana, "We sold the Skoda.", "I drive a Yaris.", "I live in Cork.")
    await hears(ana, "I moved to Leeds.", occurred_at=day("2026-04-01"))
    assert read == []


async def says_in_two_threads(ana: Teller) -> set[str]:
    """What is said in turns; the thread that begins ends what is told in the other, and goes on with it."""
    said = [
        ("main", "Good morning!"),
        ("other", "I drive a Skoda."),
        ("other", "My sister Mia is vegan."),
        ("main", "I sold the Skoda."),
        ("main", "Mia is allergic to nuts."),
    ]
    for number, (thread_id, text) in enumerate(said):
        at = now() - timedelta(minutes=10 - number)
        turn_id = f"{ana.user}-{number}"
        await ana.says(text, turn_id=turn_id, thread_id=thread_id, speaker="", occurred_at=at)
    return {"ana sister Mia", "Mia diet_plan vegan", "Mia allergy nuts"}


async def test_threads_that_are_read_at_once_are_about_each_other(ana: Teller) -> None:
    known = await says_in_two_threads(ana)
    await extracted(ana.engine)
    assert await told(ana) == known
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_a_first_name_means_whom_the_author_told_of_by_two_names(ana: Teller) -> None:
    await hears(ana, "My brother Tom Smyth lives in Ulm.", "Tom is allergic to eggs.", "My doctor is Dr Khan.")
    assert await told(ana) == {
        "ana brother Tom Smyth",
        "Tom Smyth lives_in Ulm",
        "Tom Smyth allergy eggs",
        "ana doctor Dr Khan",
    }
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_a_title_is_nobodys_first_name(ana: Teller) -> None:
    await hears(ana, "My boss is Mr Khan.", "My friend Dr Lee is vegan.")
    moment = await ana.caught_up()
    assert not [title for title in ("Mr", "Dr") if await ana.engine.reads.entities(ana.viewer, moment, title)]


async def test_a_first_name_that_is_the_users_own_means_nobody_else(engine: Engine) -> None:
    tom = Teller(engine, "Tom")
    await hears(tom, "My brother Tom Smyth lives in Ulm.", "I like tea.")
    assert await tom.told() == {"Tom brother Tom Smyth", "Tom Smyth lives_in Ulm", "Tom likes tea"}


async def test_a_first_name_that_somebody_has_stays_theirs(ana: Teller) -> None:
    await hears(ana, "My son Tom is seven.", "My brother Tom Smyth lives in Ulm.", "My son is allergic to eggs.")
    assert {"ana son Tom", "ana brother Tom Smyth", "Tom allergy eggs"} <= await told(ana)


async def test_of_two_with_one_first_name_it_means_the_one_just_told_of_or_nobody(ana: Teller) -> None:
    await hears(ana, "My brother Tom Smyth lives in Ulm.", "My colleague Tom Baker lives in Graz.", "Tom is vegan.")
    await hears(ana, "Tom is allergic to eggs.", occurred_at=day("2026-05-01"))
    known = await told(ana)
    assert "Tom Baker diet_plan vegan" in known
    assert not {one for one in known if "eggs" in one}


async def test_threads_that_are_read_at_once_leave_what_was_said_long_before(
    ana: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers, looked_at = extracting._headers, list[int]()

    async def counted(engine: Engine, stream: StreamId, after: int = 0) -> AsyncIterator[Header]:
        async for one in headers(engine, stream, after):
            looked_at.append(one.seq)
            yield one

    monkeypatch.setattr(extracting, "BESIDE", 5)
    await hears(ana, *(f"The sun came out at {hour}." for hour in range(30)))
    head = await ana.engine.log.head(ana.stream)
    monkeypatch.setattr(extracting, "_headers", counted)
    known = await says_in_two_threads(ana)
    await extracted(ana.engine)
    assert await told(ana) == known
    assert min(looked_at) > head - 5


async def test_threads_are_extracted_on_request_in_the_order_in_which_they_were_said(ana: Teller) -> None:
    known = await says_in_two_threads(ana)
    await anew(ana)
    assert await told(ana) == known
    assert (await anew(ana)).events == 0


async def test_small_talk_is_not_read_again_with_each_message_after_it(
    ana: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Counter[str]()

    def counted(text: str, *about: Any) -> Any:
        read[text] += 1
        return extract(text, *about)

    monkeypatch.setattr(extracting, "extract", counted)
    said = ["I take 5 mg of ramipril.", "What a day!", "The sun came out.", "See you later."]
    for number, text in enumerate(said):
        await hears(ana, text, occurred_at=day(f"2026-03-{number + 1:02}"))
    await hears(ana, "They doubled the ramipril, so I'm on 10 mg now.", occurred_at=day("2026-03-10"))

    assert [read[text] for text in said] == [5, 1, 1, 1]
    assert "ana ramipril_dose 10 mg" in await told(ana)


async def test_an_import_of_many_threads_reads_each_again_about_once(
    ana: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, read, extract_again = 8, list[str](), extracting.extract_again
    cars = ("Skoda", "Yaris", "Fiesta", "Corsa", "Golf")

    async def again(engine: Engine, stream: StreamId, parts: Mapping[Thread, Part], run_id: str) -> int:
        read.extend(thread_id for _, thread_id in parts)
        return await extract_again(engine, stream, parts, run_id)

    monkeypatch.setattr(extracting, "extract_again", again)
    for number in range(threads):
        # From the newest conversation to the oldest; each goes on after the one before it ended.
        for month in (threads - number, threads + 1):
            at, text = day(f"2025-{month:02}-{10 - number:02}"), f"I drive a {cars[(number + month) % len(cars)]}."
            fields = {"turn_id": f"{ana.user}-{number}-{month}", "thread_id": f"t{number}", "occurred_at": at}
            await ana.says(text, speaker="", **fields)
    await extracted(ana.engine)
    assert threads - 1 <= len(set(read)) <= len(read) <= 2 * threads
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_a_job_is_undone_as_one_batch_and_its_messages_are_not_extracted_again(ana: Teller) -> None:
    await hears(ana, "I live in Porto.", "I moved to Ghent.", "I love jazz.")
    command = validated(Rollback, {"user_id": ana.user, "of_run": await run_of(ana), "at": now()})
    await ana.engine.writes.rollback(command)
    assert await ana.facts() == []
    await ana.engine.jobs.forget(ana.stream)
    await extracted(ana.engine)
    assert await ana.facts() == []
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def anew(ana: Teller, **fields: Any) -> FactsExtracted:
    done: FactsExtracted = await extract_facts.run(ana.engine, ExtractFacts(user_id=ana.user, **fields))
    await ana.engine.settled(60)
    return done


async def test_messages_from_before_are_read_when_somebody_asks_for_it(
    ana: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extracting, "READ_FOR", timedelta(0))
    await hears(ana, "My sister Mia is vegan.", "I live in Porto.", "What a day!")
    await hears(ana, "I moved to Ghent.", thread_id="other", occurred_at=day("2026-03-08"))
    await hears(ana, "I love jazz.", agent_id="coach")
    assert await told(ana) == set()
    known = {"ana sister Mia", "Mia diet_plan vegan", "ana lives_in Ghent"}

    done = await anew(ana, idempotency_key="once")

    assert (done.threads, await told(ana)) == (2, known)
    again = await anew(ana, idempotency_key="once")
    assert (again.events, again.run_id) == (0, done.run_id)
    await ana.engine.writes.rollback(validated(Rollback, {"user_id": ana.user, "of_run": done.run_id, "at": now()}))
    assert ((await anew(ana)).events, await told(ana)) == (0, set())
    await anew(ana, agent_id="coach")
    assert await told(ana) == {"ana likes jazz"}
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_facts_that_a_key_asks_to_extract_are_not_taken_for_recorded_ones(
    ana: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(extracting, "READ_FOR", timedelta(0))
        await hears(ana, "I live in Porto.")
    await extract_facts.run(ana.engine.by(principal("app")), ExtractFacts(user_id=ana.user))
    assert {one.meta.actor for one in await ana.engine.log.read(ana.stream) if one.meta.run_id} == {ACTOR}
    await hears(ana, "I live in Ghent.", occurred_at=day("2026-03-20"))
    assert await told(ana, valid_at=day("2026-03-21")) == {"ana lives_in Ghent"}


async def test_what_is_read_anew_keeps_its_date_beside_what_was_told_later(ana: Teller) -> None:
    await hears(ana, "Tom moved to Oslo last week.", occurred_at=day("2026-01-14"))
    await hears(ana, "My colleague Tom is allergic to peanuts.", occurred_at=day("2026-01-20"))
    await hears(ana, "Tom moved to Rome last week.", occurred_at=day("2026-02-14"))

    await anew(ana)

    assert "Tom lives_in Oslo" in await told(ana, valid_at=day("2026-01-06"))
    assert "Tom lives_in Oslo" not in await told(ana, valid_at=day("2026-02-03"))


async def test_newer_rules_find_what_those_before_did_not_within_the_limit_of_a_message(
    ana: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def older(text: str, *about: Any) -> Any:
        return extract(text, *about)[:1]

    with monkeypatch.context() as before:
        before.setattr(extracting, "extract", older)
        await hears(ana, "I moved to Ghent, I joined Acme, I take aspirin and I love jazz.")
        assert len(await told(ana)) == 1
    await anew(ana)
    known = {"ana medication aspirin", "ana lives_in Ghent", "ana works_at Acme"}
    assert await told(ana) == known
    assert (await anew(ana)).events == 0
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_a_hidden_message_leaves_nothing(ana: Teller) -> None:
    await ana.says("I live in Porto.", turn_id=f"{ana.user}-hidden", speaker="")
    fields = {"user_id": ana.user, "message_id": f"{ana.user}-hidden", "at": now()}
    await ana.engine.writes.change_message(validated(DeleteMessage, fields))
    await extracted(ana.engine)
    assert await ana.facts() == []


async def test_the_erasure_of_a_message_takes_its_facts_along(ana: Teller) -> None:
    [turn_id] = await hears(ana, "I live in Porto.")
    await erase(ana.engine, EraseMessages.model_validate({"user_id": ana.user, "message_ids": (turn_id,)}))
    assert await ana.facts() == []


async def test_a_name_is_erased_with_the_last_message_that_mentions_it(ana: Teller) -> None:
    said = "My daughter Mia is allergic to nuts.", "Mia is allergic to eggs.", "My son is allergic to soy."
    ids = await hears(ana, *said)
    for turn_id in ids:
        await erase(ana.engine, EraseMessages.model_validate({"user_id": ana.user, "message_ids": (turn_id,)}))
    assert await ana.entities() == []
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (["My friend Corwin works at Acme.", "He is allergic to eggs."], set()),
        (["My boss is called Corwin.", "My boss lives in Bonn."], set()),
        (["My mother works at Acme.", "She is allergic to nuts."], {"ana's mother allergy nuts"}),
        (["I work at Acme.", "I like tea."], {"ana likes tea"}),
    ],
)
async def test_a_name_that_no_other_message_says_is_erased_with_its_own(
    ana: Teller, said: Sequence[str], kept: set[str]
) -> None:
    first, *_ = await hears(ana, *said)
    await erase(ana.engine, EraseMessages.model_validate({"user_id": ana.user, "message_ids": (first,)}))

    assert await told(ana) == kept
    assert "Corwin" not in str(await ana.entities())
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_of_a_name_other_messages_keep_the_part_that_they_say(ana: Teller) -> None:
    said = "My sister Anna works at Acme.", "My colleague Anna lives in Rome.", "Anna is allergic to eggs."
    ids = [
        one
        for number, text in enumerate(said, 1)
        for one in await hears(ana, text, occurred_at=day(f"2026-03-0{number}"))
    ]
    await erase(ana.engine, EraseMessages.model_validate({"user_id": ana.user, "message_ids": (ids[1],)}))

    assert await told(ana) == {"ana sister Anna", "Anna works_at Acme", "Anna allergy eggs"}
    assert "colleague" not in str(await ana.entities())


async def test_it_can_be_turned_off(tmp_path: Path, user: str) -> None:
    async with open_engine(settings_in(tmp_path, extraction="off")) as engine:
        ana = Teller(engine, user)
        await ana.says("I live in Porto.", speaker="")
        await engine.settled(60)
        assert await enqueue_due(engine, now()) == 0


async def test_an_engine_extracts_what_was_said_in_the_next_pause(tmp_path: Path, user: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prompting, "QUIET_SECONDS", 0.2)
        patch.setattr(extracting, "EVERY_SECONDS", 24 * 3600.0)
        async with open_engine(settings_in(tmp_path, extraction="rules")) as engine:
            ana = Teller(engine, user)
            await ana.says("I live in Porto.", speaker="")

            async def known() -> bool:
                return {sentence(row) for row in await ana.facts()} == {f"{user} lives_in Porto"}

            await eventually(known)


async def test_the_messages_of_one_list_are_extracted_in_their_order(ana: Teller) -> None:
    at = day("2026-03-01")
    await hears(
        ana, "I work at Acme.", "I take ibuprofen.", "I left Acme.", "I stopped taking ibuprofen.", occurred_at=at
    )
    assert await told(ana) == set()
    await hears(ana, "I live in Ghent.", "I moved to Bruges.", occurred_at=day("2026-03-02"))
    assert await told(ana) == {"ana lives_in Bruges"}
    assert [row["object"] for row in await ana.facts(valid_at="any", predicate="lives_in")] == ["Ghent", "Bruges"]


async def test_a_date_that_is_said_outweighs_the_time_at_which_another_home_was_heard_of(ana: Teller) -> None:
    await hears(ana, "I live in Hamburg.", "I moved to Porto in January.")
    [home] = await ana.facts()
    assert (home["object"], home["valid_from"].date()) == ("Porto", day("2026-01-01").date())


async def test_a_name_to_be_called_by_is_proposed_beside_the_facts_of_the_message(ana: Teller) -> None:
    await hears(ana, "Call me Bea, I take insulin.")
    assert await told(ana) == {"ana medication insulin"}
    assert await proposed(ana) == ["Bea"]


async def test_a_name_in_a_hidden_message_is_not_proposed(ana: Teller) -> None:
    turn_id = f"{ana.user}-hidden"
    await ana.says("Please call me Bea.", turn_id=turn_id, speaker="")
    await ana.deletes_message(turn_id)
    await extracted(ana.engine)
    assert await proposed(ana) == []


async def test_what_is_said_beyond_the_limit_of_a_day_is_read_on_another(
    ana: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, ana.engine, 2)
    await hears(ana, "I love hiking.", "I love chess.", "I'm allergic to peanuts.")
    assert "ana allergy peanuts" not in await told(ana)
    monkeypatch.undo()
    await hears(ana, "Good morning!")
    assert "ana allergy peanuts" in await told(ana)


async def test_a_move_of_somebody_else_is_theirs(ana: Teller) -> None:
    await hears(ana, "My brother Jonas lives in Graz.", "Jonas moved to Vienna.")
    assert await told(ana) == {"ana brother Jonas", "Jonas lives_in Vienna"}
    assert "Jonas lives_in Graz" in await told(ana, valid_at=day("2026-03-01"))
    assert (await best(ana, "Where does Jonas live now?"))[0] == "Jonas lives in Vienna"
    await hears(ana, "My brother has moved to Salzburg.", occurred_at=day("2026-04-01"))
    assert "Jonas lives_in Salzburg" in await told(ana)


async def test_a_name_that_nobody_bears_moves_nowhere(ana: Teller) -> None:
    await hears(ana, "Jonas moved to Vienna.", "My sister quit her job at Siemens.", "Rex died.")
    assert await ana.facts() == []


async def test_an_employer_may_be_named_in_short(ana: Teller) -> None:
    await hears(ana, "I work at Hart's Bakery.", "I work at Hart's, as I said.", "My last day at Hart's was 2 March.")
    assert await told(ana) == set()
    [job] = await ana.facts(valid_at="any")
    assert (job["object"], job["valid_to"]) == ("Hart's Bakery", day("2026-03-02"))


async def test_who_leaves_a_town_does_not_leave_an_employer_named_after_it(ana: Teller) -> None:
    await hears(ana, "I work at Bristol Zoo.", "I left Bristol yesterday.")
    assert await told(ana) == {"ana works_at Bristol Zoo"}


async def test_another_employer_of_a_similar_name_is_another_one(ana: Teller) -> None:
    await hears(ana, "I work at Acme Labs.", "I started at Acme yesterday.")
    assert await told(ana) == {"ana works_at Acme"}


async def test_who_switches_from_an_employer_has_a_new_one(ana: Teller) -> None:
    await hears(ana, "I work at Acme Roasters.", "I switched from Acme to Globex, I started yesterday.")
    assert await told(ana) == {"ana works_at Globex"}


async def test_who_gets_engaged_is_to_the_partner(ana: Teller) -> None:
    await hears(ana, "We got engaged at Christmas!")
    assert await told(ana) == set()
    await hears(ana, "I'm living in Leeds with my gf Priya.")
    await hears(ana, "We got engaged!", occurred_at=day("2026-04-01"))
    assert "ana engaged_to Priya" in await told(ana)


async def test_a_bank_is_switched_to_if_there_is_one(ana: Teller) -> None:
    await hears(ana, "I switched to Monzo.")
    assert await told(ana) == set()
    await hears(ana, "I bank with Barclays.")
    await hears(ana, "switched to Monzo!! should have done it years ago", occurred_at=day("2026-04-01"))
    assert await told(ana) == {"ana bank Monzo"}


async def test_who_switches_from_anything_else_keeps_the_employer(ana: Teller) -> None:
    await hears(ana, "I live in Porto.", "I work at Acme.", "I switched from Windows to Linux.")
    await hears(ana, "I moved from Spotify to Netflix.", occurred_at=day("2026-04-01"))
    assert await told(ana) == {"ana lives_in Porto", "ana works_at Acme"}
    await hears(ana, "We moved from Porto to Ghent.", occurred_at=day("2026-04-02"))
    assert await told(ana) == {"ana lives_in Ghent", "ana works_at Acme"}


async def test_an_allergy_in_the_singular_is_the_one_that_is_known(ana: Teller) -> None:
    await hears(ana, "I'm allergic to walnuts and kiwi.", "I've outgrown my walnut allergy.")
    assert await told(ana) == {"ana allergy kiwi"}


async def test_an_allergy_of_a_child_is_theirs(ana: Teller) -> None:
    await hears(ana, "My son Samir is at school.", "Samir is allergic to eggs.", "London is allergic to change.")
    assert await told(ana) == {"ana son Samir", "Samir allergy eggs"}
    await hears(ana, "Samir has outgrown his egg allergy.", occurred_at=day("2026-04-01"))
    assert await told(ana) == {"ana son Samir"}


async def test_a_job_and_a_home_take_along_what_is_tied_to_them(ana: Teller) -> None:
    await hears(ana, "I work at Acme.", "My manager is Priya.", "My sister Mia is here.")
    await hears(ana, "I live in Porto.", "My neighbour is Rui.", "My address is 14 Rua Nova.")
    await hears(ana, "I work at Acme.", occurred_at=day("2026-03-20"))
    assert {"ana manager Priya", "ana neighbour Rui"} <= await told(ana)
    await hears(ana, "I moved to Ghent on 1 May.", occurred_at=day("2026-05-02"))
    assert await told(ana) == {"ana works_at Acme", "ana manager Priya", "ana sister Mia", "ana lives_in Ghent"}
    [former] = await ana.facts(valid_at="any", predicate="neighbour")
    assert former["valid_to"] == day("2026-05-01")
    await hears(ana, "I left Acme.", occurred_at=day("2026-05-03"))
    assert await told(ana) == {"ana sister Mia", "ana lives_in Ghent"}
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_a_job_ends_after_what_was_tied_to_it_was_corrected(ana: Teller) -> None:
    await hears(ana, "I work at Acme.", "My manager is Priya.", "No, I meant my manager is Mia.", "I left Acme.")
    await hears(ana, "I live in Porto.", occurred_at=day("2026-04-01"))
    assert await told(ana) == {"ana lives_in Porto"}


async def test_a_marriage_ends_what_the_two_were_before(ana: Teller) -> None:
    await hears(ana, "I'm dating Tom.", "Tom and I got engaged!", "I have a friend, Eve.", "Eve is a colleague.")
    await hears(ana, "Tom and I got married on 2 May.", occurred_at=day("2026-05-04"))
    facts = await told(ana)
    assert "ana married_to Tom" in facts
    assert not {"ana partner_of Tom", "ana engaged_to Tom"} & facts
    for predicate in ("partner_of", "engaged_to"):
        [former] = await ana.facts(valid_at="any", predicate=predicate)
        assert former["valid_to"] == day("2026-05-02")
    await assert_live_equals_replayed(ana.engine, ana.stream)


@pytest.mark.parametrize("before", ["I'm engaged to Tom.", "My partner is called Tom.", "My boyfriend Tom is a nurse."])
async def test_who_got_married_is_married_to_the_only_partner(engine: Engine, user: str, before: str) -> None:
    ana = Teller(engine, user)
    await hears(ana, before)
    await hears(ana, "We got married on 2 May!", occurred_at=day("2026-05-04"))
    facts = await told(ana)
    assert "ana married_to Tom" in facts
    assert not {"ana partner_of Tom", "ana engaged_to Tom"} & facts
    await assert_live_equals_replayed(engine, ana.stream)


async def test_a_wedding_long_before_the_engagement_was_to_somebody_else(ana: Teller) -> None:
    await hears(ana, "I'm engaged to Tom.", "We got married in 2012, far too young.")
    assert "ana engaged_to Tom" in await told(ana)
    assert not [one for one in await told(ana) if "married_to" in one]


async def test_a_wedding_without_a_partner_who_is_known_or_beside_a_spouse_marries_nobody(ana: Teller) -> None:
    await hears(ana, "We got married!", "My wife Mia is a baker.", "We tied the knot in Rome.")
    assert {one for one in await told(ana) if "married_to" in one} == {"ana married_to Mia"}


async def test_the_word_for_a_spouse_is_kept_and_tells_whom_she_means(ana: Teller) -> None:
    await hears(ana, "My sister Eva works at Nokia.", "My husband Tom works at Bosch.")
    [spouse] = await ana.facts(predicate="married_to")
    assert spouse["metadata"]["relation"] == "husband"
    answer = await ana.asks("Where does she work?")
    assert [one.name for one in answer.references] == ["Eva"]
    assert answer.hits[0].text == "Eva works at Nokia"


async def test_a_new_job_takes_the_place_of_the_one_that_was_left(ana: Teller) -> None:
    await hears(
        ana, "My friend Dana works at Acme.", "My sister Eva is fun.", "Dana has left Acme, she's at Globex now."
    )
    assert "Dana works_at Globex" in await told(ana)
    assert "Dana works_at Acme" not in await told(ana)
    await hears(ana, "Dana left Eva, she works at Umbra now.", occurred_at=day("2026-04-01"))
    assert "Dana works_at Globex" in await told(ana)


async def test_an_engagement_that_is_heard_of_later_ended_with_the_marriage(ana: Teller) -> None:
    await hears(ana, "Tom and I got married on 2 May.", occurred_at=day("2026-05-04"))
    await hears(ana, "Tom and I got engaged!", occurred_at=day("2026-01-04"))
    [former] = await ana.facts(valid_at="any", predicate="engaged_to")
    assert (former["valid_from"], former["valid_to"]) == (day("2026-01-04"), day("2026-05-02"))


async def test_a_marriage_to_somebody_else_leaves_an_engagement_that_was_recorded(ana: Teller) -> None:
    await ana.tells("me", "engaged_to", "Tom", told_at=day("2026-02-01"))
    await hears(ana, "My sister Mia is here.", "Mia got married to Ben.")
    assert {"ana engaged_to Tom", "Mia married_to Ben"} <= await told(ana)


async def test_a_plan_ends_when_it_is_done(ana: Teller) -> None:
    await hears(ana, "I'm moving to Oslo!", "I accepted an offer from Globex.")
    assert {"ana plans to move to Oslo", "ana plans to work at Globex"} <= await told(ana)
    await hears(ana, "I moved to Oslo.", "I started at Globex.", occurred_at=day("2026-05-04"))
    assert await told(ana) == {"ana lives_in Oslo", "ana works_at Globex"}


async def test_a_diet_ends_with_what_it_does_not_allow(ana: Teller) -> None:
    await hears(ana, "I'm gluten-free.", "I eat fish again.")
    assert await told(ana) == {"ana diet_plan gluten-free"}
    await hears(ana, "I'm vegetarian.", "I eat fish again.", occurred_at=day("2026-04-01"))
    assert await told(ana) == set()


async def test_a_trip_is_over_once_its_date_has_passed(ana: Teller) -> None:
    await hears(ana, "Our next trip is to Rome in June.")
    assert await told(ana, valid_at=day("2026-06-15")) == {"ana next_trip Rome", "ana rome_trip_date 2026-06"}
    assert await told(ana, valid_at=day("2026-07-01")) == set()
    await hears(ana, "Our next trip is to Oslo.", "We're back from Oslo.", occurred_at=day("2026-08-01"))
    assert await told(ana, valid_at=day("2026-08-02")) == set()


async def test_a_trip_goes_to_one_place_and_not_to_another(ana: Teller) -> None:
    await hears(
        ana, "I'm planning a trip to Rome.", "I'm planning a trip to Oslo.", "The trip goes to Crete (not Rome)."
    )
    assert await told(ana) == {"ana trip_to Oslo", "ana trip_to Crete"}
    await hears(ana, "The trip goes to Malta, not Bonn.", occurred_at=day("2026-04-01"))
    assert await told(ana) == {"ana trip_to Oslo", "ana trip_to Crete"}


async def test_each_of_several_trips_has_its_own_date(ana: Teller) -> None:
    await hears(
        ana,
        "We're flying to Lisbon on 14 May.",
        "And we're going to Crete from 3 to 17 August!",
        "I'm planning a trip to Japan.",
        "Lisbon is postponed to 28 May.",
        "Porto is moved to 30 May.",
    )
    assert await told(ana, valid_at=day("2026-03-06")) == {
        "ana lisbon_trip_date 2026-05-28",
        "ana crete_trip_date 2026-08-03",
        "ana trip_to Japan",
    }
    await hears(ana, "We had to cancel Crete.", "I'm not going to Japan after all.", occurred_at=day("2026-04-01"))
    assert await told(ana, valid_at=day("2026-04-02")) == {"ana lisbon_trip_date 2026-05-28"}
    assert await told(ana, valid_at=day("2026-05-31")) == set()


async def test_the_trip_is_the_only_one_that_is_planned(ana: Teller) -> None:
    await hears(ana, "We're flying to Lisbon on 14 May.", "The trip is off.")
    assert await told(ana, valid_at=day("2026-03-03")) == set()
    await hears(ana, "We fly to Oslo on 8 May.", "I'm planning a trip to Rome.", occurred_at=day("2026-04-01"))
    await hears(ana, "The trip is off.", occurred_at=day("2026-04-02"))
    assert await told(ana, valid_at=day("2026-04-03")) == {"ana oslo_trip_date 2026-05-08", "ana trip_to Rome"}


async def test_one_more_trip_is_told_after_another(ana: Teller) -> None:
    await hears(
        ana, "We fly to Dublin on 8 May.", "and to the Azores on 27 May", "The flight to Dublin is moved to 9 May."
    )
    trips = {"ana dublin_trip_date 2026-05-09", "ana azores_trip_date 2026-05-27", "ana flight_date 2026-05-09"}
    assert await told(ana, valid_at=day("2026-03-04")) == trips
    await hears(ana, "The Azores trip is cancelled", occurred_at=day("2026-04-01"))
    assert await told(ana, valid_at=day("2026-04-02")) == trips - {"ana azores_trip_date 2026-05-27"}


async def test_when_somebody_went_is_known_when_they_are_back(ana: Teller) -> None:
    await hears(ana, "I'm flying to Tokyo on 11 April.", "Tokyo is moved to 18 April.", "I'm planning a trip to Rome.")
    await ana.engine.settled(60)
    when = f"{ana.user}'s tokyo trip date was 2026-04-18"
    assert when in [hit.text for hit in (await ana.asks("When did I go to Tokyo?")).hits]
    assert f"{ana.user} plans a trip to Rome" in [hit.text for hit in (await ana.asks("Where will I travel?")).hits]


async def test_a_changed_flight_moves_the_only_trip(ana: Teller) -> None:
    await hears(ana, "My exam is on 4 May.", "The airline changed our flights, we go on 2 June now.")
    assert await told(ana, valid_at=day("2026-03-03")) == {"ana exam_date 2026-05-04"}
    kaunas = ("We're flying to Kaunas on the 26th.", "We had to change the flight, we go on 2 April now.")
    await hears(ana, *kaunas, occurred_at=day("2026-03-05"))
    assert "ana kaunas_trip_date 2026-04-02" in await told(ana, valid_at=day("2026-03-28"))


async def test_what_is_moved_to_a_day_stays_near_its_month(ana: Teller) -> None:
    await hears(ana, "My stats exam is on 29 May.", "The exam got moved to the 2nd.")
    assert await told(ana, valid_at=day("2026-03-03")) == {"ana stats_exam_date 2026-06-02"}
    await hears(ana, "They moved the exam to the 28th.", occurred_at=day("2026-04-01"))
    assert await told(ana, valid_at=day("2026-04-02")) == {"ana stats_exam_date 2026-05-28"}
    await hears(ana, "My dentist appointment is on 20 June.", occurred_at=day("2026-04-03"))
    await hears(ana, "The dentist moved my appointment to the 27th.", occurred_at=day("2026-04-04"))
    assert "ana dentist_appointment_date 2026-06-27" in await told(ana, valid_at=day("2026-04-05"))


async def test_a_trip_stays_near_its_month_and_goes_with_its_flight(ana: Teller) -> None:
    await hears(ana, "Our next trip is to Rome on 30 June.", "Rome was moved to the 28th.")
    assert await told(ana, valid_at=day("2026-06-27")) == {"ana next_trip Rome", "ana rome_trip_date 2026-06-28"}
    await hears(ana, "My flight was moved to the 29th.", occurred_at=day("2026-04-01"))
    assert "ana rome_trip_date 2026-06-29" in await told(ana, valid_at=day("2026-04-02"))


async def test_who_arrives_where_they_planned_to_move_lives_there(ana: Teller) -> None:
    await hears(ana, "We arrived in Rome!", "I'm moving to Cork.")
    assert await told(ana, valid_at=day("2026-03-03")) == {"ana plans to move to Cork"}
    await hears(ana, "We arrived in Cork!", occurred_at=day("2026-04-01"))
    assert await told(ana, valid_at=day("2026-04-02")) == {"ana lives_in Cork"}


async def test_a_pet_that_is_given_away_and_a_job_left_are_over(ana: Teller) -> None:
    await hears(ana, "My cat is called Miso.", "I work at Acme.", "I gave Miso to my sister.")
    await hears(ana, "Handed in my two weeks' notice.", occurred_at=day("2026-03-04"))
    assert await told(ana, valid_at=day("2026-03-02")) == {"ana cat Miso", "ana works_at Acme"}
    assert await told(ana, valid_at=day("2026-03-17")) == {"ana works_at Acme"}
    assert await told(ana, valid_at=day("2026-03-18")) == set()


async def test_a_job_that_ends_on_a_day_to_come_is_told_in_the_present(ana: Teller) -> None:
    today = datetime.now(UTC)
    start = f"{today + timedelta(days=20):%-d %B %Y}"
    await hears(ana, "I work at Acme.", occurred_at=today - timedelta(days=60))
    await hears(ana, f"I start at Bolt on {start}.", occurred_at=today - timedelta(days=9))
    texts = [hit.text for hit in (await ana.asks("Where do I work?", kinds=["relation"])).hits]
    assert texts == [f"{ana.user} works at Acme"]


async def test_what_is_moved_may_be_known_by_a_longer_name(ana: Teller) -> None:
    await hears(ana, "My stats exam is on 20 March.", "They moved the exam to 27 March.", "My exam is on 29 March.")
    exams = {"ana stats_exam_date 2026-03-27", "ana exam_date 2026-03-29"}
    assert await told(ana, valid_at=day("2026-03-04")) == exams
    await hears(ana, "My law exam is on 30 March.", "The exam was moved to 31 March.", occurred_at=day("2026-03-05"))
    assert "ana exam_date 2026-03-31" in await told(ana, valid_at=day("2026-03-06"))


async def test_the_next_trip_is_the_next_one_until_its_new_date(ana: Teller) -> None:
    await hears(ana, "Our next trip is to Rome on 2 May.", "Rome is postponed to 19 May.", "We fly to Oslo on 20 June.")
    rome = {"ana next_trip Rome", "ana rome_trip_date 2026-05-19"}
    assert await told(ana, valid_at=day("2026-05-10")) == rome | {"ana oslo_trip_date 2026-06-20"}
    await hears(ana, "Our next trip is to Bonn on 1 May.", occurred_at=day("2026-04-01"))
    assert "ana rome_trip_date 2026-05-19" in await told(ana, valid_at=day("2026-04-02"))
    await hears(ana, "Change of plans, the next trip goes to Malta.", occurred_at=day("2026-04-03"))
    assert await told(ana, valid_at=day("2026-04-04")) == {
        "ana next_trip Malta",
        "ana rome_trip_date 2026-05-19",
        "ana oslo_trip_date 2026-06-20",
    }


async def test_what_is_planned_for_a_day_is_over_with_it(ana: Teller) -> None:
    """And what is said again of it afterwards, such as when it was, stays."""
    await hears(ana, "My exam is on 20 March 2026.", "The wedding is on 3 June.")
    assert "ana exam_date 2026-03-20" in await told(ana, valid_at=day("2026-03-20"))
    assert await told(ana, valid_at=day("2026-03-22")) == {"ana wedding_date 2026-06-03"}
    await hears(ana, "We postponed the exam to 27 March.")
    assert "ana exam_date 2026-03-27" in await told(ana, valid_at=day("2026-03-22"))
    assert await told(ana, valid_at=day("2026-03-29")) == {"ana wedding_date 2026-06-03"}


async def test_a_neighbour_who_moves_in_is_no_neighbour_any_more(ana: Teller) -> None:
    await hears(ana, "My neighbour is called Tadhg.", "My neighbour is called Nora.", "Tadhg moved in with me.")
    assert await told(ana) == {"ana neighbour Nora", "Tadhg lives_with ana"}


async def test_who_lives_with_the_user_does_so_until_they_move_out(ana: Teller) -> None:
    await hears(ana, "My son Sam is here.", "Sam's mum Irene lives with us.")
    assert await told(ana) == {"ana son Sam", "Sam mother Irene", "Irene lives_with ana"}
    await hears(ana, "Irene moved out yesterday.", occurred_at=day("2026-05-04"))
    assert await told(ana) == {"ana son Sam", "Sam mother Irene"}


async def test_a_correction_of_a_home_leaves_what_is_tied_to_it(ana: Teller) -> None:
    await hears(ana, "I live in Linz.", "My neighbour is Rui.", "No, I meant I live in Graz.")
    assert await told(ana) == {"ana lives_in Graz", "ana neighbour Rui"}


async def test_what_somebody_recorded_does_not_end_with_a_job(ana: Teller) -> None:
    await hears(ana, "I work at Acme.")
    await ana.tells("me", "manager", "Priya", told_at=day("2026-02-01"))
    await hears(ana, "I left Acme.")
    assert await told(ana) == {"ana manager Priya"}


async def test_a_relation_that_two_have_is_nobodys(ana: Teller) -> None:
    await hears(ana, "My brother Jonas lives in Graz.", "My brother Max lives in Linz.", "My brother moved to Wels.")
    assert {line for line in await told(ana) if "lives_in" in line} == {"Jonas lives_in Graz", "Max lives_in Linz"}


async def test_a_death_ends_what_held_of_a_pet(ana: Teller) -> None:
    await hears(ana, "I have a dog called Bruno.", "Sad news, we had to put Bruno down yesterday.")
    assert await told(ana) == {"Bruno died 2026-03-01"}
    assert "Bruno died on 2026-03-01" in [hit.text for hit in (await ana.asks("Is Bruno still alive?")).hits]
    await assert_live_equals_replayed(ana.engine, ana.stream)


async def test_a_death_leaves_kinship(ana: Teller) -> None:
    await hears(ana, "My grandmother Rosa lives in Graz.", "My grandmother passed away.")
    assert await told(ana) == {"ana grandmother Rosa", "Rosa died by 2026-03-02"}
    assert "Rosa lives_in Graz" in await told(ana, valid_at=day("2026-03-01"))


async def test_a_job_of_somebody_else_ends(ana: Teller) -> None:
    await hears(ana, "My sister Clara works at Siemens.", "My sister quit her job at Siemens.")
    assert await told(ana) == {"ana sister Clara"}


async def test_a_street_and_a_boss_end_with_a_move_and_a_job_that_are_new(ana: Teller) -> None:
    await hears(ana, "I rent an apartment on the Coupure.", "My new address is 12 Mill Road, Cork.")
    await hears(ana, "My boss is Dana.", "I started at Acme.", occurred_at=day("2026-03-10"))
    assert await told(ana) == {"ana lives_in Cork", "ana address 12 Mill Road", "ana works_at Acme"}


async def test_the_employer_ends_with_the_job_that_was_told_with_it(ana: Teller) -> None:
    await hears(ana, "I work as a barista at Costa.", "I quit the barista job.")
    assert await told(ana) == set()


async def test_relationships_and_plans_end(ana: Teller) -> None:
    await hears(ana, "I'm dating Tom.", "Tom and I broke up.")
    await hears(ana, "I'm married to Alex.", "My husband and I split up.", occurred_at=day("2026-03-10"))
    await hears(ana, "The wedding is on 3 June.", "The wedding is called off.", occurred_at=day("2026-03-20"))
    assert await told(ana) == set()


async def test_somebody_else_is_the_manager_now(ana: Teller) -> None:
    await hears(ana, "My manager is Mia.", "Mia is not my manager any more, it's Paul now.")
    assert await told(ana) == {"ana manager Paul"}
    assert "ana manager Mia" in await told(ana, valid_at=day("2026-03-01"))


async def test_another_birthday_means_that_the_former_was_wrong_from_the_start(ana: Teller) -> None:
    await hears(ana, "My birthday is on 3 May.", "My birthday is on May 5th.")
    assert await told(ana) == await told(ana, valid_at=day("2026-03-01")) == {"ana birthday 5 May"}
    await hears(ana, "My birthday is on 5 May 1990.", "My birthday is on 5 May.", occurred_at=day("2026-03-10"))
    assert await told(ana) == {"ana birthday 5 May 1990"}


async def test_a_correction_outweighs_what_was_recorded_before(ana: Teller) -> None:
    await ana.tells("me", "birthday", "3 May", told_at=day("2026-02-01"))
    await hears(ana, "My birthday is 4 May.", "Sorry, I meant my birthday is 5 May.")
    assert await told(ana) == {"ana birthday 5 May"}


async def test_an_end_before_a_fact_was_heard_of_ends_it(ana: Teller) -> None:
    await hears(ana, "I work at Acme.", "I left Acme last year.")
    assert await told(ana) == set()


async def test_a_wedding_is_dated_by_its_message(ana: Teller) -> None:
    await hears(ana, "I got married to Sam in August.")
    assert await told(ana) == {"ana married_to Sam", "ana wedding_date 2025-08"}
    [tie] = await ana.facts(predicate="married_to")
    assert tie["valid_from"] == day("2025-08-01")


async def test_a_death_ends_no_critical_fact_that_somebody_recorded(ana: Teller) -> None:
    await ana.tells("Rosa", "allergy", "nuts", told_at=day("2026-02-01"))
    await ana.tells("Rosa", "lives_in", "Graz", told_at=day("2026-02-01"))
    await hears(ana, "Rosa died.")
    assert await told(ana) == {"Rosa allergy nuts", "Rosa died by 2026-03-01"}


async def test_a_context_marks_what_a_message_says_that_no_longer_holds(ana: Teller) -> None:
    await hears(
        ana,
        "I'm vegetarian now",
        "I live in Leeds and work at St. Mary's",
        "I quit St. Mary's!",
        "I ate fish, so I guess I'm pescatarian",
    )

    found = await ana.engine.reads.context(
        ana.viewer, validated(ContextRequest, {"query": "What should I cook?"}), await ana.caught_up()
    )

    lines = [line.removeprefix("- ") for line in found.text.splitlines() if "(2026-03-0" in line]
    assert lines[-1] == "I'm vegetarian now (2026-03-01; former)"
    assert f"I live in Leeds and work at St. Mary's (2026-03-02; former: {ana.user} worked at St. Mary's)" in lines
    assert {"I quit St. Mary's! (2026-03-03)", "I ate fish, so I guess I'm pescatarian (2026-03-04)"} <= {*lines}


@pytest.mark.spec_part("A15")
async def test_a_search_marks_a_message_whose_facts_are_over_and_shows_it_later(ana: Teller) -> None:
    await hears(ana, "I'm allergic to penicillin.", "Actually the allergy is to amoxicillin, not penicillin.")

    hits = (await ana.asks("Am I allergic to penicillin?")).hits
    assert "amoxicillin" in hits[0].text
    assert {hit.text.rpartition(": ")[2]: hit.current for hit in hits}["I'm allergic to penicillin."] is False


async def test_a_corrected_allergy_leaves_the_right_one_in_every_context(ana: Teller) -> None:
    await hears(ana, "I'm allergic to peanuts.", "I'm not allergic to peanuts after all, it's tree nuts.")
    await hears(
        ana, "I'm allergic to milk.", "The allergy turned out to be an intolerance.", occurred_at=day("2026-03-10")
    )
    assert await told(ana) == {"ana allergy tree nuts", "ana intolerance milk"}
    assert all(row["critical"] for row in await ana.facts())
    await ana.tells("me", "allergy", "bees", told_at=day("2026-02-01"))
    await hears(ana, "I'm no longer allergic to bees.")
    assert "ana allergy bees" in await told(ana)


async def test_who_left_at_five_still_works_there(ana: Teller) -> None:
    await hears(ana, "My father Karl works at Siemens.", "My dad left Siemens at 5pm.")
    assert "Karl works_at Siemens" in await told(ana)


async def test_who_said_their_name_is_asked_about_by_it(ana: Teller) -> None:
    await hears(ana, "Hi! I'm Zelda, 34, and I live in Turin.", "Zelda's is a bar in Milan where Eva works.")

    assert await best(ana, "Where does Zelda live?") == (f"{ana.user} lives in Turin", True)
    [me] = await ana.entities(ana.user)
    assert (me["name"], list(me["aliases"])) == (ana.user, ["Zelda"])


async def test_a_name_of_the_user_that_somebody_else_has_stays_theirs(ana: Teller) -> None:
    await hears(ana, "My sister Nora lives in Graz.", "My name is Nora, too. I live in Linz.")

    assert "Graz" in (await best(ana, "Where does Nora live?"))[0]
    assert not [row for row in await ana.entities(ana.user) if row["aliases"]]


async def test_whether_the_user_is_married_is_told_by_the_separation(ana: Teller) -> None:
    await hears(ana, "My partner is Sam.", "We're married!", "Sam and I have separated.")
    await hears(ana, "I'm seeing someone. His name is Leo.", occurred_at=day("2026-05-01"))

    assert await best(ana, "Am I married?") == ("Sam and I have separated.", True)


async def test_whether_there_still_is_a_dog_is_told_by_its_death(ana: Teller) -> None:
    await hears(ana, "We got a whippet. His name is Otto.", "Otto died on Friday.", "I got a kitten, she's called Mau.")

    assert await best(ana, "Do I have a dog?") == ("Otto died on Friday.", True)


async def test_what_is_saved_each_month_is_no_rent(ana: Teller) -> None:
    await hears(ana, "Our rent is 700 euros and they want to raise it.", "We're saving 150 a month for a trip.")

    text, current = await best(ana, "How much rent do I pay?")
    assert ("700" in text, current) == (True, True)


async def test_a_wedding_date_does_not_outlast_the_marriage(ana: Teller) -> None:
    await hears(ana, "I'm married to Sam.", "The wedding was lovely.", "Our wedding is on 3 April.")
    await hears(ana, "Sam and I have separated.", occurred_at=day("2026-05-01"))

    assert await told(ana) == set()


async def test_what_the_last_turns_of_a_prompt_say_and_no_longer_holds_is_named_behind_it(ana: Teller) -> None:
    await hears(ana, "I live in Graz, near the park.", occurred_at=now() - timedelta(days=2))
    await hears(ana, "I moved to Linz.", occurred_at=now() - timedelta(days=1))
    request = PromptRequest.model_validate({"message": "Where do I live?"})

    found = await ana.engine.reads.prompt(ana.viewer, request, now(), await ana.caught_up(), "asked", Random(1))

    turns = found.prompt.user.partition("The conversation:\n")[2].partition("\n\n")[0].splitlines()
    assert turns == [
        f"- user: I live in Graz, near the park. (former: {ana.user} lived in Graz)",
        "- user: I moved to Linz.",
    ]


async def test_a_home_to_which_somebody_returned_is_no_former_one(ana: Teller) -> None:
    for days, said in (3, "I live in Graz."), (2, "I moved to Linz."), (1, "I moved back to Graz."):
        await hears(ana, said, occurred_at=now() - timedelta(days=days))
    request = PromptRequest.model_validate({"message": "Where do I live?"})

    found = await ana.engine.reads.prompt(ana.viewer, request, now(), await ana.caught_up(), "asked", Random(1))

    assert f"Linz. (former: {ana.user} lived in Linz)" in found.prompt.user
    assert "lived in Graz" not in found.prompt.user


async def test_a_turn_that_mentions_two_former_homes_is_marked_with_the_one_left_within_a_year(ana: Teller) -> None:
    for days, said in (900, "I live in Graz."), (800, "I moved to Linz."), (100, "I moved to Bonn."):
        await hears(ana, said, occurred_at=now() - timedelta(days=days))
    await hears(ana, "Graz and Linz are lovely.", occurred_at=now() - timedelta(hours=1))
    request = PromptRequest.model_validate({"message": "Where do I live?"})

    found = await ana.engine.reads.prompt(ana.viewer, request, now(), await ana.caught_up(), "asked", Random(1))

    assert f"- user: Graz and Linz are lovely. (former: {ana.user} lived in Linz)\n" in found.prompt.user


def test_each_line_of_a_summary_has_what_it_says_and_no_longer_holds_behind_it() -> None:
    ended = [{"subject": "Lars", "predicate": "works_at", "object": "Equinor", "value": None}]

    marked = with_former("- Lars works for Equinor.\n- The equinox was on 20 March.", ended)

    assert marked == "- Lars works for Equinor. (former: Lars worked at Equinor)\n- The equinox was on 20 March."
