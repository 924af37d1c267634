"""Evidence recall on LoCoMo and LongMemEval_S, of the engine and of plain methods on the same turns and questions.

python -m tests.bench.recall [--data DIR] [--sets locomo longmemeval] [--every N] [--vectors FILE]

Turns go in as messages, with speaker, time and image caption; questions are asked by `memory.query`, one configuration
for both sets, no model calls. Unit: the turn; of LongMemEval, the user's turns. `reference` is the min-max sum of
cosine and BM25, each over the turn and over its window of three, + 0.1 where the question names this speaker alone,
+ 0.5 x the mean of the session's best three. Weights were chosen on conversations 26, 30, 41; `held_out` are 42 and 43.

Categories of LoCoMo: 1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial.
"""

import asyncio
import gzip
import json
import re
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from math import log, log2
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from sqlalchemy import text

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.ingest import locomo
from mnemolog.adapters.minilm import MiniLM
from mnemolog.domain.message import full_text
from mnemolog.domain.text import search_document, search_terms
from mnemolog.domain.turn import Shown
from mnemolog.projections.requests import MemoryQuery
from tests.bench.segmentation import FOLDER, HOW_TO_GET, LOCOMO, LONGMEMEVAL, TUNED_ON

Scores = npt.NDArray[np.floating[Any]]
Vectors = npt.NDArray[np.float32]

BATCH = 100
LEXEMES = text("""
SELECT array(SELECT jsonb_build_array(lexeme, cardinality(positions)) FROM unnest(to_tsvector('mnemolog.words', one)))
FROM unnest(CAST(:documents AS text[])) WITH ORDINALITY AS t(one, place) ORDER BY place
""")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the turns that answer it, and for LongMemEval their sessions and when it is asked."""

    text: str
    category: str
    gold: frozenset[int]
    sessions: frozenset[int] = frozenset()
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Corpus:
    """All turns of one user, as the engine takes them, and the questions about them."""

    user: str
    turns: Sequence[Mapping[str, Any]]
    sessions: Sequence[int]
    asked: Sequence[Asked]

    @property
    def texts(self) -> list[str]:
        """What a search finds each turn by."""
        return [
            full_text(turn["speaker"], turn["text"], [Shown("image", it["caption"]) for it in turn["attachments"]])
            for turn in self.turns
        ]

    def windows(self) -> list[str]:
        """Each turn with the one before and the one after it in its session."""
        texts, last = self.texts, len(self.turns) - 1
        near = ((max(0, n - 1), n, min(last, n + 1)) for n in range(len(texts)))
        return ["\n".join(texts[one] for one in sorted({*three}) if self._beside(one, three[1])) for three in near]

    def _beside(self, one: int, other: int) -> bool:
        return self.sessions[one] == self.sessions[other]


def of_locomo(path: Path) -> Iterator[Corpus]:
    turns = defaultdict[str, list[dict[str, Any]]](list)
    for turn in locomo.turns(path):
        turns[turn["user_id"]].append(turn)
    for conversation in json.loads(path.read_bytes()):
        user = str(conversation["sample_id"])
        place = {_turn_id(turn["message_id"]): n for n, turn in enumerate(turns[user])}
        asked = [
            Asked(entry["question"], str(entry["category"]), gold)
            for entry in conversation["qa"]
            if (gold := frozenset(place[one] for one in _evidence(entry["evidence"]) if one in place))
        ]
        sessions = [_turn_id(turn["message_id"])[0] for turn in turns[user]]
        yield Corpus(user, [_plain(turn) for turn in turns[user]], sessions, asked)


def _turn_id(dia_id: str) -> tuple[int, int]:
    session, turn = re.findall(r"\d+", dia_id)[-2:]
    return int(session), int(turn)


def _evidence(given: Sequence[str]) -> Iterator[tuple[int, int]]:
    for one in given:
        yield from ((int(session), int(turn)) for session, turn in re.findall(r"D:?(\d+):(\d+)", one))


def of_longmemeval(path: Path) -> Iterator[Corpus]:
    """Questions that no turn of the user answers are left out, as in the set's own protocol."""
    with gzip.open(path, "rt") as file:
        for number, line in enumerate(file):
            entry = json.loads(line)
            turns, sessions, gold = list[dict[str, Any]](), list[int](), set[int]()
            dated = zip(entry["haystack_sessions"], entry["haystack_dates"], strict=True)
            for session, (said, date) in enumerate(dated):
                at = parsed_date(date)
                for place, turn in enumerate(said):
                    if turn["role"] == "user" and turn["content"].strip():
                        if turn.get("has_answer"):
                            gold.add(len(turns))
                        when = at + timedelta(seconds=30 * place)
                        turns.append({"text": turn["content"], "thread_id": f"{session}", "occurred_at": when})
                        sessions.append(session)
            answers = {n for n, id_ in enumerate(entry["haystack_session_ids"]) if id_ in entry["answer_session_ids"]}
            when = parsed_date(entry["question_date"])
            asked = Asked(entry["question"], entry["question_type"], frozenset(gold), frozenset(answers), when)
            yield Corpus(f"lme-{number}", [_plain(turn) for turn in turns], sessions, [asked] if gold else [])


