"""Whether what is current comes first when lives change, and what was so then is still found.

python -m tests.bench.changing [--lives 40] [--seed 7]

Each life changes its home, job, diet and plan over three years. It is told in four ways, to a user each: as facts,
with when they were said; as memories with keys; and as plain messages, without a model, in sentences that the rules
know, and in paraphrases that were set aside before any rule was made (`paraphrases.py`). Some values are corrected
later, and some facts are about the time before. Then it is asked what is so now, what was so after each change, and
since when.
The expected answers come from the changes alone.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

from rich.console import Console

from mnemolog import Memory
from tests.bench.background import data_directory
from tests.bench.paraphrases import CORRECTED, HELD_OUT

BEGAN = datetime(2023, 1, 1, tzinfo=UTC)
TOP = 10
AIMS = {"facts": 1.0, "keyed": 1.0, "turns": 0.85}
# Turns in wordings that no rule was made from.
PARAPHRASED = "paraphrased"
WAYS = (*AIMS, PARAPHRASED)


@dataclass(frozen=True, slots=True)
class Topic:
    """What may change. `said` and `corrected` are messages, `key` the reference and kind of a memory's key."""

    name: str
    predicate: str
    question: str
    values: tuple[str, ...]
    memory: str
    said: tuple[str, ...]
    corrected: str


TOPICS = (
    Topic(
        "home",
        "lives_in",
        "Where do I live?",
        ("Lisbon", "Leipzig", "Oslo", "Kyoto", "Turin", "Ghent", "Quito", "Bergen", "Split", "Riga"),
        "Lives in {}",
        ("I moved to {} last week.", "We have just moved to {}.", "I live in {} now, the flat is lovely."),
        "I said that wrong: the place I moved to is {}.",
    ),
    Topic(
        "job",
        "works_at",
        "Where do I work?",
        ("Acme", "Globex", "Initech", "Umbra", "Hooli", "Vandelay", "Stark Labs", "Wayne Works", "Tyrell", "Cyberdyne"),
        "Works at {}",
        ("I started a new job at {}.", "I work at {} now.", "My first day at {} was great."),
        "A correction: the company where I work is {}.",
    ),
    Topic(
        "diet",
        "diet_plan",
        "What is my diet?",
        ("vegan", "vegetarian", "keto", "paleo", "pescatarian", "low-carb", "gluten-free", "Mediterranean"),
        "Follows a {} diet",
        ("I have switched to a {} diet.", "From now on I am on a {} diet.", "My doctor put me on a {} diet."),
        "I mixed that up: my diet is {}.",
    ),
    Topic(
        "plan",
        "next_trip",
        "Where is my next trip going?",
        ("Crete", "Iceland", "Madeira", "Sicily", "Patagonia", "Hokkaido", "Zanzibar", "Bali", "Malta", "Corsica"),
        "The next trip goes to {}",
        (
            "My next trip will be to {}.",
            "We changed our plans: the next trip goes to {}.",
            "I booked the next trip: {}.",
        ),
        "Not what I said before: the next trip goes to {}.",
    ),
)
CHATTER = (
    "The weather was awful today.",
    "I slept badly, the neighbours had a party.",
    "Can you remind me to buy bread?",
    "I watched a film about whales, it was long.",
    "My sister called, she sends her love.",
    "I ran five kilometres this morning.",
)


@dataclass(frozen=True, slots=True)
class Change:
    """A value that holds from `since`, as it was said at `told`. `until`: it had ended when it was said."""

    topic: Topic
    value: str
    since: datetime
    told: datetime
    until: datetime | None = None
    corrects: bool = False

    def text(self, random: Random, *, paraphrased: bool) -> str:
        plain = (self.topic.corrected,) if self.corrects else self.topic.said
        said = (CORRECTED if self.corrects else HELD_OUT)[self.topic.name] if paraphrased else plain
        return random.choice(said).format(self.value)


