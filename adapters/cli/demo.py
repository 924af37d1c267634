"""`mnemolog demo`: a story on real servers, from turns to a rebuild. Every step is checked."""

import asyncio
import struct
import tempfile
import time
import zlib
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any
from uuid import UUID

from mnemolog.adapters.artifacts.content import store
from mnemolog.adapters.artifacts.extraction import enqueue
from mnemolog.adapters.cli import output, replaying
from mnemolog.adapters.cli.ingesting import ingest_file
from mnemolog.adapters.cli.session import with_engine
from mnemolog.adapters.config import Settings
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.maintenance.segmenting import segment
from mnemolog.commands.attention import SetAffect
from mnemolog.commands.memories import MergeMemories
from mnemolog.domain.artifact import Extraction
from mnemolog.domain.errors import EngineError
from mnemolog.domain.sentence import sentence, since_when
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_THREAD, StreamId
from mnemolog.projections.graph.facts import fact_value
from mnemolog.projections.query import Answer
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import ContextRequest, MemoryQuery

USER = "ana"
STREAM = StreamId.of_user(USER)
VIEWER = Viewer(STREAM.tenant, USER, DEFAULT_AGENT)
CHAT = {"user_id": USER, "agent_id": DEFAULT_AGENT, "thread_id": DEFAULT_THREAD}
MARTA = {"subject": "Marta", "predicate": "job_title", "object": "physiotherapist"}
UPSET = ("The van with all my plants is four hours late!", "ok", "found it", "thanks")
MOOD = {"label": "stressed", "confidence": 0.85, "every_n_messages": 1}
PICTURE = {"name": "ferry.png", "caption": "the Tagus at sunrise"}
NOTES = ("Ana is lactose intolerant", "Ana cannot eat milk or cheese")
PATIENCE_SECONDS = 60.0
LINE = 46


@dataclass(slots=True)
class Story:
    """The steps of the demo, for `--json`."""

    engine: Engine
    results: dict[str, Any] = field(default_factory=dict)

    async def says(self, text: str) -> str:
        """Ana says this now; the id of her turn."""
        turn_id = self.engine.writes.new_turn_id()
        await self.engine.writes.record_turn({**CHAT, "turn_id": turn_id, "speaker": "Ana", "text": text})
        return turn_id

    async def ask(self, question: str, moment: Moment | None = None) -> Answer:
        fields = {"query": question, "filters": {"user_id": USER}, "top_k": 10}
        return await self.engine.reads.query(MemoryQuery.model_validate(fields), moment or Moment())


def tell(*, json: bool) -> None:
    """Run the demo in its own directory; EngineError if a check fails."""
    began = time.monotonic()
    output.console.quiet = json
    try:
        with tempfile.TemporaryDirectory(prefix="mnemolog-demo-") as directory:
            # Its own settings: the demo must not write to servers that are set in the environment.
            settings = Settings.model_construct(data_dir=Path(directory), http_port=0)
            _title("Starting Postgres, NATS JetStream and Redis in a temporary directory")
            results = with_engine(settings, _run, attach=False)
    finally:
        output.console.quiet = False
    seconds = time.monotonic() - began
    if json:
        output.as_json({**results, "seconds": round(seconds, 1)})
    else:
        output.done(f"everything stopped cleanly after {seconds:.1f} s")


async def _run(engine: Engine) -> dict[str, Any]:
    story = Story(engine)
    for chapter in (_conversation, _questions, _affect, _picture, _merge, _rebuild):
        await chapter(story)
    return story.results


