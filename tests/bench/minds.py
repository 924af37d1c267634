"""What the minds keep, merge and cost without a model, on conversations of LoCoMo, and whether recall holds.

python -m tests.bench.minds [--data DIR] [--conversations 2] [--every N]

Each conversation belongs to two users. For the first, its turns are messages, and the minds that read messages run:
extraction by rules, episodes, summaries, reflection. For the second, what the set itself noted of the turns are
memories, and every tenth of them is told once more in other case, articles or punctuation; then consolidation and the
curator run. `doubles` are those that are still told twice; `alike` are other pairs with a cosine of 0.9 or more.

The questions are asked by `memory.query` before and after. What a hit shows are the turns behind it. `R@10` counts the
first ten turns that are shown; `tokens` are those of the fewest hits that show, on average, as much as the first ten
turns did before. CPU is that of all processes, from the first job to the last projection.
"""

import asyncio
import json
import re
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.table import Table

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, new_id, now, open_engine
from mnemolog.adapters.ingest import locomo
from mnemolog.adapters.jobs.job import JobStatus
from mnemolog.adapters.maintenance import consolidating, extracting, reflecting, segmenting, summarizing
from mnemolog.adapters.maintenance.minds import Ran, Run
from mnemolog.adapters.maintenance.running import run_mind
from mnemolog.adapters.minilm import MiniLM
from mnemolog.domain.minds.mind import Mind
from mnemolog.domain.text import count_tokens, normalize_name
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_TENANT, DEFAULT_THREAD, StreamId
from mnemolog.events.event import sources_of
from mnemolog.events.relations import RelationEvent
from mnemolog.events.summaries import SummaryWritten
from mnemolog.projections.graph.facts import fact_sentence
from mnemolog.projections.requests import MemoryQuery
from mnemolog.projections.retrieval import Hit
from tests.bench.processes import cpu_seconds_by_name
from tests.bench.recall import BATCH, Asked, Corpus, of_locomo
from tests.bench.segmentation import FOLDER, HOW_TO_GET, LOCOMO
from tests.testkit.eventually import eventually

SWEEPS = (extracting, segmenting, summarizing, reflecting, consolidating)
# Months of messages arrive in a minute here, so a day's limit says nothing.
POLICY = "extraction: {writes_per_day: 100000}\n"
SHOWN, TOP = 10, 40
TOLD_AGAIN, ALIKE = 10, 0.9
LEAST_WORDS, FIRST = 4, 60


@dataclass(frozen=True, slots=True)
class Noted:
    """What the set noted of some turns."""

    text: str
    turns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """What one question found: the turns behind each hit, and its tokens, best first."""

    gold: frozenset[int]
    hits: Sequence[tuple[tuple[int, ...], int]]

    def recall(self, most: int) -> float:
        return len(self.gold & {*self._turns(most)}) / len(self.gold)

    def tokens(self, most: int) -> int:
        """Of the hits that it takes to show so many turns."""
        spent, seen = 0, set[int]()
        for turns, tokens in self.hits:
            if len(seen) >= most:
                break
            spent, seen = spent + tokens, seen | {*turns}
        return spent

    def _turns(self, most: int) -> Sequence[int]:
        return list(dict.fromkeys(turn for turns, _ in self.hits for turn in turns))[:most]


@dataclass(slots=True)
class Cost:
    """Seconds and processor time since it began."""

    began: float = field(default_factory=time.perf_counter)
    cpu: float = field(default_factory=lambda: sum(cpu_seconds_by_name().values()))

    def per_thousand(self, count: int) -> Mapping[str, float]:
        seconds, cpu = time.perf_counter() - self.began, sum(cpu_seconds_by_name().values()) - self.cpu
        return {"seconds": round(1000 * seconds / count, 2), "cpu_seconds": round(1000 * cpu / count, 2)}


def noted(path: Path) -> Mapping[str, Sequence[Noted]]:
    """The notes of each conversation, each with the places of its turns."""
    places, counted = dict[tuple[str, str], int](), Counter[str]()
    for turn in locomo.turns(path):
        user = turn["user_id"]
        places[user, turn["message_id"]] = counted[user]
        counted[user] += 1
    found = dict[str, Sequence[Noted]]()
    for conversation in json.loads(path.read_bytes()):
        user, each = conversation["sample_id"], conversation["observation"].values()
        notes = [note for session in each for of_speaker in session.values() for note in of_speaker]
        named = [(text, re.findall(r"D\d+:\d+", str(ids))) for text, ids in notes]
        found[user] = [
            Noted(text, tuple(places[user, one] for one in ids if (user, one) in places)) for text, ids in named if ids
        ]
    return found


def told_again(notes: Sequence[Noted]) -> Iterator[Noted]:
    """Every tenth note in other case, articles or punctuation."""
    for number, note in enumerate(notes[::TOLD_AGAIN]):
        plain = note.text.rstrip(".")
        ways = (note.text, plain.upper(), re.sub(r"\b(a|the) ", "", plain), plain + "!", plain.lower())
        yield Noted(ways[number % len(ways)], note.turns)


