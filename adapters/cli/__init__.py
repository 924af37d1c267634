"""The command line: `mnemolog`."""


def main() -> None:
    """The entry point; imports wait until it is called, so that `mnemolog --help` is quick."""
    from mnemolog.adapters.cli.app import run

    run()
