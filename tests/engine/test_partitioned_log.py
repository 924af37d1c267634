"""The log's tables divided by the hash of the stream: everything works on them as on plain ones (X11)."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.errors import InsufficientPrivilege, RestrictViolation
from psycopg.rows import DictRow, dict_row
from psycopg.sql import SQL, Literal

import mnemolog
from mnemolog.adapters.backup.archive import MASTER_KEY, Manifest, Progressed
from mnemolog.adapters.backup.backing_up import back_up
from mnemolog.adapters.backup.restoring import restore
from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.adapters.partitions.partitioning import LOG, NAMES, partition, partitions
from mnemolog.adapters.postgres.migrate import migrate
from mnemolog.adapters.postgres.pool import BY_KEY
from mnemolog.adapters.postgres.queries import query
from mnemolog.commands.erasure import EraseMemory, EraseUser
from mnemolog.domain.errors import EngineError, IdempotencyConflict, InvalidInput, LogError
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.events.log import Append
from mnemolog.projections.reads.moment import Moment
from tests.adapters.cli.command import mnemolog as command
from tests.engine.equality import assert_live_equals_rebuilt, assert_live_equals_replayed
from tests.engine.person import Person
from tests.engine.story import tell
from tests.engine.test_prove_erased import SECRET, planted, readable
from tests.engine.test_two_databases import database
from tests.tamper.attacker import attacking
from tests.testkit.clusters import new_clusters
from tests.testkit.events import created, new
from tests.testkit.settings import settings_in

pytestmark = pytest.mark.spec_part("X11")

COUNT = 8
# All that Postgres knows of the tables, except for the ids that it gives them.
DEFINITIONS = """
SELECT place || ' ' || told AS definition FROM (
    SELECT attrelid, attname::text || format_type(atttypid, atttypmod) || attnotnull::text || attstorage::text
           || attcompression::text || coalesce(attstattarget, -1)::text || coalesce(attoptions::text, '')
           || coalesce(attacl::text, '')
              FROM pg_attribute WHERE attnum > 0
    UNION ALL SELECT conrelid, conname::text || pg_get_constraintdef(oid) FROM pg_constraint
    UNION ALL SELECT indrelid, pg_get_indexdef(indexrelid) || indisprimary::text || indisvalid::text FROM pg_index
    UNION ALL SELECT tgrelid, pg_get_triggerdef(oid) || tgenabled::text FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT polrelid, polname || polcmd::text || polroles::text || pg_get_expr(polqual, polrelid)
              || coalesce(pg_get_expr(polwithcheck, polrelid), '') FROM pg_policy
    UNION ALL SELECT oid, relkind::text || relowner::text || relrowsecurity::text || coalesce(reloptions::text, '')
              || coalesce(obj_description(oid, 'pg_class'), '') FROM pg_class
    UNION ALL SELECT class.oid, acl::text FROM pg_class AS class, aclexplode(relacl) AS acl
) AS known (id, told) JOIN unnest(%(tables)s::text[]) AS place ON id = place::regclass
ORDER BY 1
"""
OF_THE_LOG = """
SELECT relname FROM pg_class WHERE relnamespace = 'mnemolog'::regnamespace AND relname ~ '^(events|tags|receipts)'
ORDER BY relname
"""


@pytest.fixture(scope="module")
async def own(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """An engine whose log other tests do not share."""
    async with open_engine(settings_in(tmp_path_factory.mktemp("own"))) as opened:
        yield opened


@pytest.fixture
async def divided(own: Engine) -> Engine:
    await partition(own.endpoints.postgres_dsn, COUNT)
    return own


@pytest.fixture
def ana(divided: Engine, user: str) -> Person:
    return Person(divided, user)


async def sql(dsn: str, statement: str, **values: Any) -> list[DictRow]:
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        cursor = await connection.execute(statement.encode(), values)
        return await cursor.fetchall() if cursor.description else []


async def names(dsn: str) -> list[str]:
    return [row["relname"] for row in await sql(dsn, OF_THE_LOG)]


@contextmanager
def silent(label: str, total: int) -> Iterator[Progressed]:
    yield lambda count: None


async def written(engine: Engine) -> int:
    """The number of events, to which jobs may add."""
    return sum((await engine.log.counts()).values())


async def backed_up(engine: Engine, file: Path) -> Manifest:
    dsn, anchors = engine.endpoints.postgres_dsn, engine.verifier.anchors
    return await back_up(dsn, engine.settings, anchors, file, now(), mnemolog.__version__, lambda count: None)


@pytest.mark.spec_part("X01", "X04")
async def test_an_engine_goes_on_while_its_log_is_divided(own: Engine) -> None:
    dsn, ended = own.endpoints.postgres_dsn, asyncio.Event()
    acknowledged: dict[str, list[tuple[str, Receipt]]] = {}

    async def writes(person: Person) -> None:
        told = acknowledged.setdefault(person.user, [])
        while not ended.is_set():
            turn_id = uuid4().hex
            told.append((turn_id, await person.says(f"word {len(told)}", turn_id=turn_id)))

    people = [Person(own, f"writer-{uuid4().hex}") for _ in range(6)]
    writers = [asyncio.create_task(writes(person)) for person in people]
    try:
        for into in (COUNT, 3, 1, COUNT):
            already = sum(map(len, acknowledged.values()))
            assert (await partition(dsn, into)).changed
            assert await partitions(dsn) == into
            while sum(map(len, acknowledged.values())) < already + 20:  # noqa: ASYNC110  Each writer counts its own.
                await asyncio.sleep(0.01)
    finally:
        ended.set()
        await asyncio.gather(*writers)

    for person in people:
        told = acknowledged[person.user]
        events = await own.log.read(person.stream)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        ids = [one for _, receipt in told for one in receipt.event_ids]
        written = [event.event_id for event in events]
        assert [one for one in written if one in set(ids)] == ids
        turn_id, receipt = told[0]
        again = await person.says("word 0", turn_id=turn_id)
        assert (again.event_ids, again.already) == (receipt.event_ids, True)
        assert await own.log.head(person.stream) >= len(events)
    assert (await own.verifier.verify()).clean
    await assert_live_equals_replayed(own, *(person.stream for person in people))


async def test_divided_and_plain_again_the_tables_are_what_they_were(own: Engine) -> None:
    dsn = own.endpoints.postgres_dsn
    await partition(dsn, 1)
    await sql(dsn, "ALTER TABLE mnemolog.events SET (autovacuum_vacuum_insert_scale_factor = 0.05)")
    await sql(dsn, "ALTER TABLE mnemolog.events ALTER COLUMN type SET STATISTICS 7")
    await sql(dsn, "ALTER TABLE mnemolog.tags ALTER COLUMN stream SET (n_distinct = -0.5)")
    await sql(dsn, "COMMENT ON TABLE mnemolog.tags IS 'it''s ours'")
    await sql(dsn, "GRANT SELECT (tenant, stream), INSERT ON mnemolog.receipts TO pg_monitor WITH GRANT OPTION")
    before, named = await sql(dsn, DEFINITIONS, tables=NAMES), await names(dsn)

    await partition(dsn, COUNT)
    parts = [one for one in await names(dsn) if one.endswith(f"_{COUNT}_0")]
    options = await sql(dsn, "SELECT reloptions FROM pg_class WHERE oid = 'mnemolog.events_8_7'::regclass")
    await partition(dsn, 1)

    assert parts == [f"{name}_{COUNT}_0" for name in sorted(LOG)]
    assert options == [{"reloptions": ["autovacuum_vacuum_insert_scale_factor=0.05"]}]
    assert await sql(dsn, DEFINITIONS, tables=NAMES) == before
    assert await names(dsn) == named


async def test_the_command_says_what_it_did_and_does_it_once(own: Engine) -> None:
    await partition(own.endpoints.postgres_dsn, 1)
    await Person(own, "ana").creates("Ana likes tea")
    directory = own.settings.directory

    first = await command(directory, "partition-log", "--into", "5", "--json")
    again = await command(directory, "partition-log", "--into", "5", "--json")
    told = await command(directory, "partition-log", "--into", "1")
    same = await command(directory, "partition-log", "--into", "1")
    refused = await command(directory, "partition-log", "--into", "129", "--json")

    assert (first.code, again.code, told.code, same.code) == (0, 0, 0, 0), first.err + told.err
    assert first.value == {"partitions": 5, "before": 1, "changed": True, "rows": first.value["rows"]}
    assert first.value["rows"]["events"] >= 1
    assert again.value == {"partitions": 5, "before": 5, "changed": False, "rows": {}}
    assert "copying the log" in told.err
    assert "the log is in plain tables" in told.out
    assert "No change: the log is in plain tables already" in same.out
    assert refused.code == 2
    assert refused.value["error"]["field"] == "into"
    assert refused.value["error"]["fix"]


async def test_doctor_says_into_how_many_partitions_the_log_is_divided(divided: Engine) -> None:
    looked = await command(divided.settings.directory, "doctor", "--json")

    [log] = [one for one in looked.value if one["part"] == "log"]
    assert log["found"].endswith(f"in {COUNT} partitions")


@pytest.mark.spec_part("X01", "X08")
@pytest.mark.parametrize(
    "change", ["UPDATE mnemolog.{} SET data = ''", "DELETE FROM mnemolog.{}", "TRUNCATE mnemolog.{}"]
)
@pytest.mark.parametrize("table", ["events", f"events_{COUNT}_3"])
async def test_no_event_can_be_changed_by_the_name_of_a_partition_either(
    divided: Engine, table: str, change: str
) -> None:
    async with await psycopg.AsyncConnection.connect(divided.endpoints.postgres_dsn, autocommit=True) as connection:
        with pytest.raises(RestrictViolation, match="events are immutable"):
            await connection.execute(change.format(table).encode())
        await connection.execute("SET ROLE mnemolog_engine")
        with pytest.raises(InsufficientPrivilege):
            await connection.execute(change.format(table).encode())


async def test_readers_see_one_tenant_and_no_partition(ana: Person) -> None:
    await ana.says("Hello")
    await Person(ana.engine, ana.user, tenant="other").says("Hello")
    dsn = ana.engine.endpoints.postgres_dsn
    own = "SELECT count(*) AS count, count(DISTINCT tenant) AS tenants FROM mnemolog.events"
    parts = [one for one in await names(dsn) if one.startswith(f"events_{COUNT}_") and one[-1].isdigit()]
    async with await psycopg.AsyncConnection.connect(dsn, row_factory=dict_row) as connection:
        for part in parts:
            await connection.execute(f"GRANT SELECT ON mnemolog.{part} TO mnemolog_reader".encode())
        await connection.execute("SET ROLE mnemolog_reader")
        await connection.execute("SELECT set_config('mnemolog.tenant', 'other', false)")
        seen = await (await connection.execute(own)).fetchone()
        by_part = [await (await connection.execute(f"TABLE mnemolog.{part}".encode())).fetchall() for part in parts]
        await connection.rollback()

    assert seen
    assert seen["count"] >= 1
    assert seen["tenants"] == 1
    assert by_part == [[]] * COUNT


async def _cancelled(task: "asyncio.Task[Any]", dsn: str) -> None:
    task.cancel()


async def _cut_off(task: "asyncio.Task[Any]", dsn: str) -> None:
    ended = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = %(name)s"
    await sql(dsn, ended, name="mnemolog partition-log")


@pytest.mark.parametrize("end", [_cancelled, _cut_off])
async def test_whatever_ends_it_early_leaves_the_tables_as_they_were(
    ana: Person, end: Callable[["asyncio.Task[Any]", str], Any]
) -> None:
    dsn, ids = (
        ana.engine.endpoints.postgres_dsn,
        "SELECT oid, relname FROM pg_class WHERE relname ~ '^events' ORDER BY 1",
    )
    await ana.says("Hello")
    before, holding = await sql(dsn, ids), asyncio.Event()
    async with await psycopg.AsyncConnection.connect(dsn) as other:
        await other.execute("SELECT count(*) FROM mnemolog.events")  # So that it gets no further than the last lock.
        task = asyncio.create_task(partition(dsn, 3, said=lambda sentence: holding.set()))
        await asyncio.wait_for(holding.wait(), 60)
        await end(task, dsn)
        [outcome] = await asyncio.gather(task, return_exceptions=True)

    assert isinstance(outcome, BaseException)
    assert await sql(dsn, ids) == before
    assert await partitions(dsn) == COUNT
    await ana.says("Hello again")


async def test_a_transaction_that_keeps_the_tables_is_named_and_writers_go_on(ana: Person) -> None:
    dsn = ana.engine.endpoints.postgres_dsn
    async with await psycopg.AsyncConnection.connect(dsn, application_name="a long export") as other:
        await other.execute("SELECT count(*) FROM mnemolog.events")
        dividing = asyncio.create_task(partition(dsn, 3, wait=1.5))
        while not dividing.done():
            await ana.says("Hello")

        with pytest.raises(EngineError, match=rf"a long export \(process {other.info.backend_pid}\)"):
            await dividing

    assert await partitions(dsn) == COUNT


@pytest.mark.parametrize(
    "default", ["default_transaction_isolation=repeatable\\ read", "default_transaction_read_only=on"]
)
async def test_the_defaults_of_the_database_lose_nothing_that_is_written_meanwhile(ana: Person, default: str) -> None:
    dsn, holding = ana.engine.endpoints.postgres_dsn, asyncio.Event()
    await partition(dsn, COUNT)
    async with await psycopg.AsyncConnection.connect(dsn) as other:
        await other.execute("SELECT count(*) FROM mnemolog.events")  # So that it waits for the last lock.
        strict = make_conninfo(dsn, options=f"-c {default}")
        dividing = asyncio.create_task(partition(strict, 3, said=lambda sentence: holding.set()))
        while not (dividing.done() or holding.is_set()):  # noqa: ASYNC110  One of two.
            await asyncio.sleep(0.01)
        await ana.says("Hello")
    await dividing

    events = await ana.engine.log.read(ana.stream)
    assert [event.seq for event in events] == list(range(1, await ana.engine.log.head(ana.stream) + 1))
    assert events


async def test_rows_that_a_policy_hides_from_the_owner_are_not_lost(divided: Engine) -> None:
    async with database(divided) as dsn:
        await asyncio.to_thread(migrate, dsn)
        await sql(dsn, "CREATE ROLE hidden_from NOSUPERUSER")
        await sql(dsn, "GRANT ALL ON SCHEMA mnemolog TO hidden_from")
        await sql(dsn, "GRANT ALL ON mnemolog.heads TO hidden_from")
        for name in NAMES:
            await sql(dsn, f"ALTER TABLE {name} OWNER TO hidden_from")
        await sql(dsn, "ALTER TABLE mnemolog.tags FORCE ROW LEVEL SECURITY")
        await sql(dsn, "INSERT INTO mnemolog.tags VALUES ('other', 'user:ana', 'a', 1)")

        with pytest.raises(EngineError, match="may not replace the log's tables"):
            await partition(make_conninfo(dsn, options="-c role=hidden_from"), 3)

        assert await sql(dsn, "SELECT count(*) AS count FROM mnemolog.tags") == [{"count": 1}]
    await sql(divided.endpoints.postgres_dsn, "DROP ROLE hidden_from")


async def test_a_trigger_that_fires_for_replicas_too_still_does(divided: Engine) -> None:
    async with database(divided) as dsn:
        await asyncio.to_thread(migrate, dsn)
        await sql(dsn, "ALTER TABLE mnemolog.events ENABLE ALWAYS TRIGGER events_are_immutable")

        for into in (2, 1):
            await partition(dsn, into)

            states = await sql(dsn, "SELECT DISTINCT tgenabled::text FROM pg_trigger WHERE tgname ~ '^events_are'")
            assert states == [{"tgenabled": "A"}]


@pytest.mark.parametrize(
    ("made", "name"),
    [
        ("VIEW public.own AS SELECT seq FROM mnemolog.events", "the view public.own"),
        ("PUBLICATION ours FOR TABLE mnemolog.tags", "the publication ours"),
        (
            "TABLE public.own (t text, s text, q bigint, FOREIGN KEY (t, s, q) REFERENCES mnemolog.events)",
            "the constraint own_t_s_q_fkey on table public.own",
        ),
        (
            "FUNCTION public.own() RETURNS bigint BEGIN ATOMIC SELECT count(*) FROM mnemolog.receipts; END",
            "the function public.own()",
        ),
        ("TABLE public.own (kept mnemolog.events[])", "the column kept of table public.own"),
        ("RULE ours AS ON INSERT TO mnemolog.tags DO ALSO NOTHING", "the rule ours on table mnemolog.tags"),
    ],
)
async def test_what_depends_on_the_tables_is_named(divided: Engine, made: str, name: str) -> None:
    async with database(divided) as dsn:
        await asyncio.to_thread(migrate, dsn)
        await sql(dsn, f"CREATE {made}")

        with pytest.raises(EngineError, match=rf"under {re.escape(name)} \("):
            await partition(dsn, 3)

        assert await partitions(dsn) == 1


async def test_a_log_whose_heads_do_not_know_all_its_events_is_left_alone(ana: Person) -> None:
    await ana.says("Hello")
    dsn = ana.engine.endpoints.postgres_dsn
    async with attacking(ana.engine, ana.stream) as mallory:
        await mallory.sql("UPDATE mnemolog.heads SET seq = seq - 1 WHERE (tenant, stream) = (%(tenant)s, %(stream)s)")

        with pytest.raises(LogError, match="events has") as refused:
            await partition(dsn, 3)

        await mallory.sql("UPDATE mnemolog.heads SET seq = seq + 1 WHERE (tenant, stream) = (%(tenant)s, %(stream)s)")
    assert "mnemolog verify" in (refused.value.fix or "")
    assert await partitions(dsn) == COUNT


async def test_a_login_that_does_not_own_the_tables_is_told_so(divided: Engine) -> None:
    dsn = make_conninfo(divided.endpoints.postgres_dsn, options="-c role=mnemolog_engine")

    with pytest.raises(EngineError, match="may not replace the log's tables") as refused:
        await partition(dsn, 3)

    assert refused.value.field == "postgres_url"
    assert await partitions(divided.endpoints.postgres_dsn) == COUNT


@pytest.mark.parametrize("into", [0, -1, 129])
async def test_a_number_out_of_range_is_refused(own: Engine, into: int) -> None:
    with pytest.raises(InvalidInput, match="between 1 and 128"):
        await partition(own.endpoints.postgres_dsn, into)


@pytest.mark.spec_part("X02", "X04", "X05", "X08", "X09")
async def test_a_story_on_partitions_is_the_story_on_plain_tables(ana: Person, engine: Engine) -> None:
    plain = Person(engine, ana.user)
    for one in (ana, plain):
        await tell(one)
        await one.engine.settled(60)
    then = await ana.engine.log.head(ana.stream)
    shown = [row["text"] for row in await ana.engine.reads.newest(ana.viewer, 50)]
    await ana.creates("Ana moved on")

    assert [row["text"] for row in await engine.reads.newest(plain.viewer, 50)] == shown
    former = await ana.engine.reads.newest(ana.viewer, 50, Moment(as_of=then))
    assert [row["text"] for row in former] == shown
    assert (await ana.engine.verifier.verify()).clean
    await assert_live_equals_rebuilt(ana.engine)


@pytest.mark.spec_part("X01")
async def test_an_event_id_that_is_taken_is_refused(divided: Engine, user: str) -> None:
    event = new(created())
    stream = StreamId.of_user(user)
    await divided.log.append([Append(stream, (event,))])

    [outcome] = await divided.log.append([Append(stream, (event,))])

    assert isinstance(outcome, IdempotencyConflict)
    assert outcome.field == "event_id"


@pytest.mark.spec_part("X07", "X16")
async def test_an_erasure_is_proved_in_each_table_once(ana: Person) -> None:
    memory_id = await planted(ana)
    await ana.engine.settled(60)
    await erase(ana.engine, EraseMemory(user_id=ana.user, memory_id=memory_id))
    await erase(ana.engine, EraseUser(user_id=ana.user))

    proof = await prove(ana.engine, ProofSubject(ana.stream), SECRET)

    assert proof.holds, readable(proof)
    looked = [
        one.name for one in proof.places if one.name.startswith(("postgres mnemolog.events", "postgres mnemolog.t"))
    ]
    assert looked == ["postgres mnemolog.events", "postgres mnemolog.tags"]
    scrubbed = await command(ana.engine.settings.directory, "scrub", "--json")
    assert scrubbed.code == 0, scrubbed.err


@pytest.mark.spec_part("X08")
async def test_a_row_that_is_changed_in_its_partition_is_found(ana: Person) -> None:
    await ana.says("Hello")
    await ana.engine.settled(60)
    async with attacking(ana.engine, ana.stream) as mallory:
        place = await mallory.sql(
            "SELECT tableoid::regclass::text AS part FROM mnemolog.events"
            " WHERE (tenant, stream, seq) = (%(tenant)s, %(stream)s, 1)"
        )
        change = f"UPDATE {place[0]['part']} SET version = version + %(by)s WHERE (stream, seq) = (%(stream)s, 1)"  # noqa: S608
        await mallory.sql(change, by=1)
        report = await ana.engine.verifier.verify(ana.stream)
        await mallory.sql(change, by=-1)

    assert not report.clean
    assert (await ana.engine.verifier.verify(ana.stream)).clean


@pytest.mark.spec_part("X23")
async def test_a_backup_of_partitions_is_restored_into_plain_tables(ana: Person, tmp_path: Path) -> None:
    engine, file = ana.engine, tmp_path / "one.mnemolog"
    await tell(ana)
    before, count = await ana.everything(await ana.caught_up()), await written(engine)
    manifest = await backed_up(engine, file)
    assert not [one.table for one in manifest.tables if f"_{COUNT}_" in one.table]
    assert count <= manifest.count("events") <= await written(engine)

    directory = tmp_path / "restored"
    directory.mkdir()
    (directory / MASTER_KEY).write_bytes((engine.settings.directory / MASTER_KEY).read_bytes())
    with new_clusters():
        restored = await restore(settings_in(directory), file, silent)
        assert restored.report.clean
        async with open_engine(settings_in(directory)) as opened:
            dsn = opened.endpoints.postgres_dsn
            assert await partitions(dsn) == 1
            await partition(dsn, 2)
            await opened.settled()
            assert await Person(opened, ana.user).everything() == before


async def test_snapshots_see_all_rows_of_tables_that_are_replaced_meanwhile(ana: Person, tmp_path: Path) -> None:
    """A snapshot from before would find the new tables empty."""
    await ana.says("Hello")
    dsn, ended = ana.engine.endpoints.postgres_dsn, asyncio.Event()

    async def divides() -> None:
        while not ended.is_set():
            for into in (3, COUNT):
                await partition(dsn, into)

    dividing = asyncio.create_task(divides())
    try:
        for number in range(10):
            report = await ana.engine.verifier.verify(ana.stream)
            assert report.clean, report.as_dict()
            before = await written(ana.engine)
            manifest = await backed_up(ana.engine, tmp_path / f"{number}.mnemolog")
            assert before <= manifest.count("events") <= await written(ana.engine)
    finally:
        ended.set()
        await dividing


async def test_later_migrations_work_on_partitions(engine: Engine) -> None:
    async with database(engine) as dsn:
        await asyncio.to_thread(migrate, dsn, "0015")
        assert (await partition(dsn, 4)).changed

        await asyncio.to_thread(migrate, dsn)

        made = await sql(dsn, "SELECT indexdef FROM pg_indexes WHERE indexname = 'events_event_id'")
        assert [row["indexdef"].rpartition("btree ")[2] for row in made] == ["(event_id, tenant, stream)"]
        assert await partitions(dsn) == 4
        assert (await partition(dsn, 1)).changed


FILL = b"""
INSERT INTO mnemolog.events
SELECT 'default', 'user:' || n % 50, n, gen_random_uuid(), 'A', 1, '{}', '{}', now(), now(), '', ''
FROM generate_series(1, 10000) AS n;
INSERT INTO mnemolog.tags SELECT 'default', 'user:' || n % 50, n::text, n FROM generate_series(1, 10000) AS n;
INSERT INTO mnemolog.receipts
SELECT 'default', 'user:' || n % 50, n::text, '', n, n FROM generate_series(1, 10000) AS n;
ANALYZE mnemolog.events, mnemolog.tags, mnemolog.receipts;
"""
OF = {"tenant": "default", "stream": "user:ana"}
LISTS = {"tenants": ["default"], "streams": ["user:ana"]}
EMPTY = dict.fromkeys(("events", "stream_keys", "data_keys", "used_keys"), "[]")
HEAD = '[{"tenant":"default","stream":"user:ana","seq":1,"link":"","new_seq":2,"new_link":"","keyed":false}]'
PRUNED: Mapping[str, Mapping[str, Any]] = {
    "read_stream": {**OF, "after": 0, "until": 9, "batch": 9},
    "read_tagged": {**OF, "after": 0, "until": 9, "tags": ["a"], "known": [], "ignored": [], "between": False},
    "seq_at": {**OF, "at": "2026-01-01"},
    "policy_versions": OF,
    "unfit_heads": LISTS,
    "find_receipts": {**LISTS, "keys": ["a"]},
    "find_conflicts": {**LISTS, "positions": [0], "tags": ["a"], "afters": [0]},
    "last_erasures": {**LISTS, "type": "UserErased"},
    "first_sealed": {**LISTS, "afters": [0], "sealed": b"a"},
    "events_of_types": {**LISTS, "afters": [0], "types": ["UserErased"]},
    "pending_events": {**LISTS, "firsts": [1], "lasts": [9]},
    "last_sealed": {"wanted": '[{"tenant":"default","stream":"user:ana","scope":"a","tag":"a","sealed":"a"}]'},
    "write": {
        **EMPTY,
        "heads": HEAD,
        "guards": '[{"tenant":"default","stream":"user:ana","tag":"a","after":0}]',
        "receipts": '[{"tenant":"default","stream":"user:ana","key":"a","fingerprint":"","first_seq":1,"last_seq":1}]',
    },
}
NOT_PRUNED: Mapping[str, Mapping[str, Any]] = {
    "find_event": {**OF, "event_id": uuid4()},
    "find_written": {**LISTS, "event_ids": [uuid4()]},
}


@pytest.mark.parametrize("name", PRUNED)
async def test_a_statement_of_one_stream_reads_one_partition(divided: Engine, name: str) -> None:
    looked_at = await _looked_at(divided, name, PRUNED[name])
    assert all(len(parts) <= 1 for parts in looked_at.values()), looked_at


@pytest.mark.parametrize("name", NOT_PRUNED)
async def test_an_event_is_looked_up_by_its_id_in_the_index_of_each_partition(divided: Engine, name: str) -> None:
    assert len((await _looked_at(divided, name, NOT_PRUNED[name]))["events"]) == COUNT


async def _looked_at(engine: Engine, name: str, values: Mapping[str, Any]) -> Mapping[str, set[str]]:
    """The partitions that a statement reads, by table, with the plan that the engine has: for any values."""
    numbers = {one: f"${number}" for number, one in enumerate(values, 1)}
    async with (
        await psycopg.AsyncConnection.connect(engine.endpoints.postgres_dsn, row_factory=dict_row) as connection,
        connection.transaction(force_rollback=True),
    ):
        await connection.execute(FILL)
        for setting, value in BY_KEY.items():
            await connection.execute("SELECT set_config(%s, %s, true)", [setting, value])
        await connection.execute(f"PREPARE asked AS {query(name).decode() % numbers}".encode())
        given = SQL(", ").join(map(Literal, values.values()))
        cursor = await connection.execute(SQL("EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE asked({})").format(given))
        [row] = await cursor.fetchall()
    found: dict[str, set[str]] = {}
    for step in _steps(row["QUERY PLAN"][0]["Plan"]):
        part = str(step.get("Relation Name", ""))
        if step["Actual Loops"] and part.startswith(LOG) and "Scan" in step["Node Type"]:
            found.setdefault(part.split("_")[0], set()).add(part)
    return found


def _steps(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _steps(below)
