"""What people ask about somebody again and again, and which messages tell it."""

import re
from collections.abc import Iterator

import pytest

from mnemolog.domain import slots
from mnemolog.domain.slots import wanted_slot


@pytest.mark.parametrize(
    ("question", "slot", "names"),
    [
        ("Where do I live now?", "home", ()),
        ("Where does Lena live?", "home", ("Lena",)),
        ("Since when do we live in Leeds?", "home", ("Leeds",)),
        ("Who do I work for?", "employer", ()),
        ("What is my job?", "occupation", ()),
        ("What does Tom do for a living?", "occupation", ("Tom",)),
        ("how much do i weigh", "weight", ()),
        ("What do I earn?", "pay", ()),
        ("What's my current hourly pay?", "pay", ()),
        ("How much is the rent?", "rent", ()),
        ("Which car have we got?", "car", ()),
        ("How much does UCC pay me?", "pay", ("UCC",)),
        ("When did uncle Ray die?", "death", ("Ray",)),
        ("How old is Ella?", "age", ("Ella",)),
        ("Who's my boss?", "boss", ()),
        ("Who is my girlfriend?", "partner", ()),
        ("What's our phone number?", "phone number", ()),
        ("Do I have any pets?", "pet", ()),
        ("What medication am I on?", "medication", ()),
        ("Do I still take ramipril?", "medication", ()),
        ("Who is my team lead at Monzo?", "boss", ()),
        ("What is my next trip?", "trip", ()),
        ("What can't I eat?", "allergy", ()),
        ("Which drug am I allergic to?", "allergy", ()),
        ("Which medicine do I take for my allergy?", "medication", ()),
        ("What's my mobile?", "phone number", ()),
        ("Which town do I live in?", "home", ()),
        ("Which mobile am I using?", "phone", ()),
        ("Do I have a job?", "occupation", ()),
        ("Do I still drive?", "car", ()),
        ("Is Ray alive?", "death", ("Ray",)),
        ("Where does my sister live?", "home", ()),
        ("Is my gran still alive?", "death", ()),
        ("How old is my dad?", "age", ()),
        ("How old is my cat?", "age", ()),
    ],
)
def test_a_question_asks_for_a_slot(question: str, slot: str, names: tuple[str, ...]) -> None:
    wanted = wanted_slot(question)
    assert wanted
    assert (wanted.slot.name, wanted.names) == (slot, names)


@pytest.mark.parametrize(
    "question",
    [
        "Where did we eat?",
        "Where does she live?",
        "Who lives with me?",
        "What is the time?",
        "How old is the house?",
        "How old am I?",
        "What does my sister like?",
        "How did Ida feel when her play came alive on stage?",
        "When did Ida pass the exam?",
    ],
)
def test_a_question_asks_for_none(question: str) -> None:
    assert wanted_slot(question) is None