async def measured(options: Namespace) -> dict[str, Any]:
    path = options.data / LOCOMO
    corpora = list(of_locomo(path))[: options.conversations]
    notes = noted(path)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mnemolog-minds-")))
        for module in SWEEPS:  # They run when this program says so.
            stack.enter_context(patch.object(module, "EVERY_SECONDS", 24 * 3600.0))
        policy = folder / "policy.yaml"
        policy.write_text(POLICY, encoding="utf-8")
        async with open_engine(load(data_dir=folder / "data", policy_file=policy, http_port=0)) as engine:
            of_messages = await _messages(engine, corpora, options.every)
            of_memories = await _memories(engine, corpora, notes, options.every)
    return {"conversations": len(corpora), "messages": of_messages, "memories": of_memories}


async def _messages(engine: Engine, corpora: Sequence[Corpus], every: int) -> dict[str, Any]:
    """The turns are messages; the minds that read messages run."""
    for corpus in corpora:
        turns = [{**turn, "user_id": corpus.user, "turn_id": str(n)} for n, turn in enumerate(corpus.turns)]
        for start in range(0, len(turns), BATCH):
            await engine.writes.add(turns[start : start + BATCH])
    await engine.settled(3600)
    asked = [(corpus.user, one) for corpus in corpora for one in corpus.asked[::every]]
    before = [await _ask(engine, *one) for one in asked]
    count, cost = sum(len(corpus.turns) for corpus in corpora), Cost()
    later = now() + timedelta(days=1)
    for sweep in (
        extracting.enqueue_due,
        segmenting.enqueue_due,
        summarizing.enqueue_due,
        summarizing.enqueue_ended,
        reflecting.enqueue_due,
    ):
        await sweep(engine, later)
        await _idle(engine)
    spent = cost.per_thousand(count)
    after = [await _ask(engine, *one) for one in asked]
    by_user = sum(turn["role"] == "user" for corpus in corpora for turn in corpus.turns)
    left, extracted, facts, doubles = 0, 0, 0, 0
    for corpus in corpora:
        stream = StreamId.of_user(corpus.user)
        events = [one.payload for one in await engine.log.read(stream)]
        left += len({turn for one in events if isinstance(one, RelationEvent) for turn in sources_of(one) or ()})
        extracts = "\n".join(normalize_name(one.text) for one in events if isinstance(one, SummaryWritten))
        extracted += sum(_is_in(turn["text"], extracts) for turn in corpus.turns)
        known = await engine.reads.facts(Viewer(DEFAULT_TENANT, corpus.user, DEFAULT_AGENT))
        said = [normalize_name(fact_sentence(dict(one))) for one in known]
        facts, doubles = facts + len(said), doubles + len(said) - len({*said})
    return {
        "messages": count,
        "by_user": by_user,
        "left_a_fact": round(left / by_user, 4),
        "left_a_sentence_in_a_summary": round(extracted / count, 4),
        "facts": facts,
        "double_facts": doubles,
        **_compared(before, after),
        "per_thousand_messages": spent,
    }


def _is_in(text: str, extracts: str) -> bool:
    """Whether a sentence of a message, or its beginning, is in an extract."""
    sentences = (normalize_name(one) for one in re.split(r"(?<=[.!?])\s", text))
    return any(len(one.split()) >= LEAST_WORDS and one[:FIRST] in extracts for one in sentences)


async def _memories(
    engine: Engine, corpora: Sequence[Corpus], notes: Mapping[str, Sequence[Noted]], every: int
) -> dict[str, Any]:
    """What was noted are memories, some of them told twice; consolidation and the curator run."""
    twice, embedder = dict[str, Sequence[tuple[Any, Any]]](), MiniLM()
    for corpus in corpora:
        ids = dict[str, Any]()
        for note in notes[corpus.user]:
            ids[note.text] = await _create(engine, corpus, note)
        again = list(told_again(notes[corpus.user]))
        pairs = zip(notes[corpus.user][::TOLD_AGAIN], again, strict=True)
        twice[corpus.user] = [(ids[one.text], await _create(engine, corpus, other)) for one, other in pairs]
    await engine.settled(3600)
    asked = [(_owner(corpus), one) for corpus in corpora for one in corpus.asked[::every]]
    before = [await _ask(engine, *one) for one in asked]
    kept = [await _kept(engine, corpus) for corpus in corpora]
    cost, ran = Cost(), list[Ran]()
    for corpus in corpora:
        for mind in (Mind.CONSOLIDATION, Mind.CURATOR):
            about = (StreamId.of_user(_owner(corpus)), DEFAULT_AGENT, DEFAULT_THREAD)
            ran.append(await run_mind(Run(engine, mind, *about, run_id=str(new_id()))))
    await engine.settled(3600)
    count = sum(map(len, kept))
    spent = cost.per_thousand(count)
    after = [await _ask(engine, *one) for one in asked]
    left = [await _kept(engine, corpus) for corpus in corpora]
    planted = [pair for corpus in corpora for pair in twice[corpus.user]]
    gone = set().union(*kept) - set().union(*left)
    return {
        "memories": {"before": count, "after": sum(map(len, left))},
        "doubles": {"before": len(planted), "after": sum(not gone & {*pair} for pair in planted)},
        "alike": {
            "before": sum(_alike(embedder, one, planted) for one in kept),
            "after": sum(_alike(embedder, one, planted) for one in left),
        },
        "merged_besides": len(gone - {id_ for pair in planted for id_ in pair}),
        "pairs_for_a_model": sum(one.figures.get("for_a_model", 0) for one in ran),
        **_compared(before, after),
        "per_thousand_memories": spent,
    }


