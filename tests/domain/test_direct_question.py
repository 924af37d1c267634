"""What a question asks of one person, and which texts tell it."""

import pytest

from mnemolog.domain.direct_question import direct, thing


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Where does Eva Novak live?", "Eva Novak's home"),
        ("where does Dr. Koch live now?", "Koch's home"),
        ("Where does my cousin Eva live?", "Eva's home"),
        ("What does Tara do for a living?", "Tara's job"),
        ("Which company does Tara work for?", "Tara's job"),
        ("When is my birthday?", "my birthday"),
        ("what's my phone number", "my phone number"),
        ("Who is my dentist?", "my dentist"),
        ("When is Yusuf’s birthday?", "Yusuf's birthday"),
        ("What's Yusuf's birthday?", "Yusuf's birthday"),
        ("What is my mother's phone number?", "my mother's phone number"),
        ("Where does my older brother live?", "my brother's home"),
        ("What's Otto's address?", "Otto's address"),
        ("What is my doctor's name?", "my doctor"),
        ("What is my grandchild's name?", "my grandchild"),
        ("How much does Otto earn?", "Otto's pay"),
        ("What does my sister earn?", "my sister's pay"),
        ("Which university did Otto go to?", "Otto's university"),
        ("Where did my aunt study?", "my aunt's university"),
        ("What is my sister called?", "my sister"),
        ("How is our aunt?", "my aunt"),
        ("Does my mother-in-law like tea?", "my mother-in-law"),
        ("where does zoltan live", "zoltan's home"),
        ("Where does josé work now?", "josé's job"),
        ("what's tara's phone number", "tara's phone number"),
        ("What is the name of Otto's sister?", "Otto's sister"),
        ("Who is Otto's boss now?", "Otto's boss"),
        ("Where was Otto born?", "Otto's birthplace"),
        ("What's my aunt's last name?", "my aunt's surname"),
        ("What medication does Otto take?", "Otto's medication"),
        ("What does my mother take for her blood pressure?", "my mother's medication"),
        ("What is Tara allergic to?", "Tara's allergy"),
    ],
)
def test_what_is_asked_is_said_in_few_words(question: str, said: str) -> None:
    found = direct(question)
    assert found
    assert found.said == said


@pytest.mark.parametrize(
    "question",
    [
        "Should I ask my boss?",
        "When is my grandchild due?",
        "Where do I live?",
        "Where did Eva live before?",
        "Where does Ana's manager live?",
        "Who is Eva?",
        "My day",
        "where does she live",
        "where do we live?",
        "where does everybody work?",
        "where does the cat live?",
        "what does caching do?",
        "",
    ],
)
def test_other_questions_ask_nothing_directly(question: str) -> None:
    assert direct(question) is None


