"""The log in one database and all that is read in another, on the same server or on two (X11)."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import make_url, text

import mnemolog
from mnemolog.adapters.backup.archive import Progressed
from mnemolog.adapters.backup.backing_up import back_up
from mnemolog.adapters.backup.restoring import restore
from mnemolog.adapters.cli import doctor
from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.scrubbing import scrub
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.adapters.http.ready import Readiness
from mnemolog.adapters.postgres.confinement import confine_to
from mnemolog.adapters.postgres.migrate import migrate
from mnemolog.adapters.postgres.pauses import Pause
from mnemolog.adapters.verify.damage import Damage, DamageKind
from mnemolog.commands.erasure import EraseMemory, EraseUser
from mnemolog.domain.errors import Conflict, EngineError, ProjectionPaused, ServerFailed
from mnemolog.projections.reads.moment import Moment
from tests.engine.equality import assert_live_equals_rebuilt
from tests.engine.person import Person
from tests.engine.story import tell, told
from tests.engine.test_prove_erased import SECRET, planted, readable
from tests.testkit import warm
from tests.testkit.clusters import new_clusters
from tests.testkit.pausing import noticed
from tests.testkit.settings import settings_in

pytestmark = pytest.mark.spec_part("X11")

SERVERS = ("one server", "two servers")
# What asks each database for itself, and for no lock, role or file, does not depend on who else is on its server.
on_two_servers = pytest.mark.parametrize("split", ["two servers"], indirect=True)
SHARED = """
SELECT string_agg(told, E'\\n' ORDER BY told) FROM (
    SELECT column_name || ' ' || udt_name || ' ' || is_nullable FROM information_schema.columns
    WHERE (table_schema, table_name) = ('mnemolog', 'embeddings')
    UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'mnemolog.embeddings'::regclass
    UNION ALL SELECT polname || pg_get_expr(polqual, polrelid) FROM pg_policy
    WHERE polrelid = 'mnemolog.embeddings'::regclass AND 'mnemolog_reader'::regrole = ANY(polroles)
    UNION ALL SELECT prosrc FROM pg_proc WHERE oid = 'mnemolog.confine'::regproc
    UNION ALL SELECT maptokentype::text || dictname FROM pg_ts_config_map JOIN pg_ts_dict AS dict ON dict.oid = mapdict
    WHERE mapcfg = 'mnemolog.words'::regconfig
) AS shared (told)
"""


@asynccontextmanager
async def database(engine: Engine) -> AsyncIterator[str]:
    """A new one on the server of an engine."""
    dsn, name = engine.endpoints.postgres_dsn, f"of_test_{uuid4().hex}"
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        await connection.execute(f"CREATE DATABASE {name}".encode())
        yield make_url(dsn).set(database=name).render_as_string(hide_password=False)
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture(scope="module", params=SERVERS)
async def split(
    request: pytest.FixtureRequest, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Engine]:
    async with database(engine) as log, database(engine) as projections:
        given = {"postgres_url": log} if request.param == "one server" else {}
        directory = tmp_path_factory.mktemp("split")
        with new_clusters():
            async with open_engine(settings_in(directory, projections_url=projections, **given)) as opened:
                yield opened


@pytest.fixture
async def ana(split: Engine, user: str) -> Person:
    return Person(split, user)


async def schemas(dsn: str) -> set[str]:
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        found = await connection.execute("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, 'mnemolog')")
        return {re.sub(r"_v\d+.*", "", row[0]) for row in await found.fetchall()}


async def tables(dsn: str) -> set[str]:
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        found = await connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'mnemolog'")
        return {row[0] for row in await found.fetchall()}


async def on_projections(engine: Engine, statement: str, **values: Any) -> None:
    async with engine.projections.live.begin() as connection:
        await connection.execute(text(statement), values)


@asynccontextmanager
async def paused(engine: Engine, name: str) -> AsyncIterator[None]:
    async with noticed(engine, name):
        await engine.projections.pause(name, Pause(now(), "Ops"))
    try:
        yield
    finally:
        await engine.projections.resume(name)


def table_of(engine: Engine, projection: str, name: str) -> str:
    store: Any = engine.projections.stores[projection]
    return f"{store.schema}.{name}"


async def test_events_and_keys_are_in_one_database_and_rows_and_progress_in_the_other(
    split: Engine, ana: Person
) -> None:
    await ana.creates("Ana drinks tea")
    await split.settled(60)

    assert await schemas(split.endpoints.postgres_dsn) == {"mnemolog", "mnemolog_keys"}
    assert await tables(split.endpoints.postgres_dsn) >= {"events", "heads", "outbox", "jobs", "paused_projections"}
    read = {f"mnemolog_{one.name}" for one in split.projections.projectors}
    assert await schemas(split.endpoints.projections_dsn) == {"mnemolog", *read}
    assert await tables(split.endpoints.projections_dsn) == {"embeddings", "log_of_projections", "migrations"}


@on_two_servers
@pytest.mark.spec_part("X02", "X03", "X10")
async def test_a_user_writes_reads_undoes_and_looks_back(split: Engine, ana: Person) -> None:
    live: dict[int, Sequence[Any]] = {}
    async for _ in told(ana):
        live[await split.log.head(ana.stream)] = (await ana.asks("lactose Lisbon tea")).hits

    for seq, then in live.items():
        assert (await ana.asks("lactose Lisbon tea", Moment(as_of=seq))).hits == then, seq
    tea = await ana.creates("Ana drinks green tea")
    await ana.updates(tea, text="Ana drinks white tea")
    await ana.undoes(tea)
    assert (await split.reads.memory(ana.viewer, tea, await ana.caught_up()))["text"] == "Ana drinks green tea"


async def test_readers_see_one_tenant_in_the_database_of_projections(split: Engine) -> None:
    async with split.reads._each_statement_alone.connect() as connection:
        await confine_to(connection, "nobody")
        assert (await connection.execute(text("SELECT current_user"))).scalar_one() == "mnemolog_reader"
        rows = table_of(split, "memories", "memories")
        assert (await connection.execute(text(f"SELECT count(*) FROM {rows}"))).scalar_one() == 0  # noqa: S608


@pytest.mark.spec_part("X05")
async def test_every_projection_is_rebuilt_by_one_process_and_by_several(
    split: Engine, ana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tell(ana)
    await assert_live_equals_rebuilt(split)
    monkeypatch.setattr("mnemolog.adapters.projecting.projections.EVENTS_A_PROCESS", 1)
    monkeypatch.setattr("sys.executable", warm.python())

    rebuilt = await split.projections.rebuild_all()

    assert [one.name for one in rebuilt if not one.equal] == []


async def test_what_is_paused_lags_is_named_and_catches_up(split: Engine, ana: Person) -> None:
    await ana.creates("Ana drinks tea")
    await split.settled(60)
    async with paused(split, "memories"):
        await ana.creates("Ana drinks milk")

        with pytest.raises(ProjectionPaused, match="Ops"):
            await ana.everything(await ana.caught_up())
        [shown] = [one for one in await split.projections.status(now()) if one.name == "memories"]
        assert shown.lag_events == await split.projections.running["memories"].lag() > 0
        assert shown.lag_seconds > 0

    assert "Ana drinks milk" in await ana.finds("milk")
    await split.settled(60)


@on_two_servers
async def test_a_forged_progress_is_found_without_a_join(split: Engine, ana: Person) -> None:
    """Behind the head, beyond it, or of a stream that the log does not have."""
    await tell(ana)
    await split.settled(60)
    head, store = await split.log.head(ana.stream), split.projections.stores["history"]
    progress = table_of(split, "history", "progress")
    found: dict[str, tuple[int, int]] = {}
    async with paused(split, "history"):
        for seq in (head - 1, head + 1):
            update = f"UPDATE {progress} SET seq = :seq WHERE stream = :stream"  # noqa: S608
            await on_projections(split, update, seq=seq, stream=ana.stream.name)
            batches = [one async for batch in store.lagging(split.log) for one in batch]
            found |= {f"{one.stream.name} {seq - head}": (one.progress, one.head) for one in batches}
        stranger = f"INSERT INTO {progress} (tenant, stream, seq) VALUES ('default', 'user:nobody', 7)"  # noqa: S608
        await on_projections(split, stranger)
        async for batch in store.lagging(split.log):
            found |= {one.stream.name: (one.progress, one.head) for one in batch}

        assert found[f"{ana.stream.name} -1"] == (head - 1, head)
        assert found[f"{ana.stream.name} 1"] == (head + 1, head)
        assert found["user:nobody"] == (7, 0)
        beyond = {_named(one) for one in (await split.verifier.verify()).damages}
        assert beyond >= {(name, "progress", DamageKind.CHANGED) for name in (ana.stream.name, "user:nobody")}
        await on_projections(split, f"DELETE FROM {progress} WHERE stream = 'user:nobody'")  # noqa: S608
        await split.projections.running["history"].heal(ana.stream)
    await split.settled(60)


@on_two_servers
@pytest.mark.spec_part("X08")
async def test_a_tampered_row_is_reported_and_healed(split: Engine, ana: Person) -> None:
    await tell(ana)
    await split.settled(60)
    before = await ana.everything()
    rows = table_of(split, "memories", "memories")
    change = f"UPDATE {rows} SET text = 'Ana drinks gin' WHERE user_id = :user"  # noqa: S608
    await on_projections(split, change, user=ana.user)

    found = {(one.table, one.kind) for one in (await split.verifier.verify(ana.stream)).damages}
    assert found == {("memories", DamageKind.CHANGED)}
    assert await ana.everything() == before
    assert (await split.verifier.verify()).clean


@on_two_servers
@pytest.mark.spec_part("X08")
async def test_rows_of_a_user_unknown_to_the_log_are_reported(split: Engine, ana: Person) -> None:
    await ana.creates("Ana drinks tea")
    await split.settled(60)
    vectors = table_of(split, "vectors", "vectors")
    copied = (
        f"INSERT INTO {vectors} SELECT tenant, stream_kind, 'nobody', subject_id, model, content_hash, embedding_mac,"  # noqa: S608
        f" embedding FROM {vectors} WHERE user_id = :user"
    )
    await on_projections(split, copied, user=ana.user)

    [damage] = (await split.verifier.verify()).damages
    await on_projections(split, f"DELETE FROM {vectors} WHERE user_id = 'nobody'")  # noqa: S608

    assert _named(damage) == ("user:nobody", "vectors", DamageKind.FORGED)


def _named(damage: Damage) -> tuple[str, str, DamageKind]:
    return damage.stream.name if damage.stream else "", damage.table, damage.kind


@pytest.mark.spec_part("X07", "X16")
async def test_an_erasure_reaches_both_and_the_proof_looks_into_both(split: Engine, ana: Person) -> None:
    memory_id = await planted(ana)
    await split.settled(60)
    subject = ProofSubject(ana.stream, memory_id)
    before = readable(await prove(split, subject, SECRET))
    assert {"postgres mnemolog_keys.data_keys", "projections mnemolog.embeddings"} <= before.keys()

    await erase(split, EraseMemory(user_id=ana.user, memory_id=memory_id))
    assert (await prove(split, subject)).holds
    await erase(split, EraseUser(user_id=ana.user))

    proof = await prove(split, ProofSubject(ana.stream), SECRET)
    assert proof.holds, readable(proof)
    assert {"postgres mnemolog.events", "projections mnemolog.embeddings"} <= {one.name for one in proof.places}


async def test_freed_pages_are_cleared_in_both(split: Engine) -> None:
    databases = [split.endpoints.postgres_dsn, split.endpoints.projections_dsn]
    steps: list[str] = []

    assert (await scrub(databases, None, steps.append)).segments

    assert any("mnemolog_keys.data_keys" in step for step in steps)
    assert any("mnemolog_memories" in step for step in steps)


async def test_doctor_and_readiness_look_at_both(split: Engine) -> None:
    await split.settled(60)

    findings = [one async for one in doctor._running(split)]

    # Tests of this file have left incidents.
    assert {one.part for one in findings if not one.good} <= {"incidents"}
    assert "projections" in {one.part for one in findings}
    assert await Readiness(split).lacking() == []


@contextmanager
def silent(label: str, total: int) -> Iterator[Progressed]:
    yield lambda count: None


@pytest.mark.spec_part("X23")
async def test_a_backup_is_of_the_log_and_a_restore_builds_the_projections_in_an_empty_database(
    split: Engine, ana: Person, engine: Engine, tmp_path: Path
) -> None:
    await tell(ana)
    before = await ana.everything(await ana.caught_up())
    file = tmp_path / "today.mnemolog"
    log = split.endpoints.postgres_dsn, split.settings, split.verifier.anchors
    manifest = await back_up(*log, file, now(), mnemolog.__version__, lambda count: None, with_master_key=True)
    assert not [one for one in manifest.tables if one.table == "embeddings"]
    with pytest.raises(Conflict) as refused:
        await restore(settings_in(tmp_path / "used", projections_url=split.endpoints.projections_dsn), file, silent)
    assert refused.value.field == "projections_url"

    async with database(engine) as empty:
        settings = settings_in(tmp_path / "data", projections_url=empty)
        assert (await restore(settings, file, silent)).report.clean
        async with open_engine(settings) as restored:
            assert await Person(restored, ana.user).everything() == before


@pytest.mark.spec_part("X05", "X07")
async def test_an_engine_moves_its_projections_and_an_erasure_reaches_what_it_left_behind(
    engine: Engine, tmp_path: Path, user: str
) -> None:
    async with open_engine(settings_in(tmp_path)) as one:
        ana = Person(one, user)
        memory_id = await planted(ana)
        await one.settled(60)
        before = await ana.everything()
    async with database(engine) as projections:
        async with open_engine(settings_in(tmp_path, projections_url=projections)) as two:
            await two.settled(60)
            ana = Person(two, user)
            assert await ana.everything() == before
            subject = ProofSubject(ana.stream, memory_id)
            left = set(readable(await prove(two, subject, SECRET)))
            assert "postgres mnemolog.embeddings" in left
            for name in (".memories", ".vectors"):
                assert len([one for one in left if one.endswith(name)]) == 2

            await erase(two, EraseMemory(user_id=user, memory_id=memory_id))

            assert (await prove(two, subject)).holds
            assert len(await two.projections.drop_former()) == len(two.projections.projectors)
            assert await schemas(two.endpoints.postgres_dsn) == {"mnemolog", "mnemolog_keys"}
            after = await ana.everything(await ana.caught_up())
        async with open_engine(settings_in(tmp_path)) as back:
            await back.settled(60)
            assert await Person(back, user).everything() == after


async def test_the_two_settings_cannot_be_mixed_up(engine: Engine, tmp_path: Path) -> None:
    async with database(engine) as log, database(engine) as projections:
        await asyncio.to_thread(migrate, log)
        await asyncio.to_thread(migrate, projections, of="projections")
        for given, setting in (
            ({"postgres_url": projections}, "postgres_url"),
            ({"postgres_url": log, "projections_url": engine.endpoints.postgres_dsn}, "projections_url"),
        ):
            with pytest.raises(EngineError) as refused:
                async with open_engine(settings_in(tmp_path, **given)):
                    pass
            assert refused.value.field == setting


async def test_a_database_of_projections_that_does_not_answer_is_named(engine: Engine, tmp_path: Path) -> None:
    nobody = "postgresql://nobody@127.0.0.1:1/x"
    with pytest.raises(ServerFailed) as refused:
        async with open_engine(settings_in(tmp_path, projections_url=nobody)):
            pass
    assert refused.value.field == "projections_url"


async def test_projections_of_another_log_are_refused_before_they_are_migrated(engine: Engine, tmp_path: Path) -> None:
    async with database(engine) as projections:
        await asyncio.to_thread(migrate, projections, "projections_0001", of="projections")
        async with await psycopg.AsyncConnection.connect(projections) as connection:
            await connection.execute("INSERT INTO mnemolog.log_of_projections (log_id) VALUES ('of another log')")

        with pytest.raises(EngineError, match="another log"):
            async with open_engine(settings_in(tmp_path, projections_url=projections)):
                pass

        async with await psycopg.AsyncConnection.connect(projections) as connection:
            found = await connection.execute("SELECT version_num FROM mnemolog.migrations")
            assert [row[0] for row in await found.fetchall()] == ["projections_0001"]


async def test_projections_of_another_log_are_refused(split: Engine, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="another log") as refused:
        async with open_engine(settings_in(tmp_path, projections_url=split.endpoints.projections_dsn)):
            pass
    assert refused.value.field == "projections_url"


async def test_what_read_models_share_is_made_alike_beside_the_log_and_apart(engine: Engine) -> None:
    """Else a migration of the one would have forgotten the other."""
    found = set()
    async with database(engine) as log, database(engine) as projections:
        await asyncio.to_thread(migrate, log)
        await asyncio.to_thread(migrate, projections, of="projections")
        for dsn in (log, projections):
            async with await psycopg.AsyncConnection.connect(dsn) as connection:
                row = await (await connection.execute(SHARED)).fetchone()
                found.add(row and row[0])
    assert len(found) == 1
