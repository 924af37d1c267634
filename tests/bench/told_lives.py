"""Whether questions about a life are answered first by what holds, if it was only told in messages, without a model.

python -m tests.bench.told_lives [--lives NAME ...] [--show]

The lives in `told/` are ten months or more of 40 to 70 messages each, as people write them: requests and small talk, in
which what changes is said in passing and often indirectly. Each question has the texts of which a right answer contains
one, and those of answers that were right before. `in_context`: the context for the question has the right answer.
`cosine` ranks the same messages by the embedding alone, in the same run; its context is the nearest of them, as long as
the engine's. The weights of docs/decisions/0092 were chosen on fraser, marnie and thiago, but for the last, which was
tried on six lives. kavya, maureen and renata, and darnell, meilin and patti after them, were written before any rule
was read, ask in plainer words, and showed what the rules lacked, as did aoife, sipho and walt, then gerrit and lupe,
then kerwin. `set_aside` are the others; of jaz and adaeze, which came with these, nobody has read what goes wrong.
"""

import json
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from mnemolog import Memory
from mnemolog.adapters.maintenance.extracting import EVERY_SECONDS
from mnemolog.adapters.minilm import MiniLM
from tests.bench.background import data_directory

FOLDER = Path(__file__).parent / "told"
CHOSEN_ON = (
    "fraser",
    "marnie",
    "thiago",
    "kavya",
    "maureen",
    "renata",
    "darnell",
    "meilin",
    "patti",
    "aoife",
    "sipho",
    "walt",
    "gerrit",
    "lupe",
    "kerwin",
)
ASKED_AT = datetime(2026, 11, 25, 12, tzinfo=UTC)
FIRST = 5
UNKNOWN = "unknown"
FIGURES = ("right_first", "right_in_3", "right_in_5", "in_context", "stale_first", "unknown_said", "unknown_wrong")


@dataclass(frozen=True, slots=True)
class Question:
    """`right` and `stale`: texts of which an answer that is right, or was right before, contains one in any case."""

    asked: str
    kind: str
    right: tuple[str, ...]
    stale: tuple[str, ...]
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class Life:
    """What one person said and when, and what is asked about it."""

    name: str
    messages: Sequence[tuple[datetime, str]]
    questions: Sequence[Question]


@dataclass(frozen=True, slots=True)
class Answer:
    """The texts of the hits, best first, the context, and whether something was said to be unknown."""

    texts: Sequence[str]
    context: str
    unknown: bool = False


def read(name: str) -> Life:
    held = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    messages = [(datetime.fromisoformat(one["at"]), one["text"]) for one in held["messages"]]
    return Life(held["name"], messages, [_question(one) for one in held["questions"]])


def _question(held: Mapping[str, Any]) -> Question:
    as_of = held.get("as_of")
    return Question(
        held["asked"],
        held["kind"],
        tuple(held["right"]),
        tuple(held["stale"]),
        datetime.fromisoformat(as_of) if as_of else None,
    )


def tell(memory: Memory, life: Life) -> Sequence[tuple[datetime, int]]:
    """Record the messages: when each was said, and its sequence number."""
    told: list[tuple[datetime, int]] = []
    for at, text in life.messages:
        said = [{"role": "user", "content": text, "occurred_at": at.isoformat()}]
        told.append((at, memory.add(said, user_id=life.name).last_seq))
    return told


def await_extraction(memory: Memory, lives: Iterable[Life]) -> None:
    """Until no fact was added for two sweeps: the messages are read in the background, and people ask days later."""
    known, since = -1, time.monotonic()
    while time.monotonic() - since < 2 * EVERY_SECONDS:
        count = sum(len(memory.list_facts(user_id=one.name, valid_at="any", limit=1000).items) for one in lives)
        if count != known:
            known, since = count, time.monotonic()
        time.sleep(1)


def answers(memory: Memory, life: Life, told: Sequence[tuple[datetime, int]]) -> Sequence[Answer]:
    """What the engine finds, after all messages were told, as of the day of the question."""
    found: list[Answer] = []
    for one in life.questions:
        as_of = max((seq for at, seq in told if at <= one.as_of), default=None) if one.as_of else None
        asked_at = one.as_of or ASKED_AT
        result = memory.search(one.asked, user_id=life.name, top_k=FIRST, as_of=as_of, asked_at=asked_at)
        context = memory.context(one.asked, user_id=life.name, as_of=as_of).text
        found.append(Answer([hit.text for hit in result.hits], context, bool(result.unknown)))
    return found