async def _conversation(story: Story) -> None:
    _title("Six weeks of Ana's chat with her assistant arrive over JetStream")
    with as_file(files("mnemolog.samples") / "ana.jsonl") as path:
        ingested = await ingest_file(story.engine, path, "jsonl", None)
    _require(ingested.recorded == ingested.turns, "every turn of the file is in the log")
    output.done(f"{output.count(ingested.recorded, 'turn')} recorded")
    _aside("The chat divides into episodes, by long silences and announced topics:")
    await segment(story.engine, STREAM, DEFAULT_AGENT, DEFAULT_THREAD)
    episodes = list(reversed(await story.engine.reads.episodes(VIEWER, moment=Moment())))
    firsts = [await story.engine.reads.message(VIEWER, one["first_turn_id"]) for one in episodes]
    rows = [
        (output.day(one["started_at"]), one["starts_by"].replace("_", " "), one["turns"], _shortened(first["text"]))
        for one, first in zip(episodes, firsts, strict=True)
    ]
    output.show(("date", "begins by", "turns", "first message"), rows)
    _require({"time gap", "marker"} <= {why for _, why, *_ in rows}, "silences and a topic begin episodes")
    story.results |= {"turns": ingested.turns, "episodes": [why for _, why, *_ in rows]}


async def _questions(story: Story) -> None:
    question = "Which city is Ana moving to?"
    _title(f"A question: [italic]{question}[/]")
    answer = await story.ask(question)
    _require(any("Lisbon" in hit.text for hit in answer.hits), "an answer names Lisbon")
    bullets = [hit.bullet for hit in answer.hits[:1]]
    output.bullets(bullets)
    await story.engine.writes.remember({**CHAT, **MARTA})
    await story.engine.reads.entities(VIEWER, Moment())
    await story.says("Marta arrives on Friday.")
    # A question waits a second at most for the working memory that resolves its pronouns.
    await story.engine.settled(PATIENCE_SECONDS)
    question = "What does she do for a living?"
    _title(f"Ana says that her sister Marta arrives on Friday. [italic]{question}[/]")
    known = await story.engine.reads.context(VIEWER, ContextRequest(query=question), Moment())
    _require([one.name for one in known.references] == ["Marta"], "she is Marta")
    she = [str(one.row["entity_id"]) for one in known.entities]
    facts = [fact for one in she for fact in await story.engine.reads.facts(VIEWER, one)]
    told = [
        f"{sentence(fact['subject'], fact['predicate'], fact_value(fact))}"
        f" ({since_when(fact['valid_from'], fact['known_from'], fact['valid_from_precision'])})"
        for fact in facts
    ]
    output.line("she:", known.references[0].name)
    output.bullets(told)
    story.results |= {"bullets": bullets, "she": told}


async def _affect(story: Story) -> None:
    _title("Ana is upset")
    _aside("The assistant notes her mood. It fades with every message, and never becomes a fact.")
    engine, moods = story.engine, list[tuple[str, str, str]]()
    for text in UPSET:
        await story.says(text)
        if not moods:
            mood = {**CHAT, **MOOD, "at": engine.writes.now()}
            await engine.writes.handle(SetAffect.model_validate(mood))
        found = (await engine.reads.affect(VIEWER, DEFAULT_THREAD, engine.writes.now(), Moment()))["affect"]
        moods.append((text, found["label"], f"{found['confidence']:.2f}"))
    output.show(("Ana", "mood", "confidence"), moods)
    _require(moods[-1][1] == "neutral", "the mood has faded")
    story.results["moods"] = [label for _, label, _ in moods]


async def _picture(story: Story) -> None:
    _title("She sends a picture. In the history, a line of text stands for it")
    engine, turn_id = story.engine, await story.says("The view from the ferry this morning.")
    artifact_id, receipt = await store(engine, _sunrise(), {**CHAT, **PICTURE, "source_turn_ids": (turn_id,)})
    await enqueue(engine, receipt.stream, artifact_id)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await engine.reads.artifact(VIEWER, artifact_id, Moment()))["extraction"] == Extraction.PENDING:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    found = await engine.reads.artifact(VIEWER, artifact_id, Moment())
    _require(found["extraction"] == Extraction.DONE, f"the picture is read: {found['refused']} {found['detail']}")
    line = (await engine.reads.message(VIEWER, turn_id, Moment()))["line"]
    output.bullets([line])
    for one in found["skipped"]:
        _aside(f"skipped: {one['text_kind']}, {one['reason']}")
    story.results |= {"picture": line, "skipped": [one["text_kind"] for one in found["skipped"]]}