def life(random: Random) -> Sequence[Change]:
    """The changes of one life, in the order in which they are told."""
    told: list[Change] = []
    for topic in TOPICS:
        values = random.sample(topic.values, random.randint(3, 5))
        since = BEGAN + timedelta(days=random.randint(0, 90))
        for place, value in enumerate(values[1:]):
            at = since + timedelta(days=random.randint(0, 20))
            told.append(Change(topic, value, since, at))
            if place and random.random() < 0.25:
                right = random.choice([one for one in topic.values if one not in values])
                told.append(Change(topic, right, since, at + timedelta(days=random.randint(1, 25)), corrects=True))
            since += timedelta(days=random.randint(60, 300))
        if random.random() < 0.3:
            before = BEGAN - timedelta(days=random.randint(300, 900))
            at = BEGAN + timedelta(days=random.randint(200, 600))
            told.append(Change(topic, values[0], before, at, until=before + timedelta(days=200)))
    return sorted(told, key=lambda one: (one.told, one.topic.name))


def holds(told: Sequence[Change], topic: Topic, valid_at: datetime, known_at: datetime) -> Change | None:
    """What was known to hold: the last value that had begun, corrected by what was told later of the same start."""
    known = [one for one in told if one.topic is topic and one.told <= known_at and one.since <= valid_at]
    last = max(known, key=lambda one: (one.since, one.told), default=None)
    return last if last and (last.until is None or valid_at < last.until) else None


@dataclass(slots=True)
class Scores:
    """How many answers there were of each kind, and how many of them were right, by way of telling."""

    asked: Counter[tuple[str, str]]
    right: Counter[tuple[str, str]]
    stale_above: Counter[str]

    def count(self, way: str, kind: str, right: bool) -> None:
        self.asked[way, kind] += 1
        self.right[way, kind] += right

    def share(self, kind: str, ways: Sequence[str]) -> float | None:
        asked = sum(self.asked[way, kind] for way in ways)
        return round(sum(self.right[way, kind] for way in ways) / asked, 4) if asked else None


def ranked(memory: Memory, user: str, topic: Topic, as_of: int | None = None) -> Sequence[str]:
    """The values that the hits for the topic's question name, best first."""
    found: list[str] = []
    for hit in memory.search(topic.question, user_id=user, top_k=TOP, as_of=as_of).hits:
        found += [value for value in topic.values if value.lower() in hit.text.lower()]
    return list(dict.fromkeys(found))


