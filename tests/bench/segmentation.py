"""Boundaries of episodes in synthetic threads: precision and recall, beside those of a fixed gap alone.

python -m tests.bench.segmentation [--data DIR] [--tune]

A thread joins eight conversations that have nothing to do with each other: sessions of LongMemEval, or of different
speakers of LoCoMo. Between two of them lie 9 to 72 hours (in 40 of 100) or 1 to 90 minutes; within one, 20 seconds to
3 minutes a turn, 10 to 120 minutes at every twentieth, and a night at one in 250. A boundary is found when one is
decided at most two turns away. `baseline` is a gap of eight hours alone.

The threshold, and how much nearer a turn after a silence must be, were chosen with --tune on every other question of
LongMemEval and on conversations 26, 30, 41 of LoCoMo; without it, the rest is measured.
"""

import argparse
import gzip
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from mnemolog.adapters.minilm import MiniLM
from mnemolog.domain import segmentation
from mnemolog.domain.episode import Place
from mnemolog.domain.segmentation import SegmentationPolicy, SpokenTurn, Vector, episodes, has_topic

FOLDER = Path("../shared/data")
LOCOMO, LONGMEMEVAL = Path("locomo/locomo_dev.json"), Path("longmemeval/longmemeval_s_dev60.jsonl.gz")
HOW_TO_GET = (
    "The conversations are not shipped: get LoCoMo (snap-research/locomo, CC BY-NC 4.0) and LongMemEval_S"
    " (xiaowu0162/longmemeval-cleaned, MIT), and pass the folder that holds them with --data."
)
JOINED, NEAR = 8, 2
TUNED_ON = ("conv-26", "conv-30", "conv-41")
CANDIDATES = (0.15, 0.20, 0.25, 0.30, 0.35, 0.40)
AFTER_SILENCE = (0.0, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
START = datetime(2026, 1, 1, 9, tzinfo=UTC)
POLICY = SegmentationPolicy()

# Who speaks, and what.
Session = Sequence[tuple[bool, str]]


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a synthetic thread; `begins` a conversation that has nothing to do with the one before."""

    by_user: bool
    text: str
    at: datetime
    begins: bool


@dataclass(slots=True)
class Score:
    """Boundaries that were found, that were not there, and that were missed."""

    found: int = 0
    false: int = 0
    missed: int = 0

    def count(self, thread: Sequence[Turn], decided: Sequence[int]) -> None:
        true = [place for place, turn in enumerate(thread) if turn.begins]
        for place in decided:
            near = [one for one in true if abs(one - place) <= NEAR]
            if near:
                true.remove(min(near, key=lambda one: abs(one - place)))
                self.found += 1
            else:
                self.false += 1
        self.missed += len(true)

    @property
    def precision(self) -> float:
        return round(self.found / max(1, self.found + self.false), 3)

    @property
    def recall(self) -> float:
        return round(self.found / max(1, self.found + self.missed), 3)

    @property
    def f1(self) -> float:
        return round(2 * self.found / max(1, 2 * self.found + self.false + self.missed), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=FOLDER, help="the folder with both sets (default: %(default)s)")
    parser.add_argument("--tune", action="store_true", help="compare thresholds on the other half of the data")
    asked = parser.parse_args()
    for path in (asked.data / LOCOMO, asked.data / LONGMEMEVAL):
        if not path.is_file():
            sys.exit(f"there is no {path}. {HOW_TO_GET}")
    random = Random(3)
    sets = {
        "longmemeval": [_thread(random, one) for one in _longmemeval(asked.data / LONGMEMEVAL, random, asked.tune)],
        "locomo": [_thread(random, one) for one in _locomo(asked.data / LOCOMO, random, asked.tune)],
    }
    model = MiniLM()
    vectors = _vectors(model, [turn for threads in sets.values() for thread in threads for turn in thread])
    if asked.tune:
        found = {str(least): _measured(sets, vectors, least) for least in CANDIDATES}
        for part in AFTER_SILENCE:
            with patch.object(segmentation, "AFTER_SILENCE", part):
                found[f"after silence {part:.2f}"] = _measured(sets, vectors, model.calibration.topic_similarity)
    else:
        found = _measured(sets, vectors, model.calibration.topic_similarity)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


def _measured(
    sets: Mapping[str, Sequence[Sequence[Turn]]], vectors: Mapping[str, Vector], least: float
) -> dict[str, Any]:
    every, gaps, of_set = Score(), Score(), dict[str, Any]()
    for name, threads in sets.items():
        own, own_gaps = Score(), Score()
        for thread in threads:
            decided, far = _decided(thread, vectors, least), _decided(thread, {}, least)
            for score in (every, own):
                score.count(thread, decided)
            for score in (gaps, own_gaps):
                score.count(thread, far)
        of_set[name] = {"threads": len(threads), "turns": sum(map(len, threads)), **_told(own, own_gaps)}
    return {**_told(every, gaps), "similarity": least, "within_turns": NEAR, "sets": of_set}


def _told(score: Score, gaps: Score) -> dict[str, float]:
    return {
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "baseline_precision": gaps.precision,
        "baseline_recall": gaps.recall,
        "baseline_f1": gaps.f1,
    }


def _decided(thread: Sequence[Turn], vectors: Mapping[str, Vector], least: float) -> Sequence[int]:
    """The turns that start an episode, but for the first; with no vectors and no markers, by the gap alone."""
    turns = [
        SpokenTurn(
            Place(str(place), place, turn.at),
            turn.by_user,
            POLICY.markers.found_in(turn.text) if vectors and turn.by_user else None,
            vectors.get(turn.text),
        )
        for place, turn in enumerate(thread)
    ]
    return [one.first.number for one in episodes(turns, POLICY, least, thread[-1].at)][1:]


def _vectors(model: MiniLM, turns: Sequence[Turn]) -> Mapping[str, Vector]:
    texts = sorted({turn.text for turn in turns if has_topic(turn.text)})
    found: dict[str, Vector] = {}
    for at in range(0, len(texts), 500):
        sys.stderr.write(f"\r{at} of {len(texts)} texts")
        portion = texts[at : at + 500]
        found |= zip(portion, model.embed(portion).tolist(), strict=True)
    sys.stderr.write("\n")
    return found


def _thread(random: Random, conversations: Sequence[Session]) -> Sequence[Turn]:
    now, thread = START, list[Turn]()
    for number, conversation in enumerate(conversations):
        for place, (by_user, text) in enumerate(conversation):
            begins = number > 0 and place == 0
            now += _between(random) if begins else _within(random)
            thread.append(Turn(by_user, text, now, begins))
    return thread


def _between(random: Random) -> timedelta:
    if random.random() < 0.4:
        return timedelta(hours=random.uniform(9, 72))
    return timedelta(minutes=random.uniform(1, 90))


def _within(random: Random) -> timedelta:
    drawn = random.random()
    if drawn < 0.05:
        return timedelta(minutes=random.uniform(10, 120))
    if drawn < 0.054:
        return timedelta(hours=random.uniform(8.5, 14))
    return timedelta(seconds=random.uniform(20, 180))


def _longmemeval(path: Path, random: Random, tuning: bool) -> Iterator[Sequence[Session]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if (number % 2 == 0) == tuning:
                haystack = [one for one in json.loads(line)["haystack_sessions"] if len(one) >= 4]
                joined = random.sample(haystack, min(JOINED, len(haystack)))
                yield [[(turn["role"] == "user", turn["content"]) for turn in one] for one in joined]


def _locomo(path: Path, random: Random, tuning: bool) -> Iterator[Sequence[Session]]:
    """Sessions of one conversation in their order, between those of others: no two of the same follow each other."""
    with path.open(encoding="utf-8") as file:
        conversations = [one for one in json.load(file) if (one["sample_id"] in TUNED_ON) == tuning]
    left = [list(_sessions(one["conversation"])) for one in conversations]
    while True:
        joined, last = list[Session](), None
        while len(joined) < JOINED and (others := [one for one in left if one and one is not last]):
            last = random.choice(others)
            joined.append(last.pop(0))
        if len(joined) < 3:
            return
        yield joined


def _sessions(conversation: Mapping[str, Any]) -> Iterator[Session]:
    number = 1
    while turns := conversation.get(f"session_{number}"):
        yield [(turn["speaker"] == conversation["speaker_a"], turn["text"]) for turn in turns]
        number += 1


if __name__ == "__main__":
    main()
