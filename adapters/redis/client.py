"""Clients of Redis: of one node, or of a cluster."""

from contextlib import suppress

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import RedisClusterException, RedisError, ResponseError

RedisClient = Redis | RedisCluster
# A cluster whose slots have no node raises an error that is none of Redis' own.
ERRORS = (RedisError, RedisClusterException)


async def connect(url: str) -> RedisClient:
    """A client of the server at the URL, or of the whole cluster if the server is a node of one.

    Raises the client's own error if nothing answers there.
    """
    # No socket timeout: with one, redis-py 8 uses wait_for, which loses cancellations on Python 3.11.
    redis = Redis.from_url(url, retry=_retry(), socket_timeout=None)
    try:
        if not await _in_cluster(redis):
            return redis
    except BaseException:
        await redis.aclose()
        raise
    await redis.aclose()
    return await RedisCluster.from_url(url, retry=_retry(), socket_timeout=None).initialize()


def _retry() -> Retry:
    return Retry(ExponentialBackoff(cap=1.0, base=0.05), retries=5)


async def _in_cluster(redis: Redis) -> bool:
    await redis.ping()
    with suppress(ResponseError):  # This login may not ask: then a cluster answers MOVED, which is reported.
        return bool((await redis.info("cluster"))["cluster_enabled"])
    return False
