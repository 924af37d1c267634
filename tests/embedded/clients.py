"""What a client does with each of the three servers: write one thing, read it again."""

import nats
import psycopg
import redis
from nats.js.errors import NotFoundError

from mnemolog.adapters.embedded import Endpoints


def write_to_postgres(endpoints: Endpoints, text: str) -> None:
    with psycopg.connect(endpoints.postgres_dsn) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (text text)")
        connection.execute("INSERT INTO kept VALUES (%s)", [text])


def read_from_postgres(endpoints: Endpoints) -> list[str]:
    with psycopg.connect(endpoints.postgres_dsn) as connection:
        return [row[0] for row in connection.execute("SELECT text FROM kept")]


def write_to_redis(endpoints: Endpoints, text: str) -> None:
    with redis.Redis.from_url(endpoints.redis_url) as client:
        client.rpush("kept", text)


def read_from_redis(endpoints: Endpoints) -> list[str]:
    with redis.Redis.from_url(endpoints.redis_url, decode_responses=True) as client:
        return list(client.lrange("kept", 0, -1))


async def write_to_nats(endpoints: Endpoints, text: str) -> None:
    client = await nats.connect(endpoints.nats_url)
    stream = client.jetstream()
    await stream.add_stream(name="KEPT", subjects=["kept"])
    await stream.publish("kept", text.encode())
    await client.close()


async def read_from_nats(endpoints: Endpoints) -> list[str]:
    client = await nats.connect(endpoints.nats_url)
    stream = client.jetstream()
    try:
        count = (await stream.stream_info("KEPT")).state.messages
        messages = [await stream.get_msg("KEPT", seq=number) for number in range(1, count + 1)]
    except NotFoundError:
        messages = []
    await client.close()
    return [(message.data or b"").decode() for message in messages]


async def write_everywhere(endpoints: Endpoints, text: str) -> None:
    write_to_postgres(endpoints, text)
    write_to_redis(endpoints, text)
    await write_to_nats(endpoints, text)


async def read_everywhere(endpoints: Endpoints) -> dict[str, list[str]]:
    return {
        "postgres": read_from_postgres(endpoints),
        "nats": await read_from_nats(endpoints),
        "redis": read_from_redis(endpoints),
    }