@pytest.mark.parametrize(
    ("question", "text", "told"),
    [
        ("How old is Ella?", "Ella's 7 today!!!", True),
        ("How old is Jack?", "Jack turned one yesterday!!", True),
        ("How old is Jack?", "Ryan has two, Ella who's 6 and baby Jack", False),
        ("How old is Malik?", "got Malik two goldfish", False),
        ("How old is Malik?", "Malik is 20 minutes late", False),
        ("When did Ah Ma die?", "Ah Ma passed on this morning", True),
        ("When did Ah Ma die?", "Ah Ma passed the salt", False),
        ("When did uncle Ray die?", "we lost uncle ray last nite", True),
        ("Who is my boss?", "my supervisor's presenting my poster", False),
        ("Who is my boss?", "my boss is called shin", True),
        ("Who is my boss?", "my boss is off today", False),
        ("How much levothyroxine am I on?", "Dr Singh bumped my levo, it's 88 now", True),
        ("How much levothyroxine am I on?", "Dr Singh bumped my dose", False),
        ("How much levothyroxine am I on?", "Tests were bad. Doctor increased the levothyroxine for 75.", True),
        ("How much levothyroxine am I on?", "She wants to bring the levothyroxine down, 75 for a month", True),
        ("How much levothyroxine am I on?", "doc bumped the levothyroxine. its 88 now", True),
        ("How much levothyroxine am I on?", "I take levothyroxine at 8am, for 3 months now", False),
        ("What do I drive?", "got a 2021 tacoma, used", True),
        ("How much do I make an hour?", "pays 26 now", True),
        ("What's my hourly pay?", "circulation desk, 18.25/hr", True),
        ("Do I still have a cat?", "i've found Mochi a home", True),
        ("Do I still have my cat?", "so I gave Whiskers to my sister", True),
        ("Do I still have my cat?", "I gave it to my sister", False),
        ("Where do I live?", "so we stayin here in frayser for now", True),
        ("Where do I live?", "First night in Leeds, on a mattress", True),
        ("Where do I live?", "all my stuff is at nina's now", True),
        ("Where do I live?", "Signed for a two-bedroom in Hove", True),
        ("Where do I live?", "Thinking of a flat in Hove", False),
        ("Where do I live?", "Nina lives in Hove", False),
        ("Where do I live?", "Hove came through, got the keys", True),
        ("Where do I live?", "The flat in Hove came through", True),
        ("Where do I live?", "The visa extension came through, I can stay until 2029", False),
        ("Where do I live?", "The new flat in Celas is mine!", True),
        ("Where do I live?", "viewing a flat in Hove tomorrow", False),
        ("Where do I live?", "Looked at a flat in Hove, too damp", False),
        ("How much is my rent?", "We split it: I pay 210 a week", True),
        ("How much is my rent?", "The new job is 2,300 a month", False),
        ("How much is my rent?", "The rent starts at 700 a month", True),
        ("How much is my rent?", "Got a raise, I'm on 1950 a month now", False),
        ("Who is my boss?", "tobias left, priya runs our team now", True),
        ("Who is my boss?", "They are making me team leader from May, says Ann", False),
        ("Who is my partner?", "Started seeing someone. His name is Ivo", True),
        ("Who is my partner?", "Tom and I are over.", True),
        ("Who is my partner?", "My cousin Nuno gets married in May", False),
        ("Who is my partner?", "Hana's dating a vet called Jonas", False),
        ("Do I have a dog?", "RIP old lad.", True),
        ("What medication do I take?", "I'm allergic to penicillin", False),
        ("Do I still take sertraline?", "off the sertraline completely", True),
        ("Do I still take sertraline?", "on 20 mg of omeprazole", False),
        ("Where do I live?", "My brother has taken a flat in Hove", False),
        ("Where do I live?", "The man who lives in the flat below sings", False),
        ("Who is my employer?", "My teacher at the Volkshochschule explained it twice", False),
        ("Who is my employer?", "Back to being a teacher at St Anne's", True),
        ("What can't I eat?", "A week of single malt, by a man who can't have any dairy", False),
        ("Where do I live?", "The flat is cold", False),
        ("Where do I live?", "Thanksgiving will be at our house after all", False),
        ("Where do I live?", "We moved the trip to Oslo to June", False),
        ("Where do I live?", "It moved to Monday", False),
        ("Where do I live?", "moved back to selby", True),
        ("Where do I live?", "Well, home's Selby these days", True),
        ("Where do I live?", "From June our home will be Whitby", True),
        ("Where do I live?", "Mia's home is Whitby", False),
        ("Where do I live?", "My home is a mess", False),
        ("Where do I live?", "I'm home. Is Tom there?", False),
        ("Where does Nina live?", "Nina's flat is in Hove", True),
        ("Where does Nina live?", "I have a flat in Hove", False),
        ("How much do I weigh?", "81.5 kg this morning", True),
        ("How much do I weigh?", "12 stone 3, at last", True),
        ("How much do I weigh?", "9.4 kg for Ida at the check", False),
        ("How much do I weigh?", "the parcel costs 12 pounds", False),
        ("What do I earn?", "my contract goes on and pay goes to 41,000", True),
        (
            "What's my current hourly pay?",
            "First day at the library done, circulation desk, 18.25/hr. It's quiet",
            True,
        ),
        ("How much do I make an hour?", "got moved to nights. pays 26 now", True),
        ("What do I earn?", "got promoted, 17.20 an hour", True),
        ("What do I earn?", "The sofa was 400", False),
        ("How much is my rent?", "he wants 820 and the bills", True),
        ("How much is my rent?", "The house sold for 485,000", False),
        ("How much is my rent?", "Ida's room is 420 a month", False),
        ("What car do I drive?", "A little Yaris it is", True),
        ("What car do I drive?", "The car park was full", False),
        ("Who is my boss?", "Farida is a great boss", True),
        ("Who is my boss?", "My boss is Farida", True),
        ("Who is my boss?", "Farida's my new boss", True),
        ("Who is my boss?", "Tom's boss is Farida", False),
        ("How much is my rent?", "Mr Cole has put the rent up, it's £725 a month", True),
        ("Where do I live?", "Eva said: I live in Graz", False),
        ("Who is my boss?", "Tom's son Lev runs things now", True),
        ("Who is my boss?", "I answer to a woman called Ayla", True),
        ("Who do I work for?", "Marsh & Co took me on, start in May", True),
        ("Who do I work for?", "Joined slimming world again", False),
        ("What is my job?", "The doctor found gout", False),
        ("What is my job?", "Got a job as a roofer", True),
        ("Who do I work for?", "First week at the council, tired", True),
        ("What do I earn?", "accepted a post with the trust, 61,000, from July", True),
        ("What pet do I have?", "the car smells of dog", False),
        ("What pet do I have?", "Got a baby gecko", True),
        ("Who is my girlfriend?", "Mina and I are an item, it seems", True),
        ("Who is my partner?", "passed over for partner again", False),
        ("Where do I live?", "The firm is based in Malton", False),
        ("Who is my boss?", "Tom's rude to his boss, says Ann", False),
        ("What medication do I take?", "The pharmacy gave me atorvastatin instead", True),
        ("What medication do I take?", "I have April off", False),
        ("What medication do I take?", "An awful rash after amoxicillin", False),
        ("What medication do I take?", "I mustn't have amoxicillin", False),
        ("Where do I work?", "im on nights at the Warburtons bakery, just finished", True),
        ("What can't I eat?", "Ida can't have eggs", False),
        ("What can't I eat?", "I can't have eggs", True),
        ("What is Ida allergic to?", "Ida can't have eggs", True),
        ("Where does my mother live?", "Mum got a place in Hove Lodge", True),
        ("Where does my mother live?", "I got a place in Hove", False),
        ("Where does my mother live?", "Ida's mum lives in Hove", False),
        ("Where does Nina live?", "Nina's in Sydney since May", True),
        ("Where does Nina live?", "Nina's in Sydney for the weekend", False),
        ("Where does Nina live?", "Mum is staying with us in Hove, in Nina's room", False),
        ("Is my grandmother still alive?", "Gogo passed away this morning", True),
        ("Is my grandmother still alive?", "Ah Ma passed on this morning", True),
        ("When did my uncle die?", "Uncle didn't make it", True),
        ("When did my uncle die?", "Uncle lives in Hove", False),
        ("How old is my dad?", "Dad's 71 now", True),
        ("How old is my dad?", "Dad came by. He's 71 now.", True),
        ("How old is my dad?", "The first snow in five years. Don't tell my dad", False),
        ("How old is my dad?", "Ida's dad is 71", False),
        ("Where do I work?", "electrical apprentice with Moodley & Sons", True),
        ("Where do I work?", "The doctor at the clinic gave me a pump", False),
        ("Where do I work?", "I'm the cook at the Swan", True),
        ("Which phone do I use?", "got the pixel 9a", True),
        ("Which phone do I use?", "got a galaxy watch", False),
        ("Do I have a job now?", "The shop closes, I finish up on Friday", True),
        ("Where do I work?", "Cian's in Sydney. Working on the scaffolding in Ryde", False),
        ("Where do I work?", "Been busy. Working at Lidl", True),
        ("Who do I work for?", "Rubén took the job in Corpus and asked me to come", False),
        ("What do I earn?", "started on nights, eighteen and a quarter an hour", True),
        ("What do I earn?", "the agency pays me thirteen fifty", True),
        ("What do I do for work?", "The calves went to a farmer in Denmark", False),
        ("Where do I live?", "Eva and I went to see a house in Hull", False),
        ("Where do I live?", "Saw a two bedroom flat in Hull today", False),
        ("Where do I live?", "That makes two dogs in an upstairs flat", False),
        ("Where do I live?", "We have a flat in Hull", True),
        ("How much do I weigh?", "94.5 this morning, on a scale that works", True),
        ("How much do I weigh?", "The scale says 210 and I believe it", True),
        ("How much do I weigh?", "The pain is at 10 on a scale of 12", False),
        ("What do I earn?", "I got it, head chef at the Imperial, 52 thousand", True),
        ("What car do I have?", "Tilly sat in the car and cried", False),
    ],
)
def test_a_message_tells_a_slot_of_whom_it_is_asked(question: str, text: str, told: bool) -> None:
    wanted = wanted_slot(question)
    assert wanted
    assert wanted.told_in(text) is told


