"""How the command line shows a result to people: one function for each type of result."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from rich.text import Text

from mnemolog.adapters.cli import output
from mnemolog.adapters.operations.conversation import Added, Session
from mnemolog.adapters.operations.operation import Operation
from mnemolog.adapters.operations.profile import Profile, Proposal, Proposed, SeededView
from mnemolog.adapters.operations.requests import Request
from mnemolog.adapters.operations.results import (
    Bullets,
    CardView,
    CauseView,
    Changes,
    Context,
    HistoryEntry,
    LinkView,
    MemoryView,
    Page,
    SearchResult,
    Undone,
    WhyView,
    Written,
)
from mnemolog.adapters.operations.todos import Todo
from mnemolog.domain.consent import APPLIED
from mnemolog.domain.consent import Status as Consent


def show(operation: Operation[Any, Any], request: Request, result: Any) -> None:
    """A table, a sentence or a few lines. Every type of result that an operation has is known here."""
    kind = type(result)
    if kind in SHOWN:
        SHOWN[kind](result)
    else:
        _written(operation, request, result)


def _written(operation: Operation[Any, Any], request: Request, result: Written) -> None:
    """What was done, and to what: the id that the write gave, or else the one that it was asked of."""
    ids = [name for name in type(result).model_fields if name.endswith("_id")]
    asked = [name for name in operation.arguments if name.endswith("_id")]
    id_ = getattr(result, ids[0]) if ids else getattr(request, asked[0]) if asked else None
    output.receipt(operation.done + (f" [cyan]{id_}[/]" if id_ else ""), result)
    for one in getattr(result, "variants", ()):
        output.line("possible duplicate:", f"{one.name} ({one.entity_id}); `mnemolog entity merge` combines them")


def _memories(page: Page[MemoryView]) -> None:
    output.memories([one.model_dump() for one in page.items])
    _more(page)


def _search(found: SearchResult) -> None:
    if found.header:
        output.header(found.header)
    output.memories([one.model_dump() for one in found.memories])


def _bullets(found: Bullets) -> None:
    if found.header:
        output.header(found.header)
    output.bullets(one.text for one in found.bullets)


def _context(found: Context) -> None:
    if found.lines:
        output.bullets(found.lines)
    else:
        output.console.print("[dim]nothing is known[/]")


def _cards(page: Page[CardView]) -> None:
    output.bullets(one.line for one in page.items)


def _links(page: Page[LinkView]) -> None:
    output.links([one.model_dump() for one in page.items])


def _history(page: Page[HistoryEntry]) -> None:
    output.history([one.model_dump() for one in page.items])
    _more(page)


def _changes(found: Changes) -> None:
    output.header(found.header)
    output.console.print(f"[dim]revision {found.rev}[/]")


def _undone(found: Undone) -> None:
    if found.receipt:
        output.receipt(f"Undone: {output.count(len(found.undone), 'event')}", found.receipt)
    for change in found.changes:
        output.line("  would write", f"{change.type} on {change.subject}")
    for conflict in found.conflicts:
        output.line("  ! conflict", f"{conflict.event_id}: {conflict.message}")
        output.line("    →", conflict.fix)
    if not found.receipt and not found.changes and not found.conflicts:
        output.console.print("No change: it is undone already")


def _why(found: WhyView) -> None:
    output.console.print(f"[bold]{found.kind}[/] {found.id}", highlight=False)
    seqs = {event.event_id: f"@{event.seq}" for event in found.events}
    rows = [
        (
            f"@{event.seq}",
            output.when(event.recorded_at),
            Text.assemble(event.type, (_how(event, seqs), "dim")),
            event.actor,
            event.agent_id,
            event.policy_version,
        )
        for event in found.events
    ]
    output.show(("seq", "when", "event", "actor", "agent", "policy"), rows)
    for one in found.merged_from:
        output.line("merged from", one)
    if found.merged_into:
        output.line("merged into", found.merged_into)
    for turn in found.turns:
        said = "erased" if turn.erased else turn.text
        output.line(f"{output.when(turn.occurred_at)} {turn.thread_id} {turn.speaker or turn.role}:", said)
    if found.unseen_turns:
        output.console.print(f"[dim]and {output.count(found.unseen_turns, 'turn')} that this agent may not see[/]")


def _how(event: CauseView, seqs: Mapping[UUID, str]) -> str:
    """In a line of its own below the event."""
    match = event.match or {}
    similarity = f" {match['similarity']:.2f}" if match.get("similarity") is not None else ""
    undoes = f"undoes {seqs.get(event.undoes, 'another')}" if event.undoes else ""
    parts = [f"{match['band']}{similarity}" if match else "", undoes]
    return "".join(f"\n{part}" for part in parts if part)


def _one_memory(found: MemoryView) -> None:
    for name, value in found.model_dump(mode="json").items():
        if value not in (None, "", [], {}):
            output.line(name, str(value))


def _added(found: Added) -> None:
    ids = ", ".join(f"[cyan]{one}[/]" for one in found.memory_ids)
    output.receipt(f"Added {output.count(len(found.memory_ids), 'memory', 'memories')}: {ids}", found)


def _session(found: Session) -> None:
    for turn in found.turns:
        output.line(f"{turn.role}:", turn.text)


def _profile(found: Profile) -> None:
    for one in found.fields:
        output.line(one.field, one.value if isinstance(one.value, str) else ", ".join(one.value))


def _proposed(found: Proposed) -> None:
    applied = found.status in APPLIED
    output.receipt(f"Set {found.field}" if applied else f"Proposed {found.field}: [cyan]{found.patch_id}[/]", found)


def _proposals(page: Page[Proposal]) -> None:
    rows = [
        (
            Text.assemble((one.field, "cyan"), " ", one.value),
            f"{one.signals} by {', '.join(one.proposed_by)}",
            _status(one),
            one.patch_id,
        )
        for one in page
    ]
    output.show(("change", "signals", "status", "id"), rows, nothing="nothing waits for consent")
    _more(page)


def _status(one: Proposal) -> str:
    until = f", until {one.expires_at:%Y-%m-%d}" if one.status is Consent.PROPOSED else ""
    return f"{one.status}{until}"


def _seeded(found: SeededView) -> None:
    memories = output.count(len(found.memory_ids), "memory", "memories")
    facts = output.count(found.facts, "fact")
    output.receipt(f"Seeded {output.count(len(found.applied), 'field')}, {memories}, {facts}", found)
    for field in found.queued:
        output.line("waits for consent", field)


def _todos(page: Page[Todo]) -> None:
    """With their status only where it is not the same for all."""
    mixed = len({one.status for one in page}) > 1
    rows = [
        (
            one.kind,
            one.text,
            *([one.status] if mixed else []),
            f"{one.due:%Y-%m-%d %H:%M}" if one.due else "–",
            one.todo_id,
        )
        for one in page
    ]
    output.show(("kind", "text", *(["status"] if mixed else []), "due", "id"), rows, nothing="nothing to do")
    _more(page)


def _more(page: Page[Any]) -> None:
    if page.next_cursor:
        output.console.print(f"[dim]more: --cursor {page.next_cursor}[/]")


SHOWN: Mapping[type, Callable[[Any], None]] = {
    MemoryView: _one_memory,
    Page[MemoryView]: _memories,
    SearchResult: _search,
    Bullets: _bullets,
    Context: _context,
    Page[CardView]: _cards,
    Page[LinkView]: _links,
    Page[HistoryEntry]: _history,
    Changes: _changes,
    WhyView: _why,
    Undone: _undone,
    Added: _added,
    Session: _session,
    Profile: _profile,
    Proposed: _proposed,
    Page[Proposal]: _proposals,
    SeededView: _seeded,
    Page[Todo]: _todos,
}
