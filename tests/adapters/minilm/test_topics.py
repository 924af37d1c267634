"""Episodes of conversations in several languages, with the bundled model: no flapping."""

from datetime import UTC, datetime, timedelta

import pytest

from mnemolog.adapters.minilm import MiniLM
from mnemolog.domain.episode import Place
from mnemolog.domain.segmentation import SegmentationPolicy, SpokenTurn, episodes, has_topic

pytestmark = pytest.mark.spec("E02")

START = datetime(2026, 1, 1, 9, tzinfo=UTC)
POLICY = SegmentationPolicy()

# What the user (U) and the agent (A) say; a line that begins with ">" starts an episode.
COOKING_TO_TRAVEL = """
U How long do I have to cook brown rice on the stove?
A About 40 minutes on low heat, with two cups of water for each cup of rice.
U And should I wash the brown rice before I cook it?
A Yes, rinse it until the water runs clear.
U Okay, thanks!
A You are welcome.
U Which spices go well with rice and lentils?
A Cumin, coriander and turmeric.
> U I want to book a train from Lisbon to Porto on Friday.
A There are trains every hour from Oriente station.
U Are train tickets cheaper if I book in advance?
A Yes, up to 60 percent.
U Which of those trains arrives in Porto before noon?
A The one at 7:30 arrives at 10:40.
"""

DIGRESSION = """
U My laptop does not start any more since the update this morning.
A Does the power light of the laptop come on?
U The power light comes on, but the laptop screen stays black.
A Hold the power button for 20 seconds, then start the laptop again.
U What is the capital of Australia, my daughter asks?
A Canberra.
U The laptop starts now, but it says that the disk is full.
A Delete old updates with the disk cleanup of the laptop.
U How do I start the disk cleanup on this laptop?
A Type "disk cleanup" in the start menu.
U Great, the laptop disk has free space again after the cleanup.
A Good to hear.
"""

ANNOUNCED = {
    "ru": """
U Сколько варить гречку на плите?
A Около двадцати минут.
U А соль добавлять в начале или в конце?
A В начале.
> U Давай про другое. Какие фильмы посоветуешь посмотреть вечером?
A Посмотри старую комедию.
U А есть что-нибудь для детей на вечер?
A Мультфильмы.
""",
    "pl": """
U Jak długo gotować kaszę gryczaną?
A Około dwudziestu minut.
U Czy trzeba ją wcześniej opłukać?
A Tak, dwa razy.
> U Zmieńmy temat: jaki film polecasz na wieczór?
A Może starą komedię.
U A coś dla dzieci na wieczór?
A Bajkę.
""",
    "es": """
U ¿Cuánto tarda en cocerse el arroz integral?
A Unos cuarenta minutos.
U ¿Hay que lavarlo antes de cocerlo?
A Sí, dos veces.
> U Cambiando de tema, ¿qué película me recomiendas?
A Una comedia antigua.
U ¿Y alguna película para niños?
A Una de animación.
""",
    "de": """
U Wie lange muss brauner Reis kochen?
A Etwa vierzig Minuten.
U Muss man den Reis vorher waschen?
A Ja, zweimal.
> U Anderes Thema: Welchen Film empfiehlst du für heute Abend?
A Eine alte Komödie.
U Und welchen Film für Kinder?
A Einen Zeichentrickfilm.
""",
    "ja": """
U 玄米は何分くらい炊けばいいですか？
A 四十分くらいです。
U 炊く前に洗ったほうがいいですか？
A はい、二回洗ってください。
> U 話は変わりますが、今夜見る映画のおすすめはありますか？
A 古いコメディはどうですか。
U 子供向けの映画もありますか？
A アニメがいいと思います。
""",
}


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM()


def found_and_marked(model: MiniLM, conversation: str) -> tuple[list[int], list[int]]:
    """The turns that start an episode: as decided, and as marked."""
    lines = conversation.strip().splitlines()
    said = [line.removeprefix("> ") for line in lines]
    turns = []
    for number, line in enumerate(said, 1):
        by_user, text = line.startswith("U "), line[2:]
        vector = model.embed([text])[0].tolist() if has_topic(text) else None
        marker = POLICY.markers.found_in(text) if by_user else None
        place = Place(str(number), number, START + number * timedelta(minutes=1))
        turns.append(SpokenTurn(place, by_user, marker, vector))
    found = episodes(turns, POLICY, model.calibration.topic_similarity, turns[-1].place.at)
    return [one.first.number for one in found], [
        1,
        *(number for number, line in enumerate(lines, 1) if line.startswith(">")),
    ]


@pytest.mark.parametrize(
    "conversation",
    [COOKING_TO_TRAVEL, DIGRESSION, *ANNOUNCED.values()],
    ids=["shift", "digression", *ANNOUNCED],
)
def test_episodes_start_where_the_topic_changes_and_nowhere_else(model: MiniLM, conversation: str) -> None:
    found, marked = found_and_marked(model, conversation)
    assert found == marked
