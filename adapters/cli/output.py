"""What the commands print: tables and sentences for people, JSON for programs."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from mnemolog.domain.errors import AmbiguousEntity, MnemologError
from mnemolog.events.envelope import Receipt

console = Console()
errors = Console(stderr=True)


def as_json(value: Any) -> None:
    """One JSON value on standard output."""
    console.print_json(json.dumps(value, default=_plain, ensure_ascii=False), indent=2)


def failed(error: MnemologError, *, json_wanted: bool) -> None:
    """What went wrong, where, and what to do."""
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


def receipt(sentence: str, written: Receipt) -> None:
    """A write: what it did, and its consistency token."""
    done(sentence if not written.already else "already so: nothing changed")
    console.print(f"  [dim]{written.token}[/]")


def memories(rows: Sequence[Mapping[str, Any]], *, title: str = "") -> None:
    """Memories as a table."""
    if not rows:
        console.print("[dim]nothing found[/]")
        return
    scored = any(row.get("score") is not None for row in rows)
    table = _table(title, *(["score"] if scored else []), "category", "text", "id")
    for row in rows:
        score = [f"{row['score']:.2f}"] if scored else []
        table.add_row(*score, row["category"], Text(row["text"]), Text(str(row["memory_id"]), style="dim"))
    console.print(table)


def links(rows: Sequence[Mapping[str, Any]]) -> None:
    """The links of a memory as a table, the strongest first."""
    if not rows:
        console.print("[dim]no links[/]")
        return
    table = _table("", "strength", "", "type", "text", "id")
    for row in rows:
        sign = {"out": "→", "in": "←"}[row["direction"]]
        id_ = Text(str(row["memory_id"]), style="dim")
        table.add_row(f"{row['strength']:.2f}", sign, row["relation_type"], Text(row["text"]), id_)
    console.print(table)


def history(rows: Iterable[Mapping[str, Any]]) -> None:
    """The history of a memory as a table, newest first."""
    table = _table("", "when", "event", "actor", "from", "to", "event id")
    for row in rows:
        old, new = (_seq(row[name]) for name in ("old_ref", "new_ref"))
        table.add_row(when(row["ts"]), row["event"], row["actor"], old, new, Text(row["meta"]["event_id"], style="dim"))
    console.print(table)


def line(label: str, text: str) -> None:
    """A label and a text that may hold anything."""
    console.print(Text.assemble((label, "cyan"), " ", text), highlight=False)


def bullets(lines: Iterable[str]) -> None:
    for one in lines:
        console.print(Text(f"• {one}"))


def header(text: str) -> None:
    """A delta header, as an agent would read it."""
    console.print(Panel(Text(text), expand=False, border_style="cyan") if text else "[dim]no changes[/]")


def settings(rows: Iterable[tuple[str, object, str, str]]) -> None:
    """Settings as a table: name, value, variable, meaning."""
    table = _table("", "setting", "value", "variable", "meaning")
    for name, value, variable, meaning in rows:
        shown = (
            Text("–", style="dim") if value is None else Text(value if isinstance(value, str) else json.dumps(value))
        )
        table.add_row(name, shown, Text(variable, style="dim"), meaning)
    console.print(table)


def count(number: int, one: str, many: str = "") -> str:
    """Such as `1 turn` and `1,200 turns`; `many` where an s does not do."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def when(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z"


def table(*columns: str) -> Table:
    """An empty table in the common look."""
    return _table("", *columns)


def _seq(reference: str | None) -> str:
    return f"@{reference.rpartition('@')[2]}" if reference else "–"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title or None, title_justify="left", box=None, header_style="dim", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in ("when", "score"))
    return table


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
