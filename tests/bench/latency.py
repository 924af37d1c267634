"""How long each verb takes for one caller, beside mem0 (`infer=False`, the same embedding model) in the same run.

python -m tests.bench.latency [--memories 600] [--calls 200]

`add`, `create` and `search` have a counterpart in mem0; `add_fact` and `context` have none. `bullets` is the search of
B06 and `recall` that of an agent that is unsure (B11), which the specifications allow 150 and 200 ms. The calls of both
are interleaved, so that they share what else the machine does. A read waits for its caller's own writes: `add and
search` is both together. mem0 keeps its vectors in a local Qdrant, and acknowledges a write without a sync to the disk.
It is no requirement of ours, since its own conflict with them: without `pip install mem0ai`, our verbs are measured
alone.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count

from rich.console import Console
from rich.table import Table

from mnemolog import Memory
from tests.bench.background import data_directory
from tests.bench.mem0_peer import mem0

USER = "ana"
AIMS_MS = {"add": 3, "create": 8, "add_fact": 6, "search": 8, "context": 15}
BUDGETS_MS = {"bullets": 150, "recall": 200}  # B06, B11
PEOPLE = ("Ana", "Boris", "Chen", "Dara", "Emil", "Fatima", "Goran", "Hana", "Ines", "Jonas")
ACTIONS = ("painted", "repaired", "bought", "sold", "borrowed", "photographed", "described", "lost", "found", "cleaned")
THINGS = ("violin", "bicycle", "cabin", "telescope", "garden", "kayak", "camera", "carpet", "stove", "atlas")
PLACES = ("Lisbon", "Riga", "Oslo", "Kyoto", "Quito", "Turin", "Ghent", "Porto", "Split", "Bergen")


def sentences(numbers: random.Random) -> Iterator[str]:
    """Sentences about people and things, all different."""
    for number in count(1):
        person, action, thing, place = (numbers.choice(words) for words in (PEOPLE, ACTIONS, THINGS, PLACES))
        yield f"{person} {action} a {thing} in {place} on day {number}"


def measure(calls: Mapping[str, Callable[[], object]], rounds: int) -> Mapping[str, Sequence[float]]:
    """The milliseconds of each call, sorted. The first round is not counted."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            if number:
                taken[name].append(1000 * (time.perf_counter() - began))
    return {name: sorted(found) for name, found in taken.items()}


def run(memories: int, rounds: int) -> Mapping[str, Sequence[float]]:
    said = sentences(random.Random(7))
    questions = random.Random(8)
    facts = count(1)

    def question() -> str:
        return f"What did {questions.choice(PEOPLE)} do with the {questions.choice(THINGS)}?"

    with (
        data_directory() as data_dir,
        mem0(data_dir.parent / "mem0") as peer,
        Memory(data_dir, user_id=USER) as memory,
    ):
        writes: dict[str, Callable[[], object]] = {
            "add": lambda: memory.add(next(said)),
            "create": lambda: memory.create(next(said)),
            "add_fact": lambda: memory.add_fact("me", "counted_to", str(next(facts)), literal=True),
        }
        reads: dict[str, Callable[[], object]] = {
            "search": lambda: memory.search(question()),
            "context": lambda: memory.context(question()),
            "bullets": lambda: memory.search(question(), top_k=3, budget_tokens=512, threshold=0.1),
        }
        if peer:
            writes |= {
                "mem0 add": lambda: peer.add(next(said), user_id=USER, infer=False),
                "mem0 create": lambda: peer.add(next(said), user_id=USER, infer=False),
            }
            reads |= {
                "mem0 search": lambda: peer.search(question(), filters={"user_id": USER}, top_k=5),
            }
        for _ in range(memories):
            text = next(said)
            memory.create(text)
            if peer:
                peer.add(text, user_id=USER, infer=False)
        measured = dict(measure(writes, rounds))
        memory.search(question())  # Waits for what was written.
        measured.update(measure(reads, rounds))

        def own_write() -> object:
            memory.add(next(said))
            return memory.search(question())

        # These write, and the next search waits until that is shown.
        writing = {
            "recall": lambda: memory.search(question(), top_k=3, budget_tokens=40, record=True),
            "add and search": own_write,
        }
        return {**measured, **measure(writing, rounds)}


def figures_of(taken: Mapping[str, Sequence[float]]) -> Mapping[str, object]:
    verbs = {
        name: {"p50_ms": round(times[len(times) // 2], 2), "p95_ms": round(times[int(0.95 * len(times))], 2)}
        for name, times in taken.items()
    }
    ratios = {
        name: round(verbs[name]["p50_ms"] / verbs[f"mem0 {name}"]["p50_ms"], 2)
        for name in verbs
        if f"mem0 {name}" in verbs
    }
    return {**verbs, "ratio_mem0": ratios, "aims_p50_ms": AIMS_MS, "budgets_ms": BUDGETS_MS}


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="tests.bench.latency", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--memories", type=int, default=600, help="memories before the first call (default: 600)")
    parser.add_argument("--calls", type=int, default=200, help="calls of each verb (default: 200)")
    options = parser.parse_args(arguments)
    taken = run(options.memories, options.calls)
    shown = Table("verb", "p50 ms", "p95 ms", "aim ms", "budget ms", box=None)
    for name, times in taken.items():
        aim, budget = str(AIMS_MS.get(name, "")), str(BUDGETS_MS.get(name, ""))
        shown.add_row(name, f"{times[len(times) // 2]:.1f}", f"{times[int(0.95 * len(times))]:.1f}", aim, budget)
    console = Console()
    console.print(shown)
    console.print(json.dumps(figures_of(taken)), soft_wrap=True, highlight=False)


if __name__ == "__main__":
    main(sys.argv[1:])
