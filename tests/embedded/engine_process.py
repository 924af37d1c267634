"""An engine of its own in a process of its own: `python engine_process.py DATA_DIR [UID]`.

Writes its endpoints and pids as one line of JSON, then runs until it is signalled.
"""

import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path

from mnemolog.adapters.embedded import EmbeddedServers


def main() -> None:
    if len(sys.argv) > 2:
        "".encode("idna")  # what is imported late: the other user may be unable to read the standard library
        os.setgroups([])
        os.setgid(int(sys.argv[2]))
        os.setuid(int(sys.argv[2]))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    servers = EmbeddedServers(Path(sys.argv[1]), durable=False)
    endpoints = servers.start()
    sys.stdout.write(json.dumps({"endpoints": asdict(endpoints), "pids": dict(servers.pids)}) + "\n")
    sys.stdout.flush()
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