def ask(memory: Memory, scores: Scores, way: str, user: str, told: Sequence[Change], seqs: Sequence[int]) -> None:
    """Ask what is so now and after some changes."""
    now = datetime.now(UTC)
    for topic in TOPICS:
        current = holds(told, topic, now, now)
        assert current, "the last value of every topic holds"
        found = ranked(memory, user, topic)
        place = found.index(current.value) if current.value in found else len(found)
        scores.count(way, "current_first", found[:1] == [current.value])
        scores.stale_above[way] += place > 0 and bool(found)
    for place in range(len(told) // 3, len(told), len(told) // 2):
        topic, then = told[place].topic, told[place].told
        was = holds(told[: place + 1], topic, then, then)
        if was:
            scores.count(way, "as_of", ranked(memory, user, topic, as_of=seqs[place])[:1] == [was.value])


def tell_facts(memory: Memory, user: str, told: Sequence[Change]) -> Iterator[int]:
    for one in told:
        yield memory.add_fact(
            "me",
            one.topic.predicate,
            one.value,
            user_id=user,
            since=one.since,
            until=one.until,
            told_at=one.told,
        ).last_seq


def ask_facts(memory: Memory, scores: Scores, user: str, told: Sequence[Change]) -> None:
    """Read the facts themselves: what held then as it was known then, and since when the current value holds."""
    now = datetime.now(UTC)
    for topic in TOPICS:
        current = holds(told, topic, now, now)
        assert current
        [fact] = memory.list_facts(user_id=user, about="me", predicate=topic.predicate)
        since, learned = fact.valid_from, fact.known_from
        scores.count("facts", "since", (since, learned) == (current.since, current.told))
        timeline = memory.list_facts(user_id=user, about="me", predicate=topic.predicate, valid_at="any")
        values = {one.object or one.value for one in timeline}
        scores.count("facts", "timeline", values == {one.value for one in told if one.topic is topic})
    for one in told:
        for valid_at, known_at in ((one.told, one.told), (one.since, now), (now, one.told)):
            was = holds(told, one.topic, valid_at, known_at)
            found = memory.list_facts(
                user_id=user, about="me", predicate=one.topic.predicate, valid_at=valid_at, known_at=known_at
            )
            scores.count(
                "facts", "as_of", [fact.object or fact.value for fact in found] == ([was.value] if was else [])
            )


def tell_keyed(memory: Memory, user: str, told: Sequence[Change]) -> Iterator[int]:
    for one in told:
        text = one.topic.memory.format(one.value)
        yield memory.create(text, user_id=user, memory_key=f"profile|person|me|{one.topic.name}").last_seq


def tell_turns(
    memory: Memory, user: str, told: Sequence[Change], random: Random, *, paraphrased: bool = False
) -> Iterator[int]:
    for one in told:
        at = one.told - timedelta(hours=1)
        said = [(random.choice(CHATTER), at), (one.text(random, paraphrased=paraphrased), one.told)]
        messages = [{"content": text, "occurred_at": when.isoformat()} for text, when in said]
        yield memory.add(messages, user_id=user).last_seq


def run(lives: int, seed: int) -> Scores:
    scores = Scores(Counter(), Counter(), Counter())
    with data_directory() as data_dir:
        policy = data_dir.parent / "policy.yaml"
        policy.write_text("predicates:\n  - {name: next_trip, single: true, object: entity}\n", encoding="utf-8")
        with Memory(data_dir, policy_file=policy) as memory:
            for number in range(lives):
                random = Random(f"{seed}/{number}")
                told = life(random)
                # What had ended when it was said replaces no key, and a message about it is not a change.
                lasting = [one for one in told if one.until is None]
                user = f"facts-{number}"
                seqs = list(tell_facts(memory, user, told))
                ask(memory, scores, "facts", user, told, seqs)
                ask_facts(memory, scores, user, told)
                for way, seqs in (
                    ("keyed", list(tell_keyed(memory, f"keyed-{number}", lasting))),
                    ("turns", list(tell_turns(memory, f"turns-{number}", lasting, random))),
                    (
                        PARAPHRASED,
                        list(tell_turns(memory, f"{PARAPHRASED}-{number}", lasting, random, paraphrased=True)),
                    ),
                ):
                    ask(memory, scores, way, f"{way}-{number}", lasting, seqs)
    return scores


def figures_of(scores: Scores) -> Mapping[str, object]:
    exact = ("facts", "keyed")
    return {
        "current_first": {way: scores.share("current_first", [way]) for way in WAYS},
        "stale_above_current": {way: scores.stale_above[way] for way in WAYS},
        "as_of_right": scores.share("as_of", exact),
        "as_of_right_by_way": {way: scores.share("as_of", [way]) for way in WAYS},
        "since_right": scores.share("since", exact),
        "timelines_right": scores.share("timeline", exact),
        "questions": sum(scores.asked.values()),
        "aims": {"current_first": AIMS, "as_of_right": 1.0},
    }


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="tests.bench.changing", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lives", type=int, default=40, help="lives to tell (default: 40)")
    parser.add_argument("--seed", type=int, default=7, help="what the lives are made from (default: 7)")
    options = parser.parse_args(arguments)
    figures = figures_of(run(options.lives, options.seed))
    Console().print(json.dumps(figures), soft_wrap=True, highlight=False)


if __name__ == "__main__":
    main(sys.argv[1:])
