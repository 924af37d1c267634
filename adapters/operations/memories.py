"""Operations on memories: create, read, search, update, merge, link, archive, delete, restore, undo."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import (
    PagedRead,
    Paging,
    Read,
    Write,
    command_of,
    fields_of,
    stream_of,
    viewer_of,
)
from mnemolog.adapters.operations.results import (
    Bullet,
    Bullets,
    CardView,
    Changes,
    Context,
    Created,
    HistoryEntry,
    LinkView,
    MemoryView,
    Page,
    ReferenceView,
    SearchResult,
    Undone,
    WhyView,
    Written,
    hit_view,
)
from mnemolog.adapters.operations.serving import RecordableRead, recorded
from mnemolog.commands.memories import (
    ChangeStatus,
    ConfirmMemory,
    CreateMemory,
    LinkMemories,
    MemoryCommand,
    MergeMemories,
    RestoreMemory,
    SoftDeleteMemory,
    UpdateMemory,
)
from mnemolog.commands.memory_requests import EntityRef
from mnemolog.commands.rollback import Plan
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.memory import Status
from mnemolog.domain.memory_key import MAX_REFS
from mnemolog.domain.message import found_id
from mnemolog.domain.origin import Origin
from mnemolog.events.envelope import DEFAULT_THREAD
from mnemolog.events.fields import AtMost, Flag, Id, Label, Uuid, validated
from mnemolog.events.serving import Purpose, ServedItem
from mnemolog.projections.requests import ContextRequest, MemoryQuery, Searching
from mnemolog.projections.retrieval import Hit

BIGGEST_SEQ = 2**63 - 1  # The maximum of Postgres' bigint.


MEMORY_ID = Annotated[Uuid, Field(description="The memory's id.")]


class MemoryRead(Read):
    """One memory."""

    memory_id: MEMORY_ID


class LinksRead(Paging, MemoryRead):
    """The links of one memory."""


class List(PagedRead):
    """The most recently changed memories first."""

    limit: Annotated[int, Field(ge=1, le=1000, description="The maximum number of memories on a page.")] = 20


class HistoryRead(PagedRead):
    """The history of a memory, an entity or a fact, newest first."""

    id: Annotated[Uuid, Field(description="The id of a memory, an entity or a fact.")]


class Search(RecordableRead, Searching):
    """A search of all that is known of a user."""


class ContextRead(RecordableRead, ContextRequest):
    """The message that the agent is about to answer."""


class CardsRead(Read):
    """References of people, places and things."""

    refs: Annotated[
        tuple[EntityRef, ...],
        AtMost(MAX_REFS, least=1),
        Field(description="References such as `person:ana_silva`."),
    ]


class WhyRead(Read):
    """Anything that a search finds, or a profile field."""

    id: Annotated[
        Id, Field(description="The id of a memory, message, entity, fact, todo and so on, or a profile field's name.")
    ]


class ChangesRead(Read):
    """The changes in a thread."""

    thread_id: Annotated[Id, Field(description="The thread.")] = DEFAULT_THREAD
    since: Annotated[int, Field(ge=0, le=BIGGEST_SEQ, description="The last revision you have seen.")] = 0


class Delete(Write):
    """The memory to delete, and why."""

    memory_id: MEMORY_ID
    reason: Annotated[Label, Field(description="The reason, stored encrypted in the history.")] = ""
    origin: Annotated[Origin | None, Field(description="Where the request comes from, if from outside.")] = None


class Undo(Write):
    """Either a memory, to undo its last change, or an event."""

    memory_id: Annotated[Uuid | None, Field(description="Undo the last change of this memory.")] = None
    event_id: Annotated[Uuid | None, Field(description="Undo this event, for everything it changed.")] = None
    dry_run: Annotated[Flag, Field(description="Return what would be written, and change nothing.")] = False


SEARCH_EXAMPLE = {
    "user_id": "ana",
    "agent_id": "planner",
    "query": "deployment plan context",
    "categories": ["tasks", "projects"],
    "filters": {"pinned": False, "importance_min": 1, "updated_after": "2025-07-01"},
    "top_k": 3,
    "return": "bullets",
    "budget_tokens": 512,
}


@operation(
    "create",
    "POST /memories",
    CreateMemory,
    tag="memories",
    arguments=("text",),
    done="Created",
    status=201,
    example={"user_id": "ana", "text": "Ana is lactose intolerant", "category": "profile", "pinned": True},
)
async def create(engine: Engine, request: Write) -> Created:
    """Create a memory.

    With a `memory_key` (or `type`, `fact_type` and `entity_refs`, which form one), an existing memory with that key is
    updated or confirmed instead; with `merge_similar`, one with the same meaning. Its id is then returned.
    """
    memory_id, receipt = await engine.writes.create(fields_of(engine, request), request.idempotency_key)
    return Created.of(receipt, memory_id=memory_id)


@operation("get", "GET /memories/{memory_id}", tag="memories")
async def get(engine: Engine, request: MemoryRead) -> MemoryView:
    """Read one memory.

    Also returns hidden memories; see `status`.
    """
    row = await engine.reads.memory(viewer_of(engine, request), request.memory_id, request.moment())
    return MemoryView.model_validate(row)


@operation("list", "GET /memories", tag="memories")
async def list_(engine: Engine, request: List) -> Page[MemoryView]:
    """List a user's memories, the most recently changed first.

    Returns active memories only.
    """
    rows = await engine.reads.newest(viewer_of(engine, request), request.limit, request.moment(), request.cursor)
    return Page[MemoryView].of(rows)


@operation("search", "POST /search", tag="recall", arguments=("query",), example=SEARCH_EXAMPLE)
async def search(engine: Engine, request: Search) -> Bullets | SearchResult:
    """Search everything known about a user.

    One ranked answer over memories, messages, facts, entities, the profile, the agent's todos and summaries, artifacts,
    and passages of the agent's library. Superseded items are marked, and listed below current ones. Filters and
    the agent's allowlist are applied in the database.
    """
    fields = request.model_dump(include=set(Searching.model_fields), exclude_unset=True)
    context_fields = {"tenant": engine.settings.tenant, "user_id": request.user_id, "agent_id": request.agent_id}
    answer = await engine.reads.query(validated(MemoryQuery, {**fields, **context_fields}), request.moment())
    found: dict[str, Any] = {
        name: getattr(answer, name) for name in ("header", "rev", "unknown", "skipped", "profile", "nothing")
    }
    found["references"] = list(map(ReferenceView.model_validate, answer.references))
    if request.record:
        shown = [*answer.hits, *answer.related]
        said = {"thread_id": request.thread_id, "question_id": request.message_id, "searched": True}
        tokens = sum(engine.reads.count_tokens(hit.bullet) for hit in shown)
        items = [item for hit in shown for item in _served(hit)]
        found["served_id"] = await recorded(engine, request, Purpose.RECALL, items, tokens, **said)
    if request.returns == "bullets":
        related = [Bullet.of_hit(hit) for hit in answer.related]
        return Bullets(**found, bullets=[Bullet.of_hit(hit) for hit in answer.hits], related=related)
    return SearchResult(**found, hits=list(map(hit_view, answer.hits)), related=list(map(hit_view, answer.related)))


@operation("context", "POST /context", tag="recall", arguments=("query",))
async def context(engine: Engine, request: ContextRead) -> Context:
    """Read what an agent should know before it answers.

    Returns critical facts such as allergies, summaries of the conversation, what is known about what the query mentions
    or asks for, pinned memories, and from each category that the agent may read either all memories or those that match
    the query, depending on the policy. `text` is all of it for a prompt: grouped, dated, within the budget.
    """
    wanted = validated(ContextRequest, request.model_dump(include=set(ContextRequest.model_fields)))
    found = await engine.reads.context(viewer_of(engine, request), wanted, request.moment())
    context = Context.of(found)
    if not request.record:
        return context
    items = {found_id(row): ServedItem(kind=row["kind"], id=found_id(row), seq=row["seq"]) for row in found.shown}
    items |= {item.id: item for hit in found.hits for item in _served(hit)}
    about = [ServedItem(kind="entity", id=str(one.row["entity_id"]), seq=one.row["seq"]) for one in found.entities]
    items |= {item.id: item for item in (*about, *_facts(fact for one in found.entities for fact in one.facts))}
    tokens = sum(map(engine.reads.count_tokens, context.lines))
    event_id = await recorded(
        engine, request, Purpose.CONTEXT, list(items.values()), tokens, question_id=request.message_id
    )
    return context.model_copy(update={"served_id": event_id})


def _served(hit: Hit) -> Sequence[ServedItem]:
    """A hit of a context, for the record; a fact by the name that it has in the record of an envelope.

    An entity with the facts that it shows, since it is not changed by them.
    """
    details = hit.row.get("details", hit.row)
    item = ServedItem(kind="fact" if hit.kind == "relation" else hit.kind, id=hit.id, seq=details.get("seq"))
    return [item, *_facts(hit.row.get("facts", ()))]


def _facts(rows: Iterable[Mapping[str, Any]]) -> Sequence[ServedItem]:
    return [ServedItem(kind="fact", id=str(row["relation_id"]), seq=row["seq"]) for row in rows]


@operation("cards", "GET /cards", tag="recall", arguments=("refs",))
async def cards(engine: Engine, request: CardsRead) -> Page[CardView]:
    """Read the most important memories about people, places and things.

    Returns at most three memories per reference: pinned ones, then the most important, then the newest.
    """
    found = await engine.reads.cards(viewer_of(engine, request), request.refs, request.moment())
    return Page[CardView](items=[CardView.of(card) for card in found])


@operation("links", "GET /memories/{memory_id}/links", tag="memories")
async def links(engine: Engine, request: LinksRead) -> Page[LinkView]:
    """List the links of a memory, strongest first.

    Returns only memories that the agent may see.
    """
    from mnemolog.projections.paging import slice_of

    rows = await engine.reads.links(viewer_of(engine, request), request.memory_id, request.moment())
    return Page[LinkView].of(slice_of(rows, "memory_id", request.limit, request.cursor, "direction", "relation_type"))


@operation("history", "GET /history/{id}", tag="recall", also="/memories/{id}/history")
async def history(engine: Engine, request: HistoryRead) -> Page[HistoryEntry]:
    """Read the history of a memory, an entity or a fact, newest first.

    Returns every write that changed it, with the old and the new text.
    """
    rows = await engine.reads.history(
        viewer_of(engine, request), request.id, request.limit, request.moment(), request.cursor
    )
    return Page[HistoryEntry].of(rows)


@operation("why", "GET /why/{id}", tag="recall")
async def why(engine: Engine, request: WhyRead) -> WhyView:
    """Explain the origin of anything that a search finds, of a profile field, or of a passage of a document.

    Returns the events that created it, what it was merged from, and its source turns.
    """
    found = await engine.reads.why(viewer_of(engine, request), request.id, request.moment())
    return WhyView.model_validate(found.as_dict())


@operation("changes", "GET /changes", tag="recall")
async def changes(engine: Engine, request: ChangesRead) -> Changes:
    """Read the changes in a thread since a revision.

    Returns the delta header, and each change.
    """
    viewer = viewer_of(engine, request)
    return Changes.of(await engine.reads.changes(viewer, request.thread_id, request.since, request.moment()))


@operation(
    "update",
    "PATCH /memories/{memory_id}",
    UpdateMemory,
    tag="memories",
    done="Updated",
    example={"user_id": "ana", "text": "Ship v1 by September"},
)
async def update(engine: Engine, request: Write) -> Written:
    """Update a memory.

    Omitted fields stay the same.
    """
    return await _execute(UpdateMemory, engine, request)


@operation(
    "merge",
    "POST /memories/{memory_id}/merge",
    MergeMemories,
    tag="memories",
    arguments=("absorbed_ids",),
    done="Merged",
)
async def merge(engine: Engine, request: Write) -> Written:
    """Merge other memories into this one.

    The others are hidden, not destroyed: `undo` brings them back.
    """
    return await _execute(MergeMemories, engine, request)


@operation("link", "POST /memories/{memory_id}/link", LinkMemories, tag="memories", arguments=("to_id",), done="Linked")
async def link(engine: Engine, request: Write) -> Written:
    """Link this memory to another.

    A second link to the same memory replaces the first.
    """
    return await _execute(LinkMemories, engine, request)


@operation("archive", "POST /memories/{memory_id}/archive", RestoreMemory, tag="memories", done="Archived")
async def archive(engine: Engine, request: Write) -> Written:
    """Archive a memory: kept and hidden, until it is restored.

    Pinned memories are never archived.
    """
    return await _execute(ChangeStatus, engine, request, status=Status.DORMANT)


@operation("delete", "DELETE /memories/{memory_id}", tag="memories", done="Deleted")
async def delete(engine: Engine, request: Delete) -> Written:
    """Delete a memory: hidden at once, and erased after 30 days unless it is restored.

    `erase` destroys it at once.
    """
    return await _execute(SoftDeleteMemory, engine, request)


@operation("restore", "POST /memories/{memory_id}/restore", RestoreMemory, tag="memories", done="Restored")
async def restore(engine: Engine, request: Write) -> Written:
    """Restore a deleted or archived memory.

    Also takes a merged memory out of its merge.
    """
    return await _execute(RestoreMemory, engine, request)


@operation("confirm", "POST /memories/{memory_id}/confirm", ConfirmMemory, tag="memories", done="Confirmed")
async def confirm(engine: Engine, request: Write) -> Written:
    """Confirm a memory in the user's name, such as one from a document.

    It is then trusted like the user's own words. Only the user, or an API key with the role `consent`, can confirm.
    """
    return await _execute(ConfirmMemory, engine, request)


@operation("undo", "POST /undo", tag="changes", arguments=("memory_id",), done="Undone")
async def undo(engine: Engine, request: Undo) -> Undone:
    """Undo the last change of a memory, or everything that one event changed.

    Each call on a memory goes one change further back; a retry with the same idempotency key does not. A change that
    later changes build on is refused: undo those first.
    """
    from mnemolog.adapters.erasure.following import followed

    if (request.memory_id is None) == (request.event_id is None):
        raise InvalidInput("name one thing to undo", field="memory_id", fix="give either a memory_id or an event_id")
    stream, key = stream_of(engine, request), request.idempotency_key
    context_fields = {"agent_id": request.agent_id, "thread_id": request.thread_id, "run_id": request.run_id}
    if request.dry_run:
        return Undone.of(
            await engine.writes.preview_undo(stream, request.memory_id, request.event_id, **context_fields), None
        )
    if request.memory_id is not None:
        receipt = await engine.writes.undo_last(stream, request.memory_id, key, **context_fields)
    else:
        assert request.event_id
        async with followed(engine, stream):
            receipt = await engine.writes.undo_event(stream, request.event_id, key, **context_fields)
    return Undone.of(Plan(undone=await engine.writes.undone_by(receipt)), receipt)


async def _execute(kind: type[MemoryCommand], engine: Engine, request: Write, **more: object) -> Written:
    return Written.of(await engine.writes.execute(command_of(kind, engine, request, **more), request.idempotency_key))
