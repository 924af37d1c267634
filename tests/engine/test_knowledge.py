"""The library of an agent on a real engine: added, changed, found, undone, erased; live equals rebuilt."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.adapters.knowledge.adding import Addition, add
from mnemolog.adapters.maintenance.retention import retain
from mnemolog.adapters.pgvector.tables import vectors
from mnemolog.adapters.postgres.pauses import Pause
from mnemolog.commands.documents import DeleteDocument, EraseDocument, RestoreDocument, UndoDocument
from mnemolog.domain.document import Outcome
from mnemolog.domain.errors import Erased, InvalidInput, NotFound, NotPermitted
from mnemolog.domain.memory import PURGE_AFTER
from mnemolog.domain.origin import Origin
from mnemolog.domain.principal import ALL, Principal, Role
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_TENANT, StreamId
from mnemolog.events.fields import validated
from mnemolog.projections.knowledge.reader import ChunkCandidates
from mnemolog.projections.knowledge.tables import chunks
from mnemolog.projections.owner import owner_of
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import ContextRequest, EnvelopeRequest, MemoryQuery
from mnemolog.projections.retrieval import Hit
from tests.engine.equality import assert_live_equals_replayed
from tests.testkit.pausing import noticed

pytestmark = pytest.mark.spec("A21")

SLEEP = """# Sleep

Adults need seven to nine hours of sleep.

## Caffeine

No coffee in the six hours before bed.

## Naps

