"""Progress bars, on standard error, so that --json stays clean."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from mnemolog.adapters.cli.output import errors


@contextmanager
def bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar with counts and the time left. Call the yielded function with the size of each step.

    A step may be left out, such as events of an agent's library for a projection of users. The end is the end anyway.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("[dim]left"),
    )
    with Progress(*columns, console=errors, transient=False) as progress:
        task = progress.add_task(label, total=total)
        yield lambda count: progress.advance(task, count)
        progress.update(task, completed=total)