def _owner(corpus: Corpus) -> str:
    return f"{corpus.user} notes"


async def _create(engine: Engine, corpus: Corpus, note: Noted) -> Any:
    fields = {"user_id": _owner(corpus), "text": note.text, "metadata": {"turns": list(note.turns)}}
    memory_id, _ = await engine.writes.create(fields)
    return memory_id


async def _kept(engine: Engine, corpus: Corpus) -> Mapping[Any, str]:
    rows = await engine.reads.newest(Viewer(DEFAULT_TENANT, _owner(corpus), DEFAULT_AGENT), 1000)
    return {row["memory_id"]: row["text"] for row in rows}


def _alike(embedder: MiniLM, texts: Mapping[Any, str], planted: Sequence[tuple[Any, Any]]) -> int:
    """The pairs with nearly the same vector, without those that were told again."""
    again = {other for _, other in planted}
    own = [text for id_, text in texts.items() if id_ not in again]
    vectors = np.stack([*embedder.embed(own)])
    near = vectors @ vectors.T >= ALIKE
    return sum(bool(near[one, other]) for one, other in combinations(range(len(own)), 2))


async def _idle(engine: Engine) -> None:
    """Until no job is left, and everything that they wrote is visible."""
    await eventually(lambda: _no_job_left(engine), seconds=3600)
    await engine.settled(3600)


async def _no_job_left(engine: Engine) -> bool:
    waiting = [one for status in (JobStatus.QUEUED, JobStatus.RUNNING) for one in await engine.jobs.list(status=status)]
    return all(one.run_at > now() for one in waiting)


async def _ask(engine: Engine, user: str, asked: Asked) -> Found:
    request = MemoryQuery(query=asked.text, user_id=user, top_k=TOP, asked_at=asked.at)
    hits = (await engine.reads.query(request)).hits
    return Found(asked.gold, [(_turns_of(hit), count_tokens(hit.bullet)) for hit in hits])


def _turns_of(hit: Hit) -> tuple[int, ...]:
    if hit.id.isdigit():
        return (int(hit.id),)
    details = hit.row.get("details", hit.row)
    named = details.get("source_turn_ids") or (details.get("metadata") or {}).get("turns") or ()
    return tuple(int(one) for one in named if str(one).isdigit())


def _compared(before: Sequence[Found], after: Sequence[Found]) -> dict[str, Any]:
    """R@10 before and after, and the tokens that show as much as ten turns did before."""
    aim = _recall(before, SHOWN)
    fewest = [next((most for most in range(1, TOP) if _recall(one, most) >= aim), TOP) for one in (before, after)]
    return {
        "questions": len(before),
        "R@10": {"before": round(100 * aim, 1), "after": round(100 * _recall(after, SHOWN), 1)},
        "tokens": {"before": _tokens(before, fewest[0]), "after": _tokens(after, fewest[1])},
    }


def _recall(found: Sequence[Found], most: int) -> float:
    return sum(one.recall(most) for one in found) / len(found)


def _tokens(found: Sequence[Found], most: int) -> int:
    return round(sum(one.tokens(most) for one in found) / len(found))


def show(console: Console, told: Mapping[str, Any]) -> None:
    for name in ("messages", "memories"):
        table = Table(name, "before", "after", box=None)
        for key, value in told[name].items():
            if isinstance(value, Mapping) and "before" in value:
                table.add_row(key, str(value["before"]), str(value["after"]))
            elif isinstance(value, Mapping):
                for part, figure in value.items():
                    table.add_row(f"{part} {key}".replace("_", " "), "", str(figure))
            else:
                table.add_row(key.replace("_", " "), "", str(value))
        console.print(table)


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(prog="tests.bench.minds", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=FOLDER, help="the folder with the sets (default: %(default)s)")
    parser.add_argument("--conversations", type=int, default=2, help="how many of the set (default: %(default)s)")
    parser.add_argument("--every", type=int, default=1, help="ask only every nth question")
    options = parser.parse_args(arguments)
    if not (options.data / LOCOMO).is_file():
        sys.exit(f"there is no {options.data / LOCOMO}. {HOW_TO_GET}")
    told = asyncio.run(measured(options))
    show(Console(), told)
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
