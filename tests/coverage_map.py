"""Which requirements have tests: `make coverage-map`. A test names those that it shows with @pytest.mark.spec."""

import sys
from collections import defaultdict
from contextlib import redirect_stdout
from io import StringIO

import pytest
from rich.console import Console
from rich.table import Table

IDS = [f"{group}{number:02}" for group, last in {"A": 21, "B": 15, "C": 15, "D": 14, "E": 9, "X": 20}.items()
       for number in range(1, last + 1)]  # fmt: skip


class Collector:
    """Remembers the tests of each id."""

    def __init__(self) -> None:
        self.tests: dict[str, list[str]] = defaultdict(list)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            for mark in item.iter_markers("spec"):
                for id_ in mark.args:
                    self.tests[id_].append(item.nodeid)


def main() -> int:
    collector = Collector()
    with redirect_stdout(StringIO()):
        code = pytest.main(["--collect-only", "-qq"], plugins=[collector])
    unknown = sorted(set(collector.tests) - set(IDS))
    console = Console()
    table = Table("id", "tests", "one of them", box=None)
    for id_ in IDS:
        tests = collector.tests.get(id_, [])
        table.add_row(id_, str(len(tests) or "–"), tests[0] if tests else "")
    console.print(table)
    console.print(f"{sum(id_ in collector.tests for id_ in IDS)} of {len(IDS)} requirements have tests")
    if unknown:
        console.print(f"unknown ids: {', '.join(unknown)}")
    return int(code) or bool(unknown)


if __name__ == "__main__":
    sys.exit(main())
