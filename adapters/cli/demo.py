"""`mnemolog demo`: a demo on real servers, from turns to a rebuild. Every step is checked."""

import tempfile
import time
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any
from uuid import UUID

from mnemolog.adapters.cli import output, replaying
from mnemolog.adapters.cli.ingesting import ingest_file
from mnemolog.adapters.cli.session import with_engine
from mnemolog.adapters.config import Settings
from mnemolog.adapters.engine.engine import Engine
from mnemolog.commands.memories import MergeMemories
from mnemolog.domain.errors import EngineError
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import Position, Receipt, StreamId
from mnemolog.projections.query import Answer, MemoryQuery
from mnemolog.projections.reads.moment import Moment

USER = "ana"
STREAM = StreamId.of_user(USER)
VIEWER = Viewer(STREAM.tenant, USER, "default")
NOTES = ("Ana is lactose intolerant", "Ana cannot eat milk or cheese")


@dataclass(slots=True)
class Story:
    """The steps of the demo, for `--json`."""

    engine: Engine
    results: dict[str, Any] = field(default_factory=dict)

    async def ask(self, question: str, since: int | None = None, moment: Moment | None = None) -> Answer:
        fields = {"query": question, "filters": {"user_id": USER}, "top_k": 3, "since_rev": since}
        return await self.engine.reads.query(MemoryQuery.model_validate(fields), moment or Moment())


def tell(*, json: bool) -> None:
    """Run the demo in its own directory; EngineError if a check fails."""
    began = time.monotonic()
    output.console.quiet = json
    with tempfile.TemporaryDirectory(prefix="mnemolog-demo-") as directory:
        # Its own settings: the demo must not write to servers that are set in the environment.
        settings = Settings.model_construct(data_dir=Path(directory), http_port=0)
        _title("Starting Postgres, NATS JetStream and Redis")
        results = with_engine(settings, _run, attach=False)
        stopped = time.monotonic()
    seconds = stopped - began
    output.console.quiet = False
    if json:
        output.as_json({**results, "seconds": round(seconds, 1)})
    else:
        output.done(f"everything stopped cleanly after {seconds:.1f} s")


async def _run(engine: Engine) -> dict[str, Any]:
    story = Story(engine)
    for chapter in (_conversation, _question, _merge, _rebuild):
        await chapter(story)
    return story.results


async def _conversation(story: Story) -> None:
    _title("A conversation goes in, turn by turn, over JetStream")
    with as_file(files("mnemolog.samples") / "ana.jsonl") as path:
        ingested = await ingest_file(story.engine, path, "jsonl", None)
    _require(ingested.recorded == ingested.turns, "every turn of the file is in the log")
    ingested.show()
    story.results["turns"] = ingested.turns


async def _question(story: Story) -> None:
    question = "Which city is Ana moving to?"
    _title(f"A question: [italic]{question}[/]")
    answer = await story.ask(question)
    _require(any("Lisbon" in hit.text for hit in answer.hits), "an answer names Lisbon")
    output.bullets([hit.bullet for hit in answer.hits])
    story.results |= {"bullets": [hit.bullet for hit in answer.hits]}


async def _merge(story: Story) -> None:
    _title("Two notes say the same: they are merged, and the merge is undone")
    first, second = [await _note(story, text) for text in NOTES]
    before = await story.engine.log.head(STREAM)
    rev = (await story.ask("milk")).rev
    command = MergeMemories(user_id=USER, memory_id=first, absorbed_ids=(second,), text="Ana eats and drinks no dairy")
    merged = await story.engine.writes.execute(command)
    await _show_changes(story, "after the merge", rev, merged)
    rev = (await story.ask("milk")).rev
    undone = await story.engine.writes.undo_event(STREAM, merged.event_ids[0])
    await _show_changes(story, "after the undo", rev, undone)
    output.history(await story.engine.reads.history(VIEWER, second))
    await _earlier(story, before, merged.last_seq)


async def _note(story: Story, text: str) -> UUID:
    fields = {"user_id": USER, "text": text, "category": "profile", "importance": 0.75}
    memory_id, receipt = await story.engine.writes.create(fields)
    await story.engine.reads.changes(VIEWER, "main", 0, _after(receipt))
    return memory_id


async def _show_changes(story: Story, label: str, rev: int, written: Receipt) -> None:
    found = await story.engine.reads.changes(VIEWER, "main", rev, _after(written))
    output.console.print(f"[dim]{label}[/]")
    output.header(found.header)
    story.results[label] = found.header


async def _earlier(story: Story, before: int, merged: int) -> None:
    _title("The same question, as of three moments, replayed from the log")
    question, results = "What can Ana not eat?", list[tuple[str, str]]()
    for label, moment in (
        (f"before the merge (@{before})", Moment(as_of=before)),
        (f"after the merge (@{merged})", Moment(as_of=merged)),
        ("now", Moment()),
    ):
        answer = await story.ask(question, moment=moment)
        hits = [hit.text for hit in answer.hits if hit.category == "profile"]
        story.results[f"as of {label}"] = hits
        results.append((label, "; ".join(hits)))
    output.show(("as of", "what answers"), results)
    _require(
        story.results[f"as of before the merge (@{before})"] == story.results["as of now"], "the undo brought all back"
    )


async def _rebuild(story: Story) -> None:
    engine = story.engine
    _title("Every projection is rebuilt from the log, compared, and swapped in")
    rebuilt = await replaying.rebuild_all(engine)
    replaying.show(rebuilt)
    _require(all(one.equal for one in rebuilt), "every projection equals one rebuilt from the log")
    story.results["rebuilt"] = {one.name: one.events for one in rebuilt}


def _after(receipt: Receipt) -> Moment:
    return Moment(after=Position(receipt.stream, receipt.last_seq))


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise EngineError(f"the demo failed: expected that {what}", fix="run `mnemolog doctor`")


def _title(sentence: str) -> None:
    output.console.print(f"\n[bold]{sentence}[/]")
