"""What is told of servers that refuse or do not answer: their own words, which setting, and what to do."""

import re
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from redis.asyncio import Redis

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.engine.reaching import reaching
from mnemolog.adapters.nats import connection as nats_connection
from mnemolog.adapters.unreachable import own_words
from mnemolog.domain.errors import InvalidInput, ServerFailed

WRONG = "not-the-password"


async def test_a_wrong_nats_password_is_reported_at_once_with_the_servers_message(engine: Engine) -> None:
    there = urlsplit(engine.endpoints.nats_url)
    url = there._replace(netloc=f"{WRONG}@{there.hostname}:{there.port}").geturl()

    with pytest.raises(ServerFailed, match=r"nats .* refused: .*[Aa]uthori") as refused:
        async with reaching("nats", url):
            await nats_connection.connect(url, "nobody")

    assert refused.value.field == "nats_url"
    assert "password" in refused.value.fix
    assert WRONG not in str(refused.value)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"user": "nobody"}, 'role "nobody" does not exist'),
        ({"dbname": "nowhere"}, 'database "nowhere" does not exist'),
    ],
)
async def test_what_postgres_refuses_is_told_in_its_words(engine: Engine, wrong: dict[str, str], said: str) -> None:
    url = engine.endpoints.postgres_dsn
    with pytest.raises(ServerFailed, match=re.escape(f"refused: {said}")) as refused:
        async with reaching("postgres", url):
            await psycopg.AsyncConnection.connect(make_conninfo(url, **wrong))

    assert refused.value.field == "postgres_url"
    assert refused.value.fix.startswith(("correct", "create"))


async def test_an_extension_that_is_missing_is_named_and_how_to_get_it(engine: Engine) -> None:
    """As on a Postgres without pgvector: this one lacks another."""
    url = engine.endpoints.postgres_dsn
    with pytest.raises(ServerFailed, match='refused: extension "postgis" is not available'):
        async with reaching("postgres", url), await psycopg.AsyncConnection.connect(url) as connection:
            await connection.execute("CREATE EXTENSION postgis")
    lacking = psycopg.errors.FeatureNotSupported('FATAL:  extension "vector" is not available')
    with pytest.raises(ServerFailed) as refused:
        async with reaching("postgres", url):
            raise lacking
    assert "install pgvector" in refused.value.fix


async def test_nothing_that_is_stored_is_quoted(engine: Engine) -> None:
    async with await psycopg.AsyncConnection.connect(engine.endpoints.postgres_dsn) as connection:
        with pytest.raises(psycopg.Error) as refused:
            await connection.execute("SELECT 'what Ana said'::int")

    assert own_words(refused.value) == ""


async def test_a_password_refused_by_redis_is_reported(engine: Engine) -> None:
    redis = Redis.from_url(engine.endpoints.redis_url)
    with pytest.raises(ServerFailed, match=r"redis .* refused: ") as refused:
        async with reaching("redis", engine.endpoints.redis_url):
            await redis.auth(WRONG, "nobody")
    await redis.aclose()

    assert WRONG not in str(refused.value)


async def test_a_server_that_is_not_there_does_not_answer() -> None:
    with pytest.raises(ServerFailed, match=r"does not answer \(ConnectionRefusedError\)"):
        async with reaching("redis", "redis://127.0.0.1:1"):
            raise ConnectionRefusedError


def test_the_keyword_form_of_an_address_is_refused_with_the_form_that_is_taken() -> None:
    with pytest.raises(InvalidInput) as refused:
        load(postgres_url="host=localhost dbname=mnemolog")

    assert refused.value.field == "postgres_url"
    assert "postgresql://" in refused.value.fix