def parsed_date(text: str) -> datetime:
    return datetime.strptime(text, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)


def _plain(turn: Mapping[str, Any]) -> dict[str, Any]:
    named = ("run_id", "thread_id", "role", "text", "occurred_at")
    given = {"speaker": turn.get("speaker", ""), "attachments": turn.get("attachments", ())}
    return {**{name: turn[name] for name in named if name in turn}, **given}


async def ranked_by_engine(engine: Engine, corpora: Sequence[Corpus]) -> Iterator[tuple[Corpus, Asked, list[int]]]:
    """Each question's turns in the order in which the engine finds them."""
    for corpus in corpora:
        turns = [{**turn, "user_id": corpus.user, "turn_id": str(n)} for n, turn in enumerate(corpus.turns)]
        for start in range(0, len(turns), BATCH):
            await engine.writes.add(turns[start : start + BATCH])
    await engine.settled(3600)
    found = []
    for corpus in corpora:
        for asked in corpus.asked:
            top_k = 100 if asked.sessions else 20
            request = MemoryQuery(query=asked.text, user_id=corpus.user, top_k=top_k, asked_at=asked.at)
            hits = (await engine.reads.query(request)).hits
            found.append((corpus, asked, [int(hit.id) for hit in hits if hit.id.isdigit()]))
    return iter(found)


class Bm25:
    """Okapi BM25 (k1 1.5, b 0.75) over Postgres' English stems, as in the engine."""

    def __init__(self, documents: Sequence[Mapping[str, int]]) -> None:
        self._size = len(documents)
        lengths = np.array([sum(one.values()) for one in documents], float)
        self._norm = 1.5 * (0.25 + 0.75 * lengths / (lengths.mean() or 1))
        self._postings = defaultdict[str, dict[int, int]](dict)
        for place, document in enumerate(documents):
            for word, count in document.items():
                self._postings[word][place] = count

    def scores(self, words: Iterable[str]) -> Scores:
        found = np.zeros(self._size)
        for word in words:
            posting = self._postings.get(word, {})
            places, counts = np.array([*posting], int), np.array([*posting.values()], float)
            idf = log(1 + (self._size - len(posting) + 0.5) / (len(posting) + 0.5))
            found[places] += idf * counts * 2.5 / (counts + self._norm[places])
        return found


@dataclass(frozen=True, slots=True)
class Legs:
    """The scores of all turns for one question."""

    dense: Scores
    words: Scores
    dense_window: Scores
    words_window: Scores


def dense(_corpus: Corpus, _asked: Asked, legs: Legs) -> Scores:
    return legs.dense


def bm25(_corpus: Corpus, _asked: Asked, legs: Legs) -> Scores:
    return legs.words


def fusion(_corpus: Corpus, _asked: Asked, legs: Legs) -> Scores:
    """By reciprocal rank, k = 60."""
    ranks = [np.argsort(np.argsort(-leg, kind="stable")) for leg in (legs.dense, legs.words)]
    found: Scores = np.sum([1.0 / (61 + rank) for rank in ranks], axis=0)
    return found


def sum_of_legs(_corpus: Corpus, _asked: Asked, legs: Legs) -> Scores:
    return _min_max(legs.dense) + _min_max(legs.words)