def test_a_question_may_say_who_of_two_with_one_name() -> None:
    wanted = wanted_slot("What car does my colleague Marta drive?")
    assert wanted
    assert (wanted.names, wanted.kin) == (("Marta",), "colleague")


def test_whom_a_question_names_may_be_who_speaks() -> None:
    wanted = wanted_slot("How much does Ida weigh?")
    assert wanted
    assert wanted.by("Ida").told_in("81 kg this morning")
    assert not wanted.by("Ana").told_in("81 kg this morning")


def test_a_long_sentence_is_looked_through_once_for_whose_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look back from each figure would take the square of them, which a message of somebody else could choose."""
    looked: list[str] = []
    pattern = slots._WHOSE

    class Counting:
        def finditer(self, text: str) -> Iterator[re.Match[str]]:
            looked.append(text)
            return pattern.finditer(text)

    monkeypatch.setattr(slots, "_WHOSE", Counting())
    wanted = wanted_slot("How much do I weigh?")
    assert wanted
    assert not wanted.told_in("Tom is 89 kg " * 20_000)
    assert [len(text) for text in looked] == [slots._LONGEST]


@pytest.mark.parametrize(("text", "told"), [("Acme took me on in May", True), ("Felix took me up the hill", False)])
def test_who_is_taken_on_has_a_job_and_who_is_taken_somewhere_has_not(text: str, told: bool) -> None:
    wanted = wanted_slot("Where do I work?")
    assert wanted
    assert wanted.told_in(text) is told


@pytest.mark.parametrize("question", ["Where does Ana's mother live?", "What does Tom's older brother do?"])
def test_what_is_asked_of_a_relative_is_no_slot_of_whose_relative_it_is(question: str) -> None:
    assert wanted_slot(question) is None


@pytest.mark.parametrize("question", ["Who is Ana's boss?", "Who is Ana's husband?", "Where does Ana live?"])
def test_who_somebody_deals_with_is_a_slot_of_theirs(question: str) -> None:
    wanted = wanted_slot(question)
    assert wanted
    assert wanted.names == ("Ana",)


@pytest.mark.parametrize(
    ("question", "text", "told"),
    [
        ("How much is our rent?", "Saltshouse is £1,050 a week", False),
        ("How much is our rent?", "The Willows costs £900 a month", False),
        ("How much is our rent?", "Rent is £900 a month", True),
        ("How much is our rent?", "It's £900 a month now", True),
        ("How much is our rent?", "The flat is £900 a month", True),
        ("How much is our rent?", "Dave wants 900 a month", True),
        ("Where does my mum live?", "Mum's in Hull now", True),
        ("Where does my mum live?", "Mum's in Hull till Friday", False),
        ("Where does my mum live?", "His mum's in Hull now", False),
        ("How much is our rent?", "I pay 900 a month", True),
        ("How much is our rent?", "I pay Dana 300 a month", False),
        ("How much is our rent?", "Bought a Vivaro on finance, 210 a month", False),
        ("How much is our rent?", "My workshop is unit 7 at Long Rock, 240 a month", False),
        ("What do I earn?", "I'm on the waiting list for therapy, been 5 months", False),
        ("What do I earn?", "I'm on 34k now", True),
        ("What do I earn?", "I'm on the new contract, 34k a year", True),
        ("How much do I weigh?", "I've stopped weighing myself, last was 11st 2", True),
        ("How much do I weigh?", "My flat is 11 St James", False),
        ("How much do I weigh?", "The 21st of March", False),
        ("Where do I live?", "new house 16 May, dad in a home", False),
        ("Where do I live?", "our new house in Leith is lovely", True),
        ("Where do I live?", "we need to paint our house", False),
        ("Where do I work?", "Been working for hours", False),
        ("Where do I work?", "I've been working at Lidl", True),
        ("What is Sam allergic to?", "Sam's epipen is in the blue bag", False),
        ("What is Sam allergic to?", "Sam has an epipen for nuts", True),
    ],
)
def test_a_message_that_has_the_words_of_a_slot_need_not_tell_it(question: str, text: str, told: bool) -> None:
    wanted = wanted_slot(question)
    assert wanted
    assert wanted.told_in(text) is told
