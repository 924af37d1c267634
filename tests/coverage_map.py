"""Which requirements have tests: `make coverage-map`. Tests mark those that they show: `spec`, `spec_part`."""

import sys
from collections import defaultdict
from contextlib import redirect_stdout
from io import StringIO

import pytest
from rich.console import Console
from rich.markup import escape
from rich.table import Table

IDS = [f"{group}{number:02}" for group, last in {"A": 21, "B": 15, "C": 15, "D": 14, "E": 9, "X": 24}.items()
       for number in range(1, last + 1)]  # fmt: skip


# With what `make test-n8n` runs, which pytest does not collect by itself.
FILES = ("-o", "python_files=test_*.py fast_brain.py")


class Collector:
    """Remembers the tests of each id: those that show it whole, and those that show a part of it."""

    def __init__(self) -> None:
        self.tests: dict[str, list[str]] = defaultdict(list)
        self.parts: dict[str, list[str]] = defaultdict(list)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            for name, found in (("spec", self.tests), ("spec_part", self.parts)):
                for mark in item.iter_markers(name):
                    for id_ in mark.args:
                        found[id_].append(item.nodeid)


def main() -> int:
    collector = Collector()
    with redirect_stdout(StringIO()):
        code = pytest.main(["--collect-only", "-qq", *FILES], plugins=[collector])
    unknown = sorted({*collector.tests, *collector.parts} - set(IDS))
    console = Console()
    table = Table("id", "tests", "of parts", "one of them", box=None)
    for id_ in IDS:
        tests, parts = collector.tests.get(id_, []), collector.parts.get(id_, [])
        table.add_row(id_, str(len(tests) or "–"), str(len(parts) or "–"), escape(next(iter((*tests, *parts)), "")))
    console.print(table)
    partly = sum(id_ in collector.parts and id_ not in collector.tests for id_ in IDS)
    console.print(f"{sum(id_ in collector.tests for id_ in IDS)} of {len(IDS)} requirements have tests")
    console.print(f"{partly} more have tests of parts alone")
    if unknown:
        console.print(f"unknown ids: {', '.join(unknown)}")
    return int(code) or bool(unknown)


if __name__ == "__main__":
    sys.exit(main())