def reference(corpus: Corpus, asked: Asked, legs: Legs) -> Scores:
    every = (legs.dense, legs.words, legs.dense_window, legs.words_window)
    scores: Scores = np.sum([_min_max(leg) for leg in every], axis=0)
    speakers = [str(turn["speaker"]) for turn in corpus.turns]
    named = {one for one in set(speakers) if one and re.search(rf"\b{re.escape(one)}\b", asked.text)}
    if len(named) == 1:
        scores += 0.1 * np.array([one in named for one in speakers])
    sessions, found = np.array(corpus.sessions), scores.copy()
    for session in set(corpus.sessions):
        found[sessions == session] += 0.5 * np.sort(scores[sessions == session])[-3:].mean()
    return found


def _min_max(scores: Scores) -> Scores:
    span = scores.max() - scores.min()
    found: Scores = (scores - scores.min()) / span if span else np.ones_like(scores)
    return found


METHODS: Mapping[str, Callable[[Corpus, Asked, Legs], Scores]] = {
    "dense": dense,
    "bm25": bm25,
    "fusion": fusion,
    "min_max_sum": sum_of_legs,
    "reference": reference,
}


async def legs_of(engine: Engine, corpus: Corpus, vectors: Mapping[str, Vectors]) -> list[Legs]:
    texts, windows = corpus.texts, corpus.windows()
    words, joint = Bm25(await _lexemes(engine, texts)), Bm25(await _lexemes(engine, windows))
    turns, threes = (np.stack([vectors[one] for one in each]) for each in (texts, windows))
    questions = [" ".join(search_terms(asked.text)) for asked in corpus.asked]
    told = await _lexemes(engine, questions, terms=True)
    return [
        Legs(turns @ vectors[asked.text], words.scores(own), threes @ vectors[asked.text], joint.scores(own))
        for asked, own in zip(corpus.asked, told, strict=True)
    ]


async def _lexemes(engine: Engine, texts: Sequence[str], *, terms: bool = False) -> list[dict[str, int]]:
    documents = [one if terms else search_document(one) for one in texts]
    async with engine.projections.live.connect() as connection:
        return [dict(row[0]) for row in await connection.execute(LEXEMES, {"documents": documents})]


def scored(asked: Asked, corpus: Corpus, order: Sequence[int]) -> dict[str, float]:
    gold, ranks = asked.gold, [place for place, turn in enumerate(order) if turn in asked.gold]
    found = {f"R@{k}": len(gold & {*order[:k]}) / len(gold) for k in (5, 10, 20)}
    found["all@10"] = float(gold <= {*order[:10]})
    found["MRR"] = 1 / (ranks[0] + 1) if ranks else 0.0
    ideal = sum(1 / log2(place + 2) for place in range(min(len(gold), 10)))
    found["nDCG@10"] = sum(1 / log2(place + 2) for place in ranks if place < 10) / ideal
    if asked.sessions:
        sessions = list(dict.fromkeys(corpus.sessions[turn] for turn in order))[:5]
        found["session any@5"] = float(bool(asked.sessions & {*sessions}))
        found["session all@5"] = float(asked.sessions <= {*sessions})
    return found


def mean(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: round(100 * sum(row[name] for row in rows) / len(rows), 1) for name in rows[0]} if rows else {}


async def measure(options: Namespace) -> dict[str, Any]:
    sources = {"locomo": (of_locomo, LOCOMO), "longmemeval": (of_longmemeval, LONGMEMEVAL)}
    sets = {name: list(sources[name][0](options.data / sources[name][1])) for name in options.sets}
    if options.every > 1:
        sets = {name: sampled(corpora, options.every) for name, corpora in sets.items()}
    vectors = embedded([corpus for corpora in sets.values() for corpus in corpora], options.vectors)
    told = dict[str, Any]()
    with tempfile.TemporaryDirectory(prefix="mnemolog-recall-") as directory:
        async with open_engine(load(data_dir=directory, http_port=0)) as engine:
            for name, corpora in sets.items():
                rows: dict[str, list[tuple[str, str, dict[str, float]]]] = defaultdict(list)
                for corpus, asked, order in await ranked_by_engine(engine, corpora):
                    rows["engine"].append((corpus.user, asked.category, scored(asked, corpus, order)))
                for corpus in corpora:
                    for asked, legs in zip(corpus.asked, await legs_of(engine, corpus, vectors), strict=True):
                        for method, scores in METHODS.items():
                            order = np.argsort(-scores(corpus, asked, legs), kind="stable").tolist()
                            rows[method].append((corpus.user, asked.category, scored(asked, corpus, order)))
                told[name] = {"questions": len(rows["engine"]), **{one: figures(rows[one]) for one in rows}}
    return told


