"""Tables on a screen of 80 columns and more: the beginnings of ids in one piece, words whole."""

import io
import re
from datetime import UTC, datetime
from typing import Any, TypeVar, get_args
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from rich.console import Console

from mnemolog.adapters.cli import output, show_memories
from mnemolog.adapters.cli.show import SHOWN, show
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.operations.artifacts import ArtifactView
from mnemolog.adapters.operations.episodes import Episode, Thread, ThreadSession
from mnemolog.adapters.operations.graph_results import EntityView
from mnemolog.adapters.operations.knowledge import DocumentView
from mnemolog.adapters.operations.operation import Operation
from mnemolog.adapters.operations.registry import OPERATIONS
from mnemolog.adapters.operations.results import FieldChange, HistoryEntry, LinkView, MemoryView, Page
from mnemolog.adapters.operations.serving import Serving
from mnemolog.adapters.operations.summaries import SummaryView
from mnemolog.adapters.operations.webhooks import DeliveryView, WebhookView
from mnemolog.commands.erasure import EraseMemory
from tests.adapters.cli.command import mnemolog
from tests.engine.person import Person
from tests.engine.teller import Teller

WIDTHS = st.integers(80, 160)
TEXTS = st.lists(st.text("aeimnost", min_size=1, max_size=13), min_size=1, max_size=30).map(" ".join)
THEN = datetime(2026, 1, 3, 1, 2, 10, 123456, tzinfo=UTC)
ROW = {"kind": "fact", "category": "preferences", "direction": "out", "strength": 0.5, "relation_type": "related_to"}
ROW |= {"ts": THEN, "occurred_at": THEN, "event": "RESTORE", "seq": 1234}
T = TypeVar("T", bound=BaseModel)


def page(view: type[T], *told: tuple[UUID, str], **fields: Any) -> Page[T]:
    """A page of such items with this id and text, and of the other fields only those that are shown."""
    shown = {
        **ROW,
        **dict.fromkeys(["rule", "run_id", "contradicted_by", "contradicted_at"]),
        "erased": False,
        **fields,
    }
    items = [
        view.model_construct(
            **{**shown, "memory_id": id_, "text": text, "actor": text, "meta": {"event_id": str(id_)}},
            changes=[FieldChange(field="text", old=text, new="[red]coffee")],
        )
        for id_, text in told
    ]
    return Page[T].model_construct(items=items, next_cursor=None)


class Told(BaseModel):
    text: str = "Ana drinks tea"
    importance: float = 1 / 3
    pinned: bool = False
    memory_id: UUID = UUID(int=1)
    created_at: datetime = THEN
    topics: list[str] = ["tea", "milk"]
    metadata: dict[str, Any] = {"n": 1}
    run_id: str | None = None


def test_fields_are_aligned_and_read_as_tables_do(capsys: pytest.CaptureFixture[str]) -> None:
    output.fields(Told(), Told.model_fields)

    names, values = zip(*(one.split(maxsplit=1) for one in capsys.readouterr().out.splitlines()), strict=True)
    assert names == tuple(name for name in Told.model_fields if name != "run_id")
    shown = ("Ana drinks tea", "0.33", "false", str(UUID(int=1)), output.when(THEN), "tea, milk", '{"n": 1}')
    assert values == shown


@given(width=WIDTHS, ids=st.lists(st.uuids(), min_size=1, max_size=3), text=TEXTS)
@pytest.mark.parametrize("view", [MemoryView, LinkView, HistoryEntry])
def test_ids_and_words_are_not_cut(view: type[BaseModel], width: int, ids: list[UUID], text: str) -> None:
    screen = Console(file=io.StringIO(), width=width)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(output, "console", screen)
        SHOWN[Page[view]](page(view, *((id_, text) for id_ in ids)))  # type: ignore[valid-type]

    lines = screen.file.getvalue().splitlines()  # type: ignore[attr-defined]
    words = {word for line in lines for word in line.split()}
    assert max(map(len, lines)) <= width
    for id_ in ids:
        [shown] = [word for word in words if len(word) in output.LENGTHS and str(id_).startswith(word)]
        assert not any(str(other).startswith(shown) for other in ids if other != id_)
    assert set(text.split()) <= words


def test_a_memory_that_is_contradicted_names_the_newer_one_in_short(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=io.StringIO(), width=80)
    monkeypatch.setattr(output, "console", screen)
    old, new = UUID("01a2201b-f815-7b22-9a6f-0bd3fd080c56"), UUID("01a2201b-fe2d-732b-a350-21cfdb0b7902")

    show_memories.memories(page(MemoryView, (old, "Ana drinks tea"), contradicted_by=new, contradicted_at=THEN))

    shown = screen.file.getvalue().split()  # type: ignore[attr-defined]
    assert {"01a2201b-f815", "01a2201b-fe2d"} <= set(shown)


