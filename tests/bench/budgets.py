"""Whether what a budget of tokens holds has the answer, in chats with an assistant whose turns are long.

python -m tests.bench.budgets [--data DIR] [--questions N] [--sessions N] [--budgets N ...]

The questions are those of LongMemEval's development file whose answer stands word for word in a turn that answers it.
Each user said the sessions that answer, and `--sessions` others. `context` is the text of a context, `search` the
bullets of a search; `whole` takes the same hits in the same order, but each with all of its text.
"""

import asyncio
import gzip
import json
import re
import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.domain.ranking import within_budget
from mnemolog.projections.requests import ContextRequest, MemoryQuery
from tests.bench.recall import parsed_date
from tests.bench.segmentation import FOLDER, HOW_TO_GET, LONGMEMEVAL

MOST_WORDS = 6
HITS = 30
WAYS = ("context", "search", "whole")


@dataclass(frozen=True, slots=True)
class Chat:
    """What one user and their assistant said, and a question with its answer."""

    user: str
    turns: Sequence[Mapping[str, Any]]
    question: str
    answer: str


def chats(path: Path, sessions: int) -> Iterator[Chat]:
    with gzip.open(path, "rt") as file:
        for number, entry in enumerate(map(json.loads, file)):
            answers = set(entry["answer_session_ids"])
            dated = zip(entry["haystack_session_ids"], entry["haystack_dates"], entry["haystack_sessions"], strict=True)
            told = list(dated)
            others = [one[0] for one in told if one[0] not in answers][:sessions]
            kept = [one for one in told if one[0] in {*answers, *others}]
            turns = [
                {**turn, "thread_id": id_, "occurred_at": parsed_date(date)}
                for id_, date, said in kept
                for turn in said
                if turn["content"].strip()
            ]
            answer = str(entry["answer"])
            telling = (turn for turn in turns if turn.get("has_answer"))
            if len(_words(answer)) <= MOST_WORDS and any(has(turn["content"], answer) for turn in telling):
                yield Chat(f"user-{number}", [_plain(turn) for turn in turns], entry["question"], answer)


def _plain(turn: Mapping[str, Any]) -> dict[str, Any]:
    return {"text": turn["content"], **{name: turn[name] for name in ("role", "thread_id", "occurred_at")}}


def has(text: str, answer: str) -> bool:
    return f" {' '.join(_words(answer))} " in f" {' '.join(_words(text))} "


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


async def asked(engine: Engine, chat: Chat, budget: int) -> Mapping[str, str]:
    """What each way shows within the budget."""
    reads, query = engine.reads, MemoryQuery(query=chat.question, user_id=chat.user, top_k=HITS, budget_tokens=budget)
    context = await reads.context(query.viewer, ContextRequest(query=chat.question, budget_tokens=budget))
    found = await reads.query(query)
    unlimited = await reads.query(query.model_copy(update={"budget_tokens": None}))
    whole = within_budget([hit.bullet for hit in unlimited.hits], budget, str, reads.count_tokens)
    bullets = [hit.bullet for hit in found.hits]
    return {"context": context.text, "search": "\n".join(bullets), "whole": "\n".join(whole)}


async def measure(told: Sequence[Chat], budgets: Sequence[int]) -> Mapping[str, Any]:
    right = {budget: Counter[str]() for budget in budgets}
    with tempfile.TemporaryDirectory(prefix="mnemolog-budgets-") as directory:
        async with open_engine(load(data_dir=directory, http_port=0, extraction="off")) as engine:
            for chat in told:
                turns = [{**turn, "user_id": chat.user, "turn_id": str(n)} for n, turn in enumerate(chat.turns)]
                await engine.writes.add(turns)
            await engine.settled(3600)
            for chat in told:
                for budget in budgets:
                    shown = await asked(engine, chat, budget)
                    right[budget].update(way for way in WAYS if has(shown[way], chat.answer))
    by_budget = {
        str(budget): {way: round(counts[way] / len(told), 3) for way in WAYS} for budget, counts in right.items()
    }
    return {"questions": len(told), **by_budget}


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(prog="tests.bench.budgets", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=FOLDER, help="the folder of the set (default: %(default)s)")
    parser.add_argument("--questions", type=int, default=20, help="at most so many (default: 20)")
    parser.add_argument("--sessions", type=int, default=5, help="sessions that do not answer (default: 5)")
    parser.add_argument(
        "--budgets", type=int, nargs="+", default=[256, 512, 1024], help="tokens (default: 256 512 1024)"
    )
    options = parser.parse_args(arguments)
    if not (path := options.data / LONGMEMEVAL).is_file():
        sys.exit(f"there is no {path}. {HOW_TO_GET}")
    figures = asyncio.run(measure(list(islice(chats(path, options.sessions), options.questions)), options.budgets))
    table = Table("tokens", *WAYS, box=None, title=f"answers shown, of {figures['questions']} questions")
    for budget in map(str, options.budgets):
        table.add_row(budget, *(f"{figures[budget][way]:.2f}" for way in WAYS))
    console = Console()
    console.print(table)
    console.print(json.dumps(figures), soft_wrap=True, highlight=False)


if __name__ == "__main__":
    main(sys.argv[1:])
