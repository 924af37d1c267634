"""The commands, alone and in a row: what they do, print and refuse."""

import asyncio
import json
import re
import signal
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateSchema
from typer.testing import CliRunner

from mnemolog.adapters.cli import app, output
from mnemolog.adapters.cli.panels import ORDER
from mnemolog.adapters.config import Settings, load
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.events.chain import link
from mnemolog.events.envelope import StreamId
from tests.adapters.cli.command import Ran, mnemolog
from tests.testkit import warm

A_MEMORY = "01942b6e-7c00-7000-8000-000000000000"


async def run(engine: Engine, *arguments: str) -> Any:
    """A command that is to succeed, with --json: what it printed."""
    ran = await mnemolog(engine.settings.directory, *arguments, "--json")
    assert ran.code == 0, ran
    return ran.value


async def test_dry_runs_say_what_would_be_written_and_when_there_is_nothing(engine: Engine, user: str) -> None:
    directory = engine.settings.directory
    created = await run(engine, "create", "Prefers tea", "-u", user)

    undo = await mnemolog(directory, "undo", created["memory_id"], "-u", user, "--dry-run")
    assert f"would write MemoryReverted on memory:{created['memory_id']}" in undo.out

    rollback = await mnemolog(directory, "rollback", "--of-run", "unheard-of", "-u", user, "--dry-run")
    assert (rollback.code, rollback.out.strip()) == (0, "No change: there is nothing to undo")


@pytest.mark.spec("B01", "B08", "X02", "X03")
async def test_a_memory_is_changed_undone_and_seen_as_it_was(engine: Engine, user: str) -> None:
    added = await run(engine, "create", "Prefers tea", "-u", user, "--category", "preferences")
    memory_id = added["memory_id"]
    updated = await run(engine, "update", memory_id, "-u", user, "--text", "Prefers coffee")
    answer = await run(engine, "search", "coffee", "-u", user, "--since-rev", "1", "--after", updated["token"])
    text = f"[preferences] Prefers coffee ({datetime.now(UTC):%Y-%m-%d})"
    [bullet] = answer["bullets"]
    assert (bullet["id"], bullet["text"], bullet["current"]) == (memory_id, text, True)
    assert answer["header"] == "Memory updates since rev 1:\n- ↑updated: [Preferences] Prefers coffee"
    await run(engine, "undo", memory_id, "-u", user)
    history, earlier, changes = await asyncio.gather(
        run(engine, "history", memory_id, "-u", user),
        run(engine, "list", "--as-of", "@2", "-u", user),
        run(engine, "changes", "-u", user, "--since", "2"),
    )
    assert [row["event"] for row in history["items"]] == ["UPDATE", "UPDATE", "ADD"]
    assert [row["text"] for row in earlier["items"]] == ["Prefers coffee"]
    assert changes["header"] == "Memory updates since rev 2:\n- ↑updated: [Preferences] Prefers tea"


@pytest.mark.spec("X03", "X14")
async def test_an_undo_with_a_key_goes_back_once_and_names_what_it_was_given(engine: Engine, user: str) -> None:
    memory_id = (await run(engine, "create", "one", "-u", user))["memory_id"]
    for text_ in ("two", "three"):
        await run(engine, "update", memory_id, "-u", user, "--text", text_)
    planned = await run(engine, "undo", memory_id, "-u", user, "--dry-run")
    assert (len(planned["undone"]), planned["conflicts"], planned["receipt"]) == (1, [], None)
    undo = ("undo", memory_id, "-u", user, "--key", "once")
    first, again = await run(engine, *undo), await run(engine, *undo)
    assert (first["receipt"]["already"], again["receipt"]["already"]) == (False, True)
    assert again["receipt"]["event_ids"] == first["receipt"]["event_ids"]
    [event_id] = first["receipt"]["event_ids"]
    redone = await run(engine, "undo", "--event-id", event_id, "-u", user, "--key", "redo")
    assert redone["undone"] == [event_id]
    assert [row["text"] for row in (await run(engine, "list", "-u", user))["items"]] == ["three"]


@pytest.mark.spec("A19", "X03")
async def test_a_forgotten_session_is_brought_back_by_the_undo_of_its_event(engine: Engine, user: str) -> None:
    await run(engine, "add", "I moved to Lisbon", "-u", user)
    forgotten = await run(engine, "forget", "session", "--thread", "main", "-u", user)
    [event_id] = forgotten["receipt"]["event_ids"]
    planned = await run(engine, "undo", "--event-id", event_id, "-u", user, "--dry-run")
    assert planned["changes"] == [{"subject": "thread:main", "type": "SessionReverted"}]
    undone = await run(engine, "undo", "--event-id", event_id, "-u", user)
    session = await run(engine, "session", "-u", user, "-t", "main", "--after", undone["receipt"]["token"])
    assert [turn["text"] for turn in session["turns"]] == ["I moved to Lisbon"]


