"""Runs commands in one process, so that many of them take little time: each line in is a JSON list of arguments.

Each line out is a JSON object: `code`, the exit code, and `out`, the standard output.
"""

import contextlib
import io
import json
import sys

from mnemolog.adapters.cli.app import run


def ran(arguments: list[str]) -> dict[str, object]:
    out, code = io.StringIO(), 0
    sys.argv = ["mnemolog", *arguments]
    sys.stdin = io.StringIO()  # Nobody is there to answer a question.
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            run()
        except SystemExit as end:
            code = int(end.code or 0)
    return {"code": code, "out": out.getvalue()}


if __name__ == "__main__":
    for line in sys.__stdin__ or ():
        answer = json.dumps(ran(json.loads(line)))
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()
