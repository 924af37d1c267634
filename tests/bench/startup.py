"""How long a program or a command takes to begin, beside `import psycopg, pydantic` in the same run.

python -m tests.bench.startup [--rounds 9]

Each row is a process of its own, from its start to its end. The rows are interleaved, so that all share what else the
machine does; the figure is the median. The last line is one JSON object: seconds, and ratios to the first row.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from mnemolog import Memory
from tests.bench.background import data_directory

PEER = "import psycopg, pydantic"
# A program with an engine up, up to its first answer.
PROGRAM = "import sys; from mnemolog import Memory; Memory(sys.argv[1], user_id='ana').search('what does Ana drink?')"
SCRIPT = str(Path(sys.executable).with_name("mnemolog"))


def commands(data_dir: Path) -> Mapping[str, Sequence[str]]:
    """What is measured, by its name in the JSON; the first is what the others are compared with."""
    return {
        "peer": (sys.executable, "-c", PEER),
        "import": (sys.executable, "-c", "import mnemolog"),
        "version": (SCRIPT, "--version"),
        "read": (SCRIPT, "--data-dir", str(data_dir), "list", "--user", "ana"),
        "search": (SCRIPT, "--data-dir", str(data_dir), "search", "what does Ana drink?", "--user", "ana"),
        "memory": (sys.executable, "-c", "from mnemolog import Memory"),
        "object": (sys.executable, "-c", "from mnemolog import Memory; Memory()"),
        "program": (sys.executable, "-c", PROGRAM, str(data_dir)),
    }


def measure(rounds: int) -> Mapping[str, float]:
    """The median seconds of each; an engine is up all the while."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MNEMOLOG_")}
    with data_directory() as data_dir:
        with Memory(data_dir) as memory:
            memory.create("Ana drinks her tea with honey", user_id="ana")
            wanted = commands(data_dir)
            took: dict[str, list[float]] = {name: [] for name in wanted}
            for _ in range(rounds + 1):
                for name, command in wanted.items():
                    began = time.perf_counter()
                    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
                    took[name].append(time.perf_counter() - began)
        return {name: statistics.median(values[1:]) for name, values in took.items()}  # The first fills caches.


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    found = measure(parser.parse_args().rounds)
    ratios = {f"{name}_ratio": round(seconds / found["peer"], 2) for name, seconds in found.items() if name != "peer"}
    table = Table("what", "seconds", "times the first", title="From start to end", title_justify="left")
    for name, command in commands(Path("DIR")).items():
        shown = " ".join(Path(word).name if "/" in word else word for word in command)
        table.add_row(shown, f"{found[name]:.3f}", f"{found[name] / found['peer']:.2f}")
    console = Console()
    console.print(table)
    figures = {f"{name}_s": round(seconds, 3) for name, seconds in found.items()} | ratios
    console.print(json.dumps(figures), soft_wrap=True, highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