@pytest.mark.parametrize(
    ("question", "text", "tells"),
    [
        ("Where does Eva Novak live?", "Eva lives in Graz", False),
        ("Where does Eva Novak live?", "Ana: Eva Novak's flat is in Linz.", True),
        ("Where does Eva Novak live?", "Eva Novak teaches the cello", False),
        ("Where does Eva Novak live?", "Where does Eva Novak live?", False),
        ("Where does Eva Novak live?", "Ana: She moved to Linz in May.", True),
        ("Where does Eva Novak live?", "My aunt is called Ida and she lives in Kiel.", False),
        ("When is my birthday?", "my mum's birthday is on 8 March", False),
        ("When is my birthday?", "I'm going to Japan, it's my 40th birthday present", False),
        ("When is my birthday?", "My birthday is on 8 March", True),
        ("When is my birthday?", "Turned 80 yesterday. Kay made a cake", True),
        ("When is my birthday?", "Kay turned 80 yesterday", False),
        ("When was I born?", "The user's birthday is 8 March", True),
        ("What is my email address?", "You can reach me at ana@example.com", True),
        ("What is Paul's job?", "Paul is a teacher in Bremen.", True),
        ("What is my mum called?", "My mother is called Ida.", True),
        ("What is my father called?", "Ana is a parent of Mia", False),
        ("What is my uncle called?", "He is called Paul.", False),
        ("Who is Otto's sister?", "Otto: I had soup", False),
        ("Who is Otto's sister?", "Otto: my sister Ines had soup", True),
        ("Who is Otto's mother?", "Otto's mum is ill", True),
        ("Where was Otto born?", "Otto: I live in Graz", False),
        ("Who is Otto's sister?", "Otto came with his sister Ines. What shall we cook?", True),
        ("Who is Otto's sister?", "Otto is here. Who is his sister?", False),
        ("Where does Otto work?", "Otto wants me to write a toast", False),
        ("Where does Otto work?", "Otto is a writer", True),
        ("What is Otto's surname?", "Otto wrote to me", False),
        ("What is Otto's surname?", "Otto Lang wrote to me", True),
        ("What medication does Otto take?", "Otto is on metformin now", True),
        ("What medication does Otto take?", "Otto is down to thirty sucklers", False),
        ("What medication does my father take?", "apa has a pill for his heart", True),
        ("What is Otto allergic to?", "Otto has a nut allergy", True),
        ("What is Otto allergic to?", "Otto wants a green bike", False),
    ],
)
def test_a_text_tells_it_if_it_speaks_of_the_person_and_of_what_is_asked(question: str, text: str, tells: bool) -> None:
    found = direct(question)
    assert found
    assert found.tells(text, {found.name} - {""}) is tells


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("My sister Joan is coming", True),
        ("my sister ana is here", True),
        ("Amy, my sister, came", True),
        ("Jo is my sister", True),
        ("my sister is called jo", True),
        ("Jia Hui had her baby!! my sister i mean. a girl.", True),
        ("my sisters are Ana and Bea", True),
        ("The user's sister is Bea", True),
        ("my sister came by sunday with a ham. Duke about lost his mind", False),
        ("My sister visited from Bristol. Mochi was beside herself", False),
        ("I have a sister! Ana, born yesterday", True),
        ("I have a sister. Monday is her day", False),
        ("I have a sister! Nothing else to say", False),
        ("My sister moved to Oslo with Tom", False),
        ("my little sister thinks so", False),
        ("My sister Monday, my brother Tuesday", False),
        ("my sister's wedding is on friday", False),
        ("Ryan's sister. do i sit with her", False),
    ],
)
def test_a_text_says_what_a_relative_is_called_only_beside_the_word(text: str, *, named: bool) -> None:
    found = direct("What's my sister's name?")
    assert found
    assert found.names_them(text) is named


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is my daughter-in-law called?", "Gareth's wife is called Bethan"),
        ("Who is my niece?", "my brother's daughter Jada got in"),
        ("Who is my mother-in-law?", "Denise's mama Lorraine is here"),
    ],
)
def test_a_relative_may_be_called_by_whose_they_are(question: str, text: str) -> None:
    found = direct(question)
    assert found
    assert found.names_them(text)
    assert found.speaks_of_theirs(text)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What is my shoe size?", "my shoe size"),
        ("What size shoe do I wear?", "my shoe size"),
        ("How much is my gas bill?", "my gas bill"),
        ("Who is our solicitor now?", "our solicitor"),
        ("What’s my mother's maiden name?", "my mother's maiden name"),
        ("When is Tom's graduation?", "Tom's graduation"),
        ("What is the name of my cat?", "my cat"),
        ("Which bank am I with?", "my bank"),
        ("What color is my kayak?", "my kayak"),
        ("What breed are Tom's hens?", "Tom's hens"),
        ("What is my cat called?", "my cat"),
        ("How many cats do I have?", "my cats"),
        ("How many bee hives have we got now?", "my bee hives"),
    ],
)
def test_a_question_asks_for_something_by_a_noun(question: str, said: str) -> None:
    found = thing(question)
    assert found
    assert found.said == said
    assert not found.told_in("The tram was late")
    assert found.told_in(f"About {said}: not today")
    assert not found.told_in(f"What about {said}?")


def test_an_animal_is_called_by_its_name_without_a_word_for_it() -> None:
    dog = thing("What is our dog called?")
    assert dog
    assert not dog.named


def test_a_breed_is_a_word_for_an_animal() -> None:
    dogs = thing("How many dogs do I have?")
    assert dogs
    assert dogs.told_in("We've two collies, Shep and Bran")


@pytest.mark.parametrize(
    "question",
    [
        "Where is my cat?",
        "Who is my father?",
        "What is my next trip?",
        "Who is Tom?",
        "When is my parcel due?",
        "When is my tooth being pulled?",
    ],
)
def test_a_question_asks_for_nothing_by_a_noun(question: str) -> None:
    assert thing(question) is None


@pytest.mark.parametrize(
    ("text", "may_name"),
    [
        ("The boat is called Morag", True),
        ("We have a boat. Her name is Morag", True),
        ("Our boat Morag leaks", True),
        ("Morag, our boat, leaks", True),
        ("Morag leaks", True),
        ("The boat leaks again", False),
        ("I took the boat out with Tom", False),
    ],
)
def test_a_text_that_has_the_noun_may_say_what_the_thing_is_called(text: str, *, may_name: bool) -> None:
    question = "What is my boat called?"
    boat = thing(question)
    assert boat
    assert boat.named
    assert boat.may_name(text, question) is may_name


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("My brother's wife Eva came", True),
        ("My sister-in-law Eva came", True),
        ("My brother got married", True),
        ("My brother Memo is not a match", False),
        ("Chayo's husband is back", False),
    ],
)
def test_the_wife_of_a_brother_is_told_by_her_own_words(text: str, *, told: bool) -> None:
    wife = thing("What is my brother's wife called?")
    assert wife
    assert wife.said == "my brother's wife"
    assert wife.told_in(text) is told


@pytest.mark.parametrize(
    ("text", "named"),
    [("dr naylor rang", True), ("My doctor is Dr. Lee", True), ("The doctor rang. Rex barked", False)],
)
def test_a_doctor_may_be_called_by_the_title(text: str, *, named: bool) -> None:
    doctor = direct("What is my doctor's name?")
    assert doctor
    assert doctor.names_them(text) is named


@pytest.mark.parametrize("who", ["Aunt Pat", "Uncle Pat", "Granny Pat", "Pat"])
def test_what_somebody_is_called_by_the_family_is_no_part_of_the_name(who: str) -> None:
    found = direct(f"Where does {who} live?")
    assert found
    assert found.name == "Pat"