async def _merge(story: Story) -> None:
    _title("The assistant writes down two memories. The next prompt says what changed: memories, no chat")
    first, second = [await _note(story, text) for text in NOTES]
    await _show_changes(story, "noted", 0)
    _title("Both say the same, so they are merged. Then the merge is undone")
    before = await story.engine.log.head(STREAM)
    rev = await _revision(story)
    command = MergeMemories(user_id=USER, memory_id=first, absorbed_ids=(second,), text="Ana eats and drinks no dairy")
    merged = await story.engine.writes.execute(command)
    await _show_changes(story, "merged", rev)
    rev = await _revision(story)
    await story.engine.writes.undo_event(STREAM, merged.event_ids[0])
    await _show_changes(story, "undone", rev)
    question, results = "What can Ana not eat?", list[tuple[str, str]]()
    _title(f"A question, as of three moments: [italic]{question}[/]")
    for label, moment in (
        ("before the merge", Moment(as_of=before)),
        ("after the merge", Moment(as_of=merged.last_seq)),
        ("now", Moment()),
    ):
        answer = await story.ask(question, moment)
        hits = [hit.text for hit in answer.hits if hit.category == "profile"]
        story.results[f"as of {label}"] = hits
        results.append((label, "; ".join(hits)))
    output.show(("as of", "what is known"), results)
    _require(story.results["as of before the merge"] == story.results["as of now"], "the undo brought all back")


async def _note(story: Story, text: str) -> UUID:
    memory_id, _ = await story.engine.writes.create({**CHAT, "text": text, "category": "profile", "importance": 0.75})
    return memory_id


async def _revision(story: Story) -> int:
    return (await story.engine.reads.changes(VIEWER, DEFAULT_THREAD, 0, Moment())).rev


async def _show_changes(story: Story, label: str, since: int) -> None:
    found = await story.engine.reads.changes(VIEWER, DEFAULT_THREAD, since, Moment())
    output.header(found.header)
    story.results[label] = found.header


async def _rebuild(story: Story) -> None:
    _title("Every projection is rebuilt from the log, compared, and swapped in")
    rebuilt = await replaying.rebuild_all(story.engine)
    _require(all(one.equal for one in rebuilt), "every projection equals one rebuilt from the log")
    events = output.count(rebuilt[0].events, "event")
    output.done(f"{len(rebuilt)} projections, {events} each: every row equals the live one")
    _aside(", ".join(one.name for one in rebuilt))
    story.results["rebuilt"] = {one.name: one.events for one in rebuilt}


def _sunrise() -> bytes:
    """A small PNG: a sky from violet to orange above dark water."""
    side = 48
    sky = [bytes((90 + 3 * row, 60 + 2 * row, 140 - 2 * row)) * side for row in range(side * 2 // 3)]
    water = [bytes((30, 40, 70 + row)) * side for row in range(side - len(sky))]
    pixels = zlib.compress(b"".join(b"\0" + line for line in (*sky, *water)))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", pixels), (b"IEND", b""))
    chunks = [struct.pack(">I", len(data)) + name + data for name, data in parts]
    sums = [struct.pack(">I", zlib.crc32(name + data)) for name, data in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk + check for chunk, check in zip(chunks, sums, strict=True))


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise EngineError(f"the demo failed: expected that {what}", fix="run `mnemolog doctor`")


def _shortened(text: str) -> str:
    return text if len(text) <= LINE else text[: LINE - 1].rsplit(" ", 1)[0] + " …"


def _title(sentence: str) -> None:
    output.console.print(f"\n[bold]{sentence}[/]")


def _aside(sentence: str) -> None:
    output.console.print(sentence, style="dim", highlight=False, markup=False)
