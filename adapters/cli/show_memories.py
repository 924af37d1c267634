"""Output for people: memories, messages and what a search found of them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from rich.padding import Padding
from rich.text import Text

from mnemolog.adapters.cli import output
from mnemolog.adapters.operations.results import (
    AnyHit,
    Bullets,
    CardView,
    Context,
    HistoryEntry,
    LinkView,
    MemoryHit,
    MemoryView,
    MessageHit,
    MessageView,
    Page,
    SearchResult,
)
from mnemolog.adapters.operations.summaries import SummaryView
from mnemolog.domain.message import KIND as MESSAGE


def memories(page: Page[MemoryView]) -> None:
    rows = [(output.day(one.occurred_at), one.category, _marked(one), one.memory_id) for one in page]
    output.show(("date", "category", "text", "id"), rows, short=True)


def _marked(memory: MemoryView) -> str:
    """The text of a memory, with the beginning of the id of a newer one that contradicts it."""
    if memory.contradicted_by is None or memory.contradicted_at is None:
        return memory.text
    newer = str(memory.contradicted_by)[: output.LENGTHS[0]]
    return f"{memory.text} (contradicted by {newer} of {output.day(memory.contradicted_at)})"


def _messages(page: Page[MessageView]) -> None:
    rows = [(output.day(one.occurred_at), one.role, one.line, output.id_of(one.message_id)) for one in page]
    output.show(("date", "role", "text", "id"), rows, short=True)


def _one(found: MemoryView | MessageView | SummaryView) -> None:
    output.fields(found, dict.fromkeys(["text", *type(found).model_fields]))


def _summaries(page: Page[SummaryView]) -> None:
    rows = [(one.text, one.kind, one.thread_id, output.when(one.created_at), one.summary_id) for one in page]
    output.show(("summary", "kind", "thread", "written", "id"), rows, nothing="no summaries", short=True)


def _search(found: SearchResult) -> None:
    if found.header:
        output.header(found.header)
    rows = [
        (
            f"{hit.score:.2f}",
            output.day(hit.date),
            hit.kind if hit.kind == MESSAGE else hit.category,
            f"{_text(hit)}{'' if hit.current else ' (former)'}",
            output.id_of(hit.id),
        )
        for hit in found.hits
    ]
    output.show(("score", "date", "category", "text", "id"), rows, nothing=found.nothing, short=True)
    for hit in found.related:
        output.line("related:", hit.text)
    _unknown(found, listed=bool(found.hits))
    _made_with(found)


def _text(hit: AnyHit) -> str:
    if isinstance(hit, MemoryHit):
        return _marked(hit)
    return hit.line if isinstance(hit, MessageHit) else hit.text


def _unknown(found: SearchResult | Bullets, *, listed: bool) -> None:
    """What is not known. An empty list says itself that it is nothing."""
    if found.nothing and listed:
        output.bullets([], found.nothing)
    for name in found.unknown:
        output.line("unknown:", name)


def _made_with(found: SearchResult | Bullets | Context) -> None:
    """What pronouns were taken to mean, and what was left out."""
    for one in found.references:
        output.line(f"{one.text}:", one.name or one.topic)
    for reason in found.skipped:
        output.line("skipped:", reason)


def _bullets(found: Bullets) -> None:
    if found.header:
        output.header(found.header)
    lines = [(one.text, output.id_of(one.id)) for one in found.bullets]
    output.show(("text", "id"), lines, nothing=found.nothing, short=True)
    for one in found.related:
        output.line("related:", one.text)
    _unknown(found, listed=bool(found.bullets))
    _made_with(found)


def _context(found: Context) -> None:
    if found.header:
        output.header(found.header)
    output.bullets(found.lines[len(found.header.splitlines()) :], found.nothing)
    if found.nothing and found.lines:
        output.bullets([], found.nothing)
    _made_with(found)


def _cards(page: Page[CardView]) -> None:
    output.bullets([one.line for one in page.items])


def links(page: Page[LinkView]) -> None:
    """The links of a memory, strongest first."""
    sign = {"out": "→", "in": "←"}
    rows = [(f"{one.strength:.2f}", sign[one.direction], one.relation_type, one.text, one.memory_id) for one in page]
    output.show(("strength", "", "type", "text", "id"), rows, nothing="no links", short=True)


def history(page: Page[HistoryEntry]) -> None:
    """The history of a subject, newest first: a line for each write, and below it what the write changed."""
    ids = output.shortened([UUID(str(one.meta["event_id"])) for one in page])
    for one in page:
        by = f" @{one.seq} by {one.actor or 'nobody'} "
        event_id = ids[UUID(str(one.meta["event_id"]))]
        head = Text.assemble(output.when(one.ts), "  ", (one.event.ljust(7), "cyan"), by, (event_id, "dim"))
        below = [Text("its words were erased", "dim")] if one.erased or one.meta.get("erased") else []
        if not one.changes and not below:
            told = _besides(one.meta)
            below = [Text.assemble((f"{name}: ", "dim"), output.value(value)) for name, value in told]
        for change in one.changes:
            old = () if change.old is None else (output.value(change.old), (" → ", "dim"))
            below.append(Text.assemble((f"{change.field}: ", "dim"), *old, output.value(change.new)))
        if one.changes and "moved" in one.meta:
            added, moved, removed = (one.meta[name] for name in ("added", "moved", "removed"))
            below.append(Text(f"{output.count(added, 'chunk')} added, {moved} moved, {removed} removed"))
        below += [Text(f"{name} {value}", "dim") for name, value in (("rule", one.rule), ("run", one.run_id)) if value]
        lines = (Padding(text, (0, 0, 0, 2), expand=False) for text in below)
        output.console.print(head, *lines, sep="\n", highlight=False)


def _besides(meta: Mapping[str, Any]) -> Iterable[tuple[str, object]]:
    """What an entry says of itself where no field changed: what was linked, merged or proposed."""
    return ((name, value) for name, value in meta.items() if name not in ("event_id", "type") and value not in ("", []))


SHOWN: Mapping[type, Callable[[Any], None]] = {
    Page[MemoryView]: memories,
    MemoryView: _one,
    Page[MessageView]: _messages,
    MessageView: _one,
    Page[SummaryView]: _summaries,
    SummaryView: _one,
    SearchResult: _search,
    Bullets: _bullets,
    Context: _context,
    Page[CardView]: _cards,
    Page[LinkView]: links,
    Page[HistoryEntry]: history,
}
