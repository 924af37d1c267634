"""One ranked answer over all that is known of a life that changes: the right answer is first, and current."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.domain.text import count_tokens
from mnemolog.projections.context import AgentContext
from mnemolog.projections.query import Answer
from mnemolog.projections.requests import ContextRequest
from mnemolog.projections.retrieval import Hit
from tests.engine.teller import Teller
from tests.testkit.settings import settings_in


@pytest.fixture(scope="module")
async def model(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """An engine with the shipped embedding model."""
    async with open_engine(settings_in(tmp_path_factory.mktemp("data"), embedder="minilm")) as engine:
        yield engine


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


SAID = (
    ("2025-01-05", "Hi! I live in Berlin, near the canal."),
    ("2025-01-09", "I work as a nurse at the Charité."),
    ("2025-02-02", "My best friend is Lena, we met at school."),
    ("2025-02-11", "My dentist is Dr. Hahn."),
    ("2025-03-01", "I adopted a cat, she is called Miso."),
    ("2025-03-20", "We visited Rome, the food was wonderful."),
    ("2025-05-02", "I am a vegetarian and cook a lot of lentils."),
    ("2025-06-17", "The wedding of my sister is on 12 September."),
    ("2025-07-04", "I run along the river every Tuesday."),
    ("2025-09-30", "Big news: we moved to Leipzig last weekend!"),
    ("2025-10-02", "The new flat has a balcony full of tomatoes."),
    ("2025-10-12", "I started working at a school clinic, it is calmer than the hospital."),
    ("2025-11-08", "I eat fish again, so I am a pescatarian now."),
    ("2025-12-01", "My dentist is now Dr. Okafor."),
    ("2026-01-10", "The wedding of my sister got postponed to 3 October."),
    ("2026-01-15", "Miso broke a vase."),
)


async def life(engine: Engine, user: str) -> Teller:
    """Turns, memories and facts of a year, in which a home, a job, a diet and other things change."""
    ana = Teller(engine, user)
    for date, text in SAID:
        await ana.says(text, occurred_at=day(date))
    await ana.tells("me", "married_to", "Jonas", since=day("2024-05-01"))
    await ana.tells("me", "manager", "Priya", since=day("2025-10-12"))
    await ana.tells("Priya", "office_city", "Halle", since=day("2025-10-12"))
    await ana.tells("me", "allergy", "peanuts")
    await ana.tells("me", "drives", "a red Skoda")
    await ana.tells("Lena", "lives_in", "Hamburg", since=day("2025-01-01"))
    await ana.tells("Lena", "lives_in", "Oslo", since=day("2025-12-01"))
    await ana.creates("Ana plays the violin", category="interests")
    await ana.creates("Ana's favourite tea is oolong", category="preferences")
    await ana.creates("Ana's favourite tea is rooibos", category="preferences")
    todo = {"user_id": user, "agent_id": ana.agent, "tenant": ana.tenant, "text": "renew the passport"}
    await engine.writes.open_todo(todo)
    await engine.settled(60)
    return ana


ANSWERS = (
    ("Where do I live?", "Leipzig"),
    ("Where do I work now?", "school clinic"),
    ("Am I a vegetarian?", "pescatarian"),
    ("Who is my dentist?", "Okafor"),
    ("When is the wedding of my sister?", "3 October"),
    ("Who is my best friend?", "Lena"),
    ("Where does Lena live?", "Oslo"),
    ("What is my cat called?", "Miso"),
    ("Who am I married to?", "Jonas"),
    ("Which city is the office of my manager in?", "Halle"),
    ("What am I allergic to?", "peanuts"),
    ("What car do I drive?", "Skoda"),
    ("What is Ana's favourite tea?", "rooibos"),
    ("Which instrument does Ana play?", "violin"),
    ("What do I have to renew?", "passport"),
)


async def test_what_is_said_of_one_person_says_nothing_of_another(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.says("I live in Linz.", speaker="", occurred_at=day("2025-01-05"))
    await ana.says("Eva said: I live in Graz.", speaker="", occurred_at=day("2025-02-05"))
    await ana.tells("Jonas", "lives_in", "Vienna", since=day("2025-03-01"))
    await engine.settled(60)

    async def first(question: str) -> Hit:
        hits = (await ana.asks(question)).hits
        assert all(hit.current for hit in hits), hits
        return hits[0]

    assert "Vienna" in (await first("Where does Jonas live now?")).text
    assert "Linz" in (await first("Where do I live?")).text
    assert "Graz" in (await first("Where does Eva live?")).text


@pytest.mark.spec_part("E07")
async def test_what_was_noted_twice_is_told_once(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    for text in ("Ana drinks oat milk", "ana drinks oat milk.", "Ana drinks tea with milk"):
        await ana.creates(text)
    question = "Which milk does Ana drink?"

    answer = await ana.asks(question)
    context = await engine.reads.context(ana.viewer, ContextRequest(query=question), await ana.caught_up())

    found = sorted(hit.text.lower().strip(".") for hit in answer.hits)
    assert found == ["ana drinks oat milk", "ana drinks tea with milk"]
    assert context.text.lower().count("oat milk") == 1
    assert len(context.rows) == 2


async def test_what_is_told_as_a_fact_is_found_by_its_value(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Tom", "hobby", "chess")
    await ana.tells("me", "pet", "Rex")
    await engine.settled(60)

    assert [hit.text for hit in (await ana.asks("Who plays chess?")).hits] == ["Tom's hobby is chess"]
    who = await ana.asks("Who is Rex?")
    assert ([hit.text for hit in who.hits], who.unknown) == ([f"{user}'s pet is Rex"], [])


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("Где живёт Наташа?", ["Наташа lives in Казань"]),
        ("李雷住在哪里?", ["李雷 lives in 北京"]),
        ("Что ты знаешь о Наташе?", ["Наташа lives in Казань"]),
        ("Где живёт Игорь?", []),
        ("Co wiesz o Marcie?", ["Marta works at Apollo"]),
        ("Wo arbeitet Marta?", ["Marta works at Apollo"]),
        ("¿Dónde trabaja Marta?", ["Marta works at Apollo"]),
        ("When was Marta born?", []),
    ],
)
async def test_who_is_named_in_another_language_is_not_said_to_be_unknown(
    engine: Engine, user: str, text: str, about: list[str]
) -> None:
    ana = Teller(engine, user)
    await ana.tells("Наташа", "lives_in", "Казань")
    await ana.tells("李雷", "lives_in", "北京")
    await ana.tells("Marta", "works_at", "Apollo")
    await engine.settled(60)

    found = await ana.asks(text)

    assert [hit.text for hit in found.hits] == about
    assert bool(found.nothing) is not bool(about)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("Вчера я видела Олега в кафе.", "Что ты знаешь о Марте?"),
        ("Gestern habe ich Oleg im Café gesehen.", "Wo arbeitet Marta?"),
        ("Ayer vi a Oleg en el café.", "¿Dónde trabaja Marta?"),
    ],
)
async def test_in_another_language_who_is_named_comes_before_what_is_said_of_others(
    model: Engine, user: str, said: str, question: str
) -> None:
    ana = Teller(model, user)
    await ana.tells("Марта" if "Марте" in question else "Marta", "works_at", "Apollo")
    await ana.says(said)

    assert [hit.kind for hit in (await ana.asks(question)).hits] == ["entity", "message"]


@pytest.mark.parametrize("text", ["Co robi Piotrek?", "Ayşe'nin evi nerede?", "Kdo je Petřova žena?"])
async def test_where_cases_are_not_known_nobody_is_said_to_be_unknown(engine: Engine, user: str, text: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Marta", "works_at", "Apollo")

    assert (await ana.asks(text)).unknown == []


async def test_who_is_called_by_another_name_is_found_by_it(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    bob = await ana.knows_of("Robert Kowalski")
    await ana.tells("Robert Kowalski", "lives_in", "Berlin")
    await ana.calls(bob, "Bobby")
    await engine.settled(60)

    for question in ("Where does Bobby live?", "where does bobby live?"):
        found = await ana.asks(question)
        assert ([hit.text for hit in found.hits], found.unknown) == (["Robert Kowalski lives in Berlin"], [])
    found = await ana.asks("When is Bobby's birthday?")
    assert ([hit.text for hit in found.hits], found.unknown) == ([], ["Bobby's birthday"])


async def test_mum_is_the_mother_of_the_user(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "mother", "Sheila")
    await ana.tells("Sheila", "lives_in", "Goole")
    await ana.says("Mum moaned about the telly")
    await engine.settled(60)

    found = await ana.asks("Where does Mum live?")

    assert (found.hits[0].text, found.unknown) == ("Sheila lives in Goole", [])


async def test_what_is_told_by_name_is_told_of_the_brother_with_that_name(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "brother", "Tom")
    await ana.says("my brother tom is in Leeds", speaker="", occurred_at=datetime(2026, 3, 1, tzinfo=UTC))
    await ana.says("tom says they're moving to York", speaker="", occurred_at=datetime(2026, 3, 2, tzinfo=UTC))
    await engine.settled(60)

    found = await ana.asks("Where does my brother live?")

    assert found.hits[0].text == "tom says they're moving to York"


async def test_a_move_that_is_to_come_does_not_tell_the_present_home(engine: Engine, user: str) -> None:
    ana, here, there = (
        Teller(engine, user),
        "we've been in this flat on Queens Road 6 years",
        "moving to Goole 12 december",
    )
    await ana.says(here, speaker="", occurred_at=datetime(2026, 10, 19, tzinfo=UTC))
    await ana.says(there, speaker="", occurred_at=datetime(2026, 11, 2, tzinfo=UTC))
    await engine.settled(60)

    before = await ana.asks("Where do I live?", asked_at=datetime(2026, 11, 25, tzinfo=UTC))
    after = await ana.asks("Where do I live?", asked_at=datetime(2026, 12, 25, tzinfo=UTC))

    assert (before.hits[0].text, after.hits[0].text) == (here, there)


async def test_a_name_that_means_mine_in_italian_is_a_name(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "allergy", "nuts")
    await ana.tells("Mia", "allergy", "eggs")
    await engine.settled(60)

    hits = (await ana.asks("What is Mia allergic to?")).hits

    assert [hit.text for hit in hits] == ["Mia is allergic to eggs", f"{user} is allergic to nuts"]
    assert hits[1].score <= 0.5 * hits[0].score


@pytest.mark.parametrize(
    "question",
    [
        "Who am I?",
        "What do you know about me?",
        "Tell me everything you know about me",
        "Do you remember anything else about me?",
    ],
)
async def test_who_asks_what_is_known_of_them_is_told_facts(engine: Engine, user: str, question: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "lives_in", "Bonn")
    await ana.tells("Bob", "lives_in", "Rome")
    await engine.settled(60)

    assert [hit.text for hit in (await ana.asks(question)).hits] == [f"{user} lives in Bonn"]
    told = await engine.reads.context(ana.viewer, ContextRequest(query=question), await ana.caught_up())
    assert f"- {user} lives in Bonn" in told.text
    assert (told.nothing, "Rome" in told.text) == ("", False)


@pytest.mark.parametrize("question", ["What are my todos?", "What do I still have to do?", "what's on my to-do list"])
async def test_who_asks_for_todos_is_told_all(engine: Engine, user: str, question: str) -> None:
    ana = Teller(engine, user)
    for text in ("renew the passport", "water the plants"):
        todo = {"user_id": user, "agent_id": ana.agent, "tenant": ana.tenant, "text": text}
        await engine.writes.open_todo(todo)
    await engine.settled(60)

    found = await ana.asks(question)

    assert {hit.text for hit in found.hits} == {"renew the passport", "water the plants"}
    assert found.unknown == []


async def test_a_name_that_was_only_told_with_a_possessive_is_known(engine: Engine, user: str) -> None:
    teller = Teller(engine, user)
    await teller.says("Simone's had the baby, a girl, in the same hospital as Marta's.")

    for question in ("Which hospital is Simone in?", "Which hospital is Marta in?"):
        assert (await teller.asks(question)).unknown == []
    assert (await teller.asks("Which hospital is Patrick in?")).unknown == ["Patrick"]


async def test_an_unknown_name_is_unknown_without_a_capital_too(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Ana Silva", "lives_in", "Lisbon")
    await engine.settled(60)

    found = await ana.asks("where does zoltan live?")

    assert ([hit.text for hit in found.hits], found.unknown) == ([], ["zoltan's home"])
    assert [hit.text for hit in (await ana.asks("where does ana live?")).hits] == ["Ana Silva lives in Lisbon"]


async def test_what_others_do_answers_no_question_about_the_user(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Tom", "likes", "hiking")
    await ana.tells("Tom", "allergy", "peanuts")
    await ana.tells("me", "lives_in", "Bonn")
    await ana.says("I went hiking in the Alps in June", speaker="", occurred_at=day("2026-06-20"))
    await engine.settled(60)

    hits = (await ana.asks("Where did I go hiking?")).hits
    assert [hit.text for hit in hits] == ["I went hiking in the Alps in June", "Tom likes hiking"]
    assert (await ana.asks("Can we serve peanuts?")).hits[0].text == "Tom is allergic to peanuts"


async def test_of_two_who_are_asked_about_one_may_be_unknown(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Ana Silva", "lives_in", "Lisbon")
    await ana.tells("Bob Jones", "lives_in", "Berlin")
    await engine.settled(60)

    question = "Where do Ana and Zoltan live?"
    found = await ana.asks(question)
    context = await engine.reads.context(ana.viewer, ContextRequest(query=question))

    assert found.hits[0].text == "Ana Silva lives in Lisbon"
    assert found.unknown == ["Zoltan"]
    assert "Not known: Zoltan." in context.text


async def test_what_others_do_at_the_same_place_is_below_what_the_question_is_about(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "lives_in", "Berlin", since=day("2025-01-01"))
    await ana.tells("Bob", "lives_in", "Berlin", since=day("2026-01-01"))
    await engine.settled(60)

    hits = (await ana.asks("Since when do I live in Berlin?")).hits

    assert [hit.text for hit in hits] == [f"{user} lives in Berlin", "Bob lives in Berlin"]
    assert hits[1].score <= 0.5 * hits[0].score


async def test_a_fact_of_the_user_supersedes_what_the_user_said_before(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.says("I live in Linz.", speaker="", occurred_at=day("2025-01-05"))
    await ana.says("Eva said: I live in Graz.", speaker="", occurred_at=day("2025-02-05"))
    await ana.tells("me", "lives_in", "Vienna", since=day("2025-03-01"))
    await engine.settled(60)

    hits = (await ana.asks("Where do I live?")).hits

    assert "Vienna" in hits[0].text
    assert {hit.text: hit.current for hit in hits if hit.kind == "message"} == {
        "I live in Linz.": False,
        "Eva said: I live in Graz.": True,
    }


@pytest.mark.spec_part("B06")
async def test_the_right_answer_is_first_and_current_however_it_was_told(model: Engine) -> None:
    ana = await life(model, "life")
    wrong = []
    for question, want in ANSWERS:
        found = (await ana.asks(question, top_k=5)).hits
        if not found or want not in found[0].text or not found[0].current:
            wrong.append((question, [(hit.text, round(hit.score, 2), hit.current) for hit in found]))
    assert wrong == []


async def test_what_was_superseded_is_marked_and_below_or_left_out(model: Engine) -> None:
    ana = await life(model, "former")
    for question, old, new in (
        ("Where do I live?", "Berlin", "Leipzig"),
        ("Where does Lena live?", "Hamburg", "Oslo"),
        ("What is Ana's favourite tea?", "oolong", "rooibos"),
    ):
        found = (await ana.asks(question, top_k=8)).hits
        now, before = place(found, new), place(found, old)
        assert now < before, question
        assert (found[now].current, found[before].current) == (True, False), question
        assert found[before].superseded_by == found[now].id, question
        assert "former" in found[before].bullet or "contradicted by" in found[before].bullet, question
        without = (await ana.asks(question, top_k=8, superseded="exclude")).hits
        assert all(hit.current for hit in without), question
        assert new in without[0].text, question


async def test_news_of_a_change_is_above_what_it_changes(model: Engine) -> None:
    ana = Teller(model, "changes")
    for date, text in (
        ("2025-01-15", "The Harper job starts on 27 January"),
        ("2025-01-22", "Harper job pushed to 10 February, timber late"),
        ("2025-04-07", "Kitchen for a Mrs Dunbar in Dunblane, she wants it done by 30 May"),
        ("2025-04-19", "Mrs Dunbar cancelled, husband lost his job"),
        ("2025-05-19", "If I won the lottery I'd buy a Jaguar and drive to Monaco"),
        ("2025-08-18", "Can't drive for now, so sold the Micra to the grandson of a neighbour for £900"),
    ):
        await ana.says(text, speaker="", occurred_at=day(date))
    await model.settled(60)

    for question, current in (
        ("When does the Harper job start?", "pushed to"),
        ("What happened with Mrs Dunbar's kitchen?", "cancelled"),
        ("Which kitchen did Mrs Dunbar want?", "by 30 May"),
        ("What car do I drive?", "sold the Micra"),
        ("Which car would I buy if I won the lottery?", "Jaguar"),
    ):
        assert current in (await ana.asks(question)).hits[0].text, question


async def test_a_message_that_ends_with_a_question_tells_what_it_says_before(model: Engine) -> None:
    ana = Teller(model, "asking")
    for date, text in (
        ("2025-09-02", "Nils asked if I'd like to go on a river cruise down the Rhine in October. What do I pack?"),
        ("2025-09-19", "The Rhine cruise is off, Nils has his eye operation. Can I get my deposit back?"),
        ("2025-09-20", "My shoe size is 38. Which boots do I need?"),
    ):
        await ana.says(text, speaker="", occurred_at=day(date))
    await model.settled(60)

    assert "is off" in (await ana.asks("Am I going on the Rhine cruise with Nils in October?")).hits[0].text
    assert list((await ana.asks("What is my shoe size?")).unknown) == []


ALTERED = (
    ("2025-11-27", "My rota is four on, four off at the moment."),
    ("2025-12-01", "Rent on the shop is £650 a month and the landlord has not put it up in four years."),
    ("2026-01-14", "Applied for the ward sister post. Interview 3 February, 2pm"),
    ("2026-01-26", "Interview's been shifted to 10 February because Fiona is off sick"),
    ("2026-02-11", "Mr Cole has finally put the rent up, it's £725 a month, and I can hardly complain."),
    ("2026-03-03", "First week done. Rota is now three long days, hardly any nights"),
    ("2026-05-12", "My sister Milda comes over from Kaunas on the 22nd, staying a week"),
    ("2026-05-15", "Milda's flight got cancelled, she comes on the 23rd instead"),
)


async def test_a_message_of_a_change_may_have_only_the_thing_that_changed(model: Engine) -> None:
    ana = Teller(model, "altered")
    for date, text in ALTERED:
        await ana.says(text, speaker="", occurred_at=day(date))
    await model.settled(60)

    for question, current in (
        ("What is my rota like?", "three long days"),
        ("How much is the rent on the shop?", "£725"),
        ("When was my ward sister interview?", "10 February"),
        ("When does Milda come over?", "the 23rd instead"),
    ):
        found = (await ana.asks(question, kinds=["message"])).hits
        assert current in found[0].text, (question, [(hit.text, hit.score) for hit in found])


RETOLD = (
    ("2025-11-20", "Live in Selby with my parents, the rent is £300 a month. Supervisor is Odile Marchetti"),
    ("2025-11-24", "94 kilos on the scales, oh dear"),
    ("2025-12-02", "I drive an Astra, my brother Piet has a Golf. He weighs 80 kg"),
    ("2026-01-09", "Signed for a two-bedroom in Goole, they want £450"),
    ("2026-01-20", "Slept on the floor, first night in Goole"),
    ("2026-02-02", "88.5 kg this morning!"),
    ("2026-02-14", "A little red Micra it is, from a garage in Hull"),
    ("2026-02-20", "Bahar is a lovely boss so far, much more relaxed"),
)


async def in_context(ana: Teller, question: str) -> str:
    """Without the summary of the thread, which a job may have written by then."""
    context = await ana.engine.reads.context(ana.viewer, ContextRequest(query=question))
    return "\n".join(line for line in context.text.splitlines() if not line.startswith("- Extract: "))


async def test_the_latest_message_that_tells_what_is_asked_comes_first_in_whatever_words(model: Engine) -> None:
    ana = Teller(model, "retold")
    for date, text in RETOLD:
        await ana.says(text, speaker="", occurred_at=day(date))
    await model.settled(60)

    for question, right in (
        ("Where do I live?", "first night in Goole"),
        ("Since when have I lived in Goole?", "two-bedroom in Goole"),
        ("How much do I weigh?", "88.5 kg"),
        ("What is the rent?", "£450"),
        ("What do I drive?", "Micra"),
        ("Who is my boss?", "Bahar"),
    ):
        hits = (await ana.asks(question)).hits
        assert right in hits[0].text, (question, [(hit.text, hit.score) for hit in hits])
    weights = {hit.text: hit.current for hit in (await ana.asks("How much do I weigh?", top_k=10)).hits}
    assert [text[:2] for text, current in weights.items() if not current] == ["94"]
    told = await in_context(ana, "How much do I weigh?")
    assert ("88.5 kg" in told, "94 kilos" in told) == (True, False)
    told = await in_context(ana, "What rent do I pay?")
    assert ("£450" in told, "300 a month (as of" in told) == (True, False)


DENIED = (
    ("2025-11-18", "Hello, I run a little wool shop called The Purl Diver on Corve Street in Ludlow."),
    ("2025-11-22", "The shop is open Tuesday to Saturday, ten till five, and it is free to look around."),
    ("2025-12-04", "The twins go to Acomb Primary. Ania does gymnastics at a club after lessons."),
    ("2025-12-10", "I play for the twins' assembly, their teacher's Miss Okoro, very strict."),
    ("2025-12-22", "I've signed up for Polish lessons online, Wednesday lunchtimes."),
    ("2026-01-25", "Put my lessons up to £35 from February."),
    ("2026-02-01", "New boiler's in: £2,780. What a winter."),
    ("2026-02-03", "Boiler broke again. The plumber Barry Todd came."),
    ("2026-03-12", "Ania has packed in gymnastics and wants to do judo."),
    ("2026-04-28", "Miss Okoro's left already, they've a supply teacher called Mr Venn"),
)


async def test_a_notice_is_told_beside_the_job(model: Engine, user: str) -> None:
    ana = Teller(model, user)
    for date, text in (
        ("2026-03-01", "I work at the mill as a machinist"),
        ("2026-03-02", "My brother works at the bank"),
        ("2026-03-20", "I handed in my notice"),
    ):
        await ana.says(text, speaker="", occurred_at=day(date))
    await model.settled(60)
    first, second, *_ = (await ana.asks("Where do I work?")).hits
    assert ("mill" in first.text, "notice" in second.text) == (True, True)


async def test_what_is_not_or_no_longer_so_is_below_the_message_that_says_so(model: Engine) -> None:
    ana = Teller(model, "denied")
    for date, text in DENIED:
        await ana.says(text, speaker="", occurred_at=day(date))
    await model.settled(60)

    for question, current in (
        ("What sport does Ania do?", "judo"),
        ("Who is the twins' teacher?", "Venn"),
        ("Which school do the twins go to?", "Acomb"),
        ("What day are my Polish lessons?", "Wednesday"),
        ("Where is my wool shop?", "Corve Street"),
        ("Who fixed the boiler?", "Barry"),
    ):
        found = (await ana.asks(question, kinds=["message"])).hits
        assert current in found[0].text, (question, [(hit.text, hit.score) for hit in found])


CHATTY = (
    ("2026-01-03", "do you think it's too late to change my dissertation topic?"),
    ("2026-01-22", "My dissertation is on seagrass restoration, topic approved by Dr Ray."),
    ("2026-01-25", "I keep a small boat, the Morag Bheag."),
    ("2026-02-03", "I do underwater hockey, training is mondays 8-10pm at the Life Centre"),
    ("2026-03-15", "hockey's on wednesdays now bc the pool is being retiled"),
    ("2026-03-20", "Were I a younger man I should buy another boat."),
    ("2026-03-21", "I take bisoprolol on account of the fibrillation."),
    ("2026-03-25", "Dr Ray has reduced my bisoprolol to 2.5 mg."),
)


async def test_what_only_asks_or_does_not_tell_what_is_asked_is_below_what_tells_it(model: Engine) -> None:
    ana = Teller(model, "chatty")
    for date, text in CHATTY:
        await ana.says(text, speaker="", occurred_at=day(date))
    await model.settled(60)

    for question, current in (
        ("What is my dissertation topic?", "seagrass"),
        ("What did I ask about my dissertation topic?", "too late"),
        ("What's my boat called?", "Morag Bheag"),
        ("Where is hockey training?", "Life Centre"),
        ("What day is hockey?", "wednesdays"),
        ("Why do I take bisoprolol?", "fibrillation"),
    ):
        found = (await ana.asks(question, kinds=["message"])).hits
        assert current in found[0].text, (question, [(hit.text, hit.score) for hit in found])


async def test_whom_somebody_lives_with_is_no_place(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "lives_in", "Linz", since=day("2025-03-01"))
    await ana.tells("me", "lives_with", "Raj", since=day("2025-03-01"))

    assert "Raj" in (await ana.asks("Who do I live with?", kinds=["relation"])).hits[0].text
    assert "Linz" in (await ana.asks("Where do I live?", kinds=["relation"])).hits[0].text


async def test_a_question_whether_the_user_is_with_somebody_is_not_about_the_user(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "manager", "Petra")
    await ana.ends(await ana.tells("me", "partner_of", "Esme", since=day("2025-01-01")), "2025-10-19T00:00:00Z")

    assert [hit.text for hit in (await ana.asks("Am I still with Esme?")).hits if hit.kind == "entity"] == []


async def test_what_ended_with_nothing_in_its_place_is_found_as_former(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    manager = await ana.tells("me", "manager", "Dana", since="2026-01-01T00:00:00Z")
    await ana.tells("me", "likes", "tea", literal=True)

    async def asked(question: str, **fields: Any) -> list[tuple[str, bool]]:
        hits = (await ana.asks(question, kinds=["relation"], **fields)).hits
        return [(hit.text.partition(" ")[2] or hit.text, hit.current) for hit in hits]

    assert [current for _, current in await asked("Who is my manager?")] == [True]
    await ana.ends(manager, "2026-02-01T00:00:00Z")
    [(text, current)] = await asked("Who is my manager?")
    assert ("Dana" in text, current) == (True, False)
    [hit] = (await ana.asks("Who is my manager?", kinds=["relation"])).hits
    assert hit.bullet.endswith("(2026-01-01 to 2026-02-01; former)")
    assert await asked("Who is my manager?", superseded="exclude") == []
    assert await asked("Which boats sail?") == []
    await ana.tells("me", "manager", "Owen", since="2026-03-01T00:00:00Z")
    [(text, current), *_] = await asked("Who is my manager?")
    assert ("Owen" in text, current) == (True, True)


async def test_when_somebody_is_there_is_not_answered_by_who_they_are(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.says("Mia is with me on weekends.", speaker="")
    await ana.tells("Mia", "studies_at", "Hillview")
    await ana.tells("me", "works_at", "Bell School", since=day("2025-01-01"))
    await engine.settled(60)

    assert "weekends" in (await ana.asks("When is Mia with me?")).hits[0].text
    assert "Hillview" in (await ana.asks("Who is Mia?")).hits[0].text
    assert "Bell School" in (await ana.asks("Where do I teach?")).hits[0].text


async def test_a_medication_is_no_answer_to_what_somebody_is_allergic_to(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "allergy", "gluten")
    await ana.tells("me", "medication", "omeprazole")

    async def asked(question: str) -> list[str]:
        hits = (await ana.asks(question, kinds=["relation"])).hits
        return [hit.text for hit in sorted(hits, key=lambda hit: hit.text)]

    assert await asked("What am I allergic to?") == [f"{user} is allergic to gluten"]
    assert await asked("What health conditions do I have?") == [
        f"{user} is allergic to gluten",
        f"{user} takes omeprazole",
    ]


async def test_a_landlady_is_asked_for_as_a_landlord_is(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "landlord", "Olga Petrova")
    await ana.tells("me", "dentist", "Dr Lang")

    for question in ("Who is my landlord?", "Who is my landlady?"):
        assert "Olga Petrova" in (await ana.asks(question, kinds=["relation"])).hits[0].text, question


def place(hits: Any, text: str) -> int:
    """Of the first hit with this text. A summary, which a job may have written by now, has both values in one."""
    return next(place for place, hit in enumerate(hits) if text in hit.text and hit.kind != "summary")


async def test_an_unknown_name_is_said_to_be_unknown(model: Engine) -> None:
    ana = await life(model, "unknown")

    nobody: Answer = await ana.asks("Where does Zoltan live?")
    assert (list(nobody.hits), list(nobody.unknown)) == ([], ["Zoltan"])
    somebody = await ana.asks("Does Lena know Zoltan?", top_k=3)
    assert list(somebody.unknown) == ["Zoltan"]
    assert list((await ana.asks("Where does Lena live?")).unknown) == []


RELATIVES = (
    "My cousin Eva lives in Graz.",
    "Eva Novak is my cello teacher.",
    "My colleague Selma has the same shift as I do.",
    "My sister Lena lives in Munich.",
    "A colleague of mine is called Lena Vogt. Lena Vogt lives in Altona.",
    "My brother is called Paul.",
    "Paul is a teacher in Bremen.",
    "My mum is called Ingrid and she lives in Kiel.",
    "I have two kids, Mia and Ben.",
    "What is my uncle called?",
)


async def test_what_is_not_known_of_somebody_is_said_instead_of_what_is_known_of_another(model: Engine) -> None:
    nora = Teller(model, "relatives")
    for text in RELATIVES:
        await nora.says(text)
    for subject, predicate, thing in (
        ("me", "cousin", "Eva"),
        ("Eva", "lives_in", "Graz"),
        ("me", "sister", "Lena"),
        ("Lena", "lives_in", "Munich"),
        ("me", "lives_in", "Hamburg"),
        ("me", "parent_of", "Mia"),
    ):
        await nora.tells(subject, predicate, thing)
    await model.settled(60)

    for question, unknown in (
        ("Where does Eva Novak live?", "Eva Novak's home"),
        ("What is Selma's job?", "Selma's job"),
        ("What is my uncle called?", "my uncle"),
        ("Who is my father?", "my father"),
        ("Where does my brother live?", "my brother's home"),
        ("How much does Paul earn?", "Paul's pay"),
        ("Which university did Ingrid go to?", "Ingrid's university"),
    ):
        found: Answer = await nora.asks(question)
        assert list(found.unknown) == [unknown], question
        assert not {"Graz", "Hamburg", "Munich", "Kiel"} & set(" ".join(hit.text for hit in found.hits).split())
        context = await model.reads.context(nora.viewer, ContextRequest(query=question))
        assert f"Not known: {unknown}." in context.text

    for question, right in (
        ("Where does my cousin Eva live?", "Graz"),
        ("Where does my sister Lena live?", "Munich"),
        ("Where does Lena Vogt live?", "Altona"),
        ("What is my brother called?", "Paul"),
        ("What is my mother called?", "Ingrid"),
        ("Where does my mother live?", "Kiel"),
        ("What are my children called?", "Mia"),
    ):
        found = await nora.asks(question, top_k=8)
        assert list(found.unknown) == [], question
        assert right in found.hits[0].text, question
    found = await nora.asks("Where does Lena Vogt live?")
    assert "Munich" not in " ".join(hit.text for hit in found.hits if hit.kind == "relation")
    found = await nora.asks("What is Paul's job?")
    assert list(found.unknown) == []
    assert "Paul is a teacher in Bremen" in " ".join(hit.text for hit in found.hits)


async def test_what_the_user_never_told_of_themselves_is_said_to_be_unknown(model: Engine, user: str) -> None:
    nora = Teller(model, user)
    await nora.says("My mum's birthday is on 8 March.", speaker="")
    await nora.says("The wedding is on 12 June.", speaker="")
    await model.settled(60)
    assert list((await nora.asks("When is my birthday?")).unknown) == ["my birthday"]
    context = await model.reads.context(nora.viewer, ContextRequest(query="When is my birthday?"))
    assert "Not known: my birthday." in context.text
    small = await model.reads.context(nora.viewer, ContextRequest(query="When is my birthday?", budget_tokens=35))
    assert "Not known: my birthday." in small.text, "before any line, of which not all fit"
    assert small.text.count("\n- ") < context.text.count("\n- ")
    await nora.tells("me", "birthday", "3 May")
    await model.settled(60)
    assert list((await nora.asks("When is my birthday?")).unknown) == []
    context = await model.reads.context(nora.viewer, ContextRequest(query="When is my birthday?"))
    assert list(context.unknown) == []


async def test_what_no_message_has_a_word_for_is_said_to_be_unknown(model: Engine) -> None:
    ana = Teller(model, "nouns")
    for text in ("The tram was late again.", "My passport is in the blue drawer."):
        await ana.says(text, speaker="")
    await model.settled(60)
    for question, unknown in (
        ("What is my shoe size?", ["my shoe size"]),
        ("Which bank am I with?", ["my bank"]),
        ("How many cats do I have?", ["my cats"]),
        ("Where is my passport?", []),
    ):
        assert list((await ana.asks(question)).unknown) == unknown, question


async def test_what_nobody_called_by_a_name_is_said_to_have_none(model: Engine, user: str) -> None:
    ana = Teller(model, user)
    for text in (
        "The bank wants to talk about the loan.",
        "I rowed the boat to the island, its name is Morag.",
        "The doctor rang me back.",
        "My brother Memo came over for dinner.",
        "Ada rang, she is home in Leith.",
    ):
        await ana.says(text, speaker="")
    await model.settled(60)
    for question, unknown in (
        ("What is the name of my bank?", ["my bank's name"]),
        ("What is my boat called?", []),
        ("What is my doctor's name?", ["my doctor"]),
        ("What is my brother's wife called?", ["my brother's wife"]),
        ("What is my brother called?", []),
        ("What is Ada's address?", ["Ada's address"]),
    ):
        assert list((await ana.asks(question)).unknown) == unknown, question


async def test_a_relative_whom_no_message_mentions_is_not_unknown_if_the_question_is_about_somebody_else(
    model: Engine, user: str
) -> None:
    ana = Teller(model, user)
    for text in ("The tram was late again.", "Memo is not a match for the kidney, so we keep waiting."):
        await ana.says(text, speaker="")
    await model.settled(60)
    found = await ana.asks("Is Memo giving my father a kidney?")
    assert list(found.unknown) == []
    assert "not a match" in found.hits[0].text


async def test_a_message_that_has_little_to_do_with_the_question_tells_no_slot(model: Engine, user: str) -> None:
    ana = Teller(model, user)
    await ana.says("I work two days a week at the museum now, with the old machines.", speaker="")
    await ana.says("We met a vet from Halifax at the fair. It is quiet in the barn.", speaker="")
    await model.settled(60)
    assert "museum" in (await ana.asks("What do I do for work these days?")).hits[0].text


async def test_asked_what_was_without_a_time_what_answers_best_comes_first(model: Engine, user: str) -> None:
    ana = Teller(model, user)
    await ana.says("The agency pays me 13.50 an hour for the mornings.", speaker="")
    await ana.says("Started at the hospital, 18.25 an hour.", speaker="")
    await model.settled(60)
    assert "13.50" in (await ana.asks("What did the agency pay me?")).hits[0].text
    assert "18.25" in (await ana.asks("How much do I earn an hour?")).hits[0].text


async def test_nothing_is_known_instead_of_a_weak_guess(model: Engine) -> None:
    ana = await life(model, "nothing")
    for question in ("How is a transistor doped?", "Which algorithm sorts an array fastest?"):
        assert list((await ana.asks(question)).hits) == [], question


async def test_every_hit_says_when_what_and_why(model: Engine) -> None:
    ana = await life(model, "reasons")
    hits: list[Hit] = []
    for question in ("Where do I live?", "What am I allergic to?", "Who is Lena?", "todos"):
        hits += (await ana.asks(question)).hits
    assert {"message", "relation", "entity", "todo"} <= {hit.kind for hit in hits}
    assert all(hit.date <= datetime.now(UTC) and hit.id for hit in hits)
    [tea] = (await ana.asks("What am I allergic to?", kinds=["relation"], top_k=1)).hits
    assert tea.bullet.startswith("[fact] reasons is allergic to peanuts (as of 20")
    assert tea.parts["words"] == 1
    [lena] = (await ana.asks("Who is Lena?", kinds=["entity"])).hits
    assert (lena.category, lena.bullet.startswith("[person:lena] ")) == ("Person", True)


async def test_what_an_assistant_said_is_no_answer_about_the_user(model: Engine) -> None:
    ana = Teller(model, "assisted")
    said = "New year, new me, so a bit about me: I'm 34, live in Leeds with Rob and our two cats, and like to bake"
    advice = "Nice to meet you! You could live in Spain instead, I hear it's lovely."
    await ana.says(said, speaker="", occurred_at=day("2026-01-05"))
    await ana.says(advice, speaker="", role="assistant", occurred_at=day("2026-01-05"))
    await ana.says("The rain here is awful today.", speaker="", occurred_at=day("2026-02-05"))
    await model.settled(60)

    assert said in (await ana.asks("Where do I live?")).hits[0].text
    assert advice in (await ana.asks("Where did you say that I could live?")).hits[0].text
    found = await model.reads.context(ana.viewer, ContextRequest(query="Where do I live?"), await ana.caught_up())
    assert found.text.index(said) < found.text.index(advice)


async def test_a_fact_of_the_user_is_no_answer_about_a_relative_in_the_past(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "lives_in", "Cardiff", since=day("2026-01-01"))
    await ana.tells("me", "cousin", "Nia Bevan", since=day("2026-01-01"))
    await ana.tells("me", "friend_of", "Nia Roberts", since=day("2026-01-01"))

    async def found(question: str) -> str:
        answer = await ana.asks(question, kinds=["relation"], asked_at=day("2026-08-01"))
        return " ".join(hit.text for hit in answer.hits)

    for question in ("Where did my cousin Nia live in March?", "Where did my cousin live in March?"):
        assert "Cardiff" not in await found(question)
    await ana.tells("Nia Bevan", "lives_in", "Swansea", since=day("2026-01-01"))
    assert "Nia Bevan lives in Swansea" in await found("Where did my cousin Nia live in March?")
    for question in ("Where did I live in March?", "Did my cousin and I live in Cardiff in March?"):
        assert "Cardiff" in await found(question)


NEWS = (
    ("2026-01-08", "fave band atm is wet leg, saw them live"),
    ("2026-02-02", "choir practice is every tuesday at 7"),
    ("2026-05-19", "mums party is on the 18th of july, booked the duke of york"),
    ("2026-06-01", "choir practice is on thursdays at 7 from this week"),
    ("2026-07-04", "mums party got moved to the 25th of july cos of the venue"),
    ("2026-09-18", "new fave band is fontaines dc, what a gig"),
    ("2026-09-20", "the garden is full of slugs"),
    ("2026-07-06", "do you think that people will come to mums party if it rains in july?"),
)


async def test_of_messages_that_answer_as_well_the_newer_is_first(model: Engine) -> None:
    ana = Teller(model, "newer")
    for date, text in NEWS:
        await ana.says(text, speaker="", occurred_at=day(date))
    await model.settled(60)

    for question, right in (
        ("What is my fave band?", "fontaines"),
        ("When is choir practice?", "thursdays"),
        ("When is mums party?", "25th"),
    ):
        found = (await ana.asks(question, kinds=["message"])).hits
        assert right in found[0].text, (question, [(hit.text, hit.score) for hit in found])
        request = ContextRequest(query=question)
        text = (await model.reads.context(ana.viewer, request, await ana.caught_up())).text
        [activity] = [part for part in text.split("\n\n") if part.startswith("Activity")]
        assert right in activity.splitlines()[1], question


LIFE = (
    ("2026-02-01", "Applied. Also running the Plymouth half in April."),
    ("2026-02-03", "My boy Malik is four and he wants a dinosaur everything."),
    ("2026-03-02", "Going to Chicago for spring break with Priyanka and her cousin."),
    ("2026-03-04", "nvm Chicago is cancelled, Priyanka has mono."),
    ("2026-03-27", "HbA1c came back at 58, which is down from 64."),
    ("2026-04-08", "Twisted my ankle so no half marathon for me."),
    ("2026-06-30", "Malik was a dinosaur at the party, four hours of it, a lovely day for Malik."),
    ("2026-07-20", "Malik turned five yesterday and ate the candle."),
    ("2026-08-02", "I bought tickets to Recife for Christmas, the first at home in five years."),
    ("2026-10-09", "The conference in Lisbon is 9 to 12 November, I fly on the 8th."),
    ("2026-10-18", "I must cancel Recife, with the opening it is impossible."),
    ("2026-11-05", "Pulled out of Lisbon, I couldn't face it."),
    ("2026-11-17", "HbA1c is 51! I nearly kissed the phlebotomist."),
)


async def test_what_was_called_off_and_what_was_said_last_come_first(model: Engine) -> None:
    ana = Teller(model, "called-off")
    for date, text in LIFE:
        await ana.says(text, speaker="", occurred_at=day(date))
    await model.settled(60)

    for question, right in (
        ("Did I go to Chicago for spring break?", "cancelled"),
        ("Did I run the Plymouth half?", "no half marathon"),
        ("Am I going to Recife for Christmas?", "cancel Recife"),
        ("Did I go to the Lisbon conference?", "Pulled out"),
        ("What was my latest HbA1c?", "51"),
        ("How old is Malik?", "turned five"),
    ):
        found = (await ana.asks(question, kinds=["message"])).hits
        assert right in found[0].text, (question, [(hit.text, hit.score) for hit in found])


PLANS = (
    ("2026-01-18", "My driving test is on 3 March."),
    ("2026-01-21", "I meant the 5th of March for the driving test, the 3rd is the theory one."),
    ("2026-01-25", "Booked a trip to Seville with Duarte for 14 March!"),
    ("2026-03-09", "Seville got moved to 21 March because of Duarte's work."),
    ("2026-03-23", "Back from Seville. Loved the oranges, hated the crowds."),
    ("2026-04-01", "Got an interview at Network Rail on 22 April."),
    ("2026-04-02", "no wait, the interview is the 24th"),
    ("2026-04-03", "Physio for my back on 10 April."),
    ("2026-04-05", "Physio's been put back a week."),
    ("2026-04-06", "Gig tickets: the 5th of May."),
    ("2026-04-07", "*6th of may"),
    ("2026-04-07", "Swim training Mon and Wed, six am. Kill me."),
    ("2026-04-27", "Not swimming any more, shoulder."),
    ("2026-04-28", "Working for DPD as a driver, nights mostly."),
    ("2026-05-01", "My pal Gary works at Michelin, the sod."),
    ("2026-05-02", "Left DPD. Couldn't be doing with it."),
)


async def test_what_is_over_does_not_answer_what_is_to_come(model: Engine) -> None:
    ana = Teller(model, "plans")
    for date, text in PLANS:
        await ana.says(text, speaker="", occurred_at=day(date))
    await model.settled(60)

    trip = await ana.asks("What is my next trip?", asked_at=day("2026-05-20"))
    assert list(trip.unknown) == ["my next trip"]
    assert all("for 14 March" not in hit.text for hit in trip.hits if hit.current)
    asked_before = await ana.asks("What is my next trip?", asked_at=day("2026-03-10"))
    assert ("moved to 21 March" in asked_before.hits[0].text, list(asked_before.unknown)) == (True, [])
    for question, right in (
        ("When is my interview at Network Rail?", "the 24th"),
        ("When is my physio appointment?", "put back a week"),
        ("Do I still work for DPD?", "Left DPD"),
        ("When is swim training?", "Not swimming"),
    ):
        found = (await ana.asks(question, kinds=["message"])).hits
        assert (right in found[0].text, found[0].current) == (True, True), question
        request = ContextRequest(query=question)
        text = (await model.reads.context(ana.viewer, request, await ana.caught_up())).text
        [activity] = [part for part in text.split("\n\n") if part.startswith("Activity")]
        assert right in activity.splitlines()[1], question
    read = {"since": day("2026-01-18"), "told_at": day("2026-01-18"), "metadata": {"extractor": "rules"}}
    await ana.tells("me", "driving_test_date", "2026-03-03", **read)
    request = ContextRequest(query="When was my driving test?")
    found_then = await model.reads.context(ana.viewer, request, await ana.caught_up())
    assert "the 5th of March" in found_then.text
    assert "2026-03-03" not in found_then.text
    gig = (await ana.asks("When is the gig?", kinds=["message"])).hits[0]
    assert "corrected: *6th of may" in gig.bullet


@pytest.mark.parametrize(
    ("said", "question", "corrected", "wrong"),
    [
        (
            "The conference is in Lille in May.",
            "Where is the conference?",
            "Actually the conference is in Lyon, not Lille.",
            True,
        ),
        (
            "My spare key is at Nadia's in Hove.",
            "Where is my spare key?",
            "Sorry, my spare key is in Lewes, not Hove.",
            True,
        ),
        ("Our choir sings in Hove on Sunday.", "Where does our choir sing?", "I meant Lewes.", False),
    ],
)
async def test_a_correction_of_a_place_is_above_what_it_corrects(
    model: Engine, user: str, said: str, question: str, corrected: str, *, wrong: bool
) -> None:
    ana = Teller(model, user)
    for place, text in enumerate(("Nice weather in Bath.", said, corrected, "I was in Rome.")):
        await ana.says(text, speaker="", occurred_at=day(f"2026-03-0{place + 1}"))
    hits = (await ana.asks(question, kinds=["message"])).hits
    first = hits[0]
    if wrong:
        assert (first.text, first.current) == (corrected, True)
        [former] = [hit for hit in hits if hit.text == said]
        assert (former.current, former.superseded_by) == (False, first.id)
    else:
        assert f"corrected: {corrected}" in first.bullet


@pytest.mark.parametrize("predicate", ["allergy", "allergic_to"])
async def test_critical_facts_are_in_every_context_whatever_the_budget(
    engine: Engine, user: str, predicate: str
) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", predicate, "peanuts")
    await ana.tells("me", "lives_in", "Berlin", since=day("2025-01-01"))
    await ana.tells("me", "lives_in", "Leipzig", since=day("2026-01-01"))
    await ana.creates("Ana plays the violin", category="interests")

    async def context(agent: Teller, query: str, **fields: Any) -> AgentContext:
        request = ContextRequest.model_validate({"query": query, **fields})
        return await engine.reads.context(agent.viewer, request, await ana.caught_up())

    for agent, fields in ((ana, {"budget_tokens": 1}), (ana, {"categories": ["interests"]}), (planner(ana), {})):
        found = await context(agent, "What shall we cook?", **fields)
        assert [hit.text for hit in found.critical] == [f"{user} is allergic to peanuts"]
        assert f"- {user} is allergic to peanuts (as of" in found.text
    found = await context(ana, "Where do I live?")
    assert [hit.text for hit in found.known] == [f"{user} lives in Leipzig"]
    assert "Berlin" not in found.text
    assert "Interests:\n- Ana plays the violin (20" in found.text
    small = await context(ana, "Where do I live?", budget_tokens=60)
    assert count_tokens(small.text) <= 60


def planner(ana: Teller) -> Teller:
    return Teller(ana.engine, ana.user, agent="planner")


async def test_a_context_leaves_out_what_a_fact_superseded(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.says("I live in Berlin.", speaker="", occurred_at=day("2025-01-01"))
    await ana.tells("me", "lives_in", "Leipzig", since=day("2026-01-01"))

    request = ContextRequest(query="Where do I live?")
    found = await engine.reads.context(ana.viewer, request, await ana.caught_up())

    assert [hit.text for hit in found.known] == [f"{user} lives in Leipzig"]
    assert "Berlin" not in found.text


async def test_a_relative_without_a_name_is_said_to_be_unknown(model: Engine, user: str) -> None:
    ana = Teller(model, user)
    await ana.says("my sister came by sunday with a ham. Duke about lost his mind", speaker="")
    await model.settled(60)
    assert list((await ana.asks("What's my sister's name?")).unknown) == ["my sister"]
    await ana.says("Jia had her baby!! my sister i mean.", speaker="")
    await model.settled(60)
    assert list((await ana.asks("What's my sister's name?")).unknown) == []


async def test_a_weight_and_a_car_that_nothing_tells_are_said_to_be_unknown(model: Engine, user: str) -> None:
    ana = Teller(model, user)
    await ana.says("The tram was late again, I nearly missed the gym.", speaker="")
    await model.settled(60)
    assert list((await ana.asks("How much do I weigh?")).unknown) == ["my weight"]
    assert list((await ana.asks("What car do I drive?")).unknown) == ["my car"]
    assert list((await ana.asks("What is my cat called?")).unknown) == ["my cat"]
    await ana.says("89 kg this morning, and the Yaris has a flat tyre.", speaker="")
    await model.settled(60)
    assert list((await ana.asks("How much do I weigh?")).unknown) == []
    assert list((await ana.asks("What car do I drive?")).unknown) == []


@pytest.mark.parametrize(
    ("question", "said", "first"),
    [
        ("Who is Eva?", ["My brother's wife Eva came over.", "Eva won her seat, Eva did it!"], "wife Eva"),
        ("Who is Ms. Lane?", ["Denise's mama fell. Ms. Lane. It's her hip.", "ms. lane runs this house"], "mama fell"),
        ("Where do I live?", ["Looking at rooms in cork, 900 a month.", "arrived in Cork! It rains."], "arrived"),
        (
            "Where do I live?",
            ["I rent a room in Hull.", "found a flat in Crosby, signing on friday", "crosby fell through"],
            "Hull",
        ),
        (
            "What is my daughter-in-law called?",
            ["My daughter in law Kay makes soup, she can do anything.", "My brother's wife Darlene runs for council."],
            "Kay",
        ),
        ("Did I go to Lisbon?", ["The conference in Lisbon is in May.", "pulled out of lisbon"], "pulled out"),
        (
            "Did we move to Bartlett?",
            [
                "Looking at a house in Bartlett.",
                "Offer accepted, we move to Bartlett in May!",
                "Backed out of the house. so we stay here for now.",
            ],
            "Backed out",
        ),
        (
            "What did I do with the Golf?",
            ["It's a 2012 Golf and it owes me nothing", "Traded the Golf in for a Yaris"],
            "Traded",
        ),
        (
            "Where do I work?",
            [
                "Late shifts at the call centre again.",
                "Got in! Electrical apprentice with Moodley & Sons, from March",
                "Last shift at the call centre done.",
            ],
            "Moodley",
        ),
        (
            "What dose of Evorel did I start on?",
            [
                "The GP put me on Evorel 25, a patch twice a week",
                "Review done, patch up to Evorel 50, still twice weekly",
            ],
            "Evorel 25",
        ),
        ("Where does my dad live?", ["My dad lives in a flat in Hull", "We lost dad on Sunday"], "We lost"),
        ("Is my grandmother still alive?", ["Gogo is in hospital.", "Gogo passed away.", "My gran's flat"], "passed"),
        ("Where does my mother live?", ["Mum is home with us for now.", "Mam got a place in Carrig Lodge"], "Carrig"),
        (
            "Am I still in the league?",
            ["Bowling league: third!", "Not going back to the league this fall."],
            "Not going",
        ),
        (
            "Am I still moving to Malta?",
            [
                "I'm applying for a visa for Malta.",
                "I withdrew the Malta application today.",
                "I've moved my things to the attic.",
            ],
            "withdrew",
        ),
        ("Do I still sing in the choir?", ["I sing alto for Valley Echoes.", "I've left Valley Echoes."], "left"),
        (
            "Did I take the apartment in Leith?",
            ["Saw a two bedroom in Leith, I think I'm taking it.", "The Leith place fell through."],
            "fell through",
        ),
        (
            "Where are we going for Christmas?",
            [
                "Christmas will be in Tobago, five nights in Castara.",
                "Castara is full, so we're booked in Speyside for those nights.",
            ],
            "Speyside",
        ),
        (
            "Do I own a cargo bike?",
            ["I wish I had a cargo bike", "bought one, for Fien and the dog, an Urban Arrow cargo bike"],
            "bought",
        ),
        ("Am I vegan?", ["so I'm eating fish again", "I'm not vegan, Tom is. you mixed us up"], "not vegan"),
        ("Who is Eva?", ["I met a lady. Her name is Eva, she sings.", "Eva and I saw a house, Eva loved it."], "met a"),
        (
            "What day do we leave for Malta?",
            [
                "We booked it, Malta, leaving the 28th of June.",
                "The airline changed the flights. We leave on the 30th now",
            ],
            "30th",
        ),
    ],
)
async def test_what_became_of_it_is_first(model: Engine, user: str, question: str, said: list[str], first: str) -> None:
    ana = Teller(model, user)
    for days, text in enumerate(said):
        await ana.says(text, speaker="", occurred_at=datetime(2026, 3, 1 + 20 * days // len(said), tzinfo=UTC))
    await model.settled(60)
    assert first in (await ana.asks(question)).hits[0].text


async def test_who_lives_with_somebody_is_no_home_and_a_town_no_address(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.says("found a place, a ground floor in Cork, moving soon", occurred_at=day("2026-02-01"))
    await ana.tells("me", "lives_in", "Cork", since=day("2026-03-01"))
    await ana.tells("me", "address", "12 Mill Road", since=day("2026-03-01"))
    await ana.tells("Eva", "lives_with", "me", since=day("2026-04-01"))
    await engine.settled(60)

    for question, first in (
        ("What is my address?", f"{user}'s address is 12 Mill Road"),
        ("Since when do I live in Cork?", f"{user} lives in Cork"),
        ("Who do I live with?", f"Eva lives with {user}"),
    ):
        assert (await ana.asks(question)).hits[0].text == first, question