@pytest.mark.parametrize(
    "operation", [one for one in OPERATIONS if "cursor" in one.request.model_fields], ids=lambda one: one.name
)
def test_a_list_that_goes_on_shows_the_cursor_of_its_next_page(operation: Operation[Any, Any], capsys: Any) -> None:
    show(operation, operation.request.model_construct(), operation.result.model_construct(items=[], next_cursor="f00"))

    assert "--cursor f00" in capsys.readouterr().out


def test_an_actor_may_look_like_markup(capsys: pytest.CaptureFixture[str]) -> None:
    show_memories.history(page(HistoryEntry, (UUID(int=1), "[red]coach")))

    assert "[red]coach" in capsys.readouterr().out


async def test_every_id_can_be_copied_from_a_narrow_screen(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    period = {"since": "2026-01-10", "until": "2026-03-01"}
    fact_id = await ana.tells("Albert Schweitzer", "works_at", "Hospital of Lambaréné", **period)
    coach = {"user_id": user, "agent_id": "coach"}
    todo_id, _ = await engine.writes.open_todo(
        {**coach, "text": "walk along the river with Marta", "kind": "commitment", "due": "2026-11-03T10:00:00Z"}
    )
    patch = await engine.writes.propose({**coach, "field": "preferred_name", "value": "Ana Maria", "confidence": 1.0})

    async def words(*arguments: str) -> list[str]:
        ran = await mnemolog(engine.settings.directory, *arguments, "-u", user, columns=80)
        assert max(map(len, ran.out.splitlines())) <= 80
        return ran.out.split()

    shown = set(await words("fact", "list", "--valid-at", "2026-02-01"))
    assert {str(fact_id)[:13], "Schweitzer", "2026-01-10", "2026-03-01"} <= shown
    listed = await words("entity", "list")
    for entity in await ana.entities():
        assert any(str(entity["entity_id"]).startswith(word) for word in listed if len(word) in output.LENGTHS)
    assert {str(todo_id)[:13], "2026-11-03", "commitment"} <= set(await words("todo", "list", "-a", "coach"))
    assert {str(patch.patch_id)[:13], "preferred_name", "agent:coach"} <= set(await words("consent", "list"))
    assert {"RelationAsserted", engine.policy.version} <= set(await words("why", str(fact_id)))


async def test_a_narrow_screen_shows_of_a_fact_the_days_and_the_run_that_recorded_it(engine: Engine, user: str) -> None:
    ana, run = Teller(engine, user), f"extraction-{UUID(int=7)}"
    await ana.tells("me", "lives_in", "Lisbon", told_at="2026-01-10T09:30:00Z", run_id=run)
    fact_id = await ana.tells("me", "lives_in", "Porto", told_at="2026-02-01T09:30:00Z", run_id=run)
    await ana.tells("me", "works_in", "Gaia", since="2026-01-10T09:00:00Z", until="2026-01-10T17:00:00Z")

    async def lines(*arguments: str) -> list[str]:
        ran = await mnemolog(engine.settings.directory, *arguments, "-u", user, columns=80)
        assert max(map(len, ran.out.splitlines())) <= 80
        return ran.out.splitlines()

    facts = await lines("fact", "list", "--valid-at", "any")
    lisbon = next(place for place, line in enumerate(facts) if "Lisbon" in line)
    assert re.search(r"2026-01-10 – +2026-01-10 ", facts[lisbon])
    assert "2026-02-01" in facts[lisbon + 1]
    assert not any("09:30" in line or "10:30" in line for line in facts)
    assert "".join(facts).count(":00") == 2  # It began and ended on one day.
    [_, event, *below] = await lines("why", str(fact_id))
    assert re.fullmatch(r"@\d+  \d{4}-\d\d-\d\d \d\d:\d\d  RelationAsserted  by \w+ for \w+", event)
    assert f"  run {run}" in below


async def test_on_a_narrow_screen_a_history_tells_old_and_new_and_a_search_shows_ids(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    ship = await ana.creates("Ship v1 by August", category="tasks")
    await ana.updates(ship, text="Ship v1 by September, once the auditors have signed off on the storage layer")
    other = await ana.creates("Ana avoids milk")
    await ana.merges(ship, other)

    async def lines(*arguments: str) -> list[str]:
        ran = await mnemolog(engine.settings.directory, *arguments, "-u", user, columns=80)
        assert max(map(len, ran.out.splitlines())) <= 80
        return ran.out.splitlines()

    merged, absorbed, updated, new, rest, *added = await lines("history", str(ship))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d  MERGE   @4 by user [0-9a-f-]{13,18}", merged)
    assert str(other) in absorbed + updated
    shown = " ".join(" ".join([absorbed, updated, new, rest, *added]).split())
    assert "text: Ship v1 by August → Ship v1 by September, once the auditors have signed off" in shown
    found = await lines("search", "ship")
    assert any(line.startswith("[tasks] Ship v1") and str(ship)[:13] in line for line in found)
    assert any(re.search(r"  \d{4}-\d\d-\d\d \d\d:\d\d  ", line) for line in await lines("why", str(ship)))
    await erase(engine, EraseMemory.model_validate({**ana._who, "memory_id": ship, "with_survivors": True}))
    gone = await lines("history", str(ship))
    assert "  its words were erased" in gone
    assert "August" not in " ".join(gone)


@pytest.mark.parametrize("short", [True, False])
def test_a_long_text_is_cut_where_it_can_be_read_by_its_id(short: bool, capsys: pytest.CaptureFixture[str]) -> None:
    output.show(("text", "id"), [("word " * 1000, UUID(int=1))], short=short)
    shown = capsys.readouterr().out
    assert shown.count("word") == (output.LONGEST_CELL // len("word ") if short else 1000)
    assert ("…" in shown) is short


def test_a_cursor_is_copied_as_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(output, "console", Console(file=shown, width=80))
    output.more("c" * 120)
    assert shown.getvalue() == f"more: --cursor {'c' * 120}\n"


def test_the_result_of_each_command_can_be_shown() -> None:
    written = {"already", "token"}
    for operation in OPERATIONS:
        for kind in get_args(operation.result) or (operation.result,):
            told = operation.done and (kind is WebhookView or written <= set(dir(kind)) | set(kind.model_fields))
            assert kind in SHOWN or told, operation.command


async def test_what_was_served_is_shown(engine: Engine, user: str) -> None:
    data_dir = engine.settings.directory
    assert "nothing was recorded" in (await mnemolog(data_dir, "served", "-u", user)).out
    await mnemolog(data_dir, "create", "Ana drinks tea", "-u", user)
    await mnemolog(data_dir, "context", "What does Ana drink?", "-u", user, "--record")

    shown = (await mnemolog(data_dir, "served", "-u", user)).out

    assert re.search(r"context +main +1 item +\d+", shown)
    assert re.search(r"\nfact +@\d", shown)


def test_one_thing_is_and_several_are() -> None:
    assert output.located(1, "event of ana", "a.jsonl") == "1 event of ana is in a.jsonl"
    assert output.located(1200, "event of 2 streams", "b") == "1,200 events of 2 streams are in b"


MOMENT = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
LONG: dict[str, Any] = {
    "type": "memory.confirmed",
    "status": "delivered",
    "attempts": 12,
    "error": "the URL answered 503 to every one",
}
LONG |= {"name": "A long name of a file.pdf", "url": "", "extraction": "done", "refused": "", "thread_id": "whatsapp:1"}
LONG |= {"surrogate": "[file#A7EF5DF] A report of many words about many things", "text": "words " * 20}
LONG |= {"turns": 1200, "purpose": "envelope", "question_id": str(UUID(int=5)), "items": [1, 2], "tokens": 12345}
LONG |= {"topic_label": "the plans for the summer", "starts_by": "time_gap", "source": "handbook/rules/on/leave.md"}
LONG |= {
    "aliases": ["Marta Silva"],
    "name": "Marta",
    "kind": "rolling",
    "version": 3,
    "domain": "labour law",
    "chunks": 12,
    "category": "Organization",
}


@pytest.mark.parametrize(
    "view", [DeliveryView, Serving, Thread, ThreadSession, Episode, SummaryView, ArtifactView, DocumentView, EntityView]
)
def test_times_and_ids_are_whole_on_a_narrow_screen(view: type[BaseModel], monkeypatch: pytest.MonkeyPatch) -> None:
    times = {name for name in view.model_fields if name.endswith("_at") or name in {"at", "last_seen"}}
    ids = {name: UUID(int=7 << 90) for name in view.model_fields if name.endswith("_id")}
    one = view.model_construct(**{**ids, **LONG, **dict.fromkeys(times, MOMENT)})
    monkeypatch.setattr(output, "console", Console(file=(screen := io.StringIO()), width=80))

    SHOWN[Page[view]](Page[view].model_construct(items=[one, one], next_cursor=None))  # type: ignore[valid-type]

    lines = screen.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert any(output.when(MOMENT) in line for line in lines), screen.getvalue()
    assert any(re.search(r"\b0{8}-[01c]{4}", line) for line in lines), screen.getvalue()
    assert not re.search(r"-[0-9a-f]{4}-[0-9a-f]*\s", screen.getvalue()), "an id is wrapped"