def by_cosine(model: MiniLM, life: Life, lengths: Sequence[int]) -> Sequence[Answer]:
    """The nearest messages, and for each question a context of as many characters."""
    vectors = model.embed([text for _, text in life.messages])
    found: list[Answer] = []
    asked = model.embed([one.asked for one in life.questions])
    for one, vector, length in zip(life.questions, asked, lengths, strict=True):
        near = vectors @ vector
        known = [n for n, (at, _) in enumerate(life.messages) if at <= (one.as_of or ASKED_AT)]
        known.sort(key=lambda n: -float(near[n]))
        nearest = [life.messages[n][1] for n in known]
        found.append(Answer(nearest[:FIRST], "\n".join(nearest)[:length]))
    return found


def counted(life: Life, found: Sequence[Answer]) -> Counter[str]:
    """How many questions there were, and of how many each figure of `FIGURES` holds.

    `unknown_wrong`: of how many that are answered it was said that it is unknown.
    """
    counts = Counter[str]()
    for one, answer in zip(life.questions, found, strict=True):
        if one.kind == UNKNOWN:
            counts["unknown"] += 1
            counts["unknown_said"] += answer.unknown or not answer.texts
            continue
        right = [_has(text, one.right) for text in answer.texts]
        counts["known"] += 1
        counts["right_first"] += any(right[:1])
        counts["right_in_3"] += any(right[:3])
        counts["right_in_5"] += any(right)
        counts["in_context"] += _has(answer.context, one.right)
        counts["stale_first"] += bool(right) and not right[0] and _has(answer.texts[0], one.stale)
        counts["unknown_wrong"] += answer.unknown or not answer.texts
    return counts


def _has(text: str, any_of: Iterable[str]) -> bool:
    return any(one.casefold() in text.casefold() for one in any_of)


def shares(counts: Counter[str]) -> Mapping[str, float]:
    return {
        name: round(counts[name] / (counts["unknown" if name == "unknown_said" else "known"] or 1), 3)
        for name in FIGURES
    }


def run(names: Sequence[str], console: Console, *, show: bool) -> Mapping[str, Any]:
    by_way = {"engine": dict[str, Counter[str]](), "cosine": dict[str, Counter[str]]()}
    model = MiniLM()
    with data_directory() as data_dir, Memory(data_dir) as memory:
        lives = [read(name) for name in names]
        told_at = [tell(memory, life) for life in lives]
        await_extraction(memory, lives)
        for name, life, at in zip(names, lives, told_at, strict=True):
            found = answers(memory, life, at)
            by_way["engine"][name] = counted(life, found)
            by_way["cosine"][name] = counted(life, by_cosine(model, life, [len(one.context) for one in found]))
            if show:
                _show(console, life, found)
    groups = {"all": names, "set_aside": [one for one in names if one not in CHOSEN_ON]}
    figures = {
        way: {group: shares(sum((counts[one] for one in of), Counter[str]())) for group, of in groups.items()}
        for way, counts in by_way.items()
    }
    table = Table("", "questions", *FIGURES, title=f"{len(names)} lives")
    for way, counts in by_way.items():
        for name, one in counts.items():
            told = shares(one)
            table.add_row(f"{way} {name}", str(one["known"]), *(f"{told[figure]:.2f}" for figure in FIGURES))
        for group, told in figures[way].items():
            table.add_row(f"{way} {group}", "", *(f"{told[figure]:.2f}" for figure in FIGURES))
    console.print(table)
    return {"lives": len(names), "questions": sum(one["known"] for one in by_way["engine"].values()), **figures}


def _show(console: Console, life: Life, found: Sequence[Answer]) -> None:
    for one, answer in zip(life.questions, found, strict=True):
        if one.kind == UNKNOWN:
            if answer.texts and not answer.unknown:
                console.print(f"{life.name}: {one.asked} is not known", markup=False)
        elif answer.unknown or not any(_has(text, one.right) for text in answer.texts[:1]):
            said = ", said to be unknown" if answer.unknown else ""
            console.print(f"{life.name}: {one.asked} wanted {list(one.right)}{said}", markup=False)
            for text in answer.texts[:3]:
                console.print(f"    {text[:100]!r}", markup=False)


def main(arguments: Sequence[str]) -> None:
    names = sorted(path.stem for path in FOLDER.glob("*.json"))
    parser = ArgumentParser(prog="tests.bench.told_lives", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lives", nargs="+", choices=names, default=names, help="which lives (default: all)")
    parser.add_argument("--show", action="store_true", help="list the questions of which the first hit is wrong")
    options = parser.parse_args(arguments)
    console = Console()
    figures = run(options.lives, console, show=options.show)
    console.print(json.dumps(figures), soft_wrap=True, highlight=False)


if __name__ == "__main__":
    main(sys.argv[1:])
