"""The same program on mem0's package and on the engine: what each call returned, side by side.

python -m tests.bench.mem0_calls     Needs `pip install mem0ai`.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from mnemolog.compat.mem0 import Memory
from tests.adapters.compat.mem0_script import Seen, script
from tests.bench.mem0_peer import mem0


def main() -> None:
    with TemporaryDirectory() as folder, mem0(Path(folder)) as peer:
        if peer is None:
            sys.exit("mem0 is not installed: pip install mem0ai")
        theirs = script(peer)
    with TemporaryDirectory() as folder, Memory(data_dir=folder, engine="in-process", durable=False) as memory:
        ours = script(memory)
    console = Console()
    console.print(_table(theirs, ours))
    same = sum(theirs[name] == ours[name] for name in theirs)
    console.print(json.dumps({"calls": len(theirs), "same": same}), soft_wrap=True, highlight=False)


def _table(theirs: Seen, ours: Seen) -> Table:
    table = Table("call", "mem0", "mnemolog", "same")
    for column in table.columns:
        column.no_wrap = True
    for name in theirs:
        table.add_row(name, str(theirs[name]), str(ours[name]), "yes" if theirs[name] == ours[name] else "no")
    return table


if __name__ == "__main__":
    main()
