"""Operations on the stores of a being. A being is an agent of one user; no other agent sees its entries (C01, C15)."""

from datetime import datetime
from random import SystemRandom
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import Limit, PagedRead, QueryFlag, Read, Write, fields_of, viewer_of
from mnemolog.adapters.operations.respond import PromptView
from mnemolog.adapters.operations.results import ORIGIN, HistoryEntry, MemoryView, Page, Result, Written, written
from mnemolog.adapters.operations.serving import RecordableRead, recorded
from mnemolog.commands.being import MarkEntry, PutEntry, RemoveEntry
from mnemolog.domain.being import Store
from mnemolog.domain.origin import Origin
from mnemolog.domain.recall import Mode, recall_block
from mnemolog.events.being_bodies import body_of
from mnemolog.events.fields import Id, Text, Uuid
from mnemolog.events.serving import Purpose
from mnemolog.projections.requests import BlocksRequest


class EntriesRead(PagedRead):
    """The entries of a being, oldest first."""

    store: Annotated[Store | None, Field(description="Only entries of this store.")] = None
    read: Annotated[QueryFlag | None, Field(description="Only notes that were read, or only unread ones.")] = None


class EntryHistoryRead(PagedRead):
    """The history of an entry, newest first."""

    entry_id: Annotated[Uuid, Field(description="The entry's id.")]


class Entry(Result):
    """An entry of a being. The fields of `body` depend on the store."""

    entry_id: UUID
    agent_id: str
    store: Store
    key: str
    body: dict[str, Any]
    read: bool = Field(description="For a note: whether it was read.")
    origin: Origin = Field(description=ORIGIN)
    source_turn_ids: list[str]
    actor_id: str
    run_id: str | None
    created_at: datetime
    updated_at: datetime
    seq: int

    @property
    def line(self) -> str:
        """The content as the model is shown it."""
        return body_of(self.store, self.body).line


class EntryPut(Written):
    """The receipt, and the id of the entry."""

    entry_id: UUID


@operation(
    "being put",
    "POST /being/entries",
    PutEntry,
    tag="being",
    arguments=("store", "body"),
    done="Put",
    status=201,
    example={"user_id": "ana", "agent_id": "mika", "store": "note", "body": {"type": "todo", "text": "Ask about Rome"}},
)
async def put_being_entry(engine: Engine, request: Write) -> EntryPut:
    """Put an entry into a store of this being, which is an agent of the user.

    An entry with the same key is replaced. The stores are soul, rule, preference, relationship, tool, map, note,
    knowledge, diary, snapshot and party_message.
    """
    entry_id, receipt = await engine.writes.put_entry(fields_of(engine, request), request.idempotency_key)
    return EntryPut.of(receipt, entry_id=entry_id)


@operation("being list", "GET /being/entries", tag="being", arguments=("store",))
async def list_being_entries(engine: Engine, request: EntriesRead) -> Page[Entry]:
    """List the entries of this agent's stores, oldest first.

    Removed ones are left out.
    """
    viewer, moment = viewer_of(engine, request), request.moment()
    stores = (request.store,) if request.store else ()
    rows = await engine.reads.being_entries(viewer, stores, request.read, moment, request.limit, request.cursor)
    return Page[Entry].of(rows)


@operation(
    "being read",
    "PUT /being/entries/{entry_id}/read",
    MarkEntry,
    tag="being",
    done="Marked",
    example={"user_id": "ana", "agent_id": "mika", "read": True},
)
async def mark_note(engine: Engine, request: Write) -> Written:
    """Mark a note as read, or as unread again.

    Only unread notes are shown to the model.
    """
    return await written(engine, MarkEntry, request)


@operation(
    "being remove",
    "DELETE /being/entries/{entry_id}",
    RemoveEntry,
    tag="being",
    done="Removed",
    example={"user_id": "ana", "agent_id": "mika"},
)
async def remove_being_entry(engine: Engine, request: Write) -> Written:
    """Remove an entry from its store.

    `undo` restores it, and `put_being_entry` with the same key replaces it.
    """
    return await written(engine, RemoveEntry, request)


class BlocksRead(RecordableRead, BlocksRequest):
    """What precedes a conversation of the being."""


class BeingContext(PromptView):
    """The blocks that precede a conversation, stable ones first."""

    served_id: UUID | None = Field(default=None, description="The event that records it, with `record`.")


class RecallRead(Read):
    """What comes to the being's mind."""

    query: Annotated[Text, Field(description="What was said, or what the being thinks of.")]


