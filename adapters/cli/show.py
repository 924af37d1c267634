"""Output for people: one function for each type of result."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, time
from types import MappingProxyType
from typing import Any
from uuid import UUID

from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from mnemolog.adapters.cli import output, show_envelope, show_episodes, show_memories
from mnemolog.adapters.cli.erased_texts import LISTED
from mnemolog.adapters.operations.artifacts import ArtifactDetail, ArtifactHit, ArtifactText, ArtifactView
from mnemolog.adapters.operations.attention import AffectView
from mnemolog.adapters.operations.batches import Forgotten
from mnemolog.adapters.operations.being import BeingContext, Entry, Recollection, Scenes
from mnemolog.adapters.operations.conversation import Added, Session
from mnemolog.adapters.operations.erasure import Erased, Proof
from mnemolog.adapters.operations.facts import FactsExtracted
from mnemolog.adapters.operations.graph_results import EntityDetail, EntityView, FactView
from mnemolog.adapters.operations.knowledge import ChunkHit, DocumentDetail, DocumentView
from mnemolog.adapters.operations.operation import Operation
from mnemolog.adapters.operations.patrol import ClusterView, PatrolResult
from mnemolog.adapters.operations.profile import Profile, Proposal, Proposed, SeededView
from mnemolog.adapters.operations.requests import AnyRequest
from mnemolog.adapters.operations.results import CauseView, Changes, Page, Undone, WhyView
from mnemolog.adapters.operations.stats import OperationCount
from mnemolog.adapters.operations.todos import Todo
from mnemolog.adapters.operations.webhooks import DeliveryView, WebhookCreated, WebhookView
from mnemolog.domain.consent import APPLIED
from mnemolog.domain.consent import PatchStatus as Consent
from mnemolog.domain.facts import State
from mnemolog.domain.patrol import What
from mnemolog.domain.precision import Precision, shown
from mnemolog.domain.recall import SEPARATOR
from mnemolog.domain.sentence import value_text

# What may be erased besides memories and turns: singular and, if it is irregular, plural.
KNOWN = {
    "entity": ("entity", "entities"),
    "relation": ("fact",),
    "profile": ("profile field",),
    "todo": ("todo",),
    "artifact": ("artifact",),
    "document": ("document",),
    "being_entry": ("entry", "entries"),
}
SHORT = 60  # The characters of a text that are shown beside its id.


def show(operation: Operation[Any, Any], request: AnyRequest, result: Any) -> None:
    """Show a result as a table, a sentence or a few lines. Handles every result type of an operation."""
    kind = type(result)
    if kind in SHOWN:
        SHOWN[kind](result)
        if isinstance(result, Page):
            output.more(result.next_cursor)
    else:
        # What was done and the id concerned: from the receipt, or else from the request.
        ids = [name for name in type(result).model_fields if name.endswith("_id")]
        named = [name for name in operation.arguments if name.endswith("_id")]
        id_ = getattr(result, ids[0]) if ids else getattr(request, named[0]) if named else None
        if isinstance(result, WebhookView):
            output.done(f"{operation.done} [cyan]{id_}[/]")
        else:
            output.receipt(operation.done, result, id_)
        for one in getattr(result, "variants", ()):
            output.line("possible duplicate:", f"{one.name} ({one.entity_id}); `mnemolog entity merge` combines them")


def _changes(found: Changes) -> None:
    output.header(found.header)
    output.console.print(f"[dim]revision {found.rev}[/]")


def _undone(found: Undone) -> None:
    if found.receipt:
        output.receipt(f"Undone: {output.count(len(found.undone), 'event')}", found.receipt)
    for change in found.changes[:LISTED]:
        output.line("  would write", f"{change.type} on {change.subject}")
    if len(found.changes) > LISTED:
        output.console.print(f"  … and {len(found.changes) - LISTED:,} more")
    for conflict in found.conflicts:
        output.line("  ! conflict", f"{conflict.event_id}: {conflict.message}")
        output.line("    →", conflict.fix)
    if not found.receipt and not found.changes and not found.conflicts:
        output.console.print("No change: there is nothing to undo")


def _forgotten(found: Forgotten) -> None:
    counts = [
        output.count(len(found.memories), "memory", "memories"),
        *([output.count(len(found.messages), "message")] if found.messages else []),
        output.count(len(found.facts), "fact"),
        output.count(len(found.entities), "entity", "entities"),
        *([output.count(len(found.artifacts), "artifact")] if found.artifacts else []),
        *([output.count(len(found.todos), "todo")] if found.todos else []),
        *([output.count(len(found.profile), "profile field")] if found.profile else []),
    ]
    if found.receipt:
        output.receipt(f"Done: {', '.join(counts)}", found.receipt)
        output.console.print(f"  [dim]batch {found.batch}[/]")
    else:
        output.console.print(f"In this scope: {', '.join(counts)}")


def show_erased(found: Erased, texts: Mapping[str, str] = MappingProxyType({})) -> None:
    """What was erased or would be, with the beginning of each text that is given by its id."""
    kinds = {kind: [one.partition(":")[2] for one in found.known if one.startswith(f"{kind}:")] for kind in KNOWN}
    counts = [
        output.count(len(found.memories), "memory", "memories"),
        output.count(len(found.turns), "turn"),
        *(output.count(len(ids), *KNOWN[kind]) for kind, ids in kinds.items() if ids),
    ]
    if found.receipt:
        output.receipt(f"Erased {', '.join(counts)}; their keys are destroyed", found.receipt)
        for name, error in found.held_up.items():
            output.line("  !", f"{error['message']}; the text was removed from {name} all the same")
            output.line("    →", error["fix"])
        proof = "knowledge prove-erased" if kinds["document"] else "prove-erased"
        output.console.print(f"  [dim]run `mnemolog {proof}` to check that it cannot be read anywhere[/]")
        return
    output.console.print(f"To be erased: {', '.join(counts)}")
    _ids("memory", found.memories, texts)
    _ids("turn", found.turns, texts)
    for kind, ids in kinds.items():
        _ids(KNOWN[kind][0], ids, texts)
    _ids("in part", found.cleared, {f"entity:{id_}": text for id_, text in texts.items()})
    if found.survivors:
        output.console.print("[yellow]The text may survive in the memories these were merged into:[/] --with-survivors")
        _ids("memory", found.survivors, texts)


def _ids(what: str, ids: Sequence[object], texts: Mapping[str, str]) -> None:
    for one in ids[:LISTED]:
        text = " ".join(texts.get(str(one), "").split())
        short = text if len(text) <= SHORT else f"{text[: SHORT - 1]}…"
        output.line(f"  {what}", f"{one}  {short}".rstrip())
    if len(ids) > LISTED:
        output.console.print(f"  … and {len(ids) - LISTED:,} more")


def _proof(found: Proof) -> None:
    table = output.table("place", "checked", "readable")
    for place in found.places:
        table.add_row(place.name, f"{place.looked_at:,}", f"[red]{place.readable:,}[/]" if place.readable else "0")
        for one in place.found:
            table.add_row(Text(f"  {one}", "dim"), "", "")
    output.console.print(table)
    if found.erased:
        output.done("Readable in none of these places")
    else:
        output.console.print("[red]✗[/] It can still be read")
    output.console.print("[dim]Not covered by queries:[/]")
    for line in found.unseen:
        output.console.print(f"  [dim]•[/] {escape(line)}", highlight=False)


def _why(found: WhyView) -> None:
    output.console.print(f"[bold]{found.kind}[/] {found.id}", highlight=False)
    seqs = {event.event_id: f"@{event.seq}" for event in found.events}
    for event in found.events:
        head = Text.assemble(f"@{event.seq}  {output.when(event.recorded_at)}  ", (event.type, "cyan"))
        head.append(f"  by {event.actor or 'nobody'} for {event.agent_id}")
        output.console.print(
            head, *(Padding(Text(one, "dim"), (0, 0, 0, 2), expand=False) for one in _how(event, seqs)), sep="\n"
        )
    for one in found.merged_from:
        output.line("merged from", one)
    if found.merged_into:
        output.line("merged into", found.merged_into)
    for turn in found.turns:
        said = "erased" if turn.erased else turn.text
        spoken = f"{output.when(turn.occurred_at)} {turn.thread_id} {turn.turn_id} {turn.speaker or turn.role}:"
        output.line(spoken, said)
    if found.unseen_turns:
        output.console.print(f"[dim]and {output.count(found.unseen_turns, 'turn')} that this agent may not see[/]")


def _how(event: CauseView, seqs: Mapping[UUID, str]) -> Sequence[str]:
    """What is said below an event, a line each."""
    match = event.match or {}
    similarity = f" {match['similarity']:.2f}" if match.get("similarity") is not None else ""
    undoes = f"undoes {seqs.get(event.undoes, 'another')}" if event.undoes else ""
    told = (("rule", event.rule), ("run", event.run_id), ("policy", event.policy_version))
    parts = [f"{match['band']}{similarity}" if match else "", undoes, *(f"{name} {one}" for name, one in told if one)]
    return [part for part in parts if part]


def _added(found: Added) -> None:
    ids = [output.id_of(one) for one in found.message_ids]
    short = output.shortened([one for one in ids if isinstance(one, UUID)])
    shown = [short[one] if isinstance(one, UUID) else escape(one) for one in ids]
    listed = ", ".join(f"[cyan]{one}[/]" for one in shown)
    output.receipt(f"Added {output.count(len(ids), 'message')}: {listed}", found)


def _session(found: Session) -> None:
    for turn in found.turns:
        output.line(f"{turn.role}:", turn.text)


def _affect(found: AffectView) -> None:
    mood = found.affect
    output.line(f"{mood.label}", f"confidence {mood.confidence:.2f}, until {output.when(mood.decay_at)}")
    if mood.markers:
        output.line("from:", ", ".join(mood.markers))
    output.line("mode:", found.interaction_mode)


def _profile(found: Profile) -> None:
    if not found.fields:
        output.console.print("[dim]nothing is known[/]")
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
    output.show(("change", "signals", "status", "id"), rows, nothing="no proposals", short=True)


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
    """Shows the status only if it differs between rows."""
    mixed = len({one.status for one in page}) > 1
    rows = [
        (
            one.kind,
            one.text,
            *([one.status] if mixed else []),
            output.when(one.due) if one.due else "–",
            one.todo_id,
        )
        for one in page
    ]
    columns = ("kind", "text", *(["status"] if mixed else []), "due", "id")
    output.show(columns, rows, nothing="no todos", short=True)


def _entries(page: Page[Entry]) -> None:
    rows = [(one.store, one.key, one.line, "read" if one.read else "", one.entry_id) for one in page]
    output.show(("store", "key", "content", "", "id"), rows, nothing="no entries", short=True)


def _recollection(found: Recollection) -> None:
    output.bullets([SEPARATOR.join(found.fragments)] if found.fragments else [], nothing="nothing comes to mind")
    for one in found.skipped:
        output.line("skipped", one)


def _being_context(found: BeingContext) -> None:
    for block in found.blocks:
        output.line(f"{block.name}:", block.text)


def _scenes(found: Scenes) -> None:
    rows = [(one.text, one.status, one.experience and one.experience.cluster, one.memory_id) for one in found.items]
    output.show(("scene", "status", "cluster", "id"), rows, nothing="no scenes", short=True)


def _artifacts(page: Page[ArtifactView]) -> None:
    rows = [
        (one.surrogate, one.name or one.url, _extraction(one), output.when(one.occurred_at), one.artifact_id)
        for one in page
    ]
    output.show(("artifact", "name", "text", "date", "id"), rows, nothing="no artifacts", short=True)


def _extraction(one: ArtifactView) -> str:
    return f"refused: {one.refused}" if one.refused else one.extraction


def _artifact(found: ArtifactDetail) -> None:
    output.fields(found, [name for name in ArtifactView.model_fields if name != "skipped"])
    for one in found.skipped:
        output.line("skipped", f"{one.text_kind}: {one.reason}")
    _artifact_texts(found.texts)


def _artifact_texts(texts: Iterable[ArtifactText]) -> None:
    rows = [(one.text_kind, one.place, one.text) for one in texts]
    output.show(("kind", "place", "text"), rows, nothing="no texts")


def _artifact_hits(page: Page[ArtifactHit]) -> None:
    rows = [(one.surrogate, one.place, one.text, f"{one.score:.2f}") for one in page]
    output.show(("artifact", "place", "text", "score"), rows, nothing="nothing found")


def _documents(page: Page[DocumentView]) -> None:
    rows = [(one.source, one.domain, one.chunks, output.when(one.updated_at), one.document_id) for one in page]
    output.show(("source", "domain", "chunks", "updated", "id"), rows, nothing="no documents", short=True)


def _document(found: DocumentDetail) -> None:
    output.fields(found, DocumentView.model_fields)
    output.show(("place", "text"), [(one.place, one.text) for one in found.content], nothing="no chunks")


def _chunk_hits(page: Page[ChunkHit]) -> None:
    rows = [(one.source, one.place, one.text, f"{one.score:.2f}") for one in page]
    output.show(("source", "place", "text", "score"), rows, nothing="nothing found")


def _entities(found: Iterable[EntityView]) -> None:
    rows = [
        (one.category, Text.assemble(one.name, (_also(one), "dim")), output.when(one.last_seen), one.entity_id)
        for one in found
    ]
    output.show(("category", "name", "last seen", "id"), rows, short=True)


def _also(entity: EntityView) -> str:
    return f" ({', '.join(entity.aliases)})" if entity.aliases else ""


def _entity(found: EntityDetail) -> None:
    _entities([found])
    _facts([*found.outgoing, *found.incoming])


def _facts(found: Iterable[FactView]) -> None:
    rows = [(_fact(one), _holds(one), _day(one.known_from), one.relation_id) for one in found]
    output.show(("fact", "holds", "known since", "id"), rows, nothing="no facts", short=True)


def _fact(one: FactView) -> Text:
    thing = one.object if one.object is not None else value_text(one.value)
    style = "strike dim" if one.overridden_by else ""
    state = "" if one.state is State.ACTIVE else f" ({one.state})"
    return Text.assemble(one.subject, " ", (one.predicate, "cyan"), " ", thing, (state, "dim"), style=style)


def _holds(one: FactView) -> str:
    """By the day; what begins and ends on one day, to the minute."""
    since = _day(one.valid_from, one.valid_from_precision)
    until = _day(one.valid_to, one.valid_to_precision) if one.valid_to else ""
    if one.valid_to and since == until:
        since, until = output.when(one.valid_from), output.when(one.valid_to)
    return f"{since} – {until}".strip()


def _day(at: datetime, precision: Precision | None = None) -> str:
    """A time at the start of a day in UTC is that day, wherever it is read."""
    utc = at.astimezone(UTC)
    return shown(utc, precision) if precision or utc.time() == time.min else output.day(at)


def _patrolled(done: PatrolResult) -> None:
    for one in done.steps:
        counts = Counter(change.what for change in one.changes)
        told = ", ".join(f"{count} {what}" for what, count in counts.items())
        output.line(one.step, "; ".join(filter(None, (told, one.why and f"skipped: {one.why}"))) or "nothing to do")
        for change in one.changes:
            if change.what is not What.COUNTED:
                output.line(" ", " ".join(filter(None, (change.what.value, str(change.id or ""), change.into))))
    output.done(f"{'would be run' if done.dry_run else 'run'} {done.run_id}")


def _extracted(done: FactsExtracted) -> None:
    events = f"{done.events:,} new events" if done.events else "nothing new"
    output.done(f"threads read: {done.threads:,}; {events}")
    if done.events:
        output.line("to undo", f"mnemolog rollback --of-run {done.run_id}")


def _clusters(page: Page[ClusterView]) -> None:
    rows = [(one.label, one.active, one.dying, one.dead, one.cluster_id) for one in page]
    output.show(("cluster", "active", "dying", "dead", "id"), rows, short=True)


def _webhook(hook: WebhookCreated) -> None:
    output.done(f"webhook {hook.webhook_id}: keep its secret now, it is not shown again")
    output.console.print(Text(hook.secret), soft_wrap=True)


def _webhooks(page: Page[WebhookView]) -> None:
    rows = [(one.url, one.state, one.pending, one.error or "", one.webhook_id) for one in page]
    output.show(("url", "state", "pending", "error", "id"), rows, nothing="no webhooks", short=True)


def _delivery(one: DeliveryView) -> None:
    output.done(f"{one.type} is queued as {one.delivery_id}; see `mnemolog webhook deliveries`")


def _deliveries(page: Page[DeliveryView]) -> None:
    rows = [
        (one.type, one.status, one.attempts, output.when(one.created_at), one.error or "", one.delivery_id)
        for one in page
    ]
    output.show(("type", "status", "attempts", "created", "error", "id"), rows, nothing="no deliveries", short=True)


def _stats(page: Page[OperationCount]) -> None:
    rows = [
        (
            f"{one.period:%Y-%m-%d %H:%M}" if one.period else "in all",
            one.node,
            one.op,
            one.subject,
            one.status,
            one.count,
            "" if one.similarity is None else f"{one.similarity:.2f}",
        )
        for one in page.items
    ]
    output.show(("period (UTC)", "node", "op", "subject", "status", "count", "similarity"), rows)


SHOWN: Mapping[type, Callable[[Any], None]] = {
    Changes: _changes,
    WhyView: _why,
    Undone: _undone,
    Added: _added,
    Session: _session,
    AffectView: _affect,
    Profile: _profile,
    Proposed: _proposed,
    Page[Proposal]: _proposals,
    SeededView: _seeded,
    Page[Todo]: _todos,
    Page[Entry]: _entries,
    BeingContext: _being_context,
    Recollection: _recollection,
    Scenes: _scenes,
    PatrolResult: _patrolled,
    FactsExtracted: _extracted,
    Page[ClusterView]: _clusters,
    Forgotten: _forgotten,
    Erased: show_erased,
    Proof: _proof,
    Page[EntityView]: _entities,
    Page[ArtifactView]: _artifacts,
    ArtifactDetail: _artifact,
    Page[ArtifactText]: _artifact_texts,
    Page[ArtifactHit]: _artifact_hits,
    Page[DocumentView]: _documents,
    DocumentDetail: _document,
    Page[ChunkHit]: _chunk_hits,
    EntityDetail: _entity,
    Page[FactView]: _facts,
    Page[OperationCount]: _stats,
    WebhookCreated: _webhook,
    Page[WebhookView]: _webhooks,
    DeliveryView: _delivery,
    Page[DeliveryView]: _deliveries,
    **show_memories.SHOWN,
    **show_episodes.SHOWN,
    **show_envelope.SHOWN,
}
