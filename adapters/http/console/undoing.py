"""Undo: what would change, in words, and then the change."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from starlette.responses import Response

from mnemolog.adapters.http.console.visit import Visit
from mnemolog.adapters.operations import memories as operations
from mnemolog.adapters.operations.results import RevertView
from mnemolog.domain.errors import NotFound
from mnemolog.domain.memory import MAX_MERGE

NAMED = ("memory_id", "event_id")


async def preview(visit: Visit) -> Response:
    """What an undo would do. It changes nothing."""
    of = visit.query.get("of", "")
    named = (
        {"event_id": await _event_at(visit, of, visit.query["seq"])} if "seq" in visit.query else _named(visit.query)
    )
    plan = await visit.ask(operations.undo, **named, dry_run=True)
    subjects = [(change, await _text_of(visit, change)) for change in plan.changes[: MAX_MERGE + 1]]
    entries = await _entries(visit, of, plan.undone) if of else ()
    return visit.page(
        "undo.html", named=named, plan=plan, subjects=subjects, entries=entries, of=of, once=secrets.token_urlsafe(12)
    )


async def done(visit: Visit) -> Response:
    """Undo it; sent twice, it is undone once."""
    undone = await visit.ask(operations.undo, **_named(visit.form), idempotency_key=visit.form.get("once"))
    of = visit.form.get("of") or visit.form.get("memory_id")
    kind = "memories" if visit.form.get("kind", "memory") == "memory" else "history"
    said = "undone" if undone.receipt and not undone.receipt.already else "undone_before"
    return visit.to(f"/{kind}/{UUID(of)}", done=said) if of else visit.to("/memories", done=said)


def _named(given: Mapping[str, str]) -> dict[str, str]:
    return {name: given[name] for name in NAMED if given.get(name)}


async def _event_at(visit: Visit, of: str, seq: str) -> str:
    """The event of a history's entry, which the history names by its place in the log."""
    why = await visit.ask(operations.why, id=of)
    found = [str(event.event_id) for event in why.events if str(event.seq) == seq]
    if not found:
        raise NotFound(f"no change {seq!r:.40} of {of}", field="seq", fix="choose a change of the history")
    return found[0]


async def _text_of(visit: Visit, change: RevertView) -> str:
    """The text of a memory that would change; "" for what has none, or is not shown to this agent."""
    kind, _, id_ = change.subject.partition(":")
    if kind != "memory":
        return ""
    try:
        text: str = (await visit.ask(operations.get, memory_id=id_)).text
    except NotFound:  # Erased, too.
        return ""
    return text


async def _entries(visit: Visit, of: str, undone: Sequence[UUID]) -> Sequence[Any]:
    """The entries of the history that would be undone, with what they changed."""
    why = await visit.ask(operations.why, id=of)
    seqs = {event.seq for event in why.events if event.event_id in undone}
    history = await visit.ask(operations.history, id=of)
    return [entry for entry in history.items if entry.seq in seqs]