A nap of twenty minutes helps.
"""
NOW = Moment()


class Librarian:
    """Writes and reads the library of one agent."""

    def __init__(self, engine: Engine, agent: str = "") -> None:
        self.engine, self.agent = engine, agent or f"coach-{uuid4().hex[:8]}"

    @property
    def stream(self) -> StreamId:
        return StreamId.of_agent(self.agent)

    @property
    def viewer(self) -> Viewer:
        return Viewer.of_library(DEFAULT_TENANT, self.agent)

    async def adds(self, text: str | bytes, source: str = "docs/sleep.md", **fields: Any) -> Addition:
        content = text.encode() if isinstance(text, str) else text
        who = {"tenant": DEFAULT_TENANT, "agent_id": self.agent}
        return await add(self.engine, content, {**who, "source": source, **fields}, None)

    async def finds(self, query: str, moment: Moment = NOW, **among: Any) -> Sequence[Mapping[str, Any]]:
        candidates = ChunkCandidates(**among)
        return await self.engine.reads.search_knowledge(self.viewer, query, candidates, moment=moment)

    async def reads(self, document_id: UUID, moment: Moment = NOW) -> Mapping[str, Any]:
        return await self.engine.reads.document(self.viewer, document_id, moment)

    async def rows(self) -> Mapping[UUID, tuple[int, bytes]]:
        """The seq and the vector of each chunk, by id."""
        await self.engine.settled()
        projections = self.engine.projections
        whose = dict(zip(("tenant", "stream_kind", "user_id"), owner_of(self.stream), strict=True))
        async with projections.live.connect() as connection:
            own = await connection.execute(select(chunks.c.chunk_id, chunks.c.seq).filter_by(**whose))
            seqs = {row[0]: row[1] for row in own}
            near = await connection.execute(select(vectors.c.subject_id, vectors.c.embedding_mac).filter_by(**whose))
            return {row[0]: (seqs[row[0]], bytes(row[1])) for row in near}


@pytest.fixture
def coach(engine: Engine) -> Librarian:
    return Librarian(engine)


def content(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(one["place"], one["text"]) for one in found["content"]]


async def test_a_document_is_added_chunk_by_chunk_and_found(coach: Librarian) -> None:
    done = await coach.adds(SLEEP, domain="health")
    assert (done.outcome, done.added, done.receipt.stream) == (Outcome.ADDED, 3, coach.stream)

    found = await coach.reads(done.document_id)
    assert [place for place, _ in content(found)] == ["Sleep", "Sleep > Caffeine", "Sleep > Naps"]
    assert [one["position"] for one in found["content"]] == [0, 1, 2]
    told = {name: found[name] for name in ("source", "title", "domain", "mime", "reader", "chunks", "agent_id")}
    assert told == {
        "source": "docs/sleep.md",
        "title": "Sleep",
        "domain": "health",
        "mime": "text/markdown",
        "reader": "markdown",
        "chunks": 3,
        "agent_id": coach.agent,
    }
    [best, *_] = await coach.finds("may I drink coffee in the evening?")
    assert (best["place"], best["position"], best["source"]) == ("Sleep > Caffeine", 1, "docs/sleep.md")
    assert best["document_id"] == done.document_id
    await assert_live_equals_replayed(coach.engine, coach.stream)


async def test_yaml_before_markdown_is_its_title_and_no_chunk(coach: Librarian) -> None:
    done = await coach.adds(f"---\ntitle: 'Sleep: a guide'\ntags: [health]\n---\n{SLEEP}")
    found = await coach.reads(done.document_id)
    assert (found["title"], len(content(found))) == ("Sleep: a guide", 3)
    ruled = await coach.adds(f"---\n\nA rule is no YAML.\n\n---\n\n{SLEEP}", "ruled.md")
    assert "A rule is no YAML." in content(await coach.reads(ruled.document_id))[0][1]


async def test_a_web_page_is_a_document_named_by_its_address(coach: Librarian) -> None:
    page = "<html><title>Tea</title><script>x()</script><h2>Brewing</h2><p>Green tea brews at 70 degrees.</p></html>"
    await coach.adds(page, "https://tea.example/brewing", domain="tea", mime="text/html")
    [hit] = await coach.finds("how hot does green tea brew?")
    read = {name: hit[name] for name in ("source", "title", "place", "text", "domain", "actor_id")}
    assert read == {
        "source": "https://tea.example/brewing",
        "title": "Tea",
        "place": "Brewing",
        "text": "Green tea brews at 70 degrees.",
        "domain": "tea",
        "actor_id": hit["actor_id"],
    }
    assert (hit["sha256"], hit["actor_id"] != "") == (sha256(page.encode()).hexdigest(), True)


async def test_a_changed_file_changes_only_what_changed(coach: Librarian) -> None:
    first = await coach.adds(SLEEP)
    before = await coach.rows()
    assert (await coach.adds(SLEEP)).outcome is Outcome.UNCHANGED

    changed = SLEEP.replace("twenty", "thirty").replace("# Sleep\n", "# Sleep\n\nWritten in 2026.\n", 1)
    done = await coach.adds(changed)

    assert (done.document_id, done.outcome) == (first.document_id, Outcome.CHANGED)
    assert (done.added, done.removed, done.moved) == (2, 2, 0)
    after = await coach.rows()
    assert {id_: one for id_, one in after.items() if id_ in before} == before
    assert len(after) - len(before) == 2
    assert "thirty" in content(await coach.reads(done.document_id))[-1][1]
    assert not any("twenty" in hit["text"] for hit in await coach.finds("how long is a nap of twenty minutes?"))
    await assert_live_equals_replayed(coach.engine, coach.stream)


@pytest.mark.spec("X02")
async def test_a_library_is_read_as_of_a_moment(coach: Librarian) -> None:
    first = await coach.adds(SLEEP)
    await coach.adds(SLEEP.replace("twenty", "thirty"))
    then = Moment(as_of=first.receipt.last_seq)
    assert "twenty" in content(await coach.reads(first.document_id, then))[-1][1]
    [best, *_] = await coach.finds("how long is a nap?", then)
    assert "twenty" in best["text"]


async def test_a_deleted_document_is_not_found_and_comes_back(coach: Librarian) -> None:
    done = await coach.adds(SLEEP)
    fields = {"agent_id": coach.agent, "document_id": done.document_id}
    await coach.engine.writes.handle(
        validated(DeleteDocument, {**fields, "reason": "outdated", "at": coach.engine.writes.now()})
    )
    assert await coach.finds("coffee") == []
    hidden = await coach.reads(done.document_id)
    assert (hidden["status"], hidden["forget_reason"]) == ("soft_deleted", "outdated")
    assert hidden["forgotten_at"] == hidden["updated_at"]
    await coach.engine.writes.handle(validated(RestoreDocument, fields))
    shown = await coach.reads(done.document_id)
    assert (shown["forgotten_at"], shown["forget_reason"]) == (None, "")
    assert len(await coach.finds("coffee")) == 3
    await coach.engine.writes.handle(validated(UndoDocument, fields))
    hidden = await coach.reads(done.document_id)
    assert (hidden["status"], hidden["forgotten_at"]) == ("soft_deleted", hidden["updated_at"])
    await coach.engine.writes.handle(validated(RestoreDocument, fields))
    await coach.engine.writes.handle(validated(DeleteDocument, {**fields, "at": coach.engine.writes.now()}))
    assert (await coach.adds(SLEEP)).outcome is Outcome.RESTORED
    await assert_live_equals_replayed(coach.engine, coach.stream)


async def test_a_search_is_narrowed_by_domain_and_document(coach: Librarian) -> None:
    one = await coach.adds("# Coffee\n\nCoffee has caffeine.", "coffee.md", domain="food")
    two = await coach.adds("# Tea\n\nTea has caffeine too.", "tea.md", domain="drinks")
    assert {hit["document_id"] for hit in await coach.finds("caffeine")} == {one.document_id, two.document_id}
    assert {hit["source"] for hit in await coach.finds("caffeine", domain="drinks")} == {"tea.md"}
    assert {hit["source"] for hit in await coach.finds("caffeine", document_id=one.document_id)} == {"coffee.md"}
    listed = await coach.engine.reads.documents(coach.viewer, moment=NOW)
    assert [row["source"] for row in listed] == ["coffee.md", "tea.md"]


@pytest.mark.spec("X02", "X07")
async def test_an_erased_document_is_gone_from_every_moment_and_place(coach: Librarian) -> None:
    secret = "# Plan\n\nZanzibarquux is the password."
    done = await coach.adds(secret, "zanzibarquux.md", domain="Zanzibarquux")
    await coach.adds(secret.replace("password", "word"), "zanzibarquux.md")
    kept = await coach.adds(SLEEP)

    await erase(coach.engine, EraseDocument(agent_id=coach.agent, name=str(done.document_id)))

    for moment in (NOW, Moment(as_of=done.receipt.last_seq)):
        with pytest.raises(Erased):
            await coach.reads(done.document_id, moment)
        assert await coach.finds("Zanzibarquux", moment, document_id=done.document_id) == []
    subject = ProofSubject(coach.stream, None, None, f"document:{done.document_id}")
    assert (await prove(coach.engine, subject, "Zanzibarquux")).holds
    assert len((await coach.reads(kept.document_id))["content"]) == 3
    assert (await coach.adds(secret, "zanzibarquux.md")).document_id != done.document_id
    await assert_live_equals_replayed(coach.engine, coach.stream)


async def test_a_user_with_the_id_of_an_agent_shares_nothing_with_its_library(coach: Librarian) -> None:
    done = await coach.adds("The colour of the moon is zinnober.", "moon.txt")
    await coach.engine.writes.create({"user_id": coach.agent, "text": "Ana likes zinnober", "agent_id": coach.agent})
    assert len(await coach.finds("zinnober")) == 1
    for user in (coach.agent, "anybody"):
        with pytest.raises(NotFound):
            await coach.engine.reads.history(Viewer(DEFAULT_TENANT, user, coach.agent), done.document_id, moment=NOW)
    other = Librarian(coach.engine)
    assert await other.finds("zinnober") == []
    with pytest.raises(NotFound):
        await other.reads(done.document_id)


async def test_a_key_reads_only_the_libraries_of_its_agents(coach: Librarian) -> None:
    done = await coach.adds(SLEEP)

    def by(*agents: str, users: str = ALL, role: Role = Role.READ) -> Librarian:
        key = Principal("key", DEFAULT_TENANT, frozenset(agents), frozenset({users}), frozenset({role}))
        return Librarian(coach.engine.by(key), coach.agent)

    limited = by(coach.agent, users="ana")
    assert len(await limited.finds("coffee")) == 3
    as_user = Viewer(DEFAULT_TENANT, "ana", coach.agent)
    assert len(await limited.engine.reads.search_knowledge(as_user, "coffee", moment=NOW)) == 3
    with pytest.raises(NotFound):
        await limited.engine.reads.search_knowledge(replace(as_user, user_id="bea"), "coffee", moment=NOW)
    for read in (by("other").finds("coffee"), by("other").reads(done.document_id)):
        with pytest.raises(NotPermitted):
            await read
    for writer in (by(coach.agent), by("other", role=Role.WRITE), by(coach.agent, users="ana", role=Role.WRITE)):
        with pytest.raises(NotPermitted):
            await writer.adds("# New")
    assert (await by(coach.agent, role=Role.WRITE).adds("# New\n\nText")).outcome is Outcome.CHANGED


@pytest.mark.parametrize(
    ("content", "source", "why"),
    [
        (b"", "a.md", "is empty"),
        (b"\x00\x01\x02", "a.md", "wrong type"),
        (b"   \n", "a.md", "no text"),
        (b"%PDF-1.4 nonsense", "a.pdf", "broken"),
        (b"# A\n\nb\n\n" * 5001, "a.md", "at most 5,000"),
    ],
)
async def test_what_cannot_be_read_is_refused(coach: Librarian, content: bytes, source: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as refused:
        await coach.adds(content, source)
    assert (refused.value.field, bool(refused.value.fix)) == ("content", True)
    assert await coach.engine.log.head(coach.stream) == 0


async def test_retention_erases_a_deleted_document_after_its_grace_period(coach: Librarian) -> None:
    gone, kept = await coach.adds(SLEEP), await coach.adds(SLEEP, "kept.md")
    await coach.engine.writes.handle(
        validated(
            DeleteDocument, {"agent_id": coach.agent, "document_id": gone.document_id, "at": coach.engine.writes.now()}
        )
    )
    await coach.engine.settled()

    done = await retain(coach.engine, coach.engine.writes.now() + PURGE_AFTER)

    assert gone.document_id in done.purged_documents
    with pytest.raises(Erased):
        await coach.reads(gone.document_id)
    assert len((await coach.reads(kept.document_id))["content"]) == 3


@pytest.mark.spec("X03")
async def test_a_change_of_a_document_is_undone_and_its_history_says_so(coach: Librarian) -> None:
    done = await coach.adds(SLEEP)
    before = await coach.reads(done.document_id)
    await coach.adds("# Sleep\n\nEverything is different.")

    await coach.engine.writes.handle(
        validated(UndoDocument, {"agent_id": coach.agent, "document_id": done.document_id})
    )

    after = await coach.reads(done.document_id)
    assert (after["content"], after["sha256"]) == (before["content"], before["sha256"])
    assert len(await coach.finds("coffee")) == 3
    viewer = Viewer.of_library(DEFAULT_TENANT, coach.agent)
    history = await coach.engine.reads.history(viewer, done.document_id, moment=NOW, kinds=("document",))
    assert [row["meta"]["type"] for row in history if row["meta"]["type"] != "DocumentChunksStored"] == [
        "DocumentReverted",
        "DocumentRevised",
        "DocumentAdded",
    ]
    changed = {one["field"]: (one["old"], one["new"]) for one in history[0]["changes"]}
    assert changed["chunks"] == (1, 3)
    await assert_live_equals_replayed(coach.engine, coach.stream)


async def test_a_search_and_a_context_of_any_user_find_passages_of_the_agents_library(coach: Librarian) -> None:
    added = await coach.adds(SLEEP)
    engine, user = coach.engine, f"ana-{uuid4().hex[:8]}"
    ana = Viewer(DEFAULT_TENANT, user, coach.agent)
    question, answer = "How late may I drink coffee before bed?", "No coffee in the six hours before bed."

    async def passages(agent: str = coach.agent, moment: Moment = NOW, **fields: Any) -> Sequence[Hit]:
        request = MemoryQuery(user_id=user, agent_id=agent, query=question, **fields)
        return [one for one in (await engine.reads.query(request, moment)).hits if one.kind == "passage"]

    [hit] = await passages()
    assert (hit.text, hit.origin, hit.row["details"]["document_id"]) == (answer, Origin.DOCUMENT, added.document_id)
    assert hit.bullet.startswith(f'[docs/sleep.md] "Sleep > Caffeine: {answer}" (')
    assert (await engine.reads.why(ana, hit.id)).kind == hit.kind
    assert [one.id for one in await passages(kinds=("passage",))] == [hit.id]
    for fields in ({"agent": "planner"}, {"trusted_only": True}, {"categories": ("history",)}, {"kinds": ("todo",)}):
        assert not await passages(**fields)

    told = await engine.reads.context(ana, ContextRequest(query=question))
    assert (answer in told.text, told.nothing) == (True, "")
    assert answer not in (await engine.reads.context(ana, ContextRequest(query=question, trusted_only=True))).text

    await coach.adds("# Sleep\n\nA cold room helps.")
    assert answer not in [one.text for one in await passages()]
    assert [one.text for one in await passages(moment=Moment(as_of=hit.date))] == [answer]


@pytest.mark.spec("E07")
async def test_what_two_copies_of_a_document_say_is_told_once(coach: Librarian) -> None:
    for source in ("docs/sleep.md", "docs/renamed.md"):
        await coach.adds(SLEEP, source=source)
    await coach.adds("# Shift work\n\n## Caffeine\n\nNo coffee in the six hours before bed.", source="docs/shifts.md")
    reads, user = coach.engine.reads, f"ana-{uuid4().hex[:8]}"
    question, places = "No coffee in the six hours before bed?", {"Sleep > Caffeine", "Shift work > Caffeine"}

    request = MemoryQuery(user_id=user, agent_id=coach.agent, query=question, kinds=("passage",))
    found = await reads.query(request, NOW)
    slots = await reads.envelope(request.viewer, EnvelopeRequest(message=f"Remember: {question}"), now(), NOW)

    assert sorted(hit.row["details"]["place"] for hit in found.hits) == sorted(places)
    assert sorted(hit.place for hit in slots.envelope.KNOWLEDGE.hits) == sorted(places)


@pytest.mark.parametrize("content", [b"", b" \n\n"])
async def test_a_document_whose_file_was_emptied_stays_and_the_error_says_how_to_delete_it(
    coach: Librarian, content: bytes
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await coach.adds(content)
    assert refused.value.fix == "send a file with text"
    known = await coach.adds(SLEEP)

    with pytest.raises(InvalidInput) as refused:
        await coach.adds(content)

    assert f"delete document {known.document_id}" in refused.value.fix
    assert len((await coach.reads(known.document_id, NOW))["content"]) == 3


@pytest.mark.spec("X10")
async def test_a_token_of_a_library_or_a_user_where_the_other_is_read_is_named(coach: Librarian) -> None:
    reads, user = coach.engine.reads, f"ana-{uuid4().hex[:8]}"
    added = await coach.adds("Two litres of water a day.")
    _, created = await coach.engine.writes.create({"user_id": user, "text": "Ana drinks tea"})
    request = MemoryQuery(user_id=user, agent_id=coach.agent, query="water a day", kinds=("passage",))

    with pytest.raises(InvalidInput, match="an agent's library") as refused:
        await reads.query(request, Moment(after=added.receipt.position))
    assert refused.value.fix.startswith("omit it")
    assert len((await reads.query(request, NOW)).hits) == 1
    for after, whose in (
        (created.position, "a user's write"),
        ((await Librarian(coach.engine).adds(SLEEP)).receipt.position, "another agent's library"),
    ):
        with pytest.raises(InvalidInput, match=f"belongs to {whose}") as refused:
            await coach.finds("water", Moment(after=after))
        assert refused.value.fix == "pass a receipt of this library"


async def test_a_search_says_if_the_library_is_not_read(coach: Librarian) -> None:
    await coach.adds(SLEEP)
    await coach.engine.settled()
    async with noticed(coach.engine, "knowledge"):
        await coach.engine.projections.pause("knowledge", Pause(now(), "ops"))
    try:
        await coach.adds("# Sleep\n\nA cold room helps.")
        request = MemoryQuery(user_id="ana", agent_id=coach.agent, query="cold room")
        found = await coach.engine.reads.query(request, Moment())
    finally:
        await coach.engine.projections.resume("knowledge")

    assert [one.split(":")[0] for one in found.skipped] == ["passage"]
