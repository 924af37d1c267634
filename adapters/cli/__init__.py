"""The command line: `mnemolog`."""

import os
import sys
from io import TextIOWrapper


def main() -> None:
    """The entry point; imports wait until it is known what for."""
    if sys.argv[1:] == ["--version"]:
        import mnemolog

        sys.stdout.write(f"{mnemolog.__version__}\n")
        return
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # Closed: the next file or socket that is opened would be taken for it.
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdin, sys.stdout, sys.stderr):  # In every locale, as where an engine runs the command.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8")
    from mnemolog.adapters.cli.forwarding import forwarded

    try:
        code = forwarded(sys.argv[1:])
        if code is None:
            from mnemolog.adapters.cli.app import run  # It takes most of a second.
    except KeyboardInterrupt:  # Before the signal could be passed on. Whoever runs the command notices the end.
        code = 130
    if code is not None:
        sys.exit(code)
    run()