def sampled(corpora: Sequence[Corpus], every: int) -> list[Corpus]:
    """Only every nth question, over all its turns; a user who is asked nothing is left out."""
    if len(corpora[0].asked) > 1:
        return [replace(corpus, asked=corpus.asked[::every]) for corpus in corpora]
    return list(corpora[::every])


def figures(rows: Sequence[tuple[str, str, dict[str, float]]]) -> dict[str, Any]:
    categories = sorted({category for _, category, _ in rows})
    found: dict[str, Any] = {"all": mean([row for _, _, row in rows])}
    found["by_category"] = {one: mean([row for _, category, row in rows if category == one]) for one in categories}
    if any(user in TUNED_ON for user, _, _ in rows):
        found["categories_1_to_4"] = mean([row for _, category, row in rows if category != "5"])
        found["tuned_on"] = mean([row for user, _, row in rows if user in TUNED_ON])
        found["held_out"] = mean([row for user, _, row in rows if user not in TUNED_ON])
    return found


def embedded(corpora: Sequence[Corpus], kept: Path | None) -> Mapping[str, Vectors]:
    """The vectors of turns, windows and questions, for the plain methods: the engine embeds its own."""
    known: dict[str, Vectors] = {}
    if kept is not None and kept.exists():
        with np.load(kept) as file:
            known = dict(zip(map(str, file["digests"]), file["vectors"], strict=True))
    texts = {one for corpus in corpora for one in (*corpus.texts, *corpus.windows())}
    texts |= {asked.text for corpus in corpora for asked in corpus.asked}
    digests = {one: sha256(one.encode()).hexdigest() for one in texts}
    if missing := sorted((one for one in texts if digests[one] not in known), key=len):
        known |= zip((digests[one] for one in missing), MiniLM().embed(missing), strict=True)
        if kept is not None:
            np.savez(kept, digests=np.array([*known]), vectors=np.stack([*known.values()]))
    return {one: known[digest] for one, digest in digests.items()}


def show(console: Console, told: Mapping[str, Any]) -> None:
    for name, found in told.items():
        methods = {one: values for one, values in found.items() if isinstance(values, dict)}
        columns = list(methods["engine"]["all"])
        table = Table("", *columns, title=f"{name}, {found['questions']} questions", box=None)
        for method, values in methods.items():
            table.add_row(method, *(str(values["all"][one]) for one in columns))
        for part in ("categories_1_to_4", "tuned_on", "held_out"):
            for method in ("reference", "engine"):
                if part in methods[method]:
                    table.add_row(f"{method} {part}", *(str(methods[method][part][one]) for one in columns))
        for category, values in methods["engine"]["by_category"].items():
            reference_values = methods["reference"]["by_category"][category]
            table.add_row(f"reference {category}", *(str(reference_values[one]) for one in columns))
            table.add_row(f"engine {category}", *(str(values[one]) for one in columns))
        console.print(table)


def main() -> None:
    parser = ArgumentParser(prog="tests.bench.recall", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["locomo", "longmemeval"], choices=("locomo", "longmemeval"))
    parser.add_argument("--vectors", type=Path, help="a file that keeps the vectors of the plain methods between runs")
    parser.add_argument("--data", type=Path, default=FOLDER, help="the folder with both sets (default: %(default)s)")
    parser.add_argument("--every", type=int, default=1, help="ask only every nth question")
    options = parser.parse_args()
    for path in (options.data / LOCOMO, options.data / LONGMEMEVAL):
        if not path.is_file():
            sys.exit(f"there is no {path}. {HOW_TO_GET}")
    told = asyncio.run(measure(options))
    console = Console()
    show(console, told)
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