class Recollection(Result):
    """What came to mind: `block` is a part of a prompt, and "" if nothing did."""

    block: str = Field(examples=["<recall>\nwon the race / proud\n</recall>"])
    fragments: list[str] = Field(description="What the scenes' actions and feelings say, shuffled together.")
    memory_ids: list[UUID] = Field(description="The scenes, nearest first.")
    skipped: list[str] = Field(description="What could not be done, and why.")


class ScenesRead(Read):
    """A read of the being's scenes, those last recalled first."""

    limit: Limit = 20


class ClusterRecall(ScenesRead):
    """The scenes of a cluster."""

    cluster: Annotated[
        Id, Field(description="The cluster: its label, such as `Private/Friday dinner`, or its id from `cluster list`.")
    ]


class SceneSearch(ScenesRead):
    """The scenes with some words."""

    query: Annotated[Text, Field(description="The words, separated by white space. Each may be a part of a word.")]
    mode: Annotated[Mode, Field(description="`or`: one of the words is enough; `and`: all are needed.")] = Mode.OR


class Scenes(Result):
    """Scenes of the being. Those with status `dormant` are dead."""

    items: list[MemoryView]


@operation("being history", "GET /being/entries/{entry_id}/history", tag="being")
async def being_entry_history(engine: Engine, request: EntryHistoryRead) -> Page[HistoryEntry]:
    """Read the history of an entry, newest first.

    Returns what it contained, and when it was read and removed.
    """
    viewer, moment = viewer_of(engine, request), request.moment()
    rows = await engine.reads.entry_history(viewer, request.entry_id, request.limit, moment, request.cursor)
    return Page[HistoryEntry].of(rows)


@operation(
    "being context",
    "POST /being/context",
    tag="being",
    example={"user_id": "ana", "agent_id": "mika", "since_rev": 0},
)
async def being_context(engine: Engine, request: BlocksRead) -> BeingContext:
    """Assemble what precedes a conversation of this agent: its stores and scenes, as blocks of a prompt.

    Block 1-A is the system message: soul, think_md, rules, preferences, relationships, tools, map; critical facts
    such as allergies, the profile and pinned memories. 1-B has unread notes, knowledge and the last seven days of the
    diary, as a message with an answer. Then come the delta header and 2-B, the five scenes activated last. What
    rarely changes is first, so that a provider's prompt cache keeps it.
    """
    wanted = BlocksRequest.model_validate(request.model_dump(include=set(BlocksRequest.model_fields)))
    viewer = viewer_of(engine, request)
    prompt, items = await engine.reads.blocks(viewer, wanted, engine.writes.now(), request.moment())
    view = BeingContext.model_validate(prompt)
    if not request.record:
        return view
    named = {"thread_id": request.thread_id, "question_id": request.message_id}
    event_id = await recorded(engine, request, Purpose.CONTEXT, items, prompt.tokens, **named)
    return view.model_copy(update={"served_id": event_id})


@operation(
    "being recall",
    "POST /being/recall",
    tag="being",
    arguments=("query",),
    example={"user_id": "ana", "agent_id": "mika", "query": "the race on Friday"},
)
async def recall(engine: Engine, request: RecallRead) -> Recollection:
    """Recall up to three scenes that resemble a text, as fragments.

    Their actions and feelings are shuffled, the way people remember: nothing tells which belong together. Empty if
    nothing resembles it.
    """
    viewer, random = viewer_of(engine, request), SystemRandom()
    found = await engine.reads.recall(viewer, request.query, random, request.moment())
    return Recollection(
        block=recall_block(found.fragments),
        fragments=list(found.fragments),
        memory_ids=list(found.memory_ids),
        skipped=list(found.skipped),
    )


@operation(
    "being recall-memory",
    "POST /being/recall-memory",
    tag="being",
    arguments=("cluster",),
    example={"user_id": "ana", "agent_id": "mika", "cluster": "Private/Friday dinner"},
)
async def recall_memory(engine: Engine, request: ClusterRecall) -> Scenes:
    """Recall all scenes of a cluster, including dead ones.

    Reactivates them, dead ones twice as much.
    """
    viewer = viewer_of(engine, request)
    rows = await engine.reads.recall_memory(viewer, request.cluster, request.limit, request.moment())
    return Scenes.model_validate({"items": rows})


@operation(
    "being search",
    "POST /being/search",
    tag="being",
    arguments=("query",),
    example={"user_id": "ana", "agent_id": "mika", "query": "race Friday", "mode": "and"},
)
async def search_memory(engine: Engine, request: SceneSearch) -> Scenes:
    """Search the being's scenes by words, including dead ones.

    Looks at what happened, the feeling, the themes and when it was, in any script. Reactivates what it finds.
    """
    viewer = viewer_of(engine, request)
    rows = await engine.reads.search_memory(viewer, request.query, request.mode, request.limit, request.moment())
    return Scenes.model_validate({"items": rows})
