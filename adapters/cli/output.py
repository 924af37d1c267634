"""Output of commands: tables and sentences for people, JSON for programs."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel
from rich.highlighter import JSONHighlighter
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from mnemolog.adapters.cli.screen import Screen, as_json_text, printable
from mnemolog.adapters.operations.results import Written
from mnemolog.domain.errors import AmbiguousEntity, MnemologError
from mnemolog.events.envelope import Receipt

console = Screen()
errors = Screen(stderr=True)

IDS = frozenset({"id", "event id", "policy"})
# Columns whose cells are not wrapped.
WHOLE = IDS | {"score", "date", "event", "setting", "since", "seq", "when", "last seen", "known since", "due"}
WHOLE |= {"added", "began", "created", "last run", "latest turn", "message", "open episode", "updated", "written"}
# Lengths of abbreviated ids: a UUIDv7's time to the millisecond, to the microsecond, or the full id.
LENGTHS = (13, 18, 36)
# In tables whose rows can be read whole by their ids. The longest summary fits.
LONGEST_CELL = 600
# On narrower screens these columns are wrapped.
NARROW = 100
BROKEN = {"holds": 12, "signals": 12, "status": 12}


def as_json(value: Any) -> None:
    """One JSON value on standard output."""
    document = as_json_text(json.dumps(value, default=_plain, ensure_ascii=False, indent=2))
    console.print(JSONHighlighter()(document), soft_wrap=True)  # `print_json` would parse it, and undo the escapes.


def failed(error: MnemologError, *, json_wanted: bool) -> None:
    """An error: field, message and fix."""
    if json_wanted:
        as_json({"error": error.as_dict()})
        return
    where = f"[bold]{escape(error.field)}[/] " if error.field else ""
    errors.print(f"[red]✗[/] {where}{escape(error.message)}")
    if isinstance(error, AmbiguousEntity):
        errors.print(f"  {escape(error.question)}")
        for one in error.candidates:
            errors.print(f"  [cyan]{one['entity_id']}[/] {escape(str(one['name']))}")
    if error.fix:
        errors.print(f"  [dim]→[/] {escape(error.fix)}")


def done(sentence: str) -> None:
    console.print(f"[green]✓[/] {sentence}")


def receipt(sentence: str, written: Receipt | Written, id_: object = None) -> None:
    """The result of a write: what was done, the id of what it concerns, and the consistency token."""
    if written.already:
        sentence = "No change to" if id_ else "No change"
    done(f"{sentence} [cyan]{id_}[/]" if id_ else sentence)
    console.print(f"  [dim]{written.token}[/]")


def id_of(text: str) -> UUID | str:
    """An id, as a UUID where it is one: only these are abbreviated."""
    try:
        return UUID(text)
    except ValueError:
        return text


def line(label: str, text: str) -> None:
    console.print(Text.assemble((label, "cyan"), " ", text), highlight=False)


def fields(found: BaseModel, names: Iterable[str]) -> None:
    """A line for each of these fields that has a value."""
    given = {name: one for name in names if (one := getattr(found, name)) not in (None, "", [], {})}
    width = max(map(len, given), default=0)
    for name, one in given.items():
        plain = not isinstance(one, list) or any(isinstance(each, dict) for each in one)
        line(name.ljust(width), value(one) if plain else ", ".join(map(value, one)))


def value(one: object) -> str:
    """As a person reads it: a text as it is, a time and a number short, a list or an object as JSON."""
    if one is None or isinstance(one, str):
        return one or "–"
    if isinstance(one, datetime):
        return when(one)
    if isinstance(one, UUID):
        return str(one)
    return f"{one:.2f}" if isinstance(one, float) else json.dumps(one, default=_plain, ensure_ascii=False)


def bullets(lines: Sequence[str], nothing: str = "") -> None:
    if not lines:
        console.print(Text(nothing or "nothing is known", "dim"))
        return
    shown = Table.grid(padding=(0, 1, 0, 0))
    for one in lines:
        shown.add_row("•", Text(one))
    console.print(shown)


def header(text: str) -> None:
    """A delta header, as an agent would read it."""
    console.print(Panel(Text(text), expand=False, border_style="cyan") if text else "[dim]no changes[/]")


def settings(rows: Iterable[tuple[str, object, str, str]]) -> None:
    """Settings as a table: name and variable, value, meaning."""
    cells = [
        (Text.assemble(name, "\n", (variable, "dim")), value if isinstance(value, str) else _json(value), meaning)
        for name, value, variable, meaning in rows
    ]
    show(("setting", "value", "meaning"), cells)


def count(number: int, one: str, many: str = "") -> str:
    """Such as `1 turn` and `1,200 turns`; `many` is an irregular plural."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def known(restored: int, already: int) -> str:
    """What an import found, such as `3 restored after a rollback, 2 were there already`."""
    back = f"{restored:,} restored after a rollback, " if restored else ""
    return f"{back}{already:,} {'was' if already == 1 else 'were'} there already"


def located(number: int, what: str, where: object) -> str:
    """Such as `1 event is in FILE`; `what` is counted, and its plural has an s behind the first word."""
    noun, *rest = what.split(" ", 1)
    return f"{' '.join([count(number, noun), *rest])} {'is' if number == 1 else 'are'} in {where}"


def when(at: datetime) -> str:
    """In the time zone of this machine, to the minute."""
    return at.astimezone().strftime("%Y-%m-%d %H:%M")


def day(at: datetime) -> str:
    return at.astimezone().strftime("%Y-%m-%d")


def show(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    title: str = "",
    nothing: str = "nothing found",
    short: bool = False,
) -> None:
    """A table, or a sentence if there are no rows. Cells may contain any text.

    With `short`, ids are abbreviated to prefixes that commands accept, and long texts are cut.
    """
    if not rows:
        console.print(Text(nothing or "nothing found", "dim"))
        return
    shown = table(*columns, title=title)
    ids = shortened({cell for cells in rows for cell in cells if isinstance(cell, UUID)}) if short else {}
    for cells in rows:
        whole = (ids.get(cell, cell) if isinstance(cell, UUID) else cell for cell in cells)
        texts = [cell if isinstance(cell, Text) else Text(printable(str(cell))) for cell in whole]
        for text in texts if short else ():
            text.truncate(LONGEST_CELL, overflow="ellipsis")
        shown.add_row(*texts)
    console.print(shown)


def more(cursor: str | None) -> None:
    """How to get the next page, if there is one."""
    if cursor:
        console.print(f"[dim]more: --cursor {cursor}[/]", soft_wrap=True)  # So that it can be copied as one line.


def shortened(ids: Collection[UUID]) -> Mapping[UUID, str]:
    """The ids, cut to the shortest length at which all of them differ."""
    length = next(one for one in LENGTHS if len({str(id_)[:one] for id_ in ids}) == len(set(ids)))
    return {id_: str(id_)[:length] for id_ in ids}


def table(*columns: str, title: str = "") -> Table:
    """An empty table in the common style. Ids and times are never wrapped; texts are."""
    shown = Table(title=title or None, title_justify="left", box=None, header_style="dim", pad_edge=False)
    broken = BROKEN if console.width < NARROW else {}
    for column in columns:
        shown.add_column(
            column,
            overflow="fold",
            no_wrap=column in WHOLE,
            max_width=broken.get(column),
            style="dim" if column in IDS else "",
        )
    return shown


def _json(value: object) -> Text:
    return Text("–", style="dim") if value is None else Text(json.dumps(value))


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
