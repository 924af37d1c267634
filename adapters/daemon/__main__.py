"""The process of a background engine: `python -m mnemolog.adapters.daemon FD`, which a client starts.

It reads its settings from standard input and writes one line to the file descriptor: that it is ready, or its error.
There are two processes. One is the engine. The other, its parent, waits for its end, and when the engine was killed,
ends the servers that it left, unless a new engine has done so before. Nothing but the standard library is imported
before the fork, so that the parent stays small.
"""

import gc
import json
import os
import signal
import sys


def main() -> None:
    given = json.load(sys.stdin)
    tell = int(sys.argv[1])
    if os.fork():
        os._exit(0)  # So that the process that started us need not wait.
    engine = os.fork()
    if engine == 0:
        gc.disable()  # Imports stay in memory: collecting garbage would take a fifth of the start.
        from mnemolog.adapters.daemon.process import run

        run(given["settings"], given["data_dir"], tell)
        return
    os.close(tell)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _, status = os.waitpid(engine, 0)
    if (code := os.waitstatus_to_exitcode(status)) < 0:
        from mnemolog.adapters.daemon.guard import clean_up

        clean_up(given["data_dir"], f"the engine was ended by signal {-code}")


if __name__ == "__main__":
    main()
