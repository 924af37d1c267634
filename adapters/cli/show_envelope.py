"""Output for people: inference envelopes."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mnemolog.adapters.cli import output
from mnemolog.adapters.operations.envelope import Checked, ClaimView, EnvelopeView, GateView
from mnemolog.adapters.operations.respond import Responded
from mnemolog.adapters.operations.results import Page
from mnemolog.adapters.operations.serving import Serving
from mnemolog.projections.slots import Envelope


def _view(found: EnvelopeView) -> None:
    gate(found.gate)
    _envelope(found.envelope)
    for one in found.skipped:
        output.line("skipped:", one)


def gate(decision: GateView) -> None:
    """Why episodes and knowledge were searched."""
    reasons = ", ".join(f"{one.signal} ({one.found})" for one in decision.reasons)
    output.line("searched:", reasons or "no, the message shows no signal")


def _envelope(envelope: Envelope) -> None:
    mood = envelope.AFFECT.affect
    output.line("affect:", f"{mood.label} ({mood.confidence:.2f})")
    dated = {str(one.relation_id): one.dated(one.text) for one in envelope.GRAPH.relations}
    dated |= {one.id: f"{one.text} ({one.date:%Y-%m-%d})" for one in envelope.EPISODE.hits}
    dated |= {one.id: f"{one.headed}: {one.text}" for one in envelope.KNOWLEDGE.hits}
    rows = [
        (slot, dated.get(id_, text), by.statement or by.id if by else "") for slot, id_, text, by in envelope.statements
    ]
    output.show(("slot", "text", "overruled by"), rows, nothing="no facts and no hits")


def doubtful(claims: Iterable[ClaimView]) -> None:
    """Claims with what the memory says to them, and what to ask."""
    rows = [(one.text, one.support, one.overruled_by or one.statement, one.question) for one in claims]
    if rows:
        output.show(("claim", "support", "known", "ask"), rows)


def _checked(found: Checked) -> None:
    if found.claims:
        doubtful(found.claims)
    else:
        output.line("claims:", "none")


def _served(page: Page[Serving]) -> None:
    """What was given to an agent; of one time, also each thing that it was shown."""
    rows = [
        (
            output.when(one.at),
            one.purpose,
            one.thread_id,
            output.id_of(one.question_id or ""),
            output.count(len(one.items), "item"),
            one.tokens,
        )
        for one in page
    ]
    columns = ("when", "for", "thread", "message", "shown", "tokens")
    output.show(columns, rows, nothing="nothing was recorded", short=True)
    if len(page.items) == 1:
        items = page.items[0].items
        shown = [(one.kind, one.slot or "", f"@{one.seq}" if one.seq else "", output.id_of(one.id)) for one in items]
        output.show(("kind", "slot", "as of", "id"), shown, nothing="it was shown nothing")


def _responded(found: Responded) -> None:
    if found.answer:
        output.line("answer:", found.answer)
    elif found.prompt:
        output.line("prompt:", f"{found.prompt.system}\n\n{found.prompt.user}")
    doubtful(one for one in found.claims if one.question)
    rows = [(one.kind, one.statement, one.refused or "written") for one in found.writes]
    if rows:
        output.show(("planned", "statement", "outcome"), rows)
    output.line("message:", found.message_id)
    output.line("answer id:", found.answer_id)
    for one in found.skipped:
        output.line("skipped:", one)


SHOWN: Mapping[type, Callable[[Any], None]] = {
    EnvelopeView: _view,
    Envelope: _envelope,
    Checked: _checked,
    Responded: _responded,
    Page[Serving]: _served,
}