@pytest.mark.spec("X12")
async def test_ingest_reports_a_bad_line_and_takes_the_others_once(engine: Engine, user: str, tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    good = [{"message_id": f"m{n}", "text": f"turn {n}", "occurred_at": "2026-03-01T10:00:00Z"} for n in range(3)]
    lines = [json.dumps(turn) for turn in good]
    lines[1:1] = [
        "this is no JSON",
        json.dumps({**good[0], "message_id": "late", "occurred_at": "2026-03-01T10:00:00"}),
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    first = await mnemolog(engine.settings.directory, "ingest", str(path), "--user", user, "--json")
    assert first.code == 1, first
    assert (first.value["turns"], first.value["recorded"], first.value["already"]) == (5, 3, 0)
    faults = {fault["place"]: fault["error"]["field"] for fault in first.value["set_aside"]}
    assert faults == {"line 2": "message", "line 3": "occurred_at"}
    again = await mnemolog(engine.settings.directory, "ingest", str(path), "--user", user)
    assert "0 turns recorded, 3 were there already" in again.out
    assert "line 2" in again.out
    assert (await run(engine, "session", "-u", user))["msg_count"] == 3


async def test_a_replay_names_the_tables_that_it_dropped(engine: Engine) -> None:
    async with engine.projections.live.begin() as connection:
        await connection.execute(CreateSchema("mnemolog_changes_v0"))
    said = []
    for _ in range(2):
        ran = await mnemolog(engine.settings.directory, "replay", "changes", "--drop-former")
        assert ran.code == 0, ran
        said.append(ran.out.splitlines()[-1])
    assert said == ["✓ dropped mnemolog_changes_v0", "✓ there were no tables of other versions"]


async def test_a_rollback_of_nothing_is_not_told_that_it_names_too_much(engine: Engine, user: str) -> None:
    told = [
        (await mnemolog(engine.settings.directory, "rollback", "-u", user, *named, "--json")).value["error"]["message"]
        for named in ((), ("--of-run", "a", "--of-thread", "b"))
    ]
    assert told == ["nothing is named that can be rolled back", "only one of these can be rolled back at a time"]


BAD_INPUT = [
    (("history", "no-uuid"), "id"),
    (("undo", "no-uuid"), "memory_id"),
    (("list", "--as-of", "2026-01-03T01:02:10"), "as_of"),
    (("search", ""), "query"),
    (("search", "tea", "-c", "profile", "-a", "planner"), "categories[0]"),
    (("search", "tea", "-f", "pinned=yes"), "filters.pinned"),
    (("search", "tea", "-f", "updated_after=yesterday"), "filters.updated_after"),
    (("search", "tea", "-f", "colour=red"), "filters.colour"),
    (("search", "tea", "--after", "nonsense"), "after"),
    (("add", "bell \x07"), "messages[0].content"),
    (("create", "x", "--category", "nonsense"), "category"),
    (("create", "x", "--importance", "7"), "importance"),
    (("update", A_MEMORY), "memory_id"),
    (("replay", "nonsense"), "projection"),
    (("ingest", "/nowhere.jsonl"), "path"),
]


async def test_bad_input_gets_an_error_that_names_the_field(engine: Engine, user: str) -> None:
    limit = asyncio.Semaphore(3)

    async def refused(arguments: tuple[str, ...]) -> Ran:
        who = () if arguments[0] == "replay" else ("-u", user)
        async with limit:
            return await mnemolog(engine.settings.directory, *arguments, *who, "--json")

    runs = await asyncio.gather(*(refused(arguments) for arguments, _ in BAD_INPUT))
    fields = [ran.value["error"]["field"] for ran in runs]
    assert fields == [field for _, field in BAD_INPUT]
    assert all(ran.code in (1, 2) and ran.value["error"]["message"] and "Traceback" not in ran.err for ran in runs)


async def test_long_texts_are_ingested_up_to_a_limit(engine: Engine, user: str, tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    turn = {"user_id": user, "occurred_at": "2026-03-01T10:00:00Z"}
    texts = (
        "x" * (1 << 20),
        "x" * (3 << 20),
        "x" * (9 << 20),
        "short",
    )  # A message of NATS holds the first and the last.
    path.write_text("\n".join(json.dumps({**turn, "text": text}) for text in texts), encoding="utf-8")
    ran = await mnemolog(engine.settings.directory, "ingest", str(path), "--json")
    [fault] = ran.value["set_aside"]
    assert (fault["place"], fault["error"]["field"], fault["kept"]) == ("line 3", "text", False)
    assert ran.value["recorded"] == 3
    [*listed] = (await mnemolog(engine.settings.directory, "artifact", "list", "-u", user, "--json")).value["items"]
    assert sorted(one["size_bytes"] for one in listed) == [1 << 20, 3 << 20]


async def test_an_event_of_an_unknown_version_is_named(engine: Engine, user: str) -> None:
    [memory] = [await run(engine, "create", "Prefers tea", "-u", user)]
    await forge_version(engine, StreamId.of_user(user), 99)
    ran = await mnemolog(engine.settings.directory, "undo", memory["memory_id"], "-u", user, "--json")
    assert (ran.code, ran.value["error"]["code"], ran.value["error"]["field"]) == (1, "unknown_event", "version")


async def forge_version(engine: Engine, stream: StreamId, version: int) -> None:
    """Append a copy of the stream's first event with another version, as a newer engine on the same log would."""
    [[first]] = [batch async for batch in engine.log.scan(stream)]
    header = replace(first.header, seq=2, event_id=uuid4(), version=version)
    chained = link(engine.verifier.roots.derived("chain"), first.link, header, first.data)
    place = {"tenant": stream.tenant, "stream": stream.name, "version": version, "id": header.event_id, "link": chained}
    async with await psycopg.AsyncConnection.connect(engine.endpoints.postgres_dsn) as connection:
        await connection.execute(
            """INSERT INTO mnemolog.events
               SELECT tenant, stream, 2, %(id)s, type, %(version)s, tags, meta, occurred_at, recorded_at,
                      data, %(link)s FROM mnemolog.events WHERE (tenant, stream, seq) = (%(tenant)s, %(stream)s, 1)""",
            place,
        )
        await connection.execute(
            """INSERT INTO mnemolog.tags SELECT tenant, stream, tag, 2 FROM mnemolog.tags
               WHERE (tenant, stream, seq) = (%(tenant)s, %(stream)s, 1)""",
            place,
        )


async def test_errors_say_what_to_do_in_words(engine: Engine, user: str) -> None:
    ran = await mnemolog(engine.settings.directory, "history", A_MEMORY, "-u", user)
    assert ran.code == 1
    what, fix = (
        f"has no memory, entity, fact, artifact or episode {A_MEMORY}",
        "look it up with `mnemolog search`, `entity list` or `fact list`",
    )
    assert ran.err == f"✗ id user '{user}' {what}\n  → {fix}\n"


async def test_replay_rebuilds_and_compares(engine: Engine, user: str) -> None:
    await run(engine, "add", "I moved to Lisbon", "-u", user)
    [rebuilt] = await run(engine, "replay", "graph")
    assert rebuilt["name"] == "graph"
    assert rebuilt["events"] > 0


async def test_doctor_finds_every_part_well(engine: Engine) -> None:
    ran = await mnemolog(engine.settings.directory, "doctor", "--json")
    assert {"postgres", "pgvector", "nats", "redis", "model", "engine", "log", "memories"} <= {
        finding["part"] for finding in ran.value
    }
    others = [finding for finding in ran.value if finding["part"] not in engine.projections.running]
    assert [finding for finding in others if not finding["good"]] == []


async def test_config_shows_every_setting_and_no_secret(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMOLOG_MASTER_KEY", "c2VjcmV0")
    monkeypatch.setenv("MNEMOLOG_POSTGRES_URL", "postgresql://ana:hunter2@db.example/mnemolog")
    monkeypatch.setenv("MNEMOLOG_MODEL_URL", "https://ana:hunter2@models.example/v1")
    monkeypatch.setenv("MNEMOLOG_MODEL_URLS", '{"embedding": "https://:hunter2@tei.example/v1"}')
    monkeypatch.setenv("MNEMOLOG_MODEL_API_KEY", "sk-secret")
    monkeypatch.setenv("MNEMOLOG_MODEL_API_KEYS", '{"embedding": "sk-secret"}')
    shown = await run(engine, "config")
    assert set(shown) == set(Settings.model_fields)
    assert "hunter2" not in json.dumps(shown)
    assert "sk-secret" not in json.dumps(shown)
    assert (shown["model_api_key"], shown["model_api_keys"]) == ("set", {"embedding": "set"})
    assert "c2VjcmV0" not in json.dumps(shown)


async def test_up_serves_until_sigterm_and_refuses_a_second_engine(tmp_path: Path) -> None:
    process = await warm.spawn(
        *("mnemolog", "--data-dir", tmp_path, "up", "--port", "0"), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout
    async with asyncio.timeout(60):
        while b"Ctrl-C" not in await process.stdout.readline():
            pass
    endpoints = json.loads((tmp_path / "engine.json").read_text())
    token = (tmp_path / "http.token").read_text().strip()
    asked = httpx.AsyncClient(base_url=endpoints["http_url"])
    async with asked as http:
        assert (await http.get("/v1/memories", params={"user_id": "ana"})).status_code == 401
        let_in = await http.get("/v1/memories", params={"user_id": "ana"}, headers={"Authorization": f"Bearer {token}"})
        assert let_in.json() == {"items": [], "next_cursor": None}
    second = await mnemolog(tmp_path, "up", "--port", "0", "--json")
    assert (second.code, second.value["error"]["code"]) == (3, "data_directory_in_use")
    assert str(process.pid) in second.value["error"]["message"]
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(60):
        assert await process.wait() == 0
    assert not (tmp_path / "engine.json").exists()


@pytest.mark.spec("X12")
async def test_the_demo_tells_its_story(tmp_path: Path) -> None:
    ran = await mnemolog(tmp_path, "demo", "--json")
    assert ran.code == 0, ran
    assert ran.value["turns"] == 20
    assert ran.value["episodes"] == ["first", "time gap", "time gap", "time gap", "time gap", "marker"]
    assert re.fullmatch(r"Marta's job title is physiotherapist \(as of \d{4}-\d\d-\d\d\)", *ran.value["she"])
    assert ran.value["moods"] == ["stressed", "stressed", "stressed", "neutral"]
    assert re.search(r"\[image#A[0-9A-F]{6}\] the Tagus at sunrise$", ran.value["picture"])
    assert {"vision_short", "vision_detail"} <= set(ran.value["skipped"])
    assert len(ran.value["noted"].splitlines()) == 3  # Two memories, and nothing of 26 turns.
    assert ran.value["as of before the merge"] == ran.value["as of now"] != ran.value["as of after the merge"]
    assert set(ran.value["rebuilt"]) == {
        "memories",
        "graph",
        "artifacts",
        "being",
        "changes",
        "conversation",
        "episodes",
        "history",
        "knowledge",
        "operations",
        "profile",
        "summaries",
        "vectors",
        "working",
    }


async def test_a_command_with_another_embedder_than_the_running_engine_says_so(tmp_path: Path) -> None:
    settings = load(data_dir=tmp_path, durable=False, embedder="lexical", http_port=0)
    async with open_engine(settings):
        ran = await mnemolog(tmp_path, "list", "-u", "ana", "--json", embedder="minilm")

    assert ran.code == 3, ran
    error = ran.value["error"]
    assert (error["code"], error["field"]) == ("engine_setting_differs", "embedder")
    assert "'minilm'" in error["message"]
    assert "MNEMOLOG_EMBEDDER" in error["fix"]


async def test_a_statement_that_postgres_refuses_is_not_called_a_server_that_went_away(
    engine: Engine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine.projections.live.connect() as connection:
        with pytest.raises(DBAPIError) as refused:
            await connection.execute(text("SELECT 'secret' FROM nowhere"))

    def refuse() -> None:
        raise refused.value

    monkeypatch.setattr(app, "parser", lambda: refuse)
    with pytest.raises(SystemExit) as ended:
        app.run()

    assert ended.value.code == 3
    shown = " ".join(capsys.readouterr().err.split())
    assert 'refused a statement (relation "nowhere" does not exist)' in shown
    assert "went away" not in shown
    assert "secret" not in shown


def test_help_begins_with_what_a_new_user_looks_for() -> None:
    shown = CliRunner().invoke(app.app, ["--help"]).output

    panels = re.findall(r"^╭─ ([^─]+) ─", shown, re.MULTILINE)
    assert panels == ["Options", *ORDER]


def test_help_lists_the_values_of_an_option_only_if_it_takes_no_others() -> None:
    shown = CliRunner().invoke(app.app, ["fact", "list", "--help"]).output

    assert "One of any" not in shown
    assert "One of strong, eventual." in " ".join(shown.replace("│", " ").split())


@pytest.mark.parametrize(("number", "shown"), [(0, "0 memories"), (1, "1 memory"), (1200, "1,200 memories")])
def test_a_count_of_one_is_singular(number: int, shown: str) -> None:
    assert output.count(number, "memory", "memories") == shown
